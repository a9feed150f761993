//! `haft help-limits`: every bound of haft as one table, which is committed as `docs/limits.md`.

use haft_contract::limits::Limit;

use crate::ask::{ANSWER_BYTES_MAX, ANSWER_TRIES_MAX, ASKED_TEXT_CHARS_MAX};
use crate::command::runs::{TAIL_CALLS, TAIL_POLL_MS};
use crate::error::{CommandError, Status};
use crate::input::INPUT_BYTES_MAX;
use crate::manifest::{
    MANIFEST_BYTES_MAX, MANIFEST_PROBLEMS_MAX, SANDBOX_FILE_BYTES_MAX, SANDBOX_FILE_BYTES_MIN,
    SANDBOX_MEMORY_BYTES_MAX, SANDBOX_MEMORY_BYTES_MIN, SANDBOX_OPEN_FILES_MAX,
    SANDBOX_OPEN_FILES_MIN, SANDBOX_PROCESSES_MAX, SANDBOX_PROCESSES_MIN, SANDBOX_TEMP_BYTES_MAX,
    SANDBOX_TEMP_BYTES_MIN, WATCHDOG_TIMEOUT_MS_DEFAULT, WATCHDOG_TIMEOUT_MS_MAX, WATCHDOGS_MAX,
};
use crate::output;
use crate::project::{PROJECT_BYTES_MAX, PROJECT_RULES_MAX};
use crate::state::{SESSIONS_SWEPT_MAX, SIDECARS_KEPT_DAYS};

const OWN: &[Limit] = &[
    Limit::new("INPUT_BYTES_MAX", INPUT_BYTES_MAX, "bytes", "the input of `haft call`"),
    Limit::new("MANIFEST_BYTES_MAX", MANIFEST_BYTES_MAX, "bytes", "a `haft.toml`"),
    Limit::new(
        "MANIFEST_PROBLEMS_MAX",
        MANIFEST_PROBLEMS_MAX as u64,
        "problems",
        "what is listed of a `haft.toml` at once",
    ),
    Limit::new(
        "SANDBOX_MEMORY_BYTES_MIN",
        SANDBOX_MEMORY_BYTES_MIN,
        "bytes",
        "least `sandbox.memory_bytes`",
    ),
    Limit::new(
        "SANDBOX_MEMORY_BYTES_MAX",
        SANDBOX_MEMORY_BYTES_MAX,
        "bytes",
        "most `sandbox.memory_bytes`",
    ),
    Limit::new(
        "SANDBOX_PROCESSES_MIN",
        SANDBOX_PROCESSES_MIN,
        "processes",
        "least `sandbox.processes`",
    ),
    Limit::new(
        "SANDBOX_PROCESSES_MAX",
        SANDBOX_PROCESSES_MAX,
        "processes",
        "most `sandbox.processes`",
    ),
    Limit::new(
        "SANDBOX_TEMP_BYTES_MIN",
        SANDBOX_TEMP_BYTES_MIN,
        "bytes",
        "least `sandbox.temp_bytes`",
    ),
    Limit::new(
        "SANDBOX_TEMP_BYTES_MAX",
        SANDBOX_TEMP_BYTES_MAX,
        "bytes",
        "most `sandbox.temp_bytes`",
    ),
    Limit::new(
        "SANDBOX_FILE_BYTES_MIN",
        SANDBOX_FILE_BYTES_MIN,
        "bytes",
        "least `sandbox.file_bytes`",
    ),
    Limit::new(
        "SANDBOX_FILE_BYTES_MAX",
        SANDBOX_FILE_BYTES_MAX,
        "bytes",
        "most `sandbox.file_bytes`",
    ),
    Limit::new(
        "SANDBOX_OPEN_FILES_MIN",
        SANDBOX_OPEN_FILES_MIN,
        "files",
        "least `sandbox.open_files`",
    ),
    Limit::new(
        "SANDBOX_OPEN_FILES_MAX",
        SANDBOX_OPEN_FILES_MAX,
        "files",
        "most `sandbox.open_files`",
    ),
    Limit::new("WATCHDOGS_MAX", WATCHDOGS_MAX as u64, "watchdogs", "what one `haft.toml` names"),
    Limit::new(
        "WATCHDOG_TIMEOUT_MS_DEFAULT",
        WATCHDOG_TIMEOUT_MS_DEFAULT,
        "milliseconds",
        "a watchdog's program that sets no time",
    ),
    Limit::new(
        "WATCHDOG_TIMEOUT_MS_MAX",
        WATCHDOG_TIMEOUT_MS_MAX,
        "milliseconds",
        "a watchdog's program for one call",
    ),
    Limit::new(
        "PROJECT_RULES_MAX",
        PROJECT_RULES_MAX as u64,
        "rules",
        "what is kept for a project",
    ),
    Limit::new("PROJECT_BYTES_MAX", PROJECT_BYTES_MAX, "bytes", "the rules for a project"),
    Limit::new("ANSWER_BYTES_MAX", ANSWER_BYTES_MAX, "bytes", "an answer on the terminal"),
    Limit::new(
        "ANSWER_TRIES_MAX",
        ANSWER_TRIES_MAX as u64,
        "answers",
        "what is taken before a call is rejected",
    ),
    Limit::new(
        "ASKED_TEXT_CHARS_MAX",
        ASKED_TEXT_CHARS_MAX as u64,
        "characters",
        "what is shown of one text of a question",
    ),
    Limit::new(
        "TAIL_CALLS",
        TAIL_CALLS as u64,
        "calls",
        "the past that `haft runs tail` begins with",
    ),
    Limit::new("TAIL_POLL_MS", TAIL_POLL_MS, "milliseconds", "two looks of `haft runs tail`"),
    Limit::new(
        "SIDECARS_KEPT_DAYS",
        SIDECARS_KEPT_DAYS,
        "days",
        "cut outputs that outlive their session",
    ),
    Limit::new(
        "SESSIONS_SWEPT_MAX",
        SESSIONS_SWEPT_MAX as u64,
        "sessions",
        "what one start removes of old cut outputs",
    ),
];

/// Runs the command.
pub(crate) fn run() -> Result<Status, CommandError> {
    let sections = [
        ("Calls", haft_contract::limits::TABLE),
        ("Pipeline", haft::limits::TABLE),
        ("Tools", haft_tools::limits::TABLE),
        ("Journal", haft_journal::limits::TABLE),
        ("MCP", haft_mcp::limits::TABLE),
        ("Command line", OWN),
    ];
    let mut text = String::from(
        "# Limits\n\nEvery bound of haft. This file is generated: `cargo xtask generated` writes it.\n",
    );
    for (heading, table) in sections {
        text.push_str(&format!("\n## {heading}\n\n| bound | value | of |\n|---|---:|---|\n"));
        for Limit { name, value, unit, what } in table {
            text.push_str(&format!("| `{name}` | {} {unit} | {what} |\n", grouped(*value)));
        }
    }
    output::data(&text)?;
    Ok(Status::Done)
}

/// Returns `1,234,567`.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        for (value, expect) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (10_485_760, "10,485,760")]
        {
            assert_eq!(grouped(value), expect);
        }
    }
}
