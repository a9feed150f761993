//! The result of a call in a few words on one line. Models, tools and the files that they read wrote the text, so haft
//! escapes it.

use clap::builder::styling::{AnsiColor, Style};
use haft_contract::{Envelope, ErrorCode, cut};

use crate::views::path_text::counted;
use crate::views::time::duration_in_words;

/// Characters of the text of an error that are shown on the line of a call.
pub(crate) const OUTCOME_CHARS_MAX: usize = 160;
const FAILED: Style = AnsiColor::Red.on_default();
const IN_DOUBT: Style = AnsiColor::Magenta.on_default();
const DIM: Style = Style::new().dimmed();

/// Returns the line of a call that has ended: its title, result and duration.
pub(crate) fn line_of_result(title: &str, tool: &str, envelope: &Envelope) -> String {
    let metadata = envelope.metadata();
    let (style, text) = match envelope {
        Envelope::Error { error_text, .. } => {
            let style = if metadata.code == Some(ErrorCode::InDoubt) { IN_DOUBT } else { FAILED };
            let code =
                metadata.code.map_or_else(String::new, |code| format!("{}: ", code.as_str()));
            (style, format!("{code}{}", cut(&on_one_line(error_text), OUTCOME_CHARS_MAX)))
        }
        Envelope::Output { data, .. } => match metadata.exit_code {
            Some(status) if status != 0 => (FAILED, format!("exit {status}")),
            // The size of these answers is of no use.
            Some(_) | None if ["write", "edit", "todo", "question"].contains(&tool) => {
                (DIM, String::new())
            }
            Some(_) | None => {
                let count = |name: &str, one: &str, many: &str| {
                    let count = data.get(name)?.as_array()?.len();
                    Some(if count == 1 { format!("1 {one}") } else { format!("{count} {many}") })
                };
                let listed = count("paths", "path", "paths")
                    .or_else(|| count("matches", "match", "matches"));
                let cut = metadata.truncated.then(|| "output cut".to_owned());
                let size =
                    listed.or(cut).unwrap_or_else(|| match envelope.text().lines().count() {
                        0 => "no output".to_owned(),
                        lines => counted(lines, "line"),
                    });
                (DIM, size)
            }
        },
    };
    let text = if text.is_empty() { text } else { format!(" · {text}") };
    let replayed = if metadata.replayed { " · recalled" } else { "" };
    let time = duration_in_words(metadata.duration_ms);
    format!("{title}{style}{text}{style:#}{DIM}{replayed} · {time}{DIM:#}")
}

/// Returns a text on one line, without characters that would control a terminal.
pub(crate) fn on_one_line(text: &str) -> String {
    haft_contract::escape_controls(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use haft_contract::EnvelopeMetadata;
    use serde_json::{Value, json};

    use super::*;

    fn plain(envelope: &Envelope, tool: &str) -> String {
        anstream::adapter::strip_str(&line_of_result("title", tool, envelope)).to_string()
    }

    #[test]
    fn a_line_says_what_came_of_a_call() {
        let check = |tool: &str, data: Value, metadata: EnvelopeMetadata, expect: &str| {
            assert_eq!(plain(&Envelope::Output { data, metadata }, tool), expect);
        };
        let metadata = || EnvelopeMetadata { duration_ms: 3, ..EnvelopeMetadata::default() };
        check("read", json!("a\nb\n"), metadata(), "title · 2 lines · 3 ms");
        check("bash", json!({"output": ""}), metadata(), "title · no output · 3 ms");
        check("write", json!("ok"), metadata(), "title · 3 ms");
        check("glob", json!({"paths": ["a"]}), metadata(), "title · 1 path · 3 ms");
        let failed = EnvelopeMetadata { exit_code: Some(101), ..metadata() };
        check("bash", json!({"output": "x"}), failed, "title · exit 101 · 3 ms");
        let cut = EnvelopeMetadata { truncated: true, replayed: true, ..metadata() };
        check("read", json!({"head": "a"}), cut, "title · output cut · recalled · 3 ms");
    }

    #[test]
    fn an_error_is_cut_and_controls_no_terminal() {
        let metadata =
            EnvelopeMetadata { code: Some(ErrorCode::InDoubt), ..EnvelopeMetadata::default() };
        let of = |text: &str| {
            let error_text = text.to_owned();
            plain(&Envelope::Error { error_text, metadata: metadata.clone() }, "bash")
        };
        assert_eq!(of("it\n\u{1b}[2J"), "title · IN_DOUBT: it \\u{1b}[2J · 0 ms");
        let long = "x".repeat(OUTCOME_CHARS_MAX);
        assert_eq!(of(&long), format!("title · IN_DOUBT: {long} · 0 ms"));
        assert!(of(&format!("{long}y")).contains("x… · 0 ms"));
    }
}
