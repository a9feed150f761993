//! Finds out whether a call happened before. The pipeline asks at three points: when the call arrives, once its input
//! is valid, and once it may execute.
//!
//! [`recall`] finds the recorded call that a call is, or numbers it as a new one; this comes before the tool and the input
//! are looked at, since a recorded answer depends neither on today's schemas nor on today's rules. [`check_earlier_attempts`]
//! finds what earlier attempts of the task did. [`probe`] asks the tool about a call in doubt; this comes after all gates,
//! because a probe reaches the world as the call would.

pub(super) mod attempt;
mod earlier_attempts;
mod earlier_effects;
mod evidence;
mod in_doubt;
mod lookup;
mod probe;
mod recall;
mod repeat_index;
pub(super) mod replay;
mod retry_warning;

pub(crate) use attempt::{AttemptTrackers, PriorCalls};
pub(super) use earlier_attempts::check_earlier_attempts;
pub(super) use evidence::History;
pub(crate) use in_doubt::check_files_of_calls;
pub use lookup::ResumeMode;
pub(crate) use lookup::{CallLease, RunHistory};
pub(super) use probe::probe;
pub(super) use recall::{in_doubt_answer, recall, rehearse};
pub use retry_warning::RetryWarning;
pub(crate) use retry_warning::load_retry_warning;
