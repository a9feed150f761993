//! `haft help-limits`: every bound of haft as one table, which is committed as `docs/limits.md`.

use haft_contract::limits::Limit;
use haft_sandbox::limits as sandbox;

use crate::ask::{ANSWER_BYTES_MAX, ANSWER_TRIES_MAX, ASKED_TEXT_CHARS_MAX};
use crate::command::do_request::KEPT_PLANS_MAX;
use crate::command::mcp_servers::LOGIN_MS_MAX;
use crate::command::registry::REGISTRY_BYTES_MAX;
use crate::command::runs::{
    DOUBTS_SHOWN_MAX, INPUT_CHARS_MAX, RETRIES_SHOWN_MAX, TAIL_CALLS, TAIL_POLL_MS,
};
use crate::command::trust::TRUSTED_TOOLS_LISTED_MAX;
use crate::error::{CommandError, Status};
use crate::input::INPUT_BYTES_MAX;
use crate::log::WARNING_AGAIN_MS;
use crate::manifest::{
    COMMANDS_MAX, KEEP_DAYS_MAX, LINE_CHARS_MAX, LSP_LANGUAGES_MAX, LSP_NAME_CHARS_MAX,
    MANIFEST_BYTES_MAX, MANIFEST_PROBLEMS_MAX, MCP_NAME_CHARS_MAX, MCP_SERVERS_MAX, MODEL_MS_MAX,
    PYTHON_DIRECTORIES_MAX, PYTHON_IDLE_MS_MAX, SANDBOX_FILE_BYTES_MAX, SANDBOX_FILE_BYTES_MIN,
    SANDBOX_MEMORY_BYTES_MAX, SANDBOX_MEMORY_BYTES_MIN, SANDBOX_OPEN_FILES_MAX,
    SANDBOX_OPEN_FILES_MIN, SANDBOX_PROCESSES_MAX, SANDBOX_PROCESSES_MIN, SANDBOX_TEMP_BYTES_MAX,
    SANDBOX_TEMP_BYTES_MIN, SEARCH_PROVIDERS_MAX, SEARCHES_MAX, SKILL_PATHS_MAX,
    SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_FILES_MAX, SNAPSHOT_IGNORED_BYTES_MAX,
    WATCHDOG_TIMEOUT_MS_DEFAULT, WATCHDOG_TIMEOUT_MS_MAX, WATCHDOGS_MAX,
};
use crate::mcp_servers::{LOGIN_BYTES_MAX, SERVER_WARNINGS_MAX};
use crate::model::planning::{NODE_CHARS_MAX, NODES_LISTED_MAX, PROBLEMS_SHOWN_MAX};
use crate::output;
use crate::places::{GIT_CONFIG_BYTES_MAX, OUTSIDE_LINKS_MAX, TOOLCHAIN_LINKS_MAX};
use crate::plan_run::{LOG_LINE_CHARS_MAX, LOG_LINES_SHOWN_MAX};
use crate::plan_run::{PURPOSE_CHARS_MAX, RUNNING_LINES_MAX, TOLD_FAILURES_MAX, TOLD_NODES_MAX};
use crate::project::{PROJECT_BYTES_MAX, PROJECT_RULES_MAX};
use crate::python::{PYTHON_WARNINGS_MAX, READING_FILE_BYTES_MAX, READINGS_KEPT_MAX};
use crate::sidecars::{SESSIONS_SWEPT_MAX, SIDECARS_KEPT_DAYS};
use crate::skills::SKILL_PROBLEMS_SAID_MAX;

