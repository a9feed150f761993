//! Sources of words and their decoded values.

use proptest::prelude::*;

use super::{DecodedWord, check_no_code, decode};
use crate::analysis::{CommandWord, UnknownReason, render_line};
use crate::syntax;

fn decoded(source: &str) -> Result<DecodedWord, UnknownReason> {
    decode(&syntax::ShellWord { source: source.to_owned(), code_expansions: Vec::new() })
}

#[test]
fn literal_words_lose_their_quotes() {
    let check = |source: &str, expect: &str| {
        assert_eq!(decoded(source), Ok(DecodedWord::Literal(expect.to_owned())), "{source}");
    };
    check("plain-1.rs", "plain-1.rs");
    check(r"a\ b\'c\$d", "a b'c$d");
    check("'a $x `b` \"c\" \\'", "a $x `b` \"c\" \\");
    check(r#""a 'b' \$c \` \" \\ \d""#, r#"a 'b' $c ` " \ \d"#);
    check(r"$'a\n\'b\\'", "a\n'b\\");
    check(r#"a'b'"c"d"#, "abcd");
    check("a\\\nb", "ab");
    check("''", "");
    check("{}", "{}");
    check("a{b", "a{b");
    check("[", "[");
    check("a~b", "a~b");
    check("a#b", "a#b");
    check("cost$", "cost$");
    check("\"$ a\"", "$ a");
}

#[test]
fn what_the_shell_expands_is_dynamic_from_there_on() {
    let check = |source: &str, expect: &str| match decoded(source) {
        Ok(DecodedWord::Dynamic { prefix, .. }) => assert_eq!(prefix, expect, "{source}"),
        other => panic!("{source} is {other:?}"),
    };
    check("a$x", "a");
    check("\"a$x\"b", "a");
    check("a${x}b'c'", "a");
    check("a${x:-y z}", "a");
    check("\"${x[@]}\"", "");
    check("$?", "");
    check("~/x", "");
    check("a=~/x", "a=");
    check("*.rs", "");
    check("a?", "a");
    check("[ab]", "");
    check("a{b,c}d", "a");
    check("a{b}d", "a");
    check("$'\\x41'", "");
    check("$\"a\"", "");
}

#[test]
fn code_that_nobody_read_is_refused() {
    for source in [
        "$(a)",
        "\"$(a)\"",
        "`a`",
        "\"`a`\"",
        "$((1))",
        "$[1]",
        "${x:-$(a)}",
        "${x:-`a`}",
        "<(a)",
        "${!x}",
        "${x@P}",
        "@(a|b)",
        "a;b",
        "a\nb",
        "'a",
        "\"a",
        "a\\",
    ] {
        assert!(decoded(source).is_err(), "{source}: {:?}", decoded(source));
    }
    assert!(check_no_code("a && b == ${c[1]}").is_ok() && check_no_code("a $(b)").is_err());
}

#[test]
fn subscripts_and_offsets_are_arithmetic() {
    let check = |source: &str, expect: bool| match decoded(source) {
        Ok(DecodedWord::Dynamic { has_arithmetic, .. }) => {
            assert_eq!(has_arithmetic, expect, "{source}")
        }
        other => panic!("{source} is {other:?}"),
    };
    check("${a[i]}", true);
    check("${a:1:2}", true);
    check("${a[@]}", false);
    check("${a[*]:-x}", false);
    check("${a:-x}", false);
    check("${a##*/}", false);
}

proptest! {
    #[test]
    fn a_line_of_words_is_read_back(words in proptest::collection::vec("[ -~\n]{0,8}|if|A=b|é", 1..5)) {
        let literals: Vec<_> = words.iter().cloned().map(CommandWord::Literal).collect();
        let line = render_line(&literals);
        let script = syntax::parse(&line);
        // Unusual syntax may be refused, but must not be parsed as something else.
        if let Ok(syntax::ShellScript(statements)) = script {
            let [syntax::Statement::Simple(simple)] = statements.as_slice() else {
                panic!("{line:?} is {statements:?}");
            };
            let read: Vec<_> = simple.words.iter().map(decode).collect();
            let expected: Vec<_> = words.into_iter().map(|word| Ok(DecodedWord::Literal(word))).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
