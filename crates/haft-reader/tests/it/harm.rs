//! Pages that were made to do harm: each is read, or given up with an error; none takes long, and none ends the process.

use std::fmt::Write as _;

use haft_reader::limits::DEPTH_MAX;
use haft_reader::{FetchedPage, PageContent, PageReadError, read_page, serve};
use proptest::prelude::*;

fn read(html: &str) -> PageContent {
    try_read(html).expect("the page is not deep")
}

/// Reads a page as the process does that is there for it, whose stack is large.
fn try_read(html: &str) -> Result<PageContent, PageReadError> {
    let bytes = html.as_bytes();
    let page = FetchedPage {
        bytes,
        content_type: Some("text/html; charset=utf-8"),
        url: "https://a.example/",
    };
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(haft_reader::limits::STACK_BYTES);
        let reader =
            reader.spawn_scoped(scope, || read_page(&page)).expect("a thread can be started");
        reader.join().expect("nothing panics")
    })
}

#[test]
fn deep_nesting_is_not_followed() {
    for tag in ["div", "b", "ul><li", "table><tr><td", "blockquote", "svg", "font size=1"] {
        let html = format!("<p>begin{}core", format!("<{tag}>").repeat(1_000));
        assert_eq!(try_read(&html).err(), Some(PageReadError::TooDeep), "{tag}");
    }
}

#[test]
fn nesting_up_to_the_bound_is() {
    for tag in ["div", "blockquote", "span", "sup", "section"] {
        // `html`, `body` and the first `div` are elements too.
        let page = |tags: usize| format!("<div>{}core", format!("<{tag}>").repeat(tags - 3));
        let text = read(&page(DEPTH_MAX)).text.unwrap_or_default();
        assert!(text.contains("core"), "{tag}");
        let deep = try_read(&page(DEPTH_MAX + 1)).err();
        assert_eq!(deep, Some(PageReadError::TooDeep), "{tag}");
    }
}

#[test]
fn a_huge_table_is_read_whole() {
    let mut html = "<h1>Rows</h1><table><tr><th>number<th>square<th>cube".to_owned();
    for number in 0..20_000_u64 {
        write!(html, "<tr><td>{number}<td>{}<td>{}", number * number, number * number * number)
            .expect("a text takes everything");
    }
    let text = read(&html).text.unwrap_or_default();
    assert!(
        text.contains("| number | square | cube |")
            && text.ends_with("| 19999 | 399960001 | 7998800059999 |")
    );
}

#[test]
fn spans_without_end_are_bounded() {
    let html = format!(
        "<table>{}</table>",
        "<tr><td rowspan=100000 colspan=100000>a<td rowspan=65534>b".repeat(2_000)
    );
    assert!(read(&html).text.unwrap_or_default().contains('a'));
}

#[test]
fn a_page_that_swells_is_bounded_by_what_is_asked_for() {
    let page = "<p>word</p>".repeat(30_000);
    let request = format!(
        "{{\"bytes\":{},\"content_type\":\"text/html\",\"text_bytes_max\":1000}}\n{page}",
        page.len()
    );
    let mut output = Vec::new();
    serve(request.as_bytes(), &mut output).expect("it is a request");
    assert!(output.len() < 2_000 && output.ends_with(b"\"truncated\":true}\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_markup_panics(html in r#"([a-z é<>"'=/&;]|<(p|div|table|tr|td|th|a|b|ul|li|pre|code|img|br|title|meta|base|h1|script|svg|math|template|select|option|dl|dt|dd|form|font|nobr)( (href|src|colspan|rowspan|style|class|hidden|charset|alt)=("[a-z0-9#:;%-]{0,9}"|[0-9]{0,6}))?>|</(p|div|table|tr|td|a|b|ul|pre|code|svg|math|template|select|form)>){0,80}"#) {
        let _ = try_read(&html);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), content_type in prop_oneof![
        Just(None), Just(Some("text/html")), Just(Some("application/pdf")), Just(Some("text/plain; charset=iso-2022-jp")),
        Just(Some("application/json")), Just(Some("application/octet-stream")),
    ]) {
        let page = FetchedPage { bytes: &bytes, content_type, url: "https://a.example.jp/" };
        let _ = read_page(&page);
    }
}
