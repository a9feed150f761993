use expect_test::{Expect, expect};

use super::*;

fn ask(input: &[u8]) -> (Result<(), ReaderServeError>, String) {
    let mut output = Vec::new();
    let served = serve(input, &mut output);
    (served, String::from_utf8(output).expect("answers are text"))
}

fn request(line: &str, page: &str) -> Vec<u8> {
    let line = line.replace("LENGTH", &page.len().to_string());
    format!("{line}\n{page}").into_bytes()
}

#[track_caller]
fn check(input: &[u8], expect: Expect) {
    let (served, output) = ask(input);
    assert!(served.is_ok(), "{served:?}");
    expect.assert_eq(&output);
}

#[test]
fn requests_are_answered_in_their_order() {
    let mut input = request(
        r#"{"bytes":LENGTH,"content_type":"text/html; charset=utf-8","url":"https://a.example/","text_bytes_max":1000}"#,
        "<title>A</title><p>é <a href=b>b</a>\n",
    );
    input.extend(request(
        r#"{"bytes":LENGTH,"content_type":null,"url":"x","text_bytes_max":3}"#,
        "aéé",
    ));
    input.extend(request(r#"{"bytes":LENGTH,"content_type":"image/png"}"#, "none"));
    input.extend(request(r#"{"bytes":LENGTH,"content_type":"application/pdf"}"#, "none"));
    input.extend(request(r#"{"bytes":0}"#, ""));
    check(
        &input,
        expect![[r#"
            {"kind":"html","title":"A","text":"é [b](https://a.example/b)","charset":"UTF-8","note":null,"truncated":false}
            {"kind":"text","title":null,"text":"aé","charset":"UTF-8","note":null,"truncated":true}
            {"kind":"other","title":null,"text":null,"charset":null,"note":null,"truncated":false}
            {"error":"the PDF could not be read: it is damaged, or no PDF"}
            {"kind":"text","title":null,"text":"","charset":"UTF-8","note":null,"truncated":false}
        "#]],
    );
}

#[test]
fn no_request_ends_the_process() {
    check(b"", expect![""]);
}

#[track_caller]
fn check_end(input: &[u8], expect: &str) {
    let (served, output) = ask(input);
    assert_eq!(output, "");
    assert_eq!(served.map_err(|err| err.to_string()), Err(expect.to_owned()));
}

#[test]
fn what_is_no_request_ends_the_process_as_well() {
    check_end(
        b"{}\n",
        "expected a request of one line of JSON, found something else: missing field `bytes` at line 1 column 2",
    );
    check_end(b"{\"bytes\":2}\na", "the channel broke: failed to fill whole buffer");
    let over = PAGE_BYTES_MAX + 1;
    check_end(
        format!("{{\"bytes\":{over}}}\n").as_bytes(),
        &format!("a request has more than {PAGE_BYTES_MAX} bytes of page"),
    );
    check_end(
        &vec![b' '; REQUEST_BYTES_MAX],
        &format!("a request has more than {REQUEST_BYTES_MAX} bytes of its line"),
    );
    let within =
        format!("{{\"bytes\":0}}{}\n", " ".repeat(REQUEST_BYTES_MAX - "{\"bytes\":0}\n".len()));
    assert!(ask(within.as_bytes()).0.is_ok());
}

#[test]
fn a_text_is_at_most_twice_as_long_as_a_line() {
    let page: String = (0..=0x2100).filter_map(char::from_u32).collect();
    let page = page.repeat(3);
    let input = request(r#"{"bytes":LENGTH,"content_type":"text/plain; charset=utf-8"}"#, &page);
    let (_, output) = ask(&input);
    assert!(output.len() <= 2 * page.len() + 1_000, "{} of {}", output.len(), page.len());
}

#[test]
fn a_text_and_a_title_end_at_their_bounds() {
    let told = |kind: &str, page: String| {
        let line = format!("{{\"bytes\":LENGTH,\"content_type\":\"{kind}\"}}");
        let (_, output) = ask(&request(&line, &page));
        serde_json::from_str::<serde_json::Value>(&output).expect("an answer is JSON")
    };
    let text = |bytes: usize| {
        let told = told("text/plain", "a".repeat(bytes));
        (told["text"].as_str().map(str::len), told["truncated"].as_bool())
    };
    assert_eq!(text(TEXT_BYTES_MAX), (Some(TEXT_BYTES_MAX), Some(false)));
    assert_eq!(text(TEXT_BYTES_MAX + 1), (Some(TEXT_BYTES_MAX), Some(true)));
    let title = |chars: usize| {
        let told = told("text/html", format!("<title>{}</title><p>text", "é".repeat(chars)));
        told["title"].as_str().map(|title| title.chars().count())
    };
    let most = crate::limits::TITLE_CHARS_MAX;
    assert_eq!([most - 1, most, most + 1].map(title), [Some(most - 1), Some(most), Some(most)]);
}
