//! The calls of a run that may or may not have happened, and the command to type about each.

use haft_app::records::input_summary;
use haft_journal::CallRow;

use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;

/// Calls in doubt that are shown with their commands.
pub(crate) const DOUBTS_SHOWN_MAX: usize = 20;

/// Returns the list of calls in doubt with the commands that settle them and that resume the run. Empty without doubts.
pub(super) fn doubts_text(
    doubts: &[CallRow],
    going_on: Option<String>,
    settings: &SettingArgs,
) -> String {
    let what = match doubts.len() {
        0 => return String::new(),
        1 => "1 call is in doubt: it was begun, and it".to_owned(),
        count => format!("{count} calls are in doubt: they were begun, and each"),
    };
    let mut lines = vec![format!("\n{what} may or may not have happened:")];
    for call in doubts.iter().take(DOUBTS_SHOWN_MAX) {
        let (id, tool) = (call.id(), haft_contract::escape_controls(&call.tool));
        lines.push(format!("  {id}  {tool}  {}", input_summary(&call.input)));
        lines.extend(call.idempotency_key().map(|key| format!("    idempotency key {key}")));
    }
    if let Some(more) = doubts.len().checked_sub(DOUBTS_SHOWN_MAX).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more"));
    }
    // One call is named, so that the command can be pasted.
    let call = match doubts {
        [only] => only.id().to_string(),
        _ => "CALL".to_owned(),
    };
    lines.push("Find out, then say so:".to_owned());
    for (verdict, meaning) in [
        ("happened", "it is not executed again"),
        ("not-happened", "a resume executes it"),
        ("retry", "a resume executes it although it may have happened"),
    ] {
        let command = format!("haft runs settle {call} {verdict:<14}# {meaning}");
        lines.push(format!("  {}", hint::with_journal_options(&command, settings)));
    }
    lines.extend(going_on);
    lines.join("\n") + "\n"
}
