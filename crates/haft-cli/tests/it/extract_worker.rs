//! `haft extract-worker`: that the process that reads pages is there and answers, and that it is nobody's to see. What it
//! reads of pages is tested where they are read.

use expect_test::expect;

use crate::world::World;

#[test]
fn pages_on_standard_input_are_read() {
    let pages = "{\"bytes\":49,\"content_type\":\"text/html\",\"url\":\"https://a.example/\"}\n\
                 <title>A</title><p>Go <a href=b>on</a> reading.\n\n\
                 {\"bytes\":3,\"content_type\":\"text/plain\",\"text_bytes_max\":2}\nabc";
    World::new().check_with_input(
        &["extract-worker"],
        pages,
        &expect![[r#"
            {"kind":"html","title":"A","text":"Go [on](https://a.example/b) reading.","charset":"UTF-8","note":null,"truncated":false}
            {"kind":"text","title":null,"text":"ab","charset":"UTF-8","note":null,"truncated":true}
            --- status 0
        "#]],
    );
}

#[test]
fn what_is_no_request_is_an_error() {
    World::new().check_with_input(&["extract-worker"], "hello\n", &expect![[r#"
        --- stderr
        error: expected a request of one line of JSON, found something else: expected value at line 1 column 1
        --- status 1
    "#]]);
}

#[test]
fn nobody_is_told_of_it() {
    assert!(!World::new().run(&["--help"]).contains("extract-worker"));
}
