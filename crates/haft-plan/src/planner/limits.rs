//! The bounds of planning through a model, and the table that the generated document is made of.

use haft_contract::limits::Limit;

/// Longest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Longest description of all tools together, in bytes.
pub const TOOLS_BYTES_MAX: usize = 512 * 1024;
/// How much of an input a model is shown, in bytes.
pub const INPUT_SHOWN_BYTES_MAX: usize = 8 * 1024;
/// Repairs of a plan, unless another number is asked for.
pub const REPAIRS_DEFAULT: u32 = 3;
/// Repairs of a plan that can be asked for.
pub const REPAIRS_MAX: u32 = 10;
/// How much of its last answer a model is shown to mend it, in bytes.
pub const REPEATED_BYTES_MAX: usize = 256 * 1024;
/// Problems that a model is told of at once.
pub const PROBLEMS_TOLD_MAX: usize = 50;
/// Places in an answer where an object is looked for.
pub const OBJECT_PLACES_MAX: usize = 64;
/// Longest description of what is missing, in characters.
pub const CAPABILITY_CHARS_MAX: usize = 2_000;
/// How much of a trace a model is shown to answer from, in bytes.
pub const TRACE_BYTES_MAX: usize = 200_000;

/// All bounds of planning, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "REQUEST_BYTES_MAX",
        REQUEST_BYTES_MAX as u64,
        "bytes",
        "a request to the planner",
        "it is refused before a model is asked",
    ),
    Limit::new(
        "TOOLS_BYTES_MAX",
        TOOLS_BYTES_MAX as u64,
        "bytes",
        "the tools as a planning model is told of them",
        "the request is refused before a model is asked",
    ),
    Limit::new(
        "INPUT_SHOWN_BYTES_MAX",
        INPUT_SHOWN_BYTES_MAX as u64,
        "bytes",
        "an input as a planning model is shown it",
        "its middle is left out, and the size said",
    ),
    Limit::new(
        "REPAIRS_DEFAULT",
        REPAIRS_DEFAULT as u64,
        "repairs",
        "repairs of a model's plan, by default",
        "the last problems are returned",
    ),
    Limit::new(
        "REPAIRS_MAX",
        REPAIRS_MAX as u64,
        "repairs",
        "repairs of a model's plan that can be asked for",
        "no more are made",
    ),
    Limit::new(
        "REPEATED_BYTES_MAX",
        REPEATED_BYTES_MAX as u64,
        "bytes",
        "its last answer as a model is shown it to mend it",
        "its middle is left out, and the size said",
    ),
    Limit::new(
        "PROBLEMS_TOLD_MAX",
        PROBLEMS_TOLD_MAX as u64,
        "problems",
        "problems that a model is told of at once",
        "the rest is said as a number",
    ),
    Limit::new(
        "OBJECT_PLACES_MAX",
        OBJECT_PLACES_MAX as u64,
        "places",
        "places in an answer where a plan is looked for",
        "there is no plan in the answer",
    ),
    Limit::new(
        "CAPABILITY_CHARS_MAX",
        CAPABILITY_CHARS_MAX as u64,
        "characters",
        "what a model says is missing",
        "it is cut",
    ),
    Limit::new(
        "TRACE_BYTES_MAX",
        TRACE_BYTES_MAX as u64,
        "bytes",
        "a trace as a model is shown it to answer from",
        "its middle is left out, and the size said",
    ),
];