const OWN: &[Limit] = &[
    Limit::new(
        "WARNING_AGAIN_MS",
        WARNING_AGAIN_MS,
        "milliseconds",
        "quiet of a warning before the same is said again",
        "it is not said again",
    ),
    Limit::new(
        "INPUT_BYTES_MAX",
        INPUT_BYTES_MAX,
        "bytes",
        "the input of `haft call`",
        "the input is refused",
    ),
    Limit::new(
        "MANIFEST_BYTES_MAX",
        MANIFEST_BYTES_MAX,
        "bytes",
        "a `haft.toml`",
        "the manifest is refused",
    ),
    Limit::new(
        "MANIFEST_PROBLEMS_MAX",
        MANIFEST_PROBLEMS_MAX as u64,
        "problems",
        "what is listed of a `haft.toml` at once",
        "further ones are counted",
    ),
    Limit::new(
        "SANDBOX_MEMORY_BYTES_MIN",
        SANDBOX_MEMORY_BYTES_MIN,
        "bytes",
        "least `sandbox.memory_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_MEMORY_BYTES_MAX",
        SANDBOX_MEMORY_BYTES_MAX,
        "bytes",
        "most `sandbox.memory_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_PROCESSES_MIN",
        SANDBOX_PROCESSES_MIN,
        "processes",
        "least `sandbox.processes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_PROCESSES_MAX",
        SANDBOX_PROCESSES_MAX,
        "processes",
        "most `sandbox.processes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_TEMP_BYTES_MIN",
        SANDBOX_TEMP_BYTES_MIN,
        "bytes",
        "least `sandbox.temp_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_TEMP_BYTES_MAX",
        SANDBOX_TEMP_BYTES_MAX,
        "bytes",
        "most `sandbox.temp_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_FILE_BYTES_MIN",
        SANDBOX_FILE_BYTES_MIN,
        "bytes",
        "least `sandbox.file_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_FILE_BYTES_MAX",
        SANDBOX_FILE_BYTES_MAX,
        "bytes",
        "most `sandbox.file_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_OPEN_FILES_MIN",
        SANDBOX_OPEN_FILES_MIN,
        "files",
        "least `sandbox.open_files`",
        "the manifest is refused",
    ),
    Limit::new(
        "SANDBOX_OPEN_FILES_MAX",
        SANDBOX_OPEN_FILES_MAX,
        "files",
        "most `sandbox.open_files`",
        "the manifest is refused",
    ),
    Limit::new(
        "WATCHDOGS_MAX",
        WATCHDOGS_MAX as u64,
        "watchdogs",
        "what one `haft.toml` names",
        "the manifest is refused",
    ),
    Limit::new(
        "WATCHDOG_TIMEOUT_MS_DEFAULT",
        WATCHDOG_TIMEOUT_MS_DEFAULT,
        "milliseconds",
        "a watchdog's program that sets no time",
        "the watchdog has failed, and the call is denied",
    ),
    Limit::new(
        "WATCHDOG_TIMEOUT_MS_MAX",
        WATCHDOG_TIMEOUT_MS_MAX,
        "milliseconds",
        "a watchdog's program for one call",
        "the manifest is refused",
    ),
    Limit::new(
        "COMMANDS_MAX",
        COMMANDS_MAX as u64,
        "commands",
        "what one `haft.toml` declares as tools",
        "the manifest is refused",
    ),
    Limit::new(
        "LSP_LANGUAGES_MAX",
        LSP_LANGUAGES_MAX as u64,
        "languages",
        "what one `haft.toml` says of language servers",
        "the manifest is refused",
    ),
    Limit::new(
        "LSP_NAME_CHARS_MAX",
        LSP_NAME_CHARS_MAX as u64,
        "characters",
        "the name of a language",
        "the manifest is refused",
    ),
    Limit::new(
        "MCP_SERVERS_MAX",
        MCP_SERVERS_MAX as u64,
        "servers",
        "what one `haft.toml` names of MCP servers",
        "the manifest is refused",
    ),
    Limit::new(
        "MCP_NAME_CHARS_MAX",
        MCP_NAME_CHARS_MAX as u64,
        "characters",
        "the name of an MCP server",
        "the manifest is refused",
    ),
    Limit::new(
        "LOGIN_MS_MAX",
        LOGIN_MS_MAX,
        "milliseconds",
        "a person who logs in to an MCP server",
        "the login is given up",
    ),
    Limit::new(
        "LOGIN_BYTES_MAX",
        LOGIN_BYTES_MAX,
        "bytes",
        "the file of a login to an MCP server",
        "it counts as no login",
    ),
    Limit::new(
        "SERVER_WARNINGS_MAX",
        SERVER_WARNINGS_MAX as u64,
        "lines",
        "what is said of tools of one MCP server that are left out, when tools are put together",
        "the others are counted",
    ),
    Limit::new(
        "PYTHON_DIRECTORIES_MAX",
        PYTHON_DIRECTORIES_MAX as u64,
        "directories",
        "what one `haft.toml` names of Python tools",
        "the manifest is refused",
    ),
    Limit::new(
        "SEARCH_PROVIDERS_MAX",
        SEARCH_PROVIDERS_MAX as u64,
        "providers",
        "what one `haft.toml` names of providers of searches",
        "the manifest is refused",
    ),
    Limit::new(
        "SEARCHES_MAX",
        SEARCHES_MAX as u64,
        "searches",
        "what `web_search.calls_max` can be",
        "the manifest is refused",
    ),
    Limit::new(
        "PYTHON_IDLE_MS_MAX",
        PYTHON_IDLE_MS_MAX,
        "milliseconds",
        "most `python.idle_ms`",
        "the manifest is refused",
    ),
    Limit::new(
        "PYTHON_WARNINGS_MAX",
        PYTHON_WARNINGS_MAX as u64,
        "files",
        "files of one directory of which it is said that they are left out",
        "further ones are counted",
    ),
    Limit::new(
        "TRUSTED_TOOLS_LISTED_MAX",
        TRUSTED_TOOLS_LISTED_MAX as u64,
        "tools",
        "tools of one directory that haft trust lists with what they may do",
        "further ones are counted",
    ),
    Limit::new(
        "READINGS_KEPT_MAX",
        READINGS_KEPT_MAX as u64,
        "files",
        "Python files of which it is kept what was found out",
        "the oldest are read again",
    ),
    Limit::new(
        "READING_FILE_BYTES_MAX",
        READING_FILE_BYTES_MAX,
        "bytes",
        "what is kept about one Python file",
        "the file is read again",
    ),
    Limit::new(
        "REGISTRY_BYTES_MAX",
        REGISTRY_BYTES_MAX,
        "bytes",
        "a `registry.json`",
        "it is not compared, and sync writes it anew",
    ),
    Limit::new(
        "SKILL_PATHS_MAX",
        SKILL_PATHS_MAX as u64,
        "directories",
        "`skills.paths` of a manifest",
        "the manifest is refused",
    ),
    Limit::new(
        "SKILL_PROBLEMS_SAID_MAX",
        SKILL_PROBLEMS_SAID_MAX as u64,
        "problems",
        "what is said about skills when a connection begins",
        "further ones are counted",
    ),
    Limit::new(
        "PROJECT_RULES_MAX",
        PROJECT_RULES_MAX as u64,
        "rules",
        "what is kept for a project",
        "none is added",
    ),
    Limit::new(
        "PROJECT_BYTES_MAX",
        PROJECT_BYTES_MAX,
        "bytes",
        "the rules for a project",
        "the file is refused",
    ),
    Limit::new(
        "ANSWER_BYTES_MAX",
        ANSWER_BYTES_MAX,
        "bytes",
        "an answer on the terminal",
        "it is none of the answers",
    ),
    Limit::new(
        "ANSWER_TRIES_MAX",
        ANSWER_TRIES_MAX as u64,
        "answers",
        "what is taken before a call is rejected",
        "the call is rejected",
    ),
    Limit::new(
        "TOLD_NODES_MAX",
        TOLD_NODES_MAX as u64,
        "nodes",
        "a plan of which each node that succeeds has a line of its own",
        "only how far the plan is is told",
    ),
    Limit::new(
        "TOLD_FAILURES_MAX",
        TOLD_FAILURES_MAX as u64,
        "lines",
        "lines about nodes of a plan that do not succeed",
        "further ones are counted",
    ),
    Limit::new(
        "LOG_LINES_SHOWN_MAX",
        LOG_LINES_SHOWN_MAX as u64,
        "lines",
        "what the tool of one node printed, as it is shown while a plan runs",
        "further ones are counted",
    ),
    Limit::new(
        "LOG_LINE_CHARS_MAX",
        LOG_LINE_CHARS_MAX as u64,
        "characters",
        "one of these lines",
        "the rest is left out",
    ),
    Limit::new(
        "RUNNING_LINES_MAX",
        RUNNING_LINES_MAX as u64,
        "nodes",
        "running nodes of a plan that have a line on a terminal",
        "further ones are counted",
    ),
    Limit::new(
        "PURPOSE_CHARS_MAX",
        PURPOSE_CHARS_MAX as u64,
        "characters",
        "what a node of a plan is for, as a line shows it",
        "the rest is left out",
    ),
    Limit::new(
        "ASKED_TEXT_CHARS_MAX",
        ASKED_TEXT_CHARS_MAX as u64,
        "characters",
        "what is shown of one text of a question",
        "the text is cut and says so",
    ),
    Limit::new(
        "TAIL_CALLS",
        TAIL_CALLS as u64,
        "calls",
        "the past that `haft runs tail` begins with",
        "earlier ones are left out",
    ),
    Limit::new(
        "TAIL_POLL_MS",
        TAIL_POLL_MS,
        "milliseconds",
        "two looks of `haft runs tail`",
        "it looks again",
    ),
    Limit::new(
        "SIDECARS_KEPT_DAYS",
        SIDECARS_KEPT_DAYS,
        "days",
        "cut outputs that outlive their session",
        "the next start removes them",
    ),
    Limit::new(
        "SESSIONS_SWEPT_MAX",
        SESSIONS_SWEPT_MAX as u64,
        "sessions",
        "what one start removes of old cut outputs",
        "the next start removes further ones",
    ),
    Limit::new(
        "LINE_CHARS_MAX",
        LINE_CHARS_MAX as u64,
        "characters",
        "a line of `haft.toml` as an error shows it",
        "the rest is left out",
    ),
    Limit::new(
        "INPUT_CHARS_MAX",
        INPUT_CHARS_MAX as u64,
        "characters",
        "an input as `haft runs` lists it",
        "the rest is left out",
    ),
    Limit::new(
        "DOUBTS_SHOWN_MAX",
        DOUBTS_SHOWN_MAX as u64,
        "calls",
        "calls in doubt that `haft runs show` says what to type about",
        "further ones are counted",
    ),
    Limit::new(
        "RETRIES_SHOWN_MAX",
        RETRIES_SHOWN_MAX as u64,
        "tasks",
        "tasks of which `haft runs show` says what a retry would be warned of",
        "further ones are left out",
    ),
    Limit::new(
        "KEPT_PLANS_MAX",
        KEPT_PLANS_MAX as u64,
        "plans",
        "plans that `haft do` made, that were not run, and that are kept in one directory",
        "no more is kept",
    ),
    Limit::new(
        "KEEP_DAYS_MAX",
        KEEP_DAYS_MAX,
        "days",
        "most `durability.keep_days`",
        "the manifest is refused",
    ),
    Limit::new(
        "SNAPSHOT_FILE_BYTES_MAX",
        SNAPSHOT_FILE_BYTES_MAX,
        "bytes",
        "most `snapshots.file_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "SNAPSHOT_FILES_MAX",
        SNAPSHOT_FILES_MAX,
        "names",
        "most `snapshots.files` and `snapshots.ignored_files`",
        "the manifest is refused",
    ),
    Limit::new(
        "SNAPSHOT_IGNORED_BYTES_MAX",
        SNAPSHOT_IGNORED_BYTES_MAX,
        "bytes",
        "most `snapshots.ignored_bytes`",
        "the manifest is refused",
    ),
    Limit::new(
        "GIT_CONFIG_BYTES_MAX",
        GIT_CONFIG_BYTES_MAX,
        "bytes",
        "a configuration of git in which the user's name is looked for",
        "it is not read",
    ),
    Limit::new(
        "OUTSIDE_LINKS_MAX",
        OUTSIDE_LINKS_MAX as u64,
        "links",
        "links that a place of the machine leads through",
        "it counts as missing",
    ),
    Limit::new(
        "TOOLCHAIN_LINKS_MAX",
        TOOLCHAIN_LINKS_MAX as u64,
        "entries",
        "the entries of a directory on PATH that may be links",
        "where further ones lead is not readable",
    ),
    Limit::new(
        "MODEL_MS_MAX",
        MODEL_MS_MAX,
        "milliseconds",
        "most `model.timeout_ms` and `model.idle_ms`",
        "the manifest is refused",
    ),
    Limit::new(
        "PROBLEMS_SHOWN_MAX",
        PROBLEMS_SHOWN_MAX as u64,
        "problems",
        "what is shown of a plan of a model that is not valid",
        "further ones are counted",
    ),
    Limit::new(
        "NODES_LISTED_MAX",
        NODES_LISTED_MAX as u64,
        "nodes",
        "what `haft do` lists of a plan before it is agreed to",
        "further ones are counted",
    ),
    Limit::new(
        "NODE_CHARS_MAX",
        NODE_CHARS_MAX as u64,
        "characters",
        "the inputs of a node in that list, and its purpose",
        "they are cut",
    ),
];

