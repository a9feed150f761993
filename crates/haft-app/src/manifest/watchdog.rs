//! The entries `[[watchdogs]]` of a manifest: programs of the operator that see every call before it executes. How they
//! are run and what they are told is the runtime's affair.

use std::path::Path;

use serde::Deserialize;

use super::problem::out_of_bounds;

/// Default timeout of a watchdog, in milliseconds.
///
/// Limit (settings): the watchdog has failed and the call is denied.
pub const WATCHDOG_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// Longest timeout of a watchdog, in milliseconds.
///
/// Limit (settings): the manifest is refused.
pub(crate) const WATCHDOG_TIMEOUT_MS_MAX: u64 = 60_000;
/// Watchdogs.
///
/// Limit (settings): the manifest is refused.
pub const WATCHDOGS_MAX: usize = 16;

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchdogEntry {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// How long it may take for one call.
    #[serde(default = "timeout_default")]
    pub timeout_ms: u64,
}

impl WatchdogEntry {
    /// Returns what is wrong with the entry.
    pub(super) fn problem(&self) -> Option<String> {
        if self.program.first().is_none_or(String::is_empty) {
            return Some("program: expected the program and its arguments, found none".to_owned());
        }
        if self.program.iter().any(|word| word.contains('\0')) {
            return Some(
                "program: expected words without NUL, which no argument can hold".to_owned(),
            );
        }
        let bounds = 1..=WATCHDOG_TIMEOUT_MS_MAX;
        out_of_bounds("timeout_ms", Some(self.timeout_ms), bounds, "milliseconds")
            .map(|(_, message)| message)
    }

    /// Returns the entry with a program that is named by a path found from `directory`. A bare name is looked up in
    /// PATH when it runs.
    pub fn resolve_paths(mut self, directory: &Path) -> Self {
        if let Some(program) = self.program.first_mut().filter(|program| program.contains('/')) {
            *program = directory.join(&*program).to_string_lossy().into_owned();
        }
        self
    }
}

/// Returns the time limit of a watchdog that names none, in milliseconds.
fn timeout_default() -> u64 {
    WATCHDOG_TIMEOUT_MS_DEFAULT
}
