//! The table `[durability]` of a manifest: where calls are recorded, how long records are kept, and what is done about
//! calls that an earlier attempt made as well. Opening the journal is not done here.

use haft::RepeatPolicy;
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};
use crate::journal_location::JournalLocation;

/// Largest `durability.keep_days`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const KEEP_DAYS_MAX: u64 = 36_500;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DurabilitySection {
    /// The treatment of a `once` call that an earlier attempt made as well.
    pub on_repeat: Option<RepeatSetting>,
    /// A file, or the URL of a database.
    pub journal: Option<String>,
    /// Runs that were quiet for longer may go.
    pub keep_days: Option<u64>,
    /// While the journal holds more, the run that was quiet for longest may go.
    pub keep_bytes: Option<u64>,
}

/// The treatment of a repeated call, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepeatSetting {
    /// The agent gets a warning with the first such call.
    Warn,
    /// Such a call is refused.
    Refuse,
    /// Such a call gets the answer of the earlier attempt.
    Recall,
}

impl From<RepeatSetting> for RepeatPolicy {
    fn from(repeats: RepeatSetting) -> Self {
        match repeats {
            RepeatSetting::Warn => Self::Warn,
            RepeatSetting::Refuse => Self::Refuse,
            RepeatSetting::Recall => Self::Recall,
        }
    }
}

impl DurabilitySection {
    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let journal = self.journal.as_deref();
        let problems = [
            journal.filter(|name| name.is_empty()).map(|_| {
                ("journal", "journal: expected a file or a URL, found an empty text".to_owned())
            }),
            journal
                .and_then(JournalLocation::problem_of)
                .map(|problem| ("journal", format!("journal: {problem}"))),
            self.keep_bytes.filter(|bytes| *bytes == 0).map(|_| {
                let message =
                    "keep_bytes: expected at least 1 byte, found 0, which would keep nothing";
                ("keep_bytes", message.to_owned())
            }),
            out_of_bounds("keep_days", self.keep_days, 1..=KEEP_DAYS_MAX, "days"),
        ];
        problems.into_iter().flatten().collect()
    }
}
