//! What was decided for a project for good. Where it is kept is the front end's business: never inside the workspace,
//! where the calls that the rules are about could change it.

use std::sync::{Mutex, PoisonError};

use haft_policy::Rule;

/// Keeps the rules that people answered «always for this project» with.
pub trait ProjectRules: Send + Sync {
    /// Adds rules to those that later sessions in this project begin with. It may block, and is called from a thread
    /// that may. The error says in words what went wrong.
    fn add(&self, rules: &[Rule]) -> Result<(), String>;
}

/// The rules that were added for the project since the runtime was made, so that they hold at once and in all its
/// sessions. Sessions remember how many they know, so none is ever taken out.
#[derive(Default)]
pub(crate) struct AddedProjectRules {
    // Written after an answer «always for this project», a few times a day; its length is read by every call.
    rules: Mutex<Vec<Rule>>,
}

impl AddedProjectRules {
    pub(crate) fn add(&self, rules: &[Rule]) {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(rules);
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns those after the first `known`.
    pub(crate) fn added_since(&self, known: usize) -> Vec<Rule> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().skip(known).cloned().collect()
    }
}
