//! The files that well-known utilities are given by name. The table errs towards more: an argument that may be a file
//! counts as one, and what a utility does beneath a directory counts as done to the directory. Programs that are not
//! in the table have their files judged by the sandbox alone.

use crate::judgement::{How, Word};
use crate::programs;

mod read;
mod table;

/// One utility: what its operands are, and which of its options take a value.
struct Utility {
    names: &'static [&'static str],
    role: Role,
    /// Letters of options that take a value which is no file.
    letters: &'static str,
    /// Long options that take a value which is no file, in the next word.
    long: &'static [&'static str],
    /// Options whose value is a file, by letter or long name.
    paths: &'static [(&'static str, How)],
}

/// What the operands of a utility are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// All are read.
    Reads,
    /// All are read; without any, the directory in which it runs is.
    ReadsHere,
    /// The first is a pattern unless an option gives it; the others are read. Without any, the directory is, if an
    /// option makes it search directories, and its input otherwise.
    Searches,
    /// The same, but without any the directory is read always.
    SearchesHere,
    /// All are written.
    Writes,
    /// The first is a mode or an owner unless an option gives it; the others are written.
    Changes,
    /// The first is read, the second written.
    Filters,
    /// The last is written unless an option names the target; the others are read.
    Copies,
    /// The last is written unless an option names the target; the others are read and removed.
    Moves,
    /// The first is an archive that is read and written, under this name or with an ending; the others are read.
    Packs,
    /// The first is an archive that is read; what it holds is written where an option says, or here.
    Unpacks,
    /// Each may be read or written.
    Either,
    /// `if=…` and `of=…`.
    Settings,
}

/// Options that make a utility write beside its operands, read lists of files, or change the role of operands in a
/// way that the table does not tell.
const SURPRISING: &[(&str, &[&str])] = &[
    ("cp", &["-b", "-S", "--backup", "--suffix"]),
    ("du", &["--files0-from"]),
    ("file", &["-C", "--compile", "-f", "--files-from"]),
    ("install", &["-b", "-S", "-s", "--backup", "--suffix", "--strip"]),
    ("ln", &["-b", "-S", "--backup", "--suffix"]),
    ("mv", &["-b", "-S", "--backup", "--suffix"]),
    ("rmdir", &["-p", "--parents"]),
    ("shred", &["-u", "--remove"]),
    ("sort", &["--files0-from"]),
    ("wc", &["--files0-from"]),
    // It takes names from its input, or removes what it packed.
    ("zip", &["-@", "-m", "--names-stdin", "--move"]),
];

pub(crate) fn is_utility(name: &str) -> bool {
    find(name).is_some()
}

/// Returns whether an option makes the utility touch files that its operands do not name.
pub(crate) fn is_surprising(name: &str, arguments: &[Word]) -> bool {
    let checks_list = table::CHECKSUMS.contains(&name) && has_option(arguments, &["-c", "--check"]);
    let surprising = SURPRISING.iter().find(|(program, _)| *program == name);
    checks_list || surprising.is_some_and(|(_, options)| has_option(arguments, options))
}

/// Returns the files that a utility is given, with what it does to them.
pub(crate) fn of(name: &str, arguments: &[Word]) -> Vec<(String, How)> {
    if let Some(files) = programs::files(name, arguments) {
        return files;
    }
    let Some(utility) = find(name) else { return Vec::new() };
    let read = read::read(utility, arguments);
    let mut files = read.files.clone();
    files.extend(utility.role.files(&read));
    files
}

fn find(name: &str) -> Option<&'static Utility> {
    table::UTILITIES.iter().find(|utility| utility.names.contains(&name))
}

/// Returns whether an option is given, in a cluster of letters, with a value, or shortened.
fn has_option(arguments: &[Word], options: &[&str]) -> bool {
    let words = arguments.iter().filter_map(Word::literal).take_while(|text| *text != "--");
    let mut given = words.filter(|text| text.starts_with('-') && text.len() > 1);
    given.any(|text| {
        let name = text.split('=').next().unwrap_or(text);
        options.iter().any(|option| match option.strip_prefix("--") {
            Some(_) => text.starts_with("--") && option.starts_with(name),
            None => {
                let letter = option.trim_start_matches('-');
                !text.starts_with("--") && text.contains(letter)
            }
        })
    })
}

impl Role {
    fn files(self, read: &read::Arguments) -> Vec<(String, How)> {
        let all = |how: How| {
            read.operands.iter().map(move |operand| (operand.clone(), how)).collect::<Vec<_>>()
        };
        let here = |mut files: Vec<(String, How)>| {
            if files.is_empty() {
                files.push((".".to_owned(), How::Read));
            }
            files
        };
        let after_first = |how: How| {
            let skipped = if read.is_first_given { 0 } else { 1 };
            all(how).into_iter().skip(skipped).collect::<Vec<_>>()
        };
        match self {
            _ if read.is_doubtful => [all(How::Read), all(How::Write)].concat(),
            Self::Either => [all(How::Read), all(How::Write)].concat(),
            Self::Reads => all(How::Read),
            Self::ReadsHere => here(all(How::Read)),
            Self::Searches if !read.is_recursive => after_first(How::Read),
            Self::Searches | Self::SearchesHere => here(after_first(How::Read)),
            Self::Writes => all(How::Write),
            Self::Changes => after_first(How::Write),
            Self::Filters => {
                let hows = [How::Read, How::Write].into_iter().chain(std::iter::repeat(How::Write));
                read.operands.iter().cloned().zip(hows).collect()
            }
            Self::Copies => copied(read, How::Read),
            Self::Moves => [all(How::Read), copied(read, How::Write)].concat(),
            Self::Packs => packed(read),
            Self::Unpacks => {
                let archive = read.operands.first().map(|archive| (archive.clone(), How::Read));
                let is_told = read.files.iter().any(|(_, how)| *how == How::Write);
                let here = (!is_told).then(|| (".".to_owned(), How::Write));
                archive.into_iter().chain(here).collect()
            }
            Self::Settings => settings(read),
        }
    }
}

/// Returns sources and target. A single operand lands in the directory in which the utility runs, under its own name.
fn copied(read: &read::Arguments, how: How) -> Vec<(String, How)> {
    let mut operands = read.operands.clone();
    let target = match operands.len() {
        _ if read.is_target_given => None,
        0 => None,
        1 => operands.first().map(|only| last_name(only).to_owned()),
        _ => operands.pop(),
    };
    let sources = operands.into_iter().map(|operand| (operand, how));
    sources.chain(target.map(|target| (target, How::Write))).collect()
}

fn packed(read: &read::Arguments) -> Vec<(String, How)> {
    let mut operands = read.operands.iter();
    let archive = operands.next().filter(|archive| *archive != "-");
    let mut files: Vec<_> = operands.map(|operand| (operand.clone(), How::Read)).collect();
    // A name without an ending gets one.
    let ended = |name: &String| (!last_name(name).contains('.')).then(|| format!("{name}.zip"));
    let names = archive.into_iter().flat_map(|name| [Some(name.clone()), ended(name)]);
    for name in names.flatten() {
        files.extend([(name.clone(), How::Read), (name, How::Write)]);
    }
    files
}

fn last_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") { "." } else { name }
}

fn settings(read: &read::Arguments) -> Vec<(String, How)> {
    let file = |operand: &String| {
        let (name, value) = operand.split_once('=')?;
        match name {
            "if" => Some((value.to_owned(), How::Read)),
            "of" => Some((value.to_owned(), How::Write)),
            _ => None,
        }
    };
    read.operands.iter().filter_map(file).collect()
}
