//! The limits of the contract, each with its unit in its name. `cargo xtask generated` lists the
//! constants whose comment has a line `Limit (…)` in `docs/limits.md`.

/// Longest tool id, in characters.
///
/// Limit (calls): the tool is refused when it is registered.
pub const TOOL_ID_CHARS_MAX: usize = 64;
/// Default output limit of a call, and the largest file, content or patch that a tool takes whole,
/// in bytes.
///
/// Limit (calls): an output is truncated and the rest is in the sidecar; a file, content or patch
/// is refused.
pub const OUTPUT_BYTES_DEFAULT: usize = 200_000;
/// Largest output limit that can be configured, and the largest sidecar of a command, in bytes.
///
/// Limit (calls): a larger setting is refused; the sidecar ends there.
pub const OUTPUT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Largest sidecar of a search, in bytes.
///
/// Limit (files): the search ends and says so.
pub const SEARCH_SIDECAR_BYTES_MAX: usize = 10_000_000;
/// End of a truncated command output that stays in the envelope, in bytes.
///
/// Limit (commands): the middle is only in the sidecar.
pub const OUTPUT_TAIL_BYTES: usize = 8 * 1024;
/// Paths that `glob` returns.
///
/// Limit (files): the result is truncated and says so.
pub const GLOB_ENTRIES_MAX: usize = 1_000;
/// Matches that `grep` returns.
///
/// Limit (files): the result is truncated and says so.
pub const GREP_MATCHES_MAX: usize = 200;
/// Default timeout of a call, in milliseconds.
///
/// Limit (calls): the call is stopped.
pub const TIMEOUT_MS_DEFAULT: u64 = 60_000;
/// Default number of tools of Python files and MCP servers that a model is shown at once.
///
/// Limit (agents): the others are found with `tool_search`.
pub const LISTED_TOOLS_DEFAULT: usize = 40;
/// Largest number of tools of Python files and MCP servers that can be shown at once.
///
/// Limit (settings): the setting is refused.
pub const LISTED_TOOLS_MAX: usize = 1_000;
/// Longest timeout that can be asked for, in milliseconds (`BASH_TOOL_MAX_*`).
///
/// Limit (calls): the setting or the input is refused.
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Longest `cmd` of `bash`, in characters.
///
/// Limit (commands): the input is refused.
pub const BASH_CMD_CHARS_MAX: usize = 8_192;
/// Number of `args` of `bash`.
///
/// Limit (commands): the input is refused.
pub const BASH_ARGS_MAX: usize = 128;
/// Longest single argument of `bash`, in characters.
///
/// Limit (commands): the input is refused.
pub const BASH_ARG_CHARS_MAX: usize = 8_192;
/// Longest `cwd` of `bash`, in characters.
///
/// Limit (commands): the input is refused.
pub const BASH_CWD_CHARS_MAX: usize = 1_024;
/// Longest path that a file tool takes, in bytes.
///
/// Limit (files): the path is refused.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Names in a path that a file tool takes.
///
/// Limit (files): the path is refused.
pub const PATH_NAMES_MAX: usize = 256;
/// Matches of one `tool_search`.
///
/// Limit (calls): the best matches are returned.
pub const TOOL_MATCHES_MAX: usize = 10;
/// Longest query of `tool_search`, in characters.
///
/// Limit (calls): the input is refused.
pub const TOOL_QUERY_CHARS_MAX: usize = 1_000;
/// Longest description of a tool that is declared as a command, in characters.
///
/// Limit (settings): the manifest is refused.
pub const COMMAND_DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Entries of a todo list.
///
/// Limit (calls): the input is refused.
pub const TODOS_MAX: usize = 1_000;
/// Questions of one `question` call.
///
/// Limit (calls): the input is refused.
pub const QUESTIONS_MAX: usize = 10;
/// Longest time for a subagent that `task` waits for, in milliseconds.
///
/// Limit (agents): the subagent is stopped.
pub const TASK_MS: u64 = TIMEOUT_MS_MAX;
/// Longest name of a subagent in a task, in characters.
pub const TASK_NAME_CHARS_MAX: usize = 64;
/// Longest prompt of a subagent, in characters.
///
/// Limit (agents): the input is refused.
pub const TASK_PROMPT_CHARS_MAX: usize = 100_000;
/// Largest metadata of a task, in bytes of JSON.
///
/// Limit (agents): the input is refused.
pub const TASK_METADATA_BYTES_MAX: usize = 16 * 1024;
/// Options of one question.
///
/// Limit (calls): the input is refused.
pub const QUESTION_OPTIONS_MAX: usize = 20;
/// Longest question, in characters.
///
/// Limit (calls): the input is refused.
pub const QUESTION_CHARS_MAX: usize = 4_000;
/// Longest heading of a question, in characters.
pub const QUESTION_HEADER_CHARS_MAX: usize = 100;
/// Longest option, in characters.
pub const QUESTION_LABEL_CHARS_MAX: usize = 200;
/// Longest description of an option, in characters.
pub const QUESTION_DESCRIPTION_CHARS_MAX: usize = 1_000;
/// Longest answer that a person types, in characters.
///
/// Limit (calls): the end of the answer is dropped.
pub const QUESTION_ANSWER_CHARS_MAX: usize = 10_000;
/// Longest description of a tool of an MCP server as it is listed, in characters.
pub const LISTED_CHARS_MAX: usize = 200;
/// Longest name of a run or a node, in characters.
///
/// Limit (calls): the name is refused.
pub const SCOPE_NAME_CHARS_MAX: usize = 128;
/// The times after the first, second, … failure in a row for which a program of other people, such as a server, is left alone,
/// in seconds; then the last one holds.
pub const LEFT_ALONE_SECONDS: [u64; 5] = [1, 2, 5, 15, 60];
/// Schema violations listed in one error.
pub const SCHEMA_ERRORS_MAX: usize = 20;
/// Near matches named in one error.
pub const SUGGESTIONS_MAX: usize = 3;
