//! The file arguments of well-known utilities. The table errs on the safe side: an argument that
//! may be a file counts as one, and an effect below a directory counts as an effect on the
//! directory. For programs that are not in the table, only the sandbox decides about files.

use crate::analysis::{CommandWord, FileUseMode};
use crate::programs;

mod read;
mod table;

/// One utility: the role of its operands, and its options that take a value.
struct Utility {
    names: &'static [&'static str],
    role: OperandRole,
    /// Letters of options whose value is not a file.
    letters: &'static str,
    /// Long options whose value is not a file and is in the next word.
    long: &'static [&'static str],
    /// Options whose value is a file, by letter or long name.
    paths: &'static [(&'static str, FileUseMode)],
}

/// The role of a utility's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandRole {
    /// All are read.
    Reads,
    /// All are read; without operands, the working directory is.
    ReadsHere,
    /// The first is a pattern unless an option supplies it; the others are read. Without others,
    /// the working directory is read if an option makes it recursive, otherwise standard input.
    Searches,
    /// The same, but without others the working directory is always read.
    SearchesHere,
    /// All are written.
    Writes,
    /// The first is a mode or an owner unless an option supplies it; the others are written.
    Changes,
    /// The first is read, the second written.
    Filters,
    /// The last is written unless an option names the target; the others are read.
    Copies,
    /// The last is written unless an option names the target; the others are read and removed.
    Moves,
    /// The first is an archive that is read and written, under this name or with a suffix; the
    /// others are read.
    Packs,
    /// The first is an archive that is read; its contents are written to an option's directory or
    /// the working directory.
    Unpacks,
    /// Each may be read or written.
    Either,
    /// `if=…` and `of=…`.
    Settings,
}

/// Options that make a utility write other files, read lists of files, or change the role of
/// operands in a way that the table does not describe.
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
    // It reads names from its input, or removes packed files.
    ("zip", &["-@", "-m", "--names-stdin", "--move"]),
];

pub(crate) fn is_utility(name: &str) -> bool {
    find(name).is_some()
}

/// Returns whether an option makes the utility access files that its operands do not name.
pub(crate) fn touches_other_files(name: &str, arguments: &[CommandWord]) -> bool {
    let checks_list = table::CHECKSUMS.contains(&name) && has_option(arguments, &["-c", "--check"]);
    let surprising = SURPRISING.iter().find(|(program, _)| *program == name);
    checks_list || surprising.is_some_and(|(_, options)| has_option(arguments, options))
}

/// Returns the file arguments of a utility, with their use.
pub(crate) fn operand_files(name: &str, arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    if let Some(files) = programs::files(name, arguments) {
        return files;
    }
    let Some(utility) = find(name) else { return Vec::new() };
    let read = read::parse_arguments(utility, arguments);
    let mut files = read.files.clone();
    files.extend(utility.role.files(&read));
    files
}

fn find(name: &str) -> Option<&'static Utility> {
    table::UTILITIES.iter().find(|utility| utility.names.contains(&name))
}

/// Returns whether an option is present: in a cluster of letters, with a value, or abbreviated.
fn has_option(arguments: &[CommandWord], options: &[&str]) -> bool {
    let words = arguments.iter().filter_map(CommandWord::literal).take_while(|text| *text != "--");
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

impl OperandRole {
    fn files(self, read: &read::UtilityArguments) -> Vec<(String, FileUseMode)> {
        let all = |how: FileUseMode| {
            read.operands.iter().map(move |operand| (operand.clone(), how)).collect::<Vec<_>>()
        };
        let here = |mut files: Vec<(String, FileUseMode)>| {
            if files.is_empty() {
                files.push((".".to_owned(), FileUseMode::Read));
            }
            files
        };
        let after_first = |how: FileUseMode| {
            let skipped = if read.is_first_given { 0 } else { 1 };
            all(how).into_iter().skip(skipped).collect::<Vec<_>>()
        };
        match self {
            _ if read.is_doubtful => [all(FileUseMode::Read), all(FileUseMode::Write)].concat(),
            Self::Either => [all(FileUseMode::Read), all(FileUseMode::Write)].concat(),
            Self::Reads => all(FileUseMode::Read),
            Self::ReadsHere => here(all(FileUseMode::Read)),
            Self::Searches if !read.is_recursive => after_first(FileUseMode::Read),
            Self::Searches | Self::SearchesHere => here(after_first(FileUseMode::Read)),
            Self::Writes => all(FileUseMode::Write),
            Self::Changes => after_first(FileUseMode::Write),
            Self::Filters => {
                let hows = [FileUseMode::Read, FileUseMode::Write]
                    .into_iter()
                    .chain(std::iter::repeat(FileUseMode::Write));
                read.operands.iter().cloned().zip(hows).collect()
            }
            Self::Copies => copied(read, FileUseMode::Read),
            Self::Moves => [all(FileUseMode::Read), copied(read, FileUseMode::Write)].concat(),
            Self::Packs => {
                let mut operands = read.operands.iter();
                let archive = operands.next().filter(|archive| *archive != "-");
                let mut files: Vec<_> =
                    operands.map(|operand| (operand.clone(), FileUseMode::Read)).collect();
                // A name without a suffix gets one.
                let ended =
                    |name: &String| (!last_name(name).contains('.')).then(|| format!("{name}.zip"));
                let names = archive.into_iter().flat_map(|name| [Some(name.clone()), ended(name)]);
                for name in names.flatten() {
                    files.extend([(name.clone(), FileUseMode::Read), (name, FileUseMode::Write)]);
                }
                files
            }
            Self::Unpacks => {
                let archive =
                    read.operands.first().map(|archive| (archive.clone(), FileUseMode::Read));
                let is_told = read.files.iter().any(|(_, how)| *how == FileUseMode::Write);
                let here = (!is_told).then(|| (".".to_owned(), FileUseMode::Write));
                archive.into_iter().chain(here).collect()
            }
            Self::Settings => {
                let file = |operand: &String| {
                    let (name, value) = operand.split_once('=')?;
                    match name {
                        "if" => Some((value.to_owned(), FileUseMode::Read)),
                        "of" => Some((value.to_owned(), FileUseMode::Write)),
                        _ => None,
                    }
                };
                read.operands.iter().filter_map(file).collect()
            }
        }
    }
}

/// Returns sources and target. A single operand is copied to the working directory under its own
/// name.
fn copied(read: &read::UtilityArguments, how: FileUseMode) -> Vec<(String, FileUseMode)> {
    let mut operands = read.operands.clone();
    let target = match operands.len() {
        _ if read.is_target_given => None,
        0 => None,
        1 => operands.first().map(|only| last_name(only).to_owned()),
        _ => operands.pop(),
    };
    let sources = operands.into_iter().map(|operand| (operand, how));
    sources.chain(target.map(|target| (target, FileUseMode::Write))).collect()
}

fn last_name(path: &str) -> &str {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") { "." } else { name }
}
