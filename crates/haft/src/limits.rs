//! The bounds of the pipeline, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;
use haft_policy::LASTING_RULES_MAX;

use crate::ask::{ASK_INPUT_BYTES_MAX, ASK_LINES_MAX};
use crate::pipeline::{ERROR_BYTES_MAX, RECORDED_BYTES_MAX, STOP_MS};
use crate::sandbox::HIDDEN_FILES_MAX;
use crate::shell::{PROGRESS_MS, READ_BYTES};
use crate::watchdog::{ANSWER_BYTES_MAX, COMPLAINT_CHARS_MAX};

/// All bounds of the pipeline, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "RECORDED_BYTES_MAX",
        RECORDED_BYTES_MAX as u64,
        "bytes",
        "an input as the journal holds it; longer ones as digest",
    ),
    Limit::new("ERROR_BYTES_MAX", ERROR_BYTES_MAX as u64, "bytes", "an error message"),
    Limit::new(
        "STOP_MS",
        STOP_MS,
        "milliseconds",
        "a tool that was told to stop, before it is given up",
    ),
    Limit::new("PROGRESS_MS", PROGRESS_MS, "milliseconds", "two reports of a command's progress"),
    Limit::new("READ_BYTES", READ_BYTES as u64, "bytes", "one read of a command's output"),
    Limit::new(
        "ASK_INPUT_BYTES_MAX",
        ASK_INPUT_BYTES_MAX as u64,
        "bytes",
        "an input in a question",
    ),
    Limit::new(
        "ASK_LINES_MAX",
        ASK_LINES_MAX as u64,
        "lines",
        "accesses in a question, and reasons of rules, each",
    ),
    Limit::new(
        "LASTING_RULES_MAX",
        LASTING_RULES_MAX as u64,
        "rules",
        "rules that one answer «always» adds; a call that needs more is asked about each time",
    ),
    Limit::new(
        "ANSWER_BYTES_MAX",
        ANSWER_BYTES_MAX as u64,
        "bytes",
        "an answer of a watchdog program",
    ),
    Limit::new(
        "COMPLAINT_CHARS_MAX",
        COMPLAINT_CHARS_MAX as u64,
        "characters",
        "what is shown of the standard error of a watchdog program that failed",
    ),
    Limit::new(
        "HIDDEN_FILES_MAX",
        HIDDEN_FILES_MAX as u64,
        "files",
        "hidden files that a file with several names is compared with",
    ),
];
