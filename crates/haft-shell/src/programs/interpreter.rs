//! Interpreters of languages: the script file that they run, and the files that a one-line program
//! of perl or ruby processes. Code may use other arguments in any way; only the sandbox confines
//! that.

use super::path_within;
use crate::analysis::CommandWord;
use crate::analysis::FileUseMode::{self, Read, Write};

struct Interpreter {
    /// The names; a version may be appended.
    names: &'static [&'static str],
    /// Letters that supply code or a module; the operands then belong to the code.
    code: &'static str,
    /// Letters that take a value, in the same word or the next.
    with_value: &'static str,
    /// Letters whose value is the rest of the same word.
    attached: &'static str,
    /// Letters that make it process its operands in a loop.
    loops: &'static str,
    /// Long options whose value is the next word.
    long: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["perl"],
        code: "eE",
        with_value: "I",
        attached: "CDFMVdmx",
        loops: "np",
        long: &[],
    },
    Interpreter {
        names: &["ruby"],
        code: "e",
        with_value: "CEIr",
        attached: "FKTWx",
        loops: "np",
        long: &[],
    },
    Interpreter {
        names: &["python", "pypy"],
        code: "cm",
        with_value: "WX",
        attached: "",
        loops: "",
        long: &["--check-hash-based-pycs"],
    },
    Interpreter {
        names: &["node", "nodejs"],
        code: "ep",
        with_value: "Cr",
        attached: "",
        loops: "",
        long: &["--conditions", "--env-file", "--import", "--loader", "--require"],
    },
];

/// The parsed options.
#[derive(Default)]
struct InterpreterOptions {
    has_code: bool,
    loops: bool,
    /// Files are also written; this backup suffix or pattern names the copy of the old content.
    in_place: Option<String>,
}

/// Returns the file arguments of an interpreter; `None` for another program.
pub(super) fn files(name: &str, arguments: &[CommandWord]) -> Option<Vec<(String, FileUseMode)>> {
    find(name).map(|interpreter| interpreter.files(arguments))
}

pub(super) fn is_interpreter(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Interpreter> {
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    INTERPRETERS.iter().find(|known| known.names.contains(&bare))
}

impl Interpreter {
    fn files(&self, arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
        let mut options = InterpreterOptions::default();
        let mut rest = arguments.iter();
        let mut operands: Vec<&CommandWord> = Vec::new();
        while let Some(word) = rest.next() {
            let takes_next = match word.literal() {
                Some("--") => {
                    operands.extend(rest.by_ref());
                    false
                }
                Some(text) if text.starts_with("--") => self.long(text, &mut options),
                Some(text) if text.starts_with('-') && text != "-" => {
                    self.cluster(text.trim_start_matches('-'), &mut options)
                }
                Some(_) | None => {
                    operands.push(word);
                    operands.extend(rest.by_ref());
                    false
                }
            };
            if takes_next {
                rest.next();
            }
            // Words after a module or code belong to the program, including options.
            if options.has_code && self.loops.is_empty() {
                return Vec::new();
            }
        }
        options.files(&operands, !self.loops.is_empty())
    }

    /// Returns whether the next word is the option's value.
    fn long(&self, text: &str, options: &mut InterpreterOptions) -> bool {
        options.has_code |= ["--eval", "--print"].iter().any(|option| text.starts_with(option));
        self.long.contains(&text)
    }

    /// Parses letters after a dash, and returns whether the next word is the value of the last one.
    fn cluster(&self, letters: &str, options: &mut InterpreterOptions) -> bool {
        for (at, letter) in letters.char_indices() {
            let is_last = at + letter.len_utf8() == letters.len();
            if self.code.contains(letter) {
                options.has_code = true;
                return is_last;
            }
            if self.with_value.contains(letter) {
                return is_last;
            }
            if letter == 'i' && !self.loops.is_empty() {
                options.in_place = letters.get(at + 1..).map(str::to_owned);
                return false;
            }
            if self.attached.contains(letter) {
                return false;
            }
            options.loops |= self.loops.contains(letter);
        }
        false
    }
}

impl InterpreterOptions {
    fn files(&self, operands: &[&CommandWord], has_loops: bool) -> Vec<(String, FileUseMode)> {
        let script = usize::from(!self.has_code);
        // One-line code usually reads the named files, with or without a loop around it.
        let count =
            if self.loops || (self.has_code && has_loops) { operands.len() } else { script };
        let mut files = Vec::new();
        for (index, word) in operands.iter().take(count).enumerate() {
            let Some(text) = word.literal().filter(|text| *text != "-") else { continue };
            files.push((text.to_owned(), Read));
            if let Some(kept) = self.in_place.as_ref().filter(|_| index >= script) {
                files.push((text.to_owned(), Write));
                // The value is a suffix, or a name in which a star stands for the old name and which may
                // lead to another directory.
                let (directory, name) = text.rsplit_once('/').unwrap_or((".", text));
                let backup = match kept.as_str() {
                    "" => continue,
                    kept if !kept.contains('*') => format!("{text}{kept}"),
                    kept if kept.contains('/') => kept.replace('*', name),
                    kept => path_within(directory, &kept.replace('*', name)),
                };
                files.push((backup, Write));
            }
        }
        files
    }
}
