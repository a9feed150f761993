//! Analyses which commands a bash line would run, and which files it would read and write, as far
//! as its text reveals them.
//!
//! ```
//! let analysis = haft_shell::analyze_line("cd src && cargo test 2>&1 | tail -5 > out.txt");
//! let lines: Vec<String> = analysis.commands.iter().map(|command| command.text()).collect();
//! assert_eq!(lines, ["cd src", "cargo test", "tail -5"]);
//! assert_eq!(analysis.files[0].path, "src/out.txt");
//! assert!(analysis.is_known());
//! ```
//!
//! No parser of bash is always right. Constructs that the parser and bash read differently are
//! unknown, and so is a line of which the parser left out a part. The analysis errs on the safe
//! side: more commands, more files, more unknown parts.
//! It runs nothing and reads no file. The effects of a program beyond its arguments (a build, a
//! script, a hook) are not in the line and not in the result. The sandbox must confine those,
//! whatever the result is.
#![deny(missing_docs)]

mod analysis;
mod analyzer;
mod arithmetic;
mod builtin;
mod code_words;
mod directories;
mod findings;
pub mod limits;
mod links;
mod operands;
mod programs;
mod quotes;
mod syntax;
mod variables;
mod word;
mod wrappers;

pub use analysis::{
    CommandWord, FileUse, FileUseMode, FileUseOrigin, ShellAnalysis, SimpleCommand, UnknownPart,
    UnknownReason,
};
pub use code_words::{OpenWord, code_places};
pub use quotes::UnclosedQuote;

/// Analyses a line as `bash -c` would run it.
pub fn analyze_line(line: &str) -> ShellAnalysis {
    analyzer::analyze_line(line)
}

/// Returns the quote that a line opens and never closes, so that bash cannot run the line. Returns `None` if that is not certain.
pub fn unclosed_quote(line: &str) -> Option<UnclosedQuote> {
    quotes::unclosed_quote(line)
}

/// Analyses a program with its arguments, without a shell.
pub fn analyze_argv(argv: &[String]) -> ShellAnalysis {
    let words: Vec<CommandWord> = argv.iter().cloned().map(CommandWord::Literal).collect();
    analyzer::analyze_command(&words)
}
