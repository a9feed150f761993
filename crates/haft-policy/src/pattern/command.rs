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

/// What the first word of the pattern says of the program.
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
        let (text, ends_there) = match without_end(text) {
            Some(before) => (before, true),
            None => (text, false),
        };
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
        Ok(Self {
            program: ProgramPattern::of(&whole.first_word()),
            whole,
            with_more,
            spelled_bytes,
        })
    }

    /// Returns whether every command matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.whole.is_everything()
    }

    /// Returns how many bytes of the command the pattern spells out, or `None` if it does not match.
    pub(crate) fn fit(&self, argv: &[String], reading: MatchWidth) -> Option<usize> {
        let matches = match reading {
            MatchWidth::Narrow => self.matches_narrowly(argv),
            MatchWidth::Wide => self.matches_narrowly(argv) || self.matches_widely(argv),
        };
        matches.then_some(self.spelled_bytes)
    }

    /// Arguments are joined by a byte that none can hold and that only a space of the pattern spells, so an argument
    /// `"status; rm"` or a program `"git status"` cannot pass for several words.
    fn matches_narrowly(&self, argv: &[String]) -> bool {
        let Some(program) = argv.first() else { return false };
        let holds_boundary = |argument: &String| argument.as_bytes().contains(&BOUNDARY);
        !argv.iter().any(holds_boundary)
            && self.program.vouches_for(program)
            && self.matches_words(argv.iter().map(String::as_str))
    }

    fn matches_widely(&self, argv: &[String]) -> bool {
        let Some((program, arguments)) = argv.split_first() else { return false };
        let base_name = program.rsplit('/').next().unwrap_or(program);
        [program.as_str(), base_name]
            .into_iter()
            .any(|program| self.matches_loosely(program, arguments))
            || without_options(base_name, arguments)
                .iter()
                .any(|subcommand| self.matches_loosely(base_name, subcommand))
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

/// Returns the pattern before a last word that is `$`, the end of the command. A word that is a dollar sign itself
/// is written `[$]`.
fn without_end(text: &str) -> Option<&str> {
    let before = text.trim_end().strip_suffix('$')?;
    (before.ends_with(char::is_whitespace) && !before.trim().is_empty()).then_some(before)
}

impl ProgramPattern {
    fn of(first_word: &Glob) -> Self {
        match first_word.literal() {
            Some(literal) => Self::Literal(literal),
            None if first_word.contains_byte(b'/') => Self::PathGlob,
            None => Self::NameGlob,
        }
    }

    /// Returns whether a narrow match of the words also speaks of this program: a bare name does, a path only if the
    /// pattern spells a path, and then not one that climbs out again.
    fn vouches_for(&self, program: &str) -> bool {
        if !program.contains('/') {
            return true;
        }
        match self {
            Self::Literal(literal) => literal == program.as_bytes(),
            Self::PathGlob => program.split('/').all(|name| name != ".."),
            Self::NameGlob => false,
        }
    }
}
