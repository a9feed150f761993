//! Patterns over the arguments of a command. A command is its list of arguments; nothing here parses shell syntax,
//! looks behind wrappers such as `env`, or knows what options mean. Which of them may stand in front of a subcommand is
//! told by a table.

use haft_contract::PartialWord;

use super::subcommand::without_options;
use super::{MatchWidth, PatternFault, PatternFit};
use crate::glob::{BOUNDARY, Glob, UNKNOWN_WORD};

/// A way to compare a glob with a text.
type GlobMatch = fn(&Glob, &[u8]) -> bool;

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
        let program = argv.first()?;
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
            && self.matches_words(argv.iter().map(|word| Some(word.as_str())), Glob::matches)
        {
            return Some(self.spelled_bytes);
        }
        if reading == MatchWidth::Narrow {
            return None;
        }
        let words: Vec<Option<&str>> = argv.iter().map(|word| Some(word.as_str())).collect();
        let matches = wide_readings(&words)
            .iter()
            .any(|reading| self.matches_loosely(&reading.words, Glob::matches));
        matches.then_some(self.spelled_bytes)
    }

    /// Returns how a deny or an ask fits a command of which some words are not known.
    ///
    /// It fits for certain if the words before the first unknown one match. If an unknown word stands where the pattern
    /// names one, it may match. An unknown word beyond the named ones changes nothing.
    pub(crate) fn fit_partial(&self, words: &[PartialWord]) -> PatternFit {
        let words: Vec<Option<&str>> = words.iter().map(PartialWord::literal).collect();
        let readings = wide_readings(&words);
        let takes_any_end = self.with_more.is_some() || self.whole.ends_with_star();
        let is_certain = |reading: &WideReading<'_>| {
            let known = reading.words.iter().take_while(|word| word.is_some()).count();
            let leading = reading.words.get(..known).unwrap_or_default();
            reading.is_certain
                && (known == reading.words.len() || takes_any_end)
                && self.matches_loosely(leading, Glob::matches)
        };
        if readings.iter().any(is_certain) {
            PatternFit::Yes(self.spelled_bytes)
        } else if readings.iter().any(|it| self.matches_loosely(&it.words, Glob::may_match)) {
            PatternFit::Possible
        } else {
            PatternFit::No
        }
    }

    /// Returns whether the words match, or what comes of them where white space separates words.
    fn matches_loosely(&self, words: &[Option<&str>], matches: GlobMatch) -> bool {
        let split = words.iter().flat_map(|word| match word {
            Some(text) => text.split_whitespace().map(Some).collect::<Vec<_>>(),
            None => vec![None],
        });
        self.matches_words(words.iter().copied(), matches) || self.matches_words(split, matches)
    }

    fn matches_words<'a>(
        &self,
        words: impl Iterator<Item = Option<&'a str>>,
        matches: GlobMatch,
    ) -> bool {
        let mut line = Vec::new();
        for (index, word) in words.enumerate() {
            if index > 0 {
                line.push(BOUNDARY);
            }
            match word {
                Some(text) => line.extend_from_slice(text.as_bytes()),
                None => line.push(UNKNOWN_WORD),
            }
        }
        matches(&self.whole, &line) || self.with_more.as_ref().is_some_and(|it| matches(it, &line))
    }
}

/// One way to read a command for a deny or an ask.
struct WideReading<'a> {
    words: Vec<Option<&'a str>>,
    /// No unknown word decides whether the command is read so.
    is_certain: bool,
}

/// Returns what a command amounts to: itself, its program by the bare name, its subcommand without the options in front,
/// and `git push` for `git-push`. None for a program that is not known.
fn wide_readings<'a>(words: &[Option<&'a str>]) -> Vec<WideReading<'a>> {
    let mut readings = Vec::new();
    let Some((Some(program), arguments)) = words.split_first() else { return readings };
    let mut add = |name: &'a str, arguments: &[Option<&'a str>], is_certain: bool| {
        let words = std::iter::once(Some(name)).chain(arguments.iter().copied()).collect();
        readings.push(WideReading { words, is_certain });
    };
    let base_name = program.rsplit('/').next().unwrap_or(program);
    add(program, arguments, true);
    add(base_name, arguments, true);
    for (subcommand, is_certain) in without_options(base_name, arguments) {
        add(base_name, subcommand, is_certain);
    }
    if let Some(subcommand) = base_name.strip_prefix("git-") {
        let with_subcommand: Vec<_> =
            std::iter::once(Some(subcommand)).chain(arguments.iter().copied()).collect();
        add("git", &with_subcommand, true);
    }
    readings
}
