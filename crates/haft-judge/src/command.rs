//! One command: a built-in that changes what comes after it, a wrapper that starts another command, a program that
//! runs what its options say, or a program as any other.
//!
//! Compilers, package managers, interpreters and build tools are programs as any other: what they run is not in the
//! line, and holding them is the sandbox's work.

use crate::builtin;
use crate::judgement::{UnknownReason, Word};
use crate::operands;
use crate::programs;
use crate::walk::{After, Scope, Walk};
use crate::word::line_of;
use crate::wrappers;

/// What is known of a command by its words.
pub(crate) enum Verdict {
    /// It runs nothing else.
    Plain,
    Unknown(UnknownReason),
}

impl Walk {
    /// Judges a command in a scope and returns where the shell is after it.
    pub(crate) fn command(&mut self, words: &[Word], scope: &Scope) -> After {
        let text = || line_of(words);
        if scope.is_too_deep() {
            self.unknown(&text(), UnknownReason::TooLarge);
            return After::anywhere();
        }
        let Some((Word::Literal(program), arguments)) = words.split_first() else {
            self.unknown(&text(), UnknownReason::Program);
            return After::anywhere();
        };
        if self.is_function(program) {
            if arguments.iter().any(|word| word.literal().is_none()) {
                self.data.take_unknown();
            }
            self.known(words, scope);
            return self.after_function(scope);
        }
        if let Some(after) = builtin::judge(self, words, scope) {
            return after;
        }
        if let Some(after) = wrappers::judge(self, words, scope) {
            return after;
        }
        match programs::judge(base_name(program), arguments) {
            Verdict::Unknown(reason) => self.unknown(&text(), reason),
            Verdict::Plain => {
                self.known(words, scope);
                self.operands(words, scope);
            }
        }
        After::unmoved(scope)
    }

    fn operands(&mut self, words: &[Word], scope: &Scope) {
        let Some((Word::Literal(program), arguments)) = words.split_first() else { return };
        let name = base_name(program);
        let command = format!("{name} {}", line_of(arguments));
        for (path, how) in operands::of(name, arguments) {
            self.operand((&path, how), &command, scope);
        }
    }
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a function of this name would hide a command that is judged by its name.
pub(crate) fn is_well_known(name: &str) -> bool {
    let name = base_name(name);
    builtin::is_builtin(name)
        || wrappers::is_wrapper(name)
        || programs::is_special(name)
        || operands::is_utility(name)
}
