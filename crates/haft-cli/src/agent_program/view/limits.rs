//! The limits of `haft agent`, each with its unit in its name.

/// Events that are held during a question to the person; further ones are only counted.
pub(crate) const EVENTS_HELD_MAX: usize = 10_000;
/// Calls of one answer that are named before they are made.
pub(crate) const ANNOUNCED_CALLS_MAX: usize = 5;
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
/// Largest text of a change that is compared with another, in bytes.
pub(crate) const COMPARED_BYTES_MAX: usize = 64 * 1024;
/// Lines of a text that is compared with another: the time grows with their square.
pub(crate) const COMPARED_LINES_MAX: usize = 2_000;
