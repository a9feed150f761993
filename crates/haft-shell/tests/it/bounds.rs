//! Lines beyond a limit are unknown as a whole; lines within it are not.

use haft_shell::limits::{COMMANDS_MAX, FILES_MAX, LINE_BYTES_MAX, NESTING_MAX, THROUGH_MAX};
use haft_shell::{UnknownReason, analyze_line};

fn reasons(line: &str) -> Vec<UnknownReason> {
    analyze_line(line).unknown.into_iter().map(|unknown| unknown.reason).collect()
}

fn check(fits: &str, exceeds: &str) {
    assert_eq!(reasons(fits), [], "{:?}", fits.get(..80));
    let judgement = analyze_line(exceeds);
    assert!(judgement.commands.len() <= COMMANDS_MAX);
    assert_eq!(reasons(exceeds), [UnknownReason::TooLarge], "{:?}", exceeds.get(..80));
}

#[test]
fn bytes() {
    let line = |length: usize| "a".repeat(length);
    check(&line(LINE_BYTES_MAX), &line(LINE_BYTES_MAX + 1));
}

#[test]
fn brackets() {
    let groups = |depth: usize| format!("{}a;{}", "{ ".repeat(depth), " };".repeat(depth));
    check(&groups(NESTING_MAX), &groups(NESTING_MAX + 1));
    let substitutions =
        |depth: usize| format!("{}a{}", "echo \"$(".repeat(depth), ")\"".repeat(depth));
    assert_eq!(reasons(&substitutions(NESTING_MAX / 2)), []);
    assert_eq!(reasons(&substitutions(NESTING_MAX + 1)), [UnknownReason::TooLarge]);
}

#[test]
fn commands() {
    let line = |count: usize| (0..count).map(|index| format!("a {index}\n")).collect::<String>();
    check(&line(COMMANDS_MAX), &line(COMMANDS_MAX + 1));
}

#[test]
fn files() {
    let line =
        |count: usize| (0..count).fold("cat".to_owned(), |line, index| format!("{line} f{index}"));
    // Each counts twice: as a use, and as a path that a link may have redirected.
    let most = FILES_MAX / 2;
    assert_eq!(analyze_line(&line(most)).files.len(), most);
    check(&line(most), &line(most + 1));
}

#[test]
fn wrappers() {
    let line = |count: usize| format!("{}a", "nohup ".repeat(count));
    check(&line(THROUGH_MAX), &line(THROUGH_MAX + 1));
}

/// Input that makes parsers hang, abort or run out of stack. The test is that each call returns.
#[test]
fn lines_that_parsers_choke_on() {
    let many = |text: &str| text.repeat(LINE_BYTES_MAX / text.len());
    for part in [
        "( ",
        "{ ",
        "[[ ",
        "((",
        "$(",
        "${",
        "$((",
        "`",
        "\"",
        "'",
        "\\",
        "if ",
        "while ",
        "case a in ",
        "f() ",
        "! ",
        "a | ",
        "a && ",
        "a;",
        "a&",
        "<<E ",
        "<<E\n",
        "<( ",
        "> a ",
        "a=(",
        "\"$x",
        "$'",
        "${x:-",
        "do ",
        "\n",
        "#",
        "echo $(a) ",
        "\"`a`\" ",
        "@(",
        "=",
        "{a,",
        "a[",
        "time ",
        "coproc ",
        "function ",
        "for x in ",
        "~",
        "$[",
    ] {
        let _ = analyze_line(&many(part));
        let _ = analyze_line(&part.repeat(NESTING_MAX));
        let _ = analyze_line(&format!("echo {}", part.repeat(NESTING_MAX / 2)));
    }
}
