//! Every bound of the contract, each with its unit in its name. `docs/limits.md` is generated from
//! [`TABLE`].

/// Longest tool id, in characters.
pub const TOOL_ID_CHARS_MAX: usize = 64;
/// Default output limit of a call, and the limit of a file, content or patch, in bytes.
pub const OUTPUT_BYTES_DEFAULT: usize = 200_000;
/// Largest output limit that can be configured, in bytes.
pub const OUTPUT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Largest sidecar of a search, in bytes.
pub const SEARCH_SIDECAR_BYTES_MAX: usize = 10_000_000;
/// End of a cut output of a command that stays in the envelope, in bytes.
pub const OUTPUT_TAIL_BYTES: usize = 8 * 1024;
/// Paths that `glob` returns before it cuts.
pub const GLOB_ENTRIES_MAX: usize = 1_000;
/// Matches that `grep` returns before it cuts.
pub const GREP_MATCHES_MAX: usize = 200;
/// Default time for one call, in milliseconds.
pub const TIMEOUT_MS_DEFAULT: u64 = 60_000;
/// Longest time for one call that can be asked for, in milliseconds (`BASH_TOOL_MAX_*`).
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Longest `cmd` of bash, in characters.
pub const BASH_CMD_CHARS_MAX: usize = 8_192;
/// Most `args` of bash.
pub const BASH_ARGS_MAX: usize = 128;
/// Longest single argument of bash, in characters.
pub const BASH_ARG_CHARS_MAX: usize = 8_192;
/// Longest `cwd` of bash, in characters.
pub const BASH_CWD_CHARS_MAX: usize = 1_024;
/// Longest path that a file tool takes, in bytes.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Names in a path that a file tool takes.
pub const PATH_NAMES_MAX: usize = 256;
/// Matches that `tool_search` answers with.
pub const TOOL_MATCHES_MAX: usize = 10;
/// Longest query of `tool_search`, in characters.
pub const TOOL_QUERY_CHARS_MAX: usize = 1_000;
/// Longest description of a tool that is declared as a command, in characters.
pub const COMMAND_DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Entries of a todo list.
pub const TODOS_MAX: usize = 1_000;
/// Questions that one call puts to a person.
pub const QUESTIONS_MAX: usize = 10;
/// Time that `task` gives a subagent it waits for, in milliseconds.
pub const TASK_MS: u64 = TIMEOUT_MS_MAX;
/// Longest name of a subagent in a task, in characters.
pub const TASK_NAME_CHARS_MAX: usize = 64;
/// Longest task of a subagent, in characters.
pub const TASK_PROMPT_CHARS_MAX: usize = 100_000;
/// Most that is kept with a task, in bytes of JSON.
pub const TASK_METADATA_BYTES_MAX: usize = 16 * 1024;
/// Options of one question.
pub const QUESTION_OPTIONS_MAX: usize = 20;
/// Longest question, in characters.
pub const QUESTION_CHARS_MAX: usize = 4_000;
/// Longest heading of a question, in characters.
pub const QUESTION_HEADER_CHARS_MAX: usize = 100;
/// Longest option, in characters.
pub const QUESTION_LABEL_CHARS_MAX: usize = 200;
/// Longest description of an option, in characters.
pub const QUESTION_DESCRIPTION_CHARS_MAX: usize = 1_000;
/// Longest answer in a person's own words, in characters.
pub const QUESTION_ANSWER_CHARS_MAX: usize = 10_000;
/// Longest description of a tool of an MCP server as it is listed, in characters.
pub const LISTED_CHARS_MAX: usize = 200;
/// Longest run or node name, in characters.
pub const SCOPE_NAME_CHARS_MAX: usize = 128;
/// The times after the first, second, … failure in a row for which a program of other people, such as a server, is left alone,
/// in seconds; then the last one holds.
pub const LEFT_ALONE_SECONDS: [u64; 5] = [1, 2, 5, 15, 60];
/// Schema violations listed in one error.
pub const SCHEMA_ERRORS_MAX: usize = 20;
/// Near matches named in one error.
pub const SUGGESTIONS_MAX: usize = 3;

/// One row of the table of limits.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// What the value counts.
    pub unit: &'static str,
    /// What is bounded.
    pub what: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

impl Limit {
    /// Returns a row.
    pub const fn new(
        name: &'static str,
        value: u64,
        unit: &'static str,
        what: &'static str,
        beyond: &'static str,
    ) -> Self {
        Self { name, value, unit, what, beyond }
    }
}

