//! The bounds of the pipeline, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;

use crate::ask::{ASK_INPUT_BYTES_MAX, ASK_LINES_MAX};
use crate::files::links::DIRECTORIES_BENEATH_MAX;
use crate::front_matter::{FRONT_MATTER_BYTES_MAX, FRONT_MATTER_NODES_MAX};
use crate::input_schema::{FOUND_CHARS_MAX, INPUT_DEPTH_MAX, INPUT_STEPS_MAX};
use crate::instructions::{INSTRUCTION_FILES_MAX, INSTRUCTIONS_TOKENS_MAX};
use crate::narrowing::SUBAGENT_SHOWN_CHARS_MAX;
use crate::net::{NET_CONNECTIONS_LISTED_MAX, NET_DIAL_MS, NET_HEADERS_MAX};
use crate::pipeline::{ERROR_BYTES_MAX, RECORDED_BYTES_MAX, STOP_MS};
use crate::resident::{
    LINES_AHEAD_BYTES_MAX, LINES_KEPT_BYTES_MAX, PRINTED_HEAD_BYTES_MAX, PRINTED_READS_MAX,
};
use crate::sandbox::HIDDEN_FILES_MAX;
use crate::sandbox::hooks::{CONFIG_BYTES_MAX, DIRECTORIES_MAX};
use crate::session::LISTED_TOOLS_MAX;
use crate::shell::{HINDRANCE_LINES_MAX, PROGRESS_MS, READ_BYTES};
use crate::skills::{
    SKILL_BYTES_MAX, SKILL_DEPTH_MAX, SKILL_DESCRIPTION_CHARS_MAX, SKILL_ENTRIES_MAX,
    SKILL_FILES_MAX, SKILL_FILES_SEEN_MAX, SKILL_INDEX_CHARS_MAX, SKILL_INDEX_LINE_CHARS_MIN,
    SKILL_NAME_CHARS_MAX, SKILLS_MAX,
};
use crate::snapshots::{OVERLAPS_NAMED_MAX, SNAPSHOT_SYNC_MS};
use crate::tool_index::{LONGER_WORDS_MAX, QUERY_WORDS_MAX};
use crate::watchdog::{ANSWER_BYTES_MAX, COMPLAINT_CHARS_MAX, SHOWN_CHARS_MAX};

/// How long a run stays this process's without a word from it, in milliseconds.
pub const LEASE_MS: u64 = 30_000;
/// How often it gives word, in milliseconds.
pub const LEASE_RENEW_MS: u64 = 8_000;
/// The longest that a call waits for the snapshot hook, before its effect and once more after it, in milliseconds.
pub const SNAPSHOT_MS: u64 = 10_000;
/// How long a tool waits for the answers of a person or of the program that made the call, in milliseconds: for its turn to
/// ask and for what is said.
pub const INQUIRY_MS_MAX: u64 = 3_600_000;
/// Calls of earlier attempts that a retry warning lists in full.
pub const WARNED_CALLS_MAX: u32 = 10;

