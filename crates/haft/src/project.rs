//! The permanent decisions for a project. The front end stores them, never inside the workspace, where the calls that
//! the rules judge could change them.

use std::sync::{Mutex, PoisonError};

use haft_policy::Rule;

/// Keeps the rules that people answered «always for this project» with.
pub trait ProjectRules: Send + Sync {
    /// Adds rules to those that later sessions in this project begin with. It may block, and is called from a thread
    /// that may. The error says in words what went wrong.
    fn add(&self, rules: &[Rule]) -> Result<(), String>;
}

/// The rules added for the project since the runtime was made. They apply at once in all of its connections. Rules are
/// never removed, because each connection remembers how many it knows.
#[derive(Default)]
pub(crate) struct AddedProjectRules {
    /// Written after an answer «always for this project», a few times a day; its length is read by every call.
    rules: Mutex<Vec<Rule>>,
}

impl AddedProjectRules {
    /// Adds rules that hold from now on, after those that were added before.
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