/// Runs the command.
pub(crate) fn run() -> Result<Status, CommandError> {
    let mut text = String::from(
        "# Limits\n\nEvery bound of haft. This file is generated: `cargo xtask generated` writes it.\n",
    );
    add(&mut text, "Calls", haft_contract::limits::TABLE);
    add(&mut text, "Pipeline", haft::limits::TABLE);
    add(&mut text, "Rules", haft_policy::limits::TABLE);
    add(&mut text, "Tools", haft_tools::limits::TABLE);
    add(&mut text, "Command judge", haft_tools::limits::JUDGE);
    #[cfg(target_os = "linux")]
    {
        add(&mut text, "Confined commands", &of_sandbox(sandbox::COMMANDS));
        add(&mut text, "Protected names", &of_sandbox(sandbox::PROTECTED_NAMES));
        add(&mut text, "Roots", &of_sandbox(sandbox::ROOTS));
    }
    add(&mut text, "Proxy", &of_sandbox(sandbox::PROXY));
    add(&mut text, "Journal", haft_journal::limits::TABLE);
    add(&mut text, "Snapshots", &of_snapshots(haft_snapshot::limits::TABLE));
    add(&mut text, "Language servers", haft_lsp::limits::TABLE);
    add(&mut text, "MCP", haft_mcp::limits::TABLE);
    add(&mut text, "MCP servers of other people", haft_mcp::client_limits::TABLE);
    add(&mut text, "HTTP", haft_server::limits::TABLE);
    add(&mut text, "Plans", haft_plan::limits::TABLE);
    add(&mut text, "Driving plans", haft_plan::drive::limits::TABLE);
    add(&mut text, "Making plans", haft_plan::planner::limits::TABLE);
    add(&mut text, "Models", haft_model::limits::TABLE);
    add(&mut text, "Agents", haft_agent::limits::TABLE);
    add(&mut text, "Editors", haft_acp::limits::TABLE);
    add(&mut text, "Python tools", haft_python::limits::TABLE);
    add(&mut text, "Reading pages", haft_extract::limits::TABLE);
    add(&mut text, "Agents on the command line", crate::agent_run::limits::TABLE);
    add(&mut text, "Command line", OWN);
    output::data(&text)?;
    Ok(Status::Done)
}

