//! The bounds of agents' conversations, for the generated table of limits.

use haft_contract::limits::Limit;

/// Calls of one answer that are made at the same time; those whose effect is not safe to repeat are made alone, unless they
/// are done by subagents.
pub const CALLS_AT_ONCE_MAX: usize = 8;
/// The longest answer of a call that a chat keeps, in bytes of JSON.
pub const KEPT_RESULT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest prompt, in bytes.
pub const PROMPT_BYTES_MAX: usize = 1024 * 1024;
/// How much of an answer may be on its way to the journal, in bytes.
pub const UNWRITTEN_BYTES_MAX: usize = 4 * 1024;
/// How long a part of an answer may be on its way to the journal, in milliseconds, unless that part is long.
pub const UNWRITTEN_MS_MAX: u64 = 250;
/// How many times as much as has come of an answer may be written to record it, because its parts are written whole.
pub const WRITTEN_TIMES_MAX: usize = 64;
/// Texts and thoughts that an answer is divided into; what follows is added to the last of its kind.
pub const ANSWER_PARTS_MAX: usize = 512;
/// Answers in a row that broke off and are asked for again.
pub const BROKEN_ANSWERS_MAX: u32 = 2;
/// The longest name of a tool that a model calls, in characters.
pub const TOOL_NAME_CHARS_MAX: usize = 128;
/// The longest name of a call, as a provider gives it, in characters.
pub const CALL_NAME_CHARS_MAX: usize = 64;
/// Answers of the model in one turn, unless the agent or the operator says less.
pub const STEPS_MAX_DEFAULT: u32 = 200;
/// What the model can read, unless the operator says otherwise, in tokens.
pub const CONTEXT_TOKENS_DEFAULT: u64 = 128_000;
/// The share of what the model can read above which what was said before is summarised, in percent.
pub const CONTEXT_FULL_PERCENT: u64 = 80;
/// The share of what the model can read that may be kept beside a summary, in percent.
pub const CONTEXT_KEPT_PERCENT: u64 = 40;
/// The share of what the model can read that a summary is made of, in percent.
pub const SUMMARISED_PERCENT: u64 = 60;
/// Turns that are kept word for word when what was said before is summarised.
pub const KEPT_TURNS: usize = 2;
/// What a summary is told of one result, in characters.
pub const SUMMARISED_RESULT_CHARS_MAX: usize = 2_000;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 64 * 1024;
/// How deep subagents have subagents do tasks.
pub const SUBAGENT_DEPTH_MAX: u32 = 5;
/// Subagents of one chat in the background.
pub const BACKGROUND_MAX: usize = 16;
/// Subagents at work beneath one session that a person talks to, on all levels.
pub const SUBAGENTS_AT_ONCE_MAX: usize = 64;
/// Subagents that are begun beneath one session, on all levels, until a person says something.
pub const SUBAGENTS_BEGUN_MAX: usize = 1_000;
/// Ends of subagents and the like that an agent is told of, and goes on for, after one prompt.
pub const TOLD_MAX: usize = 128;
/// What a model is told of what a subagent in the background said, in characters.
pub const BACKGROUND_TEXT_CHARS_MAX: usize = 20_000;
/// Calls of an opaque subagent that its answer lists.
pub const NESTED_CALLS_MAX: u32 = 100;
/// The longest title that a chat is given by its first prompt, in characters.
pub const TITLE_CHARS_MAX: usize = 80;
/// Agents of files that are found.
pub const AGENTS_MAX: usize = 128;
/// Entries of one directory of agents that are looked at.
pub const AGENT_ENTRIES_MAX: usize = 1_024;
/// The largest file of an agent, in bytes.
pub const AGENT_BYTES_MAX: usize = 100_000;
/// The longest name of an agent, in characters.
pub const AGENT_NAME_CHARS_MAX: usize = 64;
/// The longest description of an agent, in characters.
pub const AGENT_DESCRIPTION_CHARS_MAX: usize = 1_024;
/// The most answers in one turn that an agent may ask for.
pub const AGENT_STEPS_MAX: u32 = 10_000;
/// Changed files that an agent is told of when it begins.
pub const PROMPT_GIT_LINES_MAX: usize = 20;
/// Skills that a system prompt lists; the description of the tool lists all.
pub const PROMPT_SKILLS_MAX: usize = 64;
/// The longest line of others in a system prompt, in characters.
pub const PROMPT_LINE_CHARS_MAX: usize = 200;

