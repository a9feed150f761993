//! The limits of planning with a model, each with its unit in its name.

/// Longest request to the planner, in bytes.
///
/// Limit (plans): the request is refused before a model is asked.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Tools that the planner shows to a model, in bytes.
///
/// Limit (plans): the request is refused before a model is asked.
pub const TOOLS_BYTES_MAX: usize = 512 * 1024;
/// How much of an input a model is shown, in bytes.
pub const INPUT_SHOWN_BYTES_MAX: usize = 8 * 1024;
/// Default number of repairs of a plan by a model.
///
/// Limit (plans): the remaining problems are returned.
pub const REPAIRS_DEFAULT: u32 = 3;
/// Largest number of repairs of a plan by a model.
///
/// Limit (plans): the remaining problems are returned.
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
