//! The parts that a front end gives to the tool.

use std::sync::Arc;

use crate::language::{Language, ServerProgramFinder};

/// Options of the tool.
#[derive(Clone)]
pub struct LspOptions {
    /// The languages with servers, in order of precedence.
    pub languages: Vec<Language>,
    /// Finds the servers' programs.
    pub programs: Arc<dyn ServerProgramFinder>,
    /// Whether processes run with all rights of the user. A server may run commands from the
    /// workspace, so the rules for commands apply to servers in this case.
    pub is_unconfined: bool,
}

impl LspOptions {
    /// Returns whether a server of any language is installed.
    pub(crate) fn has_server(&self) -> bool {
        let mut commands = self.languages.iter().flat_map(|language| &language.commands);
        commands.any(|command| self.programs.find(command).is_ok())
    }
}
