//! How far a recorded call has come: the words that JSON and the database use.

use crate::words::words;

words! {
    /// How far a recorded call has come.
    CallStatus {
        /// It was about to execute; whether it did is not known yet.
        Intended = "intended",
        /// It did what was asked.
        Succeeded = "succeeded",
        /// It was executed and reported an error.
        Failed = "failed",
        /// It was not executed.
        Refused = "refused",
        /// It may or may not have happened.
        Unknown = "unknown",
    }
}
