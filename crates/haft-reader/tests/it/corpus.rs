//! Each page of the corpus, and what is read of it.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use haft_reader::{FetchedPage, PageContent, read_page};

/// A page, with what its server says of it and where it lies.
struct Sample {
    file: &'static str,
    content_type: Option<&'static str>,
    url: &'static str,
}

const fn sample(
    file: &'static str,
    content_type: Option<&'static str>,
    url: &'static str,
) -> Sample {
    Sample { file, content_type, url }
}

const HTML: Option<&str> = Some("text/html");
const UTF_8: Option<&str> = Some("text/html; charset=utf-8");

const SAMPLES: &[Sample] = &[
    sample("documentation.html", UTF_8, "https://kiln.example/3.2/library/schedule.html"),
    sample("blog.html", UTF_8, "https://slow-oven.example/2025/measured/"),
    sample("news.html", UTF_8, "https://courier.example/news/bridge-to-close"),
    sample("forum.html", UTF_8, "https://ask-shell.example/questions/4711/why-does-sort-u"),
    sample("tables.html", UTF_8, "https://ferry.example/times"),
    sample("code.html", UTF_8, "https://codehost.example/wrenlabs/ringbuf/blob/main/README.md"),
    sample("wiki.html", UTF_8, "https://mirror.example/?title=Lacewing_bridge"),
    sample("broken.html", HTML, "http://seeds.example/list.htm"),
    sample("hidden.html", UTF_8, "https://kettle.example/descaling"),
    sample("front-page.html", UTF_8, "https://tidewrack.example/"),
    sample("product.html", UTF_8, "https://hollow-oak.example/p/handle-36"),
    // Names another set in its markup than it is written in, as most of its age do.
    sample("french-windows-1252.html", HTML, "https://etang.example/"),
    sample(
        "japanese-shift-jis.html",
        Some("text/html; charset=Shift_JIS"),
        "https://hashi.example/",
    ),
    sample("chinese-gbk.html", HTML, "https://cha.example/"),
    // Says nothing, nor do the three below.
    sample("chinese-big5.html", HTML, "https://lighthouse.example.tw/"),
    sample("korean-euc-kr.html", HTML, "https://noodles.example.kr/"),
    sample("russian-koi8-r.html", HTML, "https://clock.example.ru/"),
    sample("vietnamese-utf-8.html", None, "https://cho-noi.example/"),
    sample(
        "polish-iso-8859-2.html",
        Some("text/html; charset=\"iso-8859-2\""),
        "https://mlyn.example/",
    ),
    sample("arabic-windows-1256.html", HTML, "https://well.example/"),
    sample("greek-utf-16.html", UTF_8, "https://books.example/"),
    sample(
        "german-claimed-latin-1.html",
        Some("text/html; charset=ISO-8859-1"),
        "https://faehre.example/",
    ),
    sample("feed.xml", Some("application/rss+xml"), "https://meteo.example/feed"),
    sample("data.json", Some("application/json"), "https://tides.example/data"),
    sample("notes.txt", Some("text/plain"), "https://laden.example/zeiten.txt"),
    sample("readme.md", Some("text/markdown"), "https://anchor.example/readme.md"),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus")
}

fn show(extracted: &PageContent) -> String {
    let PageContent { kind, title, text, charset, note } = extracted;
    // A carriage return would not survive the comparison with a file.
    let or_none = |text: Option<&str>| text.unwrap_or("none").replace('\r', "\\r");
    format!(
        "kind: {}\ntitle: {}\ncharset: {}\nnote: {}\n\n{}\n",
        kind.as_str(),
        or_none(title.as_deref()),
        or_none(*charset),
        or_none(note.as_deref()),
        or_none(text.as_deref()),
    )
}

fn read(sample: &Sample) -> Vec<u8> {
    std::fs::read(corpus().join(sample.file)).expect("every sample is a file of the corpus")
}

#[test]
fn each_page_says_what_lies_beside_it() {
    for sample in SAMPLES {
        let bytes = read(sample);
        let page =
            FetchedPage { bytes: &bytes, content_type: sample.content_type, url: sample.url };
        let extracted = read_page(&page).expect("no sample is beyond reading");
        expect_file![corpus().join(sample.file).with_extension("expected")]
            .assert_eq(&show(&extracted));
    }
}

#[test]
fn each_file_of_the_corpus_is_a_sample() {
    let entries = std::fs::read_dir(corpus()).expect("the corpus is a directory");
    for entry in entries {
        let path = entry.expect("the corpus can be listed").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("names are text");
        assert!(
            SAMPLES.iter().any(|sample| Path::new(sample.file).file_stem() == path.file_stem()),
            "{name} is no sample"
        );
    }
}

#[test]
fn nothing_hidden_is_read() {
    let sample = SAMPLES.iter().find(|sample| sample.file == "hidden.html").expect("it is there");
    let bytes = read(sample);
    let page = FetchedPage { bytes: &bytes, content_type: sample.content_type, url: sample.url };
    let text = read_page(&page).expect("it can be read").text.unwrap_or_default();
    assert!(!text.contains("INJECTED"), "{text}");
    let unseen = |character: char| matches!(character, '\u{e0000}'..='\u{e007f}' | '\u{202e}');
    assert!(!text.contains(unseen), "{text:?}");
}
