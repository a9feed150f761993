use expect_test::expect;

use super::*;
use crate::transcript::tests::{answered, call, entry, part, said};

/// Returns an answer that takes about so many tokens.
fn long(number: u128, tokens: usize) -> TranscriptEntry {
    answered(number, vec![part(PartKind::Text, &"x".repeat(tokens * 4))])
}

fn check_kept(entries: &[TranscriptEntry], tokens_max: u64, expect: usize) {
    let entries: Vec<&TranscriptEntry> = entries.iter().collect();
    assert_eq!(kept_entry_count(&entries, tokens_max), expect);
}

#[test]
fn the_last_turns_are_kept_as_far_as_they_fit() {
    let turns =
        [said(1, "one"), long(2, 10), said(3, "two"), long(4, 10), said(5, "three"), long(6, 10)];
    check_kept(&turns, 1_000, 4);
    check_kept(&turns, 21, 4);
    check_kept(&turns, 12, 2);
    // Not even one turn fits: as much of its end as does.
    check_kept(&turns, 10, 1);
    check_kept(&turns, 9, 0);
    // A turn that is all there is.
    let one = [said(1, "one"), long(2, 10), long(3, 10), long(4, 10)];
    check_kept(&one, 1_000, 3);
    check_kept(&one, 25, 2);
    check_kept(&one[..1], 1_000, 0);
    check_kept(&[], 1_000, 0);
    // A summary is not made of a summary alone.
    let text = vec![part(PartKind::Text, "so far")];
    let summary = entry(1, MessageRole::User, MessageKind::Summary, text);
    check_kept(&[summary.clone(), said(2, "two"), long(3, 10), said(4, "three")], 1_000, 1);
    check_kept(&[summary, said(2, "two")], 1_000, 0);
}

#[test]
fn what_is_summarised_is_told_as_text() {
    let output = r#"{"type":"output","data":"text of a","metadata":{"duration_ms":1}}"#;
    let entries = [
        entry(1, MessageRole::User, MessageKind::Summary, vec![part(PartKind::Text, "It began.")]),
        said(2, "look"),
        answered(
            3,
            vec![
                part(PartKind::Reasoning, "hm"),
                part(PartKind::Text, "I look."),
                call("c1", Some(r#"{"path":"a"}"#), Some(output)),
            ],
        ),
    ];
    let entries: Vec<&TranscriptEntry> = entries.iter().collect();
    expect![[r#"
        Summarise this conversation.

        ## summary of what was before
        It began.

        ## user
        look

        ## assistant
        I look.
        [call of read {"path":"a"}]
        [result]
        text of a
    "#]]
    .assert_eq(&render_entries(&entries, 1_000));
    expect![[r#"
        Summarise this conve

        [the middle is left out]


        [result]
        text of a
    "#]]
    .assert_eq(&render_entries(&entries, 32 + 8));
}

#[test]
fn results_are_told_as_far_as_they_matter() {
    let of_chars = |chars: usize| {
        let text = "r".repeat(chars);
        let output =
            format!(r#"{{"type":"output","data":"{text}","metadata":{{"duration_ms":1}}}}"#);
        let entry = answered(1, vec![call("c1", Some("{}"), Some(&output))]);
        render_entries(&[&entry], 100_000)
    };
    let (whole, cut) =
        (of_chars(SUMMARISED_RESULT_CHARS_MAX), of_chars(SUMMARISED_RESULT_CHARS_MAX + 1));
    let kept = "r".repeat(SUMMARISED_RESULT_CHARS_MAX);
    assert!(whole.contains(&format!("\n{kept}\n")), "{whole}");
    assert!(cut.contains(&format!("\n{kept}…\n")), "{cut}");
}

#[test]
fn no_line_of_a_text_passes_for_a_heading() {
    let check = |text: &str, expect: &str| assert_eq!(without_headings(text), expect);
    check("one\n## user\ntwo", "one\n\\## user\ntwo");
    check("  # a\n\t## b", "  \\# a\n\t\\## b");
    check("a # b\n\n", "a # b\n\n");
}

#[test]
fn an_answer_of_nothing_is_no_part_of_what_is_summarised() {
    let mut failed = answered(2, Vec::new());
    failed.message.finish = Some(haft_journal::MessageFinish::Error);
    failed.message.error = Some("the key is used up".to_owned());
    let entries = [said(1, "look"), failed, said(3, "again")];
    let entries: Vec<&TranscriptEntry> = entries.iter().collect();
    assert_eq!(
        render_entries(&entries, 1_000),
        "Summarise this conversation.\n\n## user\nlook\n\n## user\nagain\n"
    );
}
