//! The limits of `haft agent`, each with its unit in its name.

/// Events that are held during a question to the person; further ones are only counted.
pub(crate) const EVENTS_HELD_MAX: usize = 10_000;
/// Calls that are named while they are made.
pub(crate) const LIVE_CALLS_MAX: usize = 5;
/// Lines of the output of a running command that are shown.
pub(crate) const LIVE_OUTPUT_LINES_MAX: usize = 5;
/// Lines of unfinished text that are shown.
pub(crate) const LIVE_TEXT_LINES_MAX: usize = 3;
/// Time between two drawings of the lines that change, in milliseconds.
pub(crate) const LIVE_DRAW_MS: u64 = 100;
/// Columns of a terminal that does not know them.
pub(crate) const COLUMNS_DEFAULT: usize = 80;
/// Fewest columns that lines are folded to.
pub(crate) const COLUMNS_MIN: usize = 20;
/// Bytes of one block of markdown. More is shown before the block ends.
pub(crate) const MARKDOWN_BLOCK_BYTES_MAX: usize = 64 * 1024;
/// Characters of a thought that are shown.
pub(crate) const THOUGHT_CHARS_MAX: usize = 280;
/// Characters of a notice to the agent that are shown.
pub(crate) const NOTICE_CHARS_MAX: usize = 160;
/// Characters of a subagent's task that are shown when it begins.
pub(crate) const TASK_CHARS_MAX: usize = 60;
/// Lines of a change that are shown beneath the line of a call.
pub(crate) const CHANGE_LINES_MAX: usize = 16;
/// Characters of one such line.
pub(crate) const CHANGE_LINE_CHARS_MAX: usize = 160;
/// Unchanged lines that are shown around a change.
pub(crate) const CHANGE_CONTEXT_LINES: usize = 3;
/// Largest file whose lines are numbered in a change, in bytes.
pub(crate) const TEXT_BEFORE_BYTES_MAX: usize = 1024 * 1024;
/// Largest text of a change that is compared with another, in bytes.
pub(crate) const COMPARED_BYTES_MAX: usize = 64 * 1024;
/// Lines of a text that is compared with another: the time grows with their square.
pub(crate) const COMPARED_LINES_MAX: usize = 2_000;