fn add(text: &mut String, heading: &str, table: &[Limit]) {
    text.push_str(&format!(
        "\n## {heading}\n\n| bound | value | of | beyond it |\n|---|---:|---|---|\n"
    ));
    for Limit { name, value, unit, what, beyond } in table {
        text.push_str(&format!("| `{name}` | {} {unit} | {what} | {beyond} |\n", grouped(*value)));
    }
}

/// The sandbox can be used without the contract and has a type of its own.
fn of_sandbox(table: &[sandbox::Bound]) -> Vec<Limit> {
    let limit = |bound: &sandbox::Bound| {
        Limit::new(bound.name, bound.value, bound.unit, bound.what, bound.beyond)
    };
    table.iter().map(limit).collect()
}

/// So can the snapshots.
fn of_snapshots(table: &[haft_snapshot::limits::Bound]) -> Vec<Limit> {
    let limit = |bound: &haft_snapshot::limits::Bound| {
        Limit::new(bound.name, bound.value, bound.unit, bound.what, bound.beyond)
    };
    table.iter().map(limit).collect()
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
    fn each_bound_is_a_row_that_says_what_happens_beyond_it() {
        let mut text = String::new();
        let row = Limit::new("WAIT_MS_MAX", 1_500, "milliseconds", "a wait", "it ends");
        add(&mut text, "Waits", &[row]);
        let rows = "\n## Waits\n\n| bound | value | of | beyond it |\n|---|---:|---|---|\n\
                    | `WAIT_MS_MAX` | 1,500 milliseconds | a wait | it ends |\n";
        assert_eq!(text, rows);
    }

    #[test]
    fn digits_are_grouped() {
        for (value, expect) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (10_485_760, "10,485,760")]
        {
            assert_eq!(grouped(value), expect);
        }
    }
}
