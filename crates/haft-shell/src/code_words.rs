//! Finds the words of a command that a program reads as code, among words that are filled in later: a shell's line, the
//! program of a wrapper, the code or the script of an interpreter. The table names well-known programs only. A program
//! that reads code in another way is not recognised.

use crate::analysis::{CommandWord, ShellAnalysis, UnknownReason};
use crate::analyzer::analyze_command;
use crate::programs::{base_name, runs_operands};
use crate::variables;
use crate::wrappers;

/// A word of a command that may be filled in later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenWord {
    /// The word is known.
    Fixed(String),
    /// The word begins with this text, and a value follows that is not known yet.
    Open {
        /// The known beginning; empty if the whole word is filled in.
        prefix: String,
    },
}

/// An interpreter that runs what an option gives it as code, or the file that its first operand names.
struct CodeReader {
    /// The names; a version may follow.
    names: &'static [&'static str],
    /// Letters of short options before code. They may end a cluster of letters.
    letters: &'static str,
    /// Letters of short options whose value is the next word and no code.
    with_value: &'static str,
    /// Long options before code. The code may follow `=`.
    long: &'static [&'static str],
    /// The operands that are code, or files with code, if no option gave any.
    operands: CodeOperands,
}

/// The operands of an interpreter that are code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeOperands {
    First,
    All,
    Nothing,
}

