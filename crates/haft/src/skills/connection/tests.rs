use super::*;

/// Returns the last line of a list of so many skills, whose descriptions are so long.
fn last_line(skills: usize, chars: usize) -> String {
    let description = "é".repeat(chars);
    let skills = vec![SkillSummary { name: "s".to_owned(), description }; skills];
    skill_index(&skills).lines().last().unwrap_or_default().to_owned()
}

fn check_share(skills: usize, share: usize) {
    let whole = format!("- s: {}", "é".repeat(share));
    assert_eq!(last_line(skills, share), whole, "{skills} skills");
    assert_eq!(last_line(skills, share + 1), format!("{whole}…"), "{skills} skills");
}

#[test]
fn descriptions_are_cut_at_their_share_and_no_further_than_there_is_use_in() {
    check_share(1, SKILL_INDEX_CHARS_MAX);
    check_share(16, SKILL_INDEX_CHARS_MAX / 16);
    let many = SKILL_INDEX_CHARS_MAX / SKILL_INDEX_LINE_CHARS_MIN;
    check_share(many, SKILL_INDEX_LINE_CHARS_MIN);
    check_share(many * 2, SKILL_INDEX_LINE_CHARS_MIN);
}