/// All bounds of the pipeline, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "RECORDED_BYTES_MAX",
        RECORDED_BYTES_MAX as u64,
        "bytes",
        "an input as the journal holds it",
        "the digest is recorded in its place",
    ),
    Limit::new(
        "ERROR_BYTES_MAX",
        ERROR_BYTES_MAX as u64,
        "bytes",
        "an error message",
        "the message is cut and says so",
    ),
    Limit::new(
        "STOP_MS",
        STOP_MS,
        "milliseconds",
        "a tool that was told to stop",
        "it is given up",
    ),
    Limit::new(
        "PROGRESS_MS",
        PROGRESS_MS,
        "milliseconds",
        "two reports of a command's progress",
        "what happens between them is reported with the later one",
    ),
    Limit::new(
        "READ_BYTES",
        READ_BYTES as u64,
        "bytes",
        "one read of a command's output",
        "the rest is read next",
    ),
    Limit::new(
        "LINES_AHEAD_BYTES_MAX",
        LINES_AHEAD_BYTES_MAX as u64,
        "bytes",
        "what a resident program says while it is sent something",
        "the program waits until what it said is read",
    ),
    Limit::new(
        "LINES_KEPT_BYTES_MAX",
        LINES_KEPT_BYTES_MAX as u64,
        "bytes",
        "memory kept for the next line of a program that outlives a call",
        "it is given back when the line was taken",
    ),
    Limit::new(
        "PRINTED_HEAD_BYTES_MAX",
        PRINTED_HEAD_BYTES_MAX as u64,
        "bytes",
        "the beginning that is kept of what a program that outlives a call prints between two questions for it",
        "only its end is kept beside it, as of a command's output",
    ),
    Limit::new(
        "PRINTED_READS_MAX",
        PRINTED_READS_MAX as u64,
        "reads",
        "what such a program has printed by the time that it is asked for",
        "the rest is answered next time",
    ),
    Limit::new(
        "ASK_INPUT_BYTES_MAX",
        ASK_INPUT_BYTES_MAX as u64,
        "bytes",
        "an input in a question",
        "the input is cut and says so",
    ),
    Limit::new(
        "ASK_LINES_MAX",
        ASK_LINES_MAX as u64,
        "lines",
        "accesses in a question, and reasons of rules, each",
        "further ones are counted",
    ),
    Limit::new(
        "INQUIRY_MS_MAX",
        INQUIRY_MS_MAX,
        "milliseconds",
        "the answers of a person or a client to what a tool asks, which take none of the call's time",
        "the tool is told that nobody answered",
    ),
    Limit::new(
        "ANSWER_BYTES_MAX",
        ANSWER_BYTES_MAX as u64,
        "bytes",
        "an answer of a watchdog program",
        "the watchdog has failed, and the call is denied",
    ),
    Limit::new(
        "COMPLAINT_CHARS_MAX",
        COMPLAINT_CHARS_MAX as u64,
        "characters",
        "what is shown of the standard error of a watchdog program that failed",
        "the rest is left out",
    ),
    Limit::new(
        "HIDDEN_FILES_MAX",
        HIDDEN_FILES_MAX as u64,
        "files",
        "hidden files that a file with several names is compared with, per hidden place",
        "the file is refused",
    ),
    Limit::new(
        "FOUND_CHARS_MAX",
        FOUND_CHARS_MAX as u64,
        "characters",
        "a value as an error names it",
        "the rest is left out",
    ),
    Limit::new(
        "INPUT_STEPS_MAX",
        INPUT_STEPS_MAX,
        "steps",
        "checking an input against the schema of its tool",
        "the input is refused",
    ),
    Limit::new(
        "INPUT_DEPTH_MAX",
        INPUT_DEPTH_MAX as u64,
        "parts",
        "parts of a tool's schema within each other, as deep as an input leads",
        "the input is refused",
    ),
    Limit::new(
        "SHOWN_CHARS_MAX",
        SHOWN_CHARS_MAX as u64,
        "characters",
        "a line as the reference watchdog quotes it",
        "the rest is left out",
    ),
    Limit::new(
        "DIRECTORIES_BENEATH_MAX",
        DIRECTORIES_BENEATH_MAX as u64,
        "directories",
        "what is looked through, around a changed file, for links with protected names",
        "links further down are held for commands only",
    ),
    Limit::new(
        "CONFIG_BYTES_MAX",
        CONFIG_BYTES_MAX,
        "bytes",
        "a repository's configuration, read for where its hooks are",
        "the rest is not looked at",
    ),
    Limit::new(
        "DIRECTORIES_MAX",
        DIRECTORIES_MAX as u64,
        "directories",
        "directories of hooks that one configuration names",
        "the last ones are protected, as git obeys the last",
    ),
    Limit::new(
        "HINDRANCE_LINES_MAX",
        HINDRANCE_LINES_MAX as u64,
        "lines",
        "the end of a failed command's output, searched for what the sandbox kept from it",
        "earlier lines are not searched",
    ),
    Limit::new(
        "LEASE_MS",
        LEASE_MS,
        "milliseconds",
        "a run without a word from its owner",
        "others may take it",
    ),
    Limit::new(
        "LEASE_RENEW_MS",
        LEASE_RENEW_MS,
        "milliseconds",
        "the time between two words from a run's owner",
        "the next is sent",
    ),
    Limit::new(
        "WARNED_CALLS_MAX",
        WARNED_CALLS_MAX as u64,
        "calls",
        "calls of earlier attempts that a retry warning lists",
        "the others are counted",
    ),
    Limit::new(
        "SNAPSHOT_MS",
        SNAPSHOT_MS,
        "milliseconds",
        "the snapshot hook, before an effect and once more after it",
        "it is given up, and the journal notes so",
    ),
    Limit::new(
        "SNAPSHOT_SYNC_MS",
        SNAPSHOT_SYNC_MS,
        "milliseconds",
        "what was recorded around an effect, until it outlasts a loss of power",
        "it is synced",
    ),
    Limit::new(
        "LISTED_TOOLS_MAX",
        LISTED_TOOLS_MAX as u64,
        "tools",
        "the tools on offer in a session whose front end shows them to a model",
        "those of Python files and MCP servers are found by tool_search instead of listed",
    ),
    Limit::new(
        "QUERY_WORDS_MAX",
        QUERY_WORDS_MAX as u64,
        "words",
        "the different words of a query of tool_search",
        "further ones are passed over",
    ),
    Limit::new(
        "LONGER_WORDS_MAX",
        LONGER_WORDS_MAX as u64,
        "words",
        "the longer words that a word of such a query also stands for",
        "the first in their order are taken",
    ),
    Limit::new(
        "OVERLAPS_NAMED_MAX",
        OVERLAPS_NAMED_MAX as u64,
        "calls",
        "calls that ran at the same time, as a snapshot's note names them",
        "the others are counted",
    ),
    Limit::new(
        "NET_DIAL_MS",
        NET_DIAL_MS,
        "milliseconds",
        "finding the address of a host that a tool asks, and once more connecting to it",
        "the host cannot be reached",
    ),
    Limit::new(
        "NET_HEADERS_MAX",
        NET_HEADERS_MAX as u64,
        "fields",
        "the head of an answer from the network",
        "the answer is refused",
    ),
    Limit::new(
        "NET_CONNECTIONS_LISTED_MAX",
        NET_CONNECTIONS_LISTED_MAX as u64,
        "connections",
        "what a tool connected to by itself, as the envelope lists it",
        "the others are counted",
    ),
    Limit::new(
        "SKILLS_MAX",
        SKILLS_MAX as u64,
        "skills",
        "the skills of one session",
        "further ones are left out with a warning",
    ),
    Limit::new(
        "SKILL_ENTRIES_MAX",
        SKILL_ENTRIES_MAX as u64,
        "entries",
        "one directory of skills",
        "the rest is not looked at",
    ),
    Limit::new("SKILL_BYTES_MAX", SKILL_BYTES_MAX, "bytes", "a SKILL.md", "the skill is left out"),
    Limit::new(
        "FRONT_MATTER_BYTES_MAX",
        FRONT_MATTER_BYTES_MAX as u64,
        "bytes",
        "the front matter of a skill or an agent",
        "it is left out",
    ),
    Limit::new(
        "FRONT_MATTER_NODES_MAX",
        FRONT_MATTER_NODES_MAX as u64,
        "nodes",
        "the front matter of a skill or an agent, its aliases written out",
        "it is left out",
    ),
    Limit::new(
        "SKILL_NAME_CHARS_MAX",
        SKILL_NAME_CHARS_MAX as u64,
        "characters",
        "a skill's name",
        "the skill is left out",
    ),
    Limit::new(
        "SKILL_DESCRIPTION_CHARS_MAX",
        SKILL_DESCRIPTION_CHARS_MAX as u64,
        "characters",
        "a skill's description",
        "the rest is not advertised",
    ),
    Limit::new(
        "SKILL_INDEX_CHARS_MAX",
        SKILL_INDEX_CHARS_MAX as u64,
        "characters",
        "the descriptions of all skills together",
        "each is cut at its share",
    ),
    Limit::new(
        "SKILL_INDEX_LINE_CHARS_MIN",
        SKILL_INDEX_LINE_CHARS_MIN as u64,
        "characters",
        "the share of one skill, at least",
        "the whole may be longer then",
    ),
    Limit::new(
        "SUBAGENT_SHOWN_CHARS_MAX",
        SUBAGENT_SHOWN_CHARS_MAX as u64,
        "characters",
        "what the description of `task` says of one subagent",
        "it is cut and ends in `…`",
    ),
    Limit::new(
        "SKILL_FILES_MAX",
        SKILL_FILES_MAX as u64,
        "files",
        "the list of a skill's files",
        "further ones are not listed",
    ),
    Limit::new(
        "SKILL_FILES_SEEN_MAX",
        SKILL_FILES_SEEN_MAX as u64,
        "entries",
        "the search for a skill's files",
        "it ends there",
    ),
    Limit::new(
        "SKILL_DEPTH_MAX",
        SKILL_DEPTH_MAX as u64,
        "levels",
        "the directories below a skill's own",
        "deeper ones are not looked at",
    ),
    Limit::new(
        "INSTRUCTIONS_TOKENS_MAX",
        INSTRUCTIONS_TOKENS_MAX as u64,
        "tokens",
        "the project instructions, four bytes a token",
        "the outermost files are cut",
    ),
    Limit::new(
        "INSTRUCTION_FILES_MAX",
        INSTRUCTION_FILES_MAX as u64,
        "files",
        "the files of project instructions",
        "the outermost ones are left out",
    ),
];