const CODE_READERS: &[CodeReader] = &[
    CodeReader {
        names: &["bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"],
        letters: "c",
        with_value: "oO",
        long: &["--command", "--init-file", "--rcfile"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["python", "pypy"],
        letters: "cm",
        with_value: "WX",
        long: &[],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["bun", "deno", "node", "nodejs", "ts-node", "tsx"],
        letters: "epr",
        with_value: "C",
        long: &["--eval", "--import", "--loader", "--preload", "--print", "--require"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["perl"],
        letters: "eEM",
        with_value: "I",
        long: &[],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["ruby"],
        letters: "er",
        with_value: "I",
        long: &[],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["php"],
        letters: "rBRE",
        with_value: "d",
        long: &["--run", "--process-begin", "--process-code", "--process-end"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["Rscript", "R", "julia", "lua", "luajit", "tclsh"],
        letters: "eE",
        with_value: "",
        long: &["--eval", "--print"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["awk", "gawk", "mawk", "nawk"],
        letters: "ef",
        with_value: "Fv",
        long: &["--file", "--source"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["sed"],
        letters: "ef",
        with_value: "",
        long: &["--expression", "--file"],
        operands: CodeOperands::First,
    },
    CodeReader {
        names: &["mysql", "psql"],
        letters: "cef",
        with_value: "",
        long: &["--command", "--execute", "--file"],
        operands: CodeOperands::Nothing,
    },
    CodeReader {
        names: &["sqlite", "sqlite3"],
        letters: "",
        with_value: "",
        long: &["-cmd", "-init"],
        operands: CodeOperands::All,
    },
    CodeReader {
        names: &["jshell", "osascript", "powershell", "pwsh"],
        letters: "cCe",
        with_value: "",
        long: &["--eval", "-Command", "-File"],
        operands: CodeOperands::First,
    },
];

/// Letters that may follow the letter before code in one cluster, as in `bash -cx`.
const LETTERS_AFTER: &str = "uvx";
/// Stands for the value of an open word. No program has this name.
const SAMPLE: &str = "haft-value";

/// Returns the places of the open words that a program would read as code, or as the name of a program.
///
/// ```
/// use haft_shell::{OpenWord, code_places};
///
/// let words = ["timeout", "5", "sh", "-c", ""].map(|word| match word {
///     "" => OpenWord::Open { prefix: String::new() },
///     word => OpenWord::Fixed(word.to_owned()),
/// });
/// assert_eq!(code_places(&words), [4]);
/// ```
pub fn code_places(words: &[OpenWord]) -> Vec<usize> {
    let is_open = |place: &usize| matches!(words.get(*place), Some(OpenWord::Open { .. }));
    let open: Vec<usize> = (0..words.len()).filter(is_open).collect();
    let Some(first) = open.first() else { return Vec::new() };
    if *first == 0 {
        let rest = open.iter().skip(1).copied();
        return std::iter::once(0).chain(rest).collect();
    }
    let sampled = analyze(words, None);
    if sampled.unknown.iter().any(|part| runs_values(&part.text, part.reason)) {
        return open;
    }
    let of_interpreter = interpreter_places(words);
    let is_code =
        |place: &usize| of_interpreter.contains(place) || changes_analysis(words, *place, &sampled);
    open.into_iter().filter(is_code).collect()
}

/// Analyses the words with a value in each open word. The word at `unknown` is one that nothing is known of.
fn analyze(words: &[OpenWord], unknown: Option<usize>) -> ShellAnalysis {
    let word = |(place, word): (usize, &OpenWord)| match word {
        OpenWord::Fixed(text) => CommandWord::Literal(text.clone()),
        OpenWord::Open { prefix } if unknown == Some(place) => {
            CommandWord::Unknown(format!("{prefix}…"))
        }
        OpenWord::Open { prefix } => CommandWord::Literal(format!("{prefix}{SAMPLE}")),
    };
    analyze_command(&words.iter().enumerate().map(word).collect::<Vec<_>>())
}

/// Returns whether a part of a command is unknown because it runs its arguments.
fn runs_values(text: &str, reason: UnknownReason) -> bool {
    let program = base_name(text.split(' ').next().unwrap_or_default());
    match reason {
        UnknownReason::Evaluation | UnknownReason::Program => true,
        UnknownReason::RunsOthers | UnknownReason::StartsOthers => {
            runs_operands(program) || wrappers::is_wrapper(program)
        }
        _ => false,
    }
}

/// Returns whether the value of an open word decides what runs, as the analysis of wrappers and shells sees it.
fn changes_analysis(words: &[OpenWord], place: usize, sampled: &ShellAnalysis) -> bool {
    let Some(OpenWord::Open { prefix }) = words.get(place) else { return false };
    // The value of a variable is no command, unless a program takes the variable for one.
    if let Some((name, _)) = prefix.split_once('=')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    {
        return variables::is_execution_variable(name);
    }
    let value = format!("{prefix}{SAMPLE}");
    if sampled.commands.iter().any(|command| command.program() == value) {
        return true;
    }
    // The name of a setting of git alone says whether its value is a program.
    let fixed = |place: Option<usize>| match words.get(place?) {
        Some(OpenWord::Fixed(text)) => Some(text.as_str()),
        Some(OpenWord::Open { .. }) | None => None,
    };
    let is_setting = fixed(place.checked_sub(1)) == Some("-c")
        && fixed(place.checked_sub(2)).is_some_and(|program| base_name(program) == "git");
    if is_setting {
        return !prefix.contains('=') || !sampled.unknown.is_empty();
    }
    let opened = analyze(words, Some(place));
    let of_code = |analysis: &ShellAnalysis| {
        let parts = analysis.unknown.iter().filter(|part| match part.reason {
            UnknownReason::Arithmetic
            | UnknownReason::ArithmeticData
            | UnknownReason::Evaluation
            | UnknownReason::Expansion
            | UnknownReason::Program
            | UnknownReason::Redefinition
            | UnknownReason::Variable => true,
            // The scripts of these are known by their place.
            UnknownReason::RunsOthers | UnknownReason::StartsOthers => {
                let program = base_name(part.text.split(' ').next().unwrap_or_default());
                code_reader(program).is_none()
            }
            _ => false,
        });
        parts.count()
    };
    of_code(&opened) > of_code(sampled)
}

/// Returns the interpreter of this name.
fn code_reader(program: &str) -> Option<&'static CodeReader> {
    let name = base_name(program);
    let is_version = |char: char| char.is_ascii_digit() || char == '.';
    let bare = name.trim_end_matches(is_version);
    CODE_READERS.iter().find(|known| known.names.contains(&bare) || known.names.contains(&name))
}

/// Returns the places of the words that the first interpreter among the words would read as code.
fn interpreter_places(words: &[OpenWord]) -> Vec<usize> {
    let found = words.iter().enumerate().find_map(|(place, word)| match word {
        OpenWord::Fixed(text) => Some((place + 1, code_reader(text)?)),
        OpenWord::Open { .. } => None,
    });
    let Some((start, reader)) = found else { return Vec::new() };
    let mut places = Vec::new();
    let mut operands = reader.operands;
    let (mut is_code, mut takes_value) = (false, false);
    for (place, word) in words.iter().enumerate().skip(start) {
        if std::mem::take(&mut takes_value) {
            continue;
        }
        let follows_code = std::mem::take(&mut is_code);
        let is_option = match word {
            OpenWord::Fixed(text) => {
                is_code = !follows_code && reader.is_code_option(text);
                takes_value = !follows_code && !is_code && reader.takes_value(text);
                text.starts_with('-')
            }
            OpenWord::Open { prefix } => {
                let is_option = prefix.starts_with('-');
                let is_operand = !is_option && operands != CodeOperands::Nothing;
                if follows_code || is_operand || reader.holds_code(prefix) {
                    places.push(place);
                }
                is_option
            }
        };
        if operands == CodeOperands::First && (is_code || follows_code || !is_option) {
            operands = CodeOperands::Nothing;
        }
    }
    places
}

impl CodeReader {
    /// Returns whether code follows an option as the next word.
    fn is_code_option(&self, text: &str) -> bool {
        if self.long.contains(&text) {
            return true;
        }
        let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            return false;
        };
        letters
            .trim_end_matches(|letter| LETTERS_AFTER.contains(letter))
            .ends_with(|letter| self.letters.contains(letter))
    }

    /// Returns whether the next word is the value of an option, and no code.
    fn takes_value(&self, text: &str) -> bool {
        let mut letters = text.strip_prefix('-').unwrap_or_default().chars();
        let letter = letters.next();
        letters.next().is_none() && letter.is_some_and(|letter| self.with_value.contains(letter))
    }

    /// Returns whether code follows this beginning of a word in the same word.
    fn holds_code(&self, prefix: &str) -> bool {
        match prefix.split_once('=') {
            Some((option, _)) if option.starts_with('-') => self.long.contains(&option),
            Some(_) => false,
            None => {
                let letters = prefix.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                letters.is_some_and(|letters| letters.contains(|it| self.letters.contains(it)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the places in a command in which `@` stands for the value that is filled in.
    fn check(line: &[&str], expect: &[usize]) {
        let words: Vec<OpenWord> = line
            .iter()
            .map(|word| match word.split_once('@') {
                Some((prefix, _)) => OpenWord::Open { prefix: prefix.to_owned() },
                None => OpenWord::Fixed((*word).to_owned()),
            })
            .collect();
        assert_eq!(code_places(&words), expect, "{line:?}");
    }

    #[test]
    fn a_value_is_code_for_a_shell_or_an_interpreter() {
        check(&["sh", "-c", "@"], &[2]);
        check(&["/bin/bash", "-lc", "echo @"], &[2]);
        check(&["bash", "-cx", "@"], &[2]);
        check(&["env", "sh", "-c", "@"], &[3]);
        check(&["timeout", "5", "bash", "-c", "echo @"], &[4]);
        check(&["env", "-S", "@"], &[2]);
        check(&["python3.12", "-c", "@"], &[2]);
        check(&["python3", "-um", "@"], &[2]);
        check(&["python3", "@"], &[1]);
        check(&["docker", "exec", "box", "sh", "-c", "@"], &[5]);
        check(&["node", "--eval=@"], &[1]);
        check(&["perl", "-ne", "@"], &[2]);
        check(&["perl", "-e@"], &[1]);
        check(&["awk", "@", "notes.txt"], &[1]);
        check(&["awk", "-F", ":", "{print @}"], &[3]);
        check(&["sed", "@", "notes.txt"], &[1]);
        check(&["sed", "-n", "-e", "1e @", "notes.txt"], &[3]);
        check(&["sqlite3", "data.db", "-cmd", "@"], &[3]);
        check(&["ssh", "host", "@"], &[2]);
        check(&["git", "-c", "core.pager=@", "log"], &[2]);
        check(&["git", "-c", "@", "log"], &[2]);
    }

    #[test]
    fn a_value_is_no_program() {
        check(&["@", "pwned"], &[0]);
        check(&["./bin/@"], &[0]);
        check(&["@", "@"], &[0, 1]);
        check(&["timeout", "5", "@", "a"], &[2]);
        check(&["xargs", "@"], &[1]);
        check(&["find", ".", "-exec", "@", "{}", ";"], &[3]);
        check(&["env", "A=b", "@"], &[2]);
        check(&["env", "LD_PRELOAD=@", "date"], &[1]);
        check(&["strace", "-f", "@"], &[2]);
        check(&["bash", "-c", "eval \"$1\"", "sh", "@"], &[4]);
        check(&["bash", "-c", "echo $(($1))", "sh", "@"], &[4]);
    }

    #[test]
    fn an_operand_is_no_code() {
        check(&["grep", "-c", "@", "notes.txt"], &[]);
        check(&["grep", "-e@"], &[]);
        check(&["sh", "-c", "wc -l < \"$1\"", "sh", "@"], &[]);
        check(&["python3", "tool.py", "--name=@"], &[]);
        check(&["python3", "tool.py", "-c", "tool"], &[]);
        check(&["sed", "-n", "1p", "@"], &[]);
        check(&["awk", "{print $1}", "@"], &[]);
        check(&["awk", "-v", "x=@", "{print x}"], &[]);
        check(&["git", "show", "@"], &[]);
        check(&["git", "commit", "-m", "@"], &[]);
        check(&["git", "switch", "-c", "@"], &[]);
        check(&["git", "-c", "user.name=@", "log"], &[]);
        check(&["find", "@", "-name", "a"], &[]);
        check(&["env", "LANG=@", "date"], &[]);
        check(&["timeout", "5", "make", "@"], &[]);
        check(&["cp", "--", "@", "b"], &[]);
        check(&["ls"], &[]);
    }
}