/// All bounds of the contract, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "TOOL_ID_CHARS_MAX",
        TOOL_ID_CHARS_MAX as u64,
        "characters",
        "a tool id",
        "the id is refused",
    ),
    Limit::new(
        "OUTPUT_BYTES_DEFAULT",
        OUTPUT_BYTES_DEFAULT as u64,
        "bytes",
        "an output, a file read whole, a content, a patch",
        "an output is cut, with the rest in a sidecar; the others are refused",
    ),
    Limit::new(
        "OUTPUT_BYTES_MAX",
        OUTPUT_BYTES_MAX as u64,
        "bytes",
        "the output limit that can be configured; a command's sidecar",
        "a larger setting is refused; a sidecar ends there",
    ),
    Limit::new(
        "SEARCH_SIDECAR_BYTES_MAX",
        SEARCH_SIDECAR_BYTES_MAX as u64,
        "bytes",
        "what grep and glob collect past their limit",
        "the search ends there and says so",
    ),
    Limit::new(
        "OUTPUT_TAIL_BYTES",
        OUTPUT_TAIL_BYTES as u64,
        "bytes",
        "the end of a cut command output kept in the envelope",
        "what stands between the beginning and the end is in the sidecar alone",
    ),
    Limit::new(
        "GLOB_ENTRIES_MAX",
        GLOB_ENTRIES_MAX as u64,
        "paths",
        "the result of glob",
        "the result is cut and says so",
    ),
    Limit::new(
        "GREP_MATCHES_MAX",
        GREP_MATCHES_MAX as u64,
        "matches",
        "the result of grep",
        "the result is cut and says so",
    ),
    Limit::new(
        "TIMEOUT_MS_DEFAULT",
        TIMEOUT_MS_DEFAULT,
        "milliseconds",
        "one call, unless configured",
        "the call is stopped",
    ),
    Limit::new(
        "TIMEOUT_MS_MAX",
        TIMEOUT_MS_MAX,
        "milliseconds",
        "the timeout that can be asked for",
        "the setting or the input is refused",
    ),
    Limit::new(
        "BASH_CMD_CHARS_MAX",
        BASH_CMD_CHARS_MAX as u64,
        "characters",
        "cmd of bash",
        "the input is refused",
    ),
    Limit::new(
        "BASH_ARGS_MAX",
        BASH_ARGS_MAX as u64,
        "arguments",
        "args of bash",
        "the input is refused",
    ),
    Limit::new(
        "BASH_ARG_CHARS_MAX",
        BASH_ARG_CHARS_MAX as u64,
        "characters",
        "one argument of bash",
        "the input is refused",
    ),
    Limit::new(
        "BASH_CWD_CHARS_MAX",
        BASH_CWD_CHARS_MAX as u64,
        "characters",
        "opts.cwd of bash",
        "the input is refused",
    ),
    Limit::new(
        "PATH_BYTES_MAX",
        PATH_BYTES_MAX as u64,
        "bytes",
        "a path given to a file tool",
        "the path is refused",
    ),
    Limit::new(
        "PATH_NAMES_MAX",
        PATH_NAMES_MAX as u64,
        "names",
        "a path given to a file tool",
        "the path is refused",
    ),
    Limit::new(
        "TOOL_MATCHES_MAX",
        TOOL_MATCHES_MAX as u64,
        "tools",
        "what tool_search finds",
        "the best are taken",
    ),
    Limit::new(
        "TOOL_QUERY_CHARS_MAX",
        TOOL_QUERY_CHARS_MAX as u64,
        "characters",
        "a query of tool_search",
        "the input is refused",
    ),
    Limit::new(
        "COMMAND_DESCRIPTION_CHARS_MAX",
        COMMAND_DESCRIPTION_CHARS_MAX as u64,
        "characters",
        "what a manifest says of a command that it declares as a tool",
        "the manifest is refused",
    ),
    Limit::new("TODOS_MAX", TODOS_MAX as u64, "entries", "a todo list", "the input is refused"),
    Limit::new(
        "QUESTIONS_MAX",
        QUESTIONS_MAX as u64,
        "questions",
        "what one call asks a person",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_OPTIONS_MAX",
        QUESTION_OPTIONS_MAX as u64,
        "options",
        "the answers that one question offers",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_CHARS_MAX",
        QUESTION_CHARS_MAX as u64,
        "characters",
        "a question to a person",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_HEADER_CHARS_MAX",
        QUESTION_HEADER_CHARS_MAX as u64,
        "characters",
        "the heading of a question to a person",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_LABEL_CHARS_MAX",
        QUESTION_LABEL_CHARS_MAX as u64,
        "characters",
        "an option of a question",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_DESCRIPTION_CHARS_MAX",
        QUESTION_DESCRIPTION_CHARS_MAX as u64,
        "characters",
        "what is said of an option",
        "the input is refused",
    ),
    Limit::new(
        "QUESTION_ANSWER_CHARS_MAX",
        QUESTION_ANSWER_CHARS_MAX as u64,
        "characters",
        "an answer in a person's own words",
        "the rest is left out",
    ),
    Limit::new(
        "TASK_MS",
        TASK_MS,
        "milliseconds",
        "a task of a subagent that is waited for",
        "the subagent is stopped",
    ),
    Limit::new(
        "TASK_NAME_CHARS_MAX",
        TASK_NAME_CHARS_MAX as u64,
        "characters",
        "the name of a subagent in a task",
        "the input is refused",
    ),
    Limit::new(
        "TASK_PROMPT_CHARS_MAX",
        TASK_PROMPT_CHARS_MAX as u64,
        "characters",
        "the prompt of a task",
        "the input is refused",
    ),
    Limit::new(
        "TASK_METADATA_BYTES_MAX",
        TASK_METADATA_BYTES_MAX as u64,
        "bytes",
        "the metadata of a task",
        "the input is refused",
    ),
    Limit::new(
        "LISTED_CHARS_MAX",
        LISTED_CHARS_MAX as u64,
        "characters",
        "the description of a tool of an MCP server where tools are listed",
        "the rest is found by tool_search",
    ),
    Limit::new(
        "SCOPE_NAME_CHARS_MAX",
        SCOPE_NAME_CHARS_MAX as u64,
        "characters",
        "a run or node name",
        "the name is refused",
    ),
    Limit::new(
        "LEFT_ALONE_SECONDS",
        LEFT_ALONE_SECONDS[4],
        "seconds",
        "the time for which an MCP server or a language server that failed again and again is left alone: 1, 2, 5, 15, and then",
        "it is started again when it is asked",
    ),
    Limit::new(
        "SCHEMA_ERRORS_MAX",
        SCHEMA_ERRORS_MAX as u64,
        "errors",
        "schema violations listed at once",
        "further ones are counted",
    ),
    Limit::new(
        "SUGGESTIONS_MAX",
        SUGGESTIONS_MAX as u64,
        "names",
        "near matches named in an error",
        "further ones are left out",
    ),
];
