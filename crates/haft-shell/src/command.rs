//! One command: a built-in that affects later commands, a wrapper that starts another command, a
//! program that runs others because of its options, or any other program.
//!
//! Compilers, package managers, interpreters and build tools are ordinary programs: the commands
//! that they run are not in the line, and the sandbox confines them.

use crate::analysis::{CommandWord, UnknownReason};
use crate::analyzer::{DirectoriesAfter, LineAnalyzer, StatementScope};
use crate::builtin;
use crate::operands;
use crate::programs;
use crate::word::render_line;
use crate::wrappers;

/// The verdict on a command by its words.
pub(crate) enum CommandVerdict {
    /// It runs no other command.
    Plain,
    Unknown(UnknownReason),
}

impl LineAnalyzer {
    /// Analyses a command in a scope and returns the shell's directories after it.
    pub(crate) fn analyze_command(
        &mut self,
        words: &[CommandWord],
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        let text = || render_line(words);
        if scope.is_too_deep() {
            self.add_unknown(&text(), UnknownReason::TooLarge);
            return DirectoriesAfter::unknown();
        }
        let Some((CommandWord::Literal(program), arguments)) = words.split_first() else {
            self.add_unknown(&text(), UnknownReason::Program);
            return DirectoriesAfter::unknown();
        };
        if self.is_function(program) {
            if arguments.iter().any(|word| word.literal().is_none()) {
                self.data.add_unknown();
            }
            self.add_command(words, scope);
            return self.after_function(scope);
        }
        if let Some(after) = builtin::analyze_builtin(self, words, scope) {
            return after;
        }
        if let Some(after) = wrappers::analyze_wrapper(self, words, scope) {
            return after;
        }
        match programs::check_program(base_name(program), arguments) {
            CommandVerdict::Unknown(reason) => self.add_unknown(&text(), reason),
            CommandVerdict::Plain => {
                self.add_command(words, scope);
                self.add_operands(words, scope);
            }
        }
        DirectoriesAfter::unchanged(scope)
    }

    fn add_operands(&mut self, words: &[CommandWord], scope: &StatementScope) {
        let Some((CommandWord::Literal(program), arguments)) = words.split_first() else { return };
        let name = base_name(program);
        let command = format!("{name} {}", render_line(arguments));
        for (path, how) in operands::operand_files(name, arguments) {
            self.add_operand((&path, how), &command, scope);
        }
    }
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a function of this name would hide a command that is recognised by its name.
pub(crate) fn is_well_known(name: &str) -> bool {
    let name = base_name(name);
    builtin::is_builtin(name)
        || wrappers::is_wrapper(name)
        || programs::is_special(name)
        || operands::is_utility(name)
}
