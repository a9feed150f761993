//! Reads arguments as getopt does: clusters of letters, values in the same or the next word, options after operands,
//! and `--` for their end.

use super::{Role, Utility};
use crate::judgement::{How, Word};

/// Options that give what is the first operand otherwise.
const FIRST_GIVEN: &[&str] = &["regexp", "file", "files", "type-list", "reference"];
const FIRST_GIVEN_LETTERS: &str = "ef";
/// Options that make a utility search the directory where nothing else is named.
const RECURSIVE: &[&str] = &["recursive", "dereference-recursive", "directories"];
const RECURSIVE_LETTERS: &str = "Rdr";
/// Letters that the utilities with a mode have. Others are a mode, as in `chmod -x`.
const CHANGE_LETTERS: &str = "cfvRhHLP";

/// What the arguments of a utility are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) operands: Vec<String>,
    /// What options name.
    pub(super) files: Vec<(String, How)>,
    /// An option stands for the first operand.
    pub(super) is_first_given: bool,
    /// An option makes it search directories.
    pub(super) is_recursive: bool,
    /// An option names the target, or every operand is one.
    pub(super) is_target_given: bool,
    /// A shortened option leaves open what the next word is.
    pub(super) is_doubtful: bool,
}

pub(super) fn read(utility: &Utility, arguments: &[Word]) -> Arguments {
    let mut read = Arguments::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.literal() else {
            read.take_unknown(utility.role);
            continue;
        };
        let takes_next = if text == "--" {
            read.operands.extend(rest.by_ref().filter_map(Word::literal).map(str::to_owned));
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
        // The value of an option that the shell expands names nothing that is known.
        let value = takes_next.and_then(|value| Some((value, rest.next()?.literal()?)));
        if let Some((Value::File(how), path)) = value {
            read.files.push((path.to_owned(), how));
        }
    }
    read
}

/// What the next word is.
#[derive(Clone, Copy)]
enum Value {
    Text,
    File(How),
}

impl Arguments {
    /// Takes a word that may be any number of operands, so that it is open which of the others is the first or the last.
    fn take_unknown(&mut self, role: Role) {
        match role {
            Role::Reads | Role::ReadsHere | Role::Writes | Role::Unpacks | Role::Settings => {}
            Role::Searches | Role::SearchesHere | Role::Changes => {
                self.is_first_given |= self.operands.is_empty();
                self.is_recursive = true;
            }
            Role::Filters | Role::Copies | Role::Moves | Role::Packs | Role::Either => {
                self.is_doubtful = true;
            }
        }
    }

    fn long(&mut self, utility: &Utility, option: &str) -> Option<Value> {
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
            (Some((path, how)), None) if *path == name => Some(Value::File(*how)),
            (Some(_), None) => {
                self.is_doubtful = true;
                None
            }
            (None, Some(_)) => None,
            (None, None) => utility.long.contains(&name).then_some(Value::Text),
        }
    }

    fn letters(&mut self, utility: &Utility, letters: &str) -> Option<Value> {
        let is_change = |letter: char| CHANGE_LETTERS.contains(letter);
        self.is_first_given |= utility.role == Role::Changes && !letters.chars().all(is_change);
        for (index, letter) in letters.char_indices() {
            let rest = letters.get(index + letter.len_utf8()..).unwrap_or_default();
            if matches!(utility.role, Role::Searches | Role::SearchesHere) {
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
                    return Some(Value::File(*how));
                }
                self.files.push((rest.to_owned(), *how));
                return None;
            }
            if utility.letters.contains(letter) {
                return rest.is_empty().then_some(Value::Text);
            }
        }
        None
    }
}
