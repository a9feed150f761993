//! The limits of agents' sessions, each with its unit in its name.

/// Calls of one answer at the same time.
///
/// Limit (agents): the others wait.
pub const CALLS_AT_ONCE_MAX: usize = 8;
/// Longest result of a call that a session keeps, in bytes of JSON.
///
/// Limit (agents): the end is dropped.
pub const KEPT_RESULT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest prompt, in bytes.
///
/// Limit (agents): the prompt is refused.
pub const PROMPT_BYTES_MAX: usize = 1024 * 1024;
/// The largest unrecorded part of an answer, in bytes.
pub const UNWRITTEN_BYTES_MAX: usize = 4 * 1024;
/// The longest time before a part of an answer is recorded, in milliseconds. Long parts may take longer.
pub const UNWRITTEN_MS_MAX: u64 = 250;
/// The maximum ratio of recorded to received bytes. Each record writes whole parts.
pub const WRITTEN_TIMES_MAX: usize = 64;
/// Parts of text and reasoning in an answer. Further text is added to the last part of its kind.
pub const ANSWER_PARTS_MAX: usize = 512;
/// Consecutive answers that broke off and are requested again.
pub const BROKEN_ANSWERS_MAX: u32 = 2;
/// The longest name of a tool that a model calls, in characters.
pub const TOOL_NAME_CHARS_MAX: usize = 128;
/// The longest name of a call, as a provider gives it, in characters.
pub const CALL_NAME_CHARS_MAX: usize = 64;
/// Default number of answers of the model in one turn.
///
/// Limit (agents): the turn ends and can be continued.
pub const STEPS_MAX_DEFAULT: u32 = 200;
/// Default context of a model, in tokens.
///
/// Limit (agents): earlier messages are summarised.
pub const CONTEXT_TOKENS_DEFAULT: u64 = 128_000;
/// Part of the context that messages may fill, in percent.
///
/// Limit (agents): earlier messages are summarised.
pub const CONTEXT_FULL_PERCENT: u64 = 80;
/// The share of the context for the messages that stay beside a summary, in percent.
pub const CONTEXT_KEPT_PERCENT: u64 = 40;
/// The share of the context for the messages that one summary covers, in percent.
pub const SUMMARISED_PERCENT: u64 = 60;
/// Turns that stay word for word when earlier messages are summarised.
pub const KEPT_TURNS: usize = 2;
/// The longest part of a result that the summarising model reads, in characters.
pub const SUMMARISED_RESULT_CHARS_MAX: usize = 2_000;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 64 * 1024;
/// Depth of subagents.
///
/// Limit (agents): the task is refused.
pub const SUBAGENT_DEPTH_MAX: u32 = 5;
/// Subagents of one session in the background.
///
/// Limit (agents): the task is refused.
pub const BACKGROUND_MAX: usize = 16;
/// Subagents below one session at the same time, on all levels.
///
/// Limit (agents): the task is refused.
pub const SUBAGENTS_AT_ONCE_MAX: usize = 64;
/// Subagents that start below one session until a person says something.
///
/// Limit (agents): the task is refused.
pub const SUBAGENTS_BEGUN_MAX: usize = 1_000;
/// Repairs of an answer that does not satisfy the schema of an agent node.
///
/// Limit (agents): the attempt of the node fails.
pub const ANSWER_REPAIRS_MAX: usize = 3;
/// Problems of such an answer that the agent reads.
pub const ANSWER_PROBLEMS_MAX: usize = 20;
/// Longest plan that one agent hands over to another, in characters. The question to the person shows all of it.
///
/// Limit (agents): the call is refused.
pub const HANDED_PLAN_CHARS_MAX: usize = 20_000;
/// Notices that an agent continues from after one prompt.
pub const TOLD_MAX: usize = 128;
/// The longest text of a background subagent in a notice, in characters.
pub const BACKGROUND_TEXT_CHARS_MAX: usize = 20_000;
/// Calls of an opaque subagent that its answer lists.
pub const NESTED_CALLS_MAX: u32 = 100;
/// The longest title that the first prompt gives a session, in characters.
pub const TITLE_CHARS_MAX: usize = 80;
/// Agents that are defined in files.
///
/// Limit (agents): the others are left out.
pub const AGENTS_MAX: usize = 128;
/// Entries of one directory of agents that are read.
pub const AGENT_ENTRIES_MAX: usize = 1_024;
/// Largest file of an agent, in bytes.
///
/// Limit (agents): the agent is left out.
pub const AGENT_BYTES_MAX: usize = 100_000;
/// Longest name of an agent, in characters.
///
/// Limit (agents): the agent is left out.
pub const AGENT_NAME_CHARS_MAX: usize = 64;
/// Longest description of an agent, in characters.
///
/// Limit (agents): the agent is left out.
pub const AGENT_DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Largest `max_steps` of an agent.
///
/// Limit (agents): the agent is left out.
pub const AGENT_STEPS_MAX: u32 = 10_000;
/// Changed files that a system prompt lists.
pub const PROMPT_GIT_LINES_MAX: usize = 20;
/// Skills that a system prompt lists; the description of the tool lists all.
pub const PROMPT_SKILLS_MAX: usize = 64;
/// The longest line from outside in a system prompt, in characters.
pub const PROMPT_LINE_CHARS_MAX: usize = 200;
/// Images of results that a model is sent again with each request, the last ones of the session.
///
/// Limit (agents): of earlier images, the model gets the description.
pub(crate) const IMAGES_SENT_MAX: usize = 20;
/// The tokens that haft counts for an image.
pub(crate) const IMAGE_TOKENS: u64 = 1_600;
