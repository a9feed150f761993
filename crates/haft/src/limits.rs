//! The bounds of the pipeline, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;

use crate::pipeline::{ERROR_BYTES_MAX, RECORDED_BYTES_MAX, STOP_MS};
use crate::shell::{PROGRESS_MS, READ_BYTES};

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
];
