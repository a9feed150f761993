//! `tar`: its first word may be letters without a dash, and the role of its operands depends on the
//! operation. The contents of archives are not inspected: extracted files land below the target
//! directory.

use std::collections::VecDeque;

use super::path_within;
use crate::analysis::CommandWord;
use crate::analysis::FileUseMode::{self, Read, Write};

/// Letters that take a value. Letters without a dash take theirs from the next words, in order.
const WITH_VALUE: &str = "bCfgHIKLNTVX";
/// Long options that take a value, which may be the next word.
const LONG_WITH_VALUE: &[(&str, char)] = &[
    ("--directory", 'C'),
    ("--exclude-from", 'X'),
    ("--file", 'f'),
    ("--files-from", 'T'),
    ("--listed-incremental", 'g'),
    ("--exclude", ' '),
    ("--format", ' '),
    ("--group", ' '),
    ("--label", ' '),
    ("--mode", ' '),
    ("--mtime", ' '),
    ("--newer", ' '),
    ("--owner", ' '),
    ("--strip-components", ' '),
    ("--transform", ' '),
    ("--xform", ' '),
];
/// Long options that select the operation, or affect it.
const LONG: &[(&str, char)] = &[
    ("--absolute-names", 'P'),
    ("--append", 'r'),
    ("--catenate", 'A'),
    ("--compare", 'd'),
    ("--concatenate", 'A'),
    ("--create", 'c'),
    ("--delete", 'D'),
    ("--diff", 'd'),
    ("--extract", 'x'),
    ("--get", 'x'),
    ("--list", 't'),
    ("--remove-files", 'R'),
    ("--update", 'u'),
];

/// The parsed arguments.
#[derive(Debug, Default)]
struct TarArguments {
    /// Letters without a value, including those of long options.
    letters: String,
    archives: Vec<String>,
    files: Vec<(String, FileUseMode)>,
    operands: Vec<String>,
    /// The directories that it changes to, each relative to the previous one.
    directories: Vec<String>,
    has_list: bool,
}

/// Returns whether it accesses files that neither operands nor options name.
pub(super) fn touches_other_files(arguments: &[CommandWord]) -> bool {
    let read = TarArguments::read(arguments);
    read.has_list || (read.does('P') && read.does('x'))
}

/// Returns the file arguments. Operands after a change of directory count both relative to the old
/// and the new directory.
pub(super) fn files(arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    let read = TarArguments::read(arguments);
    let mut files = read.files.clone();
    let changes_archive = "cruAD".chars().any(|letter| read.does(letter));
    let reads_archive = !read.does('c');
    for archive in read.archives.iter().filter(|archive| *archive != "-") {
        files.extend(reads_archive.then(|| (archive.clone(), Read)));
        files.extend(changes_archive.then(|| (archive.clone(), Write)));
    }
    let reads_operands = "cruAd".chars().any(|letter| read.does(letter));
    let takes_out = read.does('x') || !(changes_archive || read.does('t') || read.does('d'));
    for place in read.places() {
        let operands = || read.operands.iter().map(|operand| path_within(&place, operand));
        files.extend(operands().filter(|_| reads_operands).map(|path| (path, Read)));
        files.extend(operands().filter(|_| read.does('R')).map(|path| (path, Write)));
        if takes_out {
            files.push((path_within(&place, "."), Write));
        }
        if read.does('d') && read.operands.is_empty() {
            files.push((path_within(&place, "."), Read));
        }
    }
    files
}

impl TarArguments {
    fn read(arguments: &[CommandWord]) -> Self {
        let mut read = Self::default();
        let mut pending: VecDeque<char> = VecDeque::new();
        let mut are_options_over = false;
        for (index, word) in arguments.iter().enumerate() {
            let awaited = pending.pop_front();
            // An option value that the shell expands names no known file.
            let Some(text) = word.literal() else { continue };
            if let Some(letter) = awaited {
                read.take(letter, text);
            } else if are_options_over {
                read.operands.push(text.to_owned());
            } else if text == "--" {
                are_options_over = true;
            } else if text.starts_with("--") {
                // A long option may be abbreviated.
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (text, None),
                };
                let named = |options: &[(&str, char)]| {
                    let exact = options.iter().find(|(option, _)| *option == name);
                    let begun = || options.iter().find(|(option, _)| option.starts_with(name));
                    exact.or_else(begun).map(|(_, letter)| *letter)
                };
                match (named(LONG_WITH_VALUE), value) {
                    (Some(letter), Some(value)) => read.take(letter, value),
                    (Some(letter), None) => pending.push_back(letter),
                    (None, _) => read.letters.extend(named(LONG)),
                }
            } else if let Some(letters) = text.strip_prefix('-').filter(|it| !it.is_empty()) {
                let value_at = letters.find(|letter| WITH_VALUE.contains(letter));
                let (plain, valued) = letters.split_at(value_at.unwrap_or(letters.len()));
                read.letters.push_str(plain);
                let mut valued = valued.chars();
                match (valued.next(), valued.as_str()) {
                    (Some(letter), "") => pending.push_back(letter),
                    (Some(letter), value) => read.take(letter, value),
                    (None, _) => {}
                }
            } else if index == 0 {
                let (with_value, without): (Vec<char>, Vec<char>) =
                    text.chars().partition(|letter| WITH_VALUE.contains(*letter));
                pending.extend(with_value);
                read.letters.extend(without);
            } else {
                read.operands.push(text.to_owned());
            }
        }
        read
    }

    fn take(&mut self, letter: char, value: &str) {
        match letter {
            'C' => self.directories.push(value.to_owned()),
            'f' => self.archives.push(value.to_owned()),
            'g' => {
                self.files.extend([Read, Write].map(|how| (value.to_owned(), how)));
            }
            'T' => self.has_list = true,
            'X' => self.files.push((value.to_owned(), Read)),
            _ => {}
        }
    }

    fn does(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    /// Returns its possible working directories.
    fn places(&self) -> Vec<String> {
        let mut places = vec![".".to_owned()];
        for directory in &self.directories {
            let from = places.last().map(|place| path_within(place, directory));
            places.extend(from);
        }
        places
    }
}
