//! The limits of running a plan, each with its unit in its name.

use std::num::NonZeroUsize;

/// Default number of nodes at the same time.
///
/// Limit (plans): further nodes wait.
pub const PARALLEL_DEFAULT: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");
/// Largest number of nodes at the same time.
///
/// Limit (plans): further nodes wait.
pub const PARALLEL_MAX: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");
/// Delay before the first retry of a node, in milliseconds.
///
/// Limit (plans): the retry starts.
pub const RETRY_DELAY_FIRST_MS: u64 = 1_000;
/// How many times as long each further time between attempts is.
pub const RETRY_DELAY_FACTOR: u32 = 2;
/// Longest delay before a retry of a node, in milliseconds.
///
/// Limit (plans): the retry starts.
pub const RETRY_DELAY_MAX_MS: u64 = 60_000;
/// Largest plan with its input that a run stores, in bytes.
///
/// Limit (plans): the plan does not start.
pub const KEPT_PLAN_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Longest text of a plan and its input that is one row of the journal, in bytes. Inside a JSON text it can double, and
/// the journal keeps no more than 262,144 bytes of an input.
pub const KEPT_PART_BYTES_MAX: usize = 120_000;
/// Longest input of a node that a trace shows, in bytes.
pub const TRACED_INPUT_BYTES_MAX: usize = 64 * 1024;
