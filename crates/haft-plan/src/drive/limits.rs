//! Every bound of driving a plan, each with its unit in its name, and the table that the generated document is made of.

use std::num::NonZeroUsize;

use haft_contract::limits::Limit;

/// Nodes that run at the same time unless the user says otherwise.
pub const PARALLEL_DEFAULT: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");
/// Most nodes that run at the same time, whatever the user says.
pub const PARALLEL_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");
/// Time between the first attempt of a node and the second, in milliseconds.
pub const RETRY_DELAY_FIRST_MS: u64 = 1_000;
/// How many times as long each further time between attempts is.
pub const RETRY_DELAY_FACTOR: u32 = 2;
/// Longest time between two attempts, in milliseconds.
pub const RETRY_DELAY_MAX_MS: u64 = 60_000;
/// Longest plan, together with its input, that a run keeps, in bytes.
pub const KEPT_PLAN_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Longest text of a plan and its input that is one row of the journal, in bytes. Inside a JSON text it can double, and
/// the journal keeps no more than 262,144 bytes of an input.
pub const KEPT_PART_BYTES_MAX: usize = 120_000;
/// Longest input of a node that a trace shows, in bytes.
pub const TRACED_INPUT_BYTES_MAX: usize = 64 * 1024;

/// All bounds of driving a plan, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "PARALLEL_DEFAULT",
        PARALLEL_DEFAULT.get() as u64,
        "nodes",
        "nodes of a plan that run at the same time, unless another number is given",
        "further ones wait",
    ),
    Limit::new(
        "PARALLEL_MAX",
        PARALLEL_MAX.get() as u64,
        "nodes",
        "nodes of a plan that run at the same time, whatever number is given",
        "further ones wait",
    ),
    Limit::new(
        "RETRY_DELAY_FIRST_MS",
        RETRY_DELAY_FIRST_MS,
        "milliseconds",
        "the time between the first attempt of a node and the second",
        "the attempt is made",
    ),
    Limit::new(
        "RETRY_DELAY_FACTOR",
        RETRY_DELAY_FACTOR as u64,
        "times",
        "how much longer each further time between attempts is",
        "the attempt is made",
    ),
    Limit::new(
        "RETRY_DELAY_MAX_MS",
        RETRY_DELAY_MAX_MS,
        "milliseconds",
        "the time between two attempts of a node",
        "the attempt is made",
    ),
    Limit::new(
        "KEPT_PLAN_BYTES_MAX",
        KEPT_PLAN_BYTES_MAX as u64,
        "bytes",
        "a plan with its input, as its run keeps them",
        "the plan is not begun",
    ),
    Limit::new(
        "KEPT_PART_BYTES_MAX",
        KEPT_PART_BYTES_MAX as u64,
        "bytes",
        "the part of a long plan that is one row of the journal",
        "the rest is in further rows",
    ),
    Limit::new(
        "TRACED_INPUT_BYTES_MAX",
        TRACED_INPUT_BYTES_MAX as u64,
        "bytes",
        "the input of a node in a trace",
        "its size and SHA-256 are shown in its place",
    ),
];
