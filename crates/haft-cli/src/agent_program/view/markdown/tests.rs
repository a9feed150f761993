//! Markdown as it is shown, and that the pieces in which it comes make no difference.

use expect_test::{Expect, expect};

use super::*;

const PLAIN: MarkdownStyle = MarkdownStyle { columns: 40, has_colours: false, is_linear: false };

/// Returns what is shown of a text that comes in pieces of so many characters.
fn shown(text: &str, piece_chars: usize, style: MarkdownStyle) -> String {
    let mut stream = MarkdownStream::default();
    let characters: Vec<char> = text.chars().collect();
    let mut lines = Vec::new();
    for piece in characters.chunks(piece_chars) {
        lines.extend(stream.take_text(&piece.iter().collect::<String>(), style));
    }
    lines.extend(stream.finish(style));
    lines.join("\n") + "\n"
}

fn check(text: &str, expect: &Expect) {
    let whole = shown(text, usize::MAX, PLAIN);
    expect.assert_eq(&whole);
    for piece_chars in [1, 2, 7, 24] {
        assert_eq!(shown(text, piece_chars, PLAIN), whole, "in pieces of {piece_chars}");
    }
}

#[test]
fn text_is_folded_between_words() {
    check(
        "# The title\nA paragraph of **words** that\nfollow each other, with `code` and [a page](https://a.example).\n\nhttps://a.example is [https://a.example](https://a.example).\n***\nLast\\\nline",
        &expect![[r#"
            # The title

            A paragraph of words that follow each
            other, with `code` and a page
            (https://a.example).

            https://a.example is https://a.example.

            ---

            Last
            line
        "#]],
    );
}

#[test]
fn lists_and_quotes_are_set_in() {
    check(
        "Do this:\n\n1. First, with words that do not fit the line\n2. Second\n   - inner\n   - [x] done\n\n     with a paragraph\n3.\n\n> quoted\n> words of a text that does not fit the line\n\n- a\n\n- b\n  ```sh\n  ls -l\n  ```\n",
        &expect![[r#"
            Do this:

            1. First, with words that do not fit the
               line
            2. Second
               - inner
               - [x] done

                 with a paragraph
            3.

            > quoted words of a text that does not
            > fit the line

            - a
            - b
                  ls -l
        "#]],
    );
}

#[test]
fn code_is_shown_as_it_is() {
    check(
        "Run:\n```sh\ncargo test\n\n  # indented, and much longer than the line\n```\nand\n\n~~~\n```\n~~~\n\n```rust\nfn open() {",
        &expect![[r#"
            Run:

                cargo test

                  # indented, and much longer than
                the line

            and

                ```

                fn open() {
        "#]],
    );
}

#[test]
fn tables_fit_the_line() {
    let table = "| file | lines |\n|---|---:|\n| a.rs | 12 |\n| b.rs | 3 |\n\nafter\n";
    check(
        table,
        &expect![[r#"
            file  lines
            ----  -----
            a.rs  12
            b.rs  3

            after
        "#]],
    );
    let linear = MarkdownStyle { is_linear: true, ..PLAIN };
    expect![[r#"
        file: a.rs
        lines: 12

        file: b.rs
        lines: 3

        after
    "#]]
    .assert_eq(&shown(table, 1, linear));
    let narrow = MarkdownStyle { columns: 8, ..PLAIN };
    assert!(shown(table, 1, narrow).starts_with("file:\n  a.rs\nlines:\n  12\n"));
}

#[test]
fn nothing_that_is_written_is_lost() {
    check(
        "See [it][1] and <b>bold</b>, *half\n\n[1]: https://a.example\n\n<div>\nraw\n</div>\n",
        &expect![[r#"
            See [it][1] and <b>bold</b>, *half

            [1]: https://a.example

            <div>
            raw
            </div>
        "#]],
    );
}

#[test]
fn styles_are_escape_sequences_and_no_other_text_is() {
    let style = MarkdownStyle { columns: 40, has_colours: true, is_linear: false };
    let text = "a **b** `c`\u{1b}[2J *d*\n";
    let expect = "a \u{1b}[1mb\u{1b}[0m \u{1b}[36mc\u{1b}[0m\\u{1b}[2J \u{1b}[3md\u{1b}[0m\n";
    assert_eq!(shown(text, 3, style), expect);
}

#[test]
fn lines_appear_while_the_text_streams() {
    let mut stream = MarkdownStream::default();
    let mut take = |text: &str| stream.take_text(text, PLAIN).join("|");
    assert_eq!(take("One paragraph"), "");
    assert_eq!(take(" of text.\n\n- first\n"), "One paragraph of text.");
    assert_eq!(take("- second\n"), "|- first");
    assert_eq!(take("\n```\nlet a"), "- second|");
    assert_eq!(take(" = 1;\n"), "    let a = 1;");
    assert_eq!(take("```\nEnd"), "");
    assert_eq!(stream.finish(PLAIN).join("|"), "|End");
}

#[test]
fn a_block_without_end_is_shown_in_parts() {
    let mut stream = MarkdownStream::default();
    let lines = stream.take_text(&"x".repeat(MARKDOWN_BLOCK_BYTES_MAX), PLAIN);
    assert!(lines.is_empty());
    let lines = stream.take_text("x", PLAIN);
    assert_eq!(lines.concat().len(), MARKDOWN_BLOCK_BYTES_MAX + 1);
}