/// All bounds of agents, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "CALLS_AT_ONCE_MAX",
        CALLS_AT_ONCE_MAX as u64,
        "calls",
        "calls of one answer at the same time",
        "the others wait",
    ),
    Limit::new(
        "KEPT_RESULT_BYTES_MAX",
        KEPT_RESULT_BYTES_MAX as u64,
        "bytes",
        "the answer of a call as a session keeps it",
        "its end is left out",
    ),
    Limit::new("PROMPT_BYTES_MAX", PROMPT_BYTES_MAX as u64, "bytes", "a prompt", "it is refused"),
    Limit::new(
        "UNWRITTEN_BYTES_MAX",
        UNWRITTEN_BYTES_MAX as u64,
        "bytes",
        "what came of an answer and is not recorded yet",
        "it is recorded",
    ),
    Limit::new(
        "UNWRITTEN_MS_MAX",
        UNWRITTEN_MS_MAX,
        "milliseconds",
        "the time that a part of an answer is not recorded, unless it is long",
        "it is recorded",
    ),
    Limit::new(
        "WRITTEN_TIMES_MAX",
        WRITTEN_TIMES_MAX as u64,
        "times",
        "what is written of an answer while it comes, measured by its length",
        "it is recorded less often",
    ),
    Limit::new(
        "ANSWER_PARTS_MAX",
        ANSWER_PARTS_MAX as u64,
        "parts",
        "texts and thoughts of one answer that are kept apart",
        "what follows is added to the last of its kind",
    ),
    Limit::new(
        "BROKEN_ANSWERS_MAX",
        BROKEN_ANSWERS_MAX as u64,
        "answers",
        "answers in a row that broke off and are asked for again",
        "the turn ends with an error",
    ),
    Limit::new(
        "TOOL_NAME_CHARS_MAX",
        TOOL_NAME_CHARS_MAX as u64,
        "characters",
        "the name of a tool that a model calls",
        "it is cut, and no tool has that name",
    ),
    Limit::new(
        "CALL_NAME_CHARS_MAX",
        CALL_NAME_CHARS_MAX as u64,
        "characters",
        "a provider's name of a call",
        "it is cut",
    ),
    Limit::new(
        "STEPS_MAX_DEFAULT",
        STEPS_MAX_DEFAULT as u64,
        "steps",
        "answers of the model in one turn",
        "the turn ends, and can be gone on with",
    ),
    Limit::new(
        "CONTEXT_TOKENS_DEFAULT",
        CONTEXT_TOKENS_DEFAULT,
        "tokens",
        "what the model is taken to be able to read",
        "what was said before is summarised",
    ),
    Limit::new(
        "CONTEXT_FULL_PERCENT",
        CONTEXT_FULL_PERCENT,
        "percent",
        "of what the model can read",
        "what was said before is summarised",
    ),
    Limit::new(
        "CONTEXT_KEPT_PERCENT",
        CONTEXT_KEPT_PERCENT,
        "percent",
        "of what the model can read, for what is kept beside a summary",
        "less is kept",
    ),
    Limit::new(
        "SUMMARISED_PERCENT",
        SUMMARISED_PERCENT,
        "percent",
        "of what the model can read, for what a summary is made of",
        "the middle is left out",
    ),
    Limit::new(
        "KEPT_TURNS",
        KEPT_TURNS as u64,
        "turns",
        "what is kept word for word beside a summary",
        "earlier turns are summarised",
    ),
    Limit::new(
        "SUMMARISED_RESULT_CHARS_MAX",
        SUMMARISED_RESULT_CHARS_MAX as u64,
        "characters",
        "one result in what a summary is made of",
        "it is cut",
    ),
    Limit::new(
        "SUMMARY_BYTES_MAX",
        SUMMARY_BYTES_MAX as u64,
        "bytes",
        "a summary",
        "its end is left out",
    ),
    Limit::new(
        "SUBAGENT_DEPTH_MAX",
        SUBAGENT_DEPTH_MAX as u64,
        "levels",
        "subagents that have subagents do tasks",
        "the task is refused",
    ),
    Limit::new(
        "BACKGROUND_MAX",
        BACKGROUND_MAX as u64,
        "subagents",
        "subagents of one session in the background",
        "the task is refused",
    ),
    Limit::new(
        "SUBAGENTS_AT_ONCE_MAX",
        SUBAGENTS_AT_ONCE_MAX as u64,
        "subagents",
        "subagents at work beneath one session, on all levels",
        "the task is refused",
    ),
    Limit::new(
        "SUBAGENTS_BEGUN_MAX",
        SUBAGENTS_BEGUN_MAX as u64,
        "subagents",
        "subagents that are begun beneath one session until a person says something",
        "the task is refused",
    ),
    Limit::new(
        "TOLD_MAX",
        TOLD_MAX as u64,
        "notices",
        "what an agent is told after one prompt and goes on for",
        "the turn ends, and somebody has to say something",
    ),
    Limit::new(
        "BACKGROUND_TEXT_CHARS_MAX",
        BACKGROUND_TEXT_CHARS_MAX as u64,
        "characters",
        "what is told of what a subagent in the background said",
        "it is cut",
    ),
    Limit::new(
        "NESTED_CALLS_MAX",
        NESTED_CALLS_MAX as u64,
        "calls",
        "calls of an opaque subagent that its answer lists",
        "the others are not listed",
    ),
    Limit::new(
        "TITLE_CHARS_MAX",
        TITLE_CHARS_MAX as u64,
        "characters",
        "the title that a session gets from its first prompt",
        "it is cut",
    ),
    Limit::new(
        "AGENTS_MAX",
        AGENTS_MAX as u64,
        "agents",
        "agents of files",
        "the others are left out",
    ),
    Limit::new(
        "AGENT_ENTRIES_MAX",
        AGENT_ENTRIES_MAX as u64,
        "entries",
        "a directory of agents",
        "the rest is not looked at",
    ),
    Limit::new(
        "AGENT_BYTES_MAX",
        AGENT_BYTES_MAX as u64,
        "bytes",
        "the file of an agent",
        "the agent is left out",
    ),
    Limit::new(
        "AGENT_NAME_CHARS_MAX",
        AGENT_NAME_CHARS_MAX as u64,
        "characters",
        "the name of an agent",
        "the agent is left out",
    ),
    Limit::new(
        "AGENT_DESCRIPTION_CHARS_MAX",
        AGENT_DESCRIPTION_CHARS_MAX as u64,
        "characters",
        "the description of an agent",
        "the agent is left out",
    ),
    Limit::new(
        "AGENT_STEPS_MAX",
        AGENT_STEPS_MAX as u64,
        "answers",
        "what max_steps of an agent may say",
        "the agent is left out",
    ),
    Limit::new(
        "PROMPT_GIT_LINES_MAX",
        PROMPT_GIT_LINES_MAX as u64,
        "files",
        "changed files in a system prompt",
        "it says how many more there are",
    ),
    Limit::new(
        "PROMPT_SKILLS_MAX",
        PROMPT_SKILLS_MAX as u64,
        "skills",
        "skills in a system prompt",
        "it says how many more there are",
    ),
    Limit::new(
        "PROMPT_LINE_CHARS_MAX",
        PROMPT_LINE_CHARS_MAX as u64,
        "characters",
        "a path, branch or description in a system prompt",
        "it is cut",
    ),
];
