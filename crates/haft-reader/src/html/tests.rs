use expect_test::{Expect, expect};

use super::*;

fn read_html(html: &str, url: &str) -> HtmlContent {
    super::read_html(html, url).unwrap_or_else(|DeepPage| panic!("{html} is nested too deep"))
}

#[track_caller]
fn check(body: &str, expect: Expect) {
    let html = format!("<!DOCTYPE html><title>T</title><body>{body}");
    expect.assert_eq(&read_html(&html, "https://a.example/b/c?d#e").markdown);
}

#[test]
fn addresses_are_complete() {
    check(
        r##"<p><a href="../x">up</a> <a href="//o.example/y">other</a> <a href="?q=1&amp;r=2">query</a>
        <a href="mailto:a@b.example">mail</a> <a href="#f">here</a> <a href="javascript:a()">script</a>
        <a href="data:text/html,x">data</a> <a href="blob:https://a.example/1">blob</a> <a href="">empty</a>
        <a href="http://[">wrong</a> <a href="x"></a><a href="#f">#</a> <a href="/h">#</a></p>"##,
        expect![
            "[up](https://a.example/x) [other](https://o.example/y) [query](https://a.example/b/c?q=1&r=2) [mail](mailto:a@b.example) here script data blob empty wrong [#](https://a.example/h)"
        ],
    );
}

#[test]
fn a_base_is_honoured() {
    let html = r#"<base href="/z/"><p><a href="x">x</a> and text</p>"#;
    assert_eq!(
        read_html(html, "https://a.example/b").markdown,
        "[x](https://a.example/z/x) and text"
    );
    assert_eq!(read_html(html, "not a url").markdown, "x and text");
}

#[test]
fn images_say_what_they_show() {
    check(
        r#"<p>a <img src="i.png" alt="An owl" title="t"> b <img src="j.png"> c <img src="data:image/png;base64,AA" alt="A hen">
        d <img src="data:," data-src="k.png" alt="A crow"> e</p>"#,
        expect![[r#"
            a ![An owl](https://a.example/b/i.png) b c A hen d ![A crow](https://a.example/b/k.png) e"#]],
    );
}

#[test]
fn tables_are_even() {
    check(
        "<table><tr><th>a<th colspan=2>b<tr><td rowspan=3>1<td>2<td>3<tr><td>4<tr><td>5<td>6<td>7<td>8</table>",
        expect![[r#"
            | a | b |  |  |  |
            | - | - | - | - | - |
            | 1 | 2 | 3 |  |  |
            |  | 4 |  |  |  |
            |  | 5 | 6 | 7 | 8 |"#]],
    );
}

#[test]
fn a_table_that_places_things_is_lines() {
    check(
        "<table><tr><td><h2>Left</h2><p>one</td><td><pre>two</pre></td></tr><tr><td>three</td></tr></table>",
        expect![[r#"
            ## Left

            one

            ```
            two
            ```

            three"#]],
    );
    check(
        "<table><tr><td>only<tr><td>column</table>",
        expect![[r#"
        only

        column"#]],
    );
}

#[test]
fn code_keeps_its_language_and_its_space() {
    check(
        "<pre class='brush: js; toolbar'>a\n  b</pre><div class='highlight-text'><pre>c</pre></div>\
         <pre><code class='hljs language-c++'>d</code></pre>",
        expect![[r#"
            ```js
            a
              b
            ```

            ```
            c
            ```

            ```c++
            d
            ```"#]],
    );
}

#[test]
fn a_page_without_main_content_is_whole() {
    let html = "<body><nav><a href=/a>A</a> <a href=/b>B</a></nav>";
    let reading = read_html(html, "https://a.example/");
    assert_eq!(reading.markdown, "[A](https://a.example/a) [B](https://a.example/b)");
    assert!(reading.is_whole);
    assert!(read_html("", "https://a.example/").markdown.is_empty());
}

#[test]
fn many_entries_are_a_whole_page() {
    let entry = |number: usize| {
        let words = "word ".repeat(40);
        format!("<section><h2>Entry {number}</h2><div><p>{words}</p></div></section>")
    };
    let html: String = (0..20).map(entry).collect();
    let markdown = read_html(&html, "https://a.example/").markdown;
    assert!((0..20).all(|number| markdown.contains(&format!("## Entry {number}"))), "{markdown}");
}

#[test]
fn a_title_loses_the_name_of_the_site_only() {
    assert_eq!(better_title("Bridge to close", "Bridge to close - Courier"), "Bridge to close");
    assert_eq!(
        better_title("links for the sea", "Tidewrack: links for the sea"),
        "Tidewrack: links for the sea"
    );
    assert_eq!(better_title("Another name", "Own"), "Another name");
    assert_eq!(better_title("", " Own "), "Own");
}
