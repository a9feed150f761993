//! Patterns over the arguments of a command. A command is its list of arguments; nothing here parses shell syntax,
//! looks behind wrappers such as `env`, or knows what options mean. Which of them may stand in front of a subcommand is
//! told by a table.

use super::subcommand::without_options;
use super::{MatchWidth, PatternFault};
use crate::glob::{BOUNDARY, Glob};

/// A command pattern.
#[derive(Clone, Debug)]
pub(crate) struct CommandPattern {
    whole: Glob,
    /// The same with more arguments, for patterns that take them.
    with_more: Option<Glob>,
    program: ProgramPattern,
    spelled_bytes: usize,
}

/// The program that the first word of the pattern names.
#[derive(Clone, Debug)]
enum ProgramPattern {
    Literal(Vec<u8>),
    /// A glob that spells a slash, and so speaks of programs given by path.
    PathGlob,
    NameGlob,
}

impl CommandPattern {
    pub(crate) fn compile(text: &str) -> Result<Self, PatternFault> {
        if text.trim().is_empty() {
            return Err(PatternFault::Blank);
        }
        // A last word `$` is the end of the command. A word that is a dollar sign is written `[$]`.
        let before_end = text
            .trim_end()
            .strip_suffix('$')
            .filter(|before| before.ends_with(char::is_whitespace) && !before.trim().is_empty());
        let (text, ends_there) = (before_end.unwrap_or(text), before_end.is_some());
        let glob = Glob::parse_words(text)?;
        // `git push *` speaks of `git push` as well, and both forms are as specific as the other.
        let (whole, takes_more) = match glob.without_last_star_word() {
            Some(before) => (before, true),
            None => {
                let is_plain = glob.literal().is_some();
                (glob, is_plain && !ends_there)
            }
        };
        let prefix = whole.literal_prefix();
        let spelled_bytes = prefix.strip_suffix(&[BOUNDARY]).unwrap_or(&prefix).len();
        let with_more = takes_more.then(|| whole.with_more_words());
        let first_word = whole.first_word();
        let program = match first_word.literal() {
            Some(literal) => ProgramPattern::Literal(literal),
            None if first_word.contains_byte(b'/') => ProgramPattern::PathGlob,
            None => ProgramPattern::NameGlob,
        };
        Ok(Self { whole, with_more, program, spelled_bytes })
    }

    /// Returns whether every command matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.whole.is_everything()
    }

    /// Returns how many bytes of the command the pattern spells out, or `None` if it does not match.
    pub(crate) fn fit(&self, argv: &[String], reading: MatchWidth) -> Option<usize> {
        let (program, arguments) = argv.split_first()?;
        // A match of the words speaks of a bare program name. It speaks of a path only if the pattern
        // spells a path that does not climb out again.
        let is_meant = !program.contains('/')
            || match &self.program {
                ProgramPattern::Literal(literal) => literal == program.as_bytes(),
                ProgramPattern::PathGlob => program.split('/').all(|name| name != ".."),
                ProgramPattern::NameGlob => false,
            };
        // Arguments are joined by a byte that no argument can hold. Only a space of the pattern spells
        // it, so an argument `"status; rm"` or a program `"git status"` cannot pass for several words.
        let holds_boundary = |argument: &String| argument.as_bytes().contains(&BOUNDARY);
        if is_meant
            && !argv.iter().any(holds_boundary)
            && self.matches_words(argv.iter().map(String::as_str))
        {
            return Some(self.spelled_bytes);
        }
        if reading == MatchWidth::Narrow {
            return None;
        }
        let base_name = program.rsplit('/').next().unwrap_or(program);
        let matches = self.matches_loosely(program, arguments)
            || self.matches_loosely(base_name, arguments)
            || without_options(base_name, arguments)
                .iter()
                .any(|subcommand| self.matches_loosely(base_name, subcommand));
        matches.then_some(self.spelled_bytes)
    }

    /// Returns whether the words match, or what comes of them where white space separates words.
    fn matches_loosely(&self, program: &str, arguments: &[String]) -> bool {
        let words = || std::iter::once(program).chain(arguments.iter().map(String::as_str));
        self.matches_words(words()) || self.matches_words(words().flat_map(str::split_whitespace))
    }

    fn matches_words<'a>(&self, words: impl Iterator<Item = &'a str>) -> bool {
        let mut line = Vec::new();
        for (index, word) in words.enumerate() {
            if index > 0 {
                line.push(BOUNDARY);
            }
            line.extend_from_slice(word.as_bytes());
        }
        self.whole.matches(&line) || self.with_more.as_ref().is_some_and(|more| more.matches(&line))
    }
}
