//! Parses arguments as getopt does: clusters of letters, values in the same or the next word,
//! options after operands, and `--` at their end.

use super::{OperandRole, Utility};
use crate::analysis::{CommandWord, FileUseMode};

/// Options that supply the first operand.
const FIRST_GIVEN: &[&str] = &["regexp", "file", "files", "type-list", "reference"];
const FIRST_GIVEN_LETTERS: &str = "ef";
/// Options that make a utility search the working directory if no path is given.
const RECURSIVE: &[&str] = &["recursive", "dereference-recursive", "directories"];
const RECURSIVE_LETTERS: &str = "Rdr";
/// Option letters of the utilities with a mode operand. Other letters are a mode, as in `chmod -x`.
const CHANGE_LETTERS: &str = "cfvRhHLP";

/// The parsed arguments of a utility.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UtilityArguments {
    pub(super) operands: Vec<String>,
    /// Files named by options.
    pub(super) files: Vec<(String, FileUseMode)>,
    /// An option replaces the first operand.
    pub(super) is_first_given: bool,
    /// An option makes it search directories.
    pub(super) is_recursive: bool,
    /// An option names the target, or every operand is one.
    pub(super) is_target_given: bool,
    /// Because of an abbreviated option, the role of the next word is uncertain.
    pub(super) is_doubtful: bool,
}

pub(super) fn parse_arguments(utility: &Utility, arguments: &[CommandWord]) -> UtilityArguments {
    let mut read = UtilityArguments::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.literal() else {
            // The word may expand to any number of operands, so the first and the last operand are uncertain.
            match utility.role {
                OperandRole::Reads
                | OperandRole::ReadsHere
                | OperandRole::Writes
                | OperandRole::Unpacks
                | OperandRole::Settings => {}
                OperandRole::Searches | OperandRole::SearchesHere | OperandRole::Changes => {
                    read.is_first_given |= read.operands.is_empty();
                    read.is_recursive = true;
                }
                OperandRole::Filters
                | OperandRole::Copies
                | OperandRole::Moves
                | OperandRole::Packs
                | OperandRole::Either => {
                    read.is_doubtful = true;
                }
            }
            continue;
        };
        let takes_next = if text == "--" {
            read.operands.extend(rest.by_ref().filter_map(CommandWord::literal).map(str::to_owned));
            None
        } else if let Some(option) = text.strip_prefix("--") {
            read.long(utility, option)
        } else {
            match text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                Some(letters) => read.letters(utility, letters),
                None => {
                    read.operands.push(text.to_owned());
                    None
                }
            }
        };
        // An option value that the shell expands names no known file.
        let value = takes_next.and_then(|value| Some((value, rest.next()?.literal()?)));
        if let Some((OptionValueKind::File(how), path)) = value {
            read.files.push((path.to_owned(), how));
        }
    }
    read
}

/// The role of the next word.
#[derive(Clone, Copy)]
enum OptionValueKind {
    Text,
    File(FileUseMode),
}

impl UtilityArguments {
    fn long(&mut self, utility: &Utility, option: &str) -> Option<OptionValueKind> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        self.is_first_given |= FIRST_GIVEN.iter().any(|given| given.starts_with(name));
        self.is_recursive |= RECURSIVE.iter().any(|option| option.starts_with(name));
        let is_directory = utility.names.contains(&"install") && "directory".starts_with(name);
        self.is_target_given |= "target-directory".starts_with(name);
        if is_directory {
            self.is_doubtful = true;
        }
        let path = utility.paths.iter().find(|(path, _)| path.len() > 1 && path.starts_with(name));
        match (path, value) {
            (Some((_, how)), Some(value)) => {
                self.files.push((value.to_owned(), *how));
                None
            }
            (Some((path, how)), None) if *path == name => Some(OptionValueKind::File(*how)),
            (Some(_), None) => {
                self.is_doubtful = true;
                None
            }
            (None, Some(_)) => None,
            (None, None) => utility.long.contains(&name).then_some(OptionValueKind::Text),
        }
    }

    fn letters(&mut self, utility: &Utility, letters: &str) -> Option<OptionValueKind> {
        let is_change = |letter: char| CHANGE_LETTERS.contains(letter);
        self.is_first_given |=
            utility.role == OperandRole::Changes && !letters.chars().all(is_change);
        for (index, letter) in letters.char_indices() {
            let rest = letters.get(index + letter.len_utf8()..).unwrap_or_default();
            if matches!(utility.role, OperandRole::Searches | OperandRole::SearchesHere) {
                self.is_first_given |= FIRST_GIVEN_LETTERS.contains(letter);
                self.is_recursive |= RECURSIVE_LETTERS.contains(letter);
            }
            if utility.names.contains(&"install") && letter == 'd' {
                self.is_doubtful = true;
            }
            let name = letter.to_string();
            let path = utility.paths.iter().find(|(path, _)| *path == name);
            if let Some((_, how)) = path {
                self.is_target_given |= letter == 't';
                if rest.is_empty() {
                    return Some(OptionValueKind::File(*how));
                }
                self.files.push((rest.to_owned(), *how));
                return None;
            }
            if utility.letters.contains(letter) {
                return rest.is_empty().then_some(OptionValueKind::Text);
            }
        }
        None
    }
}
