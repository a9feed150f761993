//! Interpreters of languages: the file that they are told to run, and the files that a line of perl or ruby is run
//! over. What the code does with its other arguments is its own matter, and held by the sandbox alone.

use super::below;
use crate::judgement::How::{self, Read, Write};
use crate::judgement::Word;

struct Interpreter {
    /// The names, to which a version may be added.
    names: &'static [&'static str],
    /// Letters that give code or a module, after which the operands are the code's.
    code: &'static str,
    /// Letters that take a value, in the same word or the next.
    with_value: &'static str,
    /// Letters whose value is what follows in the same word.
    attached: &'static str,
    /// Letters that make it go over its operands.
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

/// What the options say.
#[derive(Default)]
struct Told {
    has_code: bool,
    loops: bool,
    /// What is read is written as well, and kept under a name that this makes of the old one.
    in_place: Option<String>,
}

/// Returns the files that an interpreter is given, or nothing for another program.
pub(super) fn files(name: &str, arguments: &[Word]) -> Option<Vec<(String, How)>> {
    find(name).map(|interpreter| interpreter.files(arguments))
}

pub(super) fn is_interpreter(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Interpreter> {
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    INTERPRETERS.iter().find(|known| known.names.contains(&bare))
}

/// Returns where the old content of a file is kept that is changed in place: an ending, or a name with a star for the
/// old one, and then wherever that leads beside it.
fn kept_copy(path: &str, kept: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
    match kept {
        "" => None,
        kept if !kept.contains('*') => Some(format!("{path}{kept}")),
        kept if kept.contains('/') => Some(kept.replace('*', name)),
        kept => Some(below(directory, &kept.replace('*', name))),
    }
}

impl Interpreter {
    fn files(&self, arguments: &[Word]) -> Vec<(String, How)> {
        let mut told = Told::default();
        let mut rest = arguments.iter();
        let mut operands: Vec<&Word> = Vec::new();
        while let Some(word) = rest.next() {
            let takes_next = match word.literal() {
                Some("--") => {
                    operands.extend(rest.by_ref());
                    false
                }
                Some(text) if text.starts_with("--") => self.long(text, &mut told),
                Some(text) if text.starts_with('-') && text != "-" => {
                    self.cluster(text.trim_start_matches('-'), &mut told)
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
            // What follows a module or code is the program's, options too.
            if told.has_code && self.loops.is_empty() {
                return Vec::new();
            }
        }
        told.files(&operands, !self.loops.is_empty())
    }

    /// Returns whether the next word is the option's value.
    fn long(&self, text: &str, told: &mut Told) -> bool {
        told.has_code |= ["--eval", "--print"].iter().any(|option| text.starts_with(option));
        self.long.contains(&text)
    }

    /// Reads letters after a dash, and returns whether the next word is the value of the last of them.
    fn cluster(&self, letters: &str, told: &mut Told) -> bool {
        for (at, letter) in letters.char_indices() {
            let is_last = at + letter.len_utf8() == letters.len();
            if self.code.contains(letter) {
                told.has_code = true;
                return is_last;
            }
            if self.with_value.contains(letter) {
                return is_last;
            }
            if letter == 'i' && !self.loops.is_empty() {
                told.in_place = letters.get(at + 1..).map(str::to_owned);
                return false;
            }
            if self.attached.contains(letter) {
                return false;
            }
            told.loops |= self.loops.contains(letter);
        }
        false
    }
}

impl Told {
    fn files(&self, operands: &[&Word], has_loops: bool) -> Vec<(String, How)> {
        let script = usize::from(!self.has_code);
        // Code in the line that is given names most often reads them, with a loop around it or not.
        let count =
            if self.loops || (self.has_code && has_loops) { operands.len() } else { script };
        let mut files = Vec::new();
        for (index, word) in operands.iter().take(count).enumerate() {
            let Some(text) = word.literal().filter(|text| *text != "-") else { continue };
            files.push((text.to_owned(), Read));
            if let Some(kept) = self.in_place.as_ref().filter(|_| index >= script) {
                files.push((text.to_owned(), Write));
                files.extend(kept_copy(text, kept).map(|path| (path, Write)));
            }
        }
        files
    }
}
