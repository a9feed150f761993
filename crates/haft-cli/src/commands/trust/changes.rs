//! The lines of a manifest that changed since its content was trusted last.

use haft_app::without_secrets;

/// Changed lines that are shown. Of more, only the number is said.
const CHANGED_LINES_MAX: usize = 200;
/// Unchanged lines around a change that are shown.
const CONTEXT_LINES: usize = 1;

/// Returns the lines that differ, each with its sign, and a few lines around them. Passwords and secrets are left out.
pub(super) fn changed_lines(before: &str, now: &str) -> Vec<String> {
    let mut options = diffy::DiffOptions::new();
    options.set_context_len(CONTEXT_LINES);
    let patch = options.create_patch(before, now).to_string();
    // The two lines at the top name files.
    let is_line = |line: &&str| !line.starts_with("@@") && !line.starts_with("\\ No newline");
    let lines = patch.lines().skip(2).filter(is_line).map(without_secrets);
    let mut lines: Vec<String> = lines.collect();
    if let Some(more @ 1..) = lines.len().checked_sub(CHANGED_LINES_MAX) {
        lines.truncate(CHANGED_LINES_MAX);
        lines.push(format!("and {more} more lines"));
    }
    lines
}

/// Returns the changed lines as they are shown behind the name of the file.
pub(super) fn text(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("changed since you trusted it:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_shown_up_to_a_bound() {
        let before = "preset = \"ask\"\n# a\n# b\n# c\n";
        let now = "preset = \"full\"\n# a\n# b\n# c\n";
        assert_eq!(changed_lines(before, now), ["-preset = \"ask\"", "+preset = \"full\"", " # a"]);
        assert_eq!(changed_lines(before, before), [""; 0]);
        let lines = changed_lines("", "[network]\nproxy = \"you:s3cret@proxy:1\"\n");
        assert_eq!(lines, ["+[network]", "+proxy = \"***\""]);
        let many: String = (0..CHANGED_LINES_MAX).map(|line| format!("# {line}\n")).collect();
        assert_eq!(changed_lines("", &many).len(), CHANGED_LINES_MAX);
        let more = changed_lines("", &format!("{many}# end\n"));
        assert_eq!(more.last().unwrap(), "and 1 more lines");
    }
}
