//! Every bound of talking to an agent from the command line.

use haft_contract::limits::Limit;

use crate::compose::agent::{AGENT_PROBLEMS_SAID_MAX, GIT_LOOK_MS};
use crate::compose::backlog::EVENTS_WAITING_MAX;
use crate::manifest::{CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, OUTPUT_TOKENS_MAX, TURN_STEPS_MAX};

/// Events that are held while a question is before the person; of further ones only the number is kept.
pub(crate) const EVENTS_HELD_MAX: usize = 10_000;
/// Calls of one answer that are named before they are made.
pub(crate) const ANNOUNCED_CALLS_MAX: usize = 5;
/// Characters of a thought that are shown.
pub(crate) const THOUGHT_CHARS_MAX: usize = 280;
/// Characters of the text of an error that are shown on the line of a call.
pub(crate) const OUTCOME_CHARS_MAX: usize = 160;
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
/// Lines of a text of a change that is compared with another: what it takes grows with their square.
pub(crate) const COMPARED_LINES_MAX: usize = 2_000;
/// Lines that were typed and are kept.
pub(crate) const HISTORY_LINES_MAX: usize = 1_000;
/// Longest line that is kept, in bytes.
pub(crate) const HISTORY_LINE_BYTES_MAX: usize = 4_096;
/// Sessions that are listed at once.
pub(crate) const SESSIONS_LISTED_MAX: u32 = 1_000;

/// The bounds as the document of limits has them.
pub(crate) const TABLE: &[Limit] = &[
    Limit::new(
        "CONTEXT_TOKENS_MIN",
        CONTEXT_TOKENS_MIN,
        "tokens",
        "least `agent.context_tokens`",
        "the manifest is refused",
    ),
    Limit::new(
        "CONTEXT_TOKENS_MAX",
        CONTEXT_TOKENS_MAX,
        "tokens",
        "`agent.context_tokens`",
        "the manifest is refused",
    ),
    Limit::new(
        "OUTPUT_TOKENS_MAX",
        OUTPUT_TOKENS_MAX as u64,
        "tokens",
        "`agent.output_tokens`",
        "the manifest is refused",
    ),
    Limit::new(
        "TURN_STEPS_MAX",
        TURN_STEPS_MAX as u64,
        "steps",
        "`agent.max_steps`",
        "the manifest is refused",
    ),
    Limit::new(
        "GIT_LOOK_MS",
        GIT_LOOK_MS,
        "milliseconds",
        "a look at the repository before a session",
        "the agent is told nothing of it",
    ),
    Limit::new(
        "AGENT_PROBLEMS_SAID_MAX",
        AGENT_PROBLEMS_SAID_MAX as u64,
        "problems",
        "what is said of agents when a session begins",
        "further ones are counted",
    ),
    Limit::new(
        "EVENTS_WAITING_MAX",
        EVENTS_WAITING_MAX as u64,
        "events",
        "what waits to be shown by `haft agent`",
        "answers of models are read no further until they are shown",
    ),
    Limit::new(
        "EVENTS_HELD_MAX",
        EVENTS_HELD_MAX as u64,
        "events",
        "what happens while somebody is asked",
        "it is said how many are not shown",
    ),
    Limit::new(
        "ANNOUNCED_CALLS_MAX",
        ANNOUNCED_CALLS_MAX as u64,
        "calls",
        "what is named of one answer before it is made",
        "further ones are shown when they end",
    ),
    Limit::new(
        "THOUGHT_CHARS_MAX",
        THOUGHT_CHARS_MAX as u64,
        "characters",
        "a thought that is shown",
        "it is cut",
    ),
    Limit::new(
        "OUTCOME_CHARS_MAX",
        OUTCOME_CHARS_MAX as u64,
        "characters",
        "an error on the line of a call",
        "it is cut",
    ),
    Limit::new(
        "NOTICE_CHARS_MAX",
        NOTICE_CHARS_MAX as u64,
        "characters",
        "what the agent is told and is shown",
        "it is cut",
    ),
    Limit::new(
        "TASK_CHARS_MAX",
        TASK_CHARS_MAX as u64,
        "characters",
        "a subagent's task that is shown when it begins",
        "it is cut",
    ),
    Limit::new(
        "CHANGE_LINES_MAX",
        CHANGE_LINES_MAX as u64,
        "lines",
        "a change beneath the line of a call",
        "further ones are counted",
    ),
    Limit::new(
        "CHANGE_LINE_CHARS_MAX",
        CHANGE_LINE_CHARS_MAX as u64,
        "characters",
        "one line of a change",
        "it is cut",
    ),
    Limit::new(
        "COMPARED_BYTES_MAX",
        COMPARED_BYTES_MAX as u64,
        "bytes",
        "texts of a change that are compared line by line",
        "the old and the new lines are counted",
    ),
    Limit::new(
        "COMPARED_LINES_MAX",
        COMPARED_LINES_MAX as u64,
        "lines",
        "texts of a change that are compared line by line",
        "the old and the new lines are counted",
    ),
    Limit::new(
        "HISTORY_LINES_MAX",
        HISTORY_LINES_MAX as u64,
        "lines",
        "what was typed to agents and is kept",
        "the oldest are forgotten",
    ),
    Limit::new(
        "HISTORY_LINE_BYTES_MAX",
        HISTORY_LINE_BYTES_MAX as u64,
        "bytes",
        "a typed line that is kept",
        "it is not kept",
    ),
    Limit::new(
        "SESSIONS_LISTED_MAX",
        SESSIONS_LISTED_MAX as u64,
        "sessions",
        "`haft sessions list --limit`",
        "the command line is refused",
    ),
];
