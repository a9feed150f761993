//! What a bash line would run, read and write, as far as its text tells.
//!
//! ```
//! let judgement = haft_judge::judge("cd src && cargo test 2>&1 | tail -5 > out.txt");
//! let lines: Vec<String> = judgement.commands.iter().map(|command| command.text()).collect();
//! assert_eq!(lines, ["cd src", "cargo test", "tail -5"]);
//! assert_eq!(judgement.files[0].path, "src/out.txt");
//! assert!(judgement.is_known());
//! ```
//!
//! Two parsers read the line, and where they differ it is unknown; no parser of bash is right about all of it. The
//! answer errs towards more: more commands, more files, more that is unknown. Nothing runs here, and no file is looked
//! at. What a program does beyond its arguments (a build, a script, a hook) is not in the line and not in the answer;
//! holding that is the work of a sandbox, which must be there whatever is answered here.
#![deny(missing_docs)]

mod arithmetic;
mod builtin;
mod command;
mod judgement;
pub mod limits;
mod links;
mod operands;
mod places;
mod programs;
mod redirect;
mod syntax;
mod variables;
mod walk;
mod word;
mod wrappers;

pub use judgement::{FileUse, How, Judgement, SimpleCommand, Unknown, UnknownReason, Why, Word};

/// Judges a line as `bash -c` would run it.
pub fn judge(line: &str) -> Judgement {
    walk::judge_line(line)
}

/// Judges a program with its arguments, which no shell reads.
pub fn judge_argv(argv: &[String]) -> Judgement {
    let words: Vec<Word> = argv.iter().cloned().map(Word::Literal).collect();
    walk::judge_command(&words)
}
