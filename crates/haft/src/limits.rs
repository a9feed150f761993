//! The bounds of the pipeline, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;

use crate::ask::{ASK_INPUT_BYTES_MAX, ASK_LINES_MAX};
use crate::files::links::DIRECTORIES_BENEATH_MAX;
use crate::input_schema::FOUND_CHARS_MAX;
use crate::pipeline::{ERROR_BYTES_MAX, RECORDED_BYTES_MAX, STOP_MS};
use crate::sandbox::HIDDEN_FILES_MAX;
use crate::sandbox::hooks::{CONFIG_BYTES_MAX, DIRECTORIES_MAX};
use crate::shell::{HINDRANCE_LINES_MAX, PROGRESS_MS, READ_BYTES};
use crate::watchdog::{ANSWER_BYTES_MAX, COMPLAINT_CHARS_MAX, SHOWN_CHARS_MAX};

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
];
