//! Commands that start another command given in their arguments. Only known spellings are parsed;
//! an option that is not in the table makes the command unknown.

use crate::analysis::{CommandWord, FileUseMode, FileUseOrigin, UnknownReason};
use crate::findings::{LineFindings, StatementScope};
use crate::programs::base_name;
use crate::variables::{self, VariableEffect};

mod find;
mod shell;
mod xargs;

/// Code that a wrapper starts, with its scope.
pub(crate) enum StartedCode {
    Command(Vec<CommandWord>, StatementScope),
    /// A line that the wrapper parses as a shell.
    Line(String, StatementScope),
}

/// A wrapper whose command follows its options and a fixed number of operands.
struct Wrapper {
    name: &'static str,
    flags: &'static [&'static str],
    /// Options whose value is the next word, or follows `=` or the letter.
    options_with_value: &'static [&'static str],
    operands: usize,
    assignments: LeadingAssignments,
    listing: WrapperListing,
}

/// Whether `NAME=value` may precede the command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadingAssignments {
    Allowed,
    NotAllowed,
}

/// Whether the wrapper counts as a command in addition to the one that it starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrapperListing {
    StartedCommandOnly,
    WrapperAndStartedCommand,
}

const ARCHITECTURES: &[&str] = &[
    "arm64", "armv7l", "armv8l", "i386", "i486", "i586", "i686", "linux32", "linux64", "ppc",
    "ppc64", "uname26", "x86_64",
];

/// Options of `setarch`, which also runs under the name of each architecture.
const ARCHITECTURE_FLAGS: &[&str] = &[
    "-3",
    "-B",
    "-F",
    "-I",
    "-L",
    "-R",
    "-S",
    "-T",
    "-X",
    "-Z",
    "-v",
    "--32bit",
    "--3gb",
    "--4gb",
    "--addr-compat-layout",
    "--addr-no-randomize",
    "--fdpic-funcptrs",
    "--mmap-page-zero",
    "--read-implies-exec",
    "--short-inode",
    "--sticky-timeouts",
    "--uname-2.6",
    "--verbose",
    "--whole-seconds",
];

const WRAPPERS: &[Wrapper] = &[
    plain("builtin"),
    plain("chronic"),
    Wrapper {
        flags: &["-a", "-b", "-d", "-f", "-i", "-o", "-r", "-R", "-v"],
        options_with_value: &["-D", "-P", "-T"],
        operands: 1,
        ..plain("chrt")
    },
    Wrapper { flags: &["-p"], ..plain("command") },
    plain("dbus-run-session"),
    plain("eatmydata"),
    Wrapper {
        flags: &["-", "-i", "--ignore-environment", "-0", "--null", "-v", "--debug"],
        options_with_value: &["-u", "--unset"],
        assignments: LeadingAssignments::Allowed,
        ..plain("env")
    },
    Wrapper { flags: &["-c"], options_with_value: &["-a"], ..plain("exec") },
    Wrapper {
        flags: &["-t"],
        options_with_value: &["-c", "--class", "-n", "--classdata"],
        ..plain("ionice")
    },
    Wrapper { options_with_value: &["-n", "--adjustment"], ..plain("nice") },
    plain("nohup"),
    Wrapper {
        flags: &["-a", "-l", "--all", "--localalloc"],
        options_with_value: &[
            "-C",
            "-N",
            "-P",
            "-i",
            "-m",
            "-p",
            "--cpunodebind",
            "--interleave",
            "--membind",
            "--physcpubind",
            "--preferred",
        ],
        ..plain("numactl")
    },
    Wrapper { flags: ARCHITECTURE_FLAGS, ..plain("setarch") },
    Wrapper { flags: &["-c", "--ctty", "-f", "--fork", "-w", "--wait"], ..plain("setsid") },
    plain("ssh-agent"),
    Wrapper {
        options_with_value: &["-i", "--input", "-o", "--output", "-e", "--error"],
        ..plain("stdbuf")
    },
    Wrapper {
        flags: &["-A", "-E", "-H", "-k", "-n", "-S", "--non-interactive", "--preserve-env"],
        options_with_value: &["-u", "--user", "-g", "--group"],
        assignments: LeadingAssignments::Allowed,
        listing: WrapperListing::WrapperAndStartedCommand,
        ..plain("sudo")
    },
    Wrapper { flags: &["-a", "-c", "--all-tasks", "--cpu-list"], operands: 1, ..plain("taskset") },
    Wrapper {
        flags: &["-a", "-p", "-q", "-v", "--append", "--portability", "--quiet", "--verbose"],
        options_with_value: &["-f", "-o", "--format", "--output"],
        ..plain("time")
    },
    Wrapper {
        flags: &["-v", "--verbose", "--preserve-status", "--foreground"],
        options_with_value: &["-k", "--kill-after", "-s", "--signal"],
        operands: 1,
        ..plain("timeout")
    },
    Wrapper {
        flags: &["-a", "-l", "--auto-servernum", "--listen-tcp"],
        options_with_value: &["-n", "-s", "--server-args", "--server-num"],
        ..plain("xvfb-run")
    },
];

/// Wrappers that run built-ins in the shell itself.
pub(crate) const RUNS_BUILTINS: &[&str] = &["builtin", "command"];
const SHELLS: &[&str] = &["bash", "dash", "ksh", "sh"];

const fn plain(name: &'static str) -> Wrapper {
    Wrapper {
        name,
        flags: &[],
        options_with_value: &[],
        operands: 0,
        assignments: LeadingAssignments::NotAllowed,
        listing: WrapperListing::StartedCommandOnly,
    }
}

pub(crate) fn is_wrapper(name: &str) -> bool {
    SHELLS.contains(&name) || matches!(name, "find" | "xargs") || find_wrapper(name).is_some()
}

/// Returns the wrapper of a name. Programs named after an architecture are `setarch`.
fn find_wrapper(name: &str) -> Option<&'static Wrapper> {
    let name = if ARCHITECTURES.contains(&name) { "setarch" } else { name };
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Records a wrapper, and adds the code that it starts to `started`; returns `None` for any other
/// command.
pub(crate) fn parse_wrapper(
    findings: &mut LineFindings,
    words: &[CommandWord],
    scope: &StatementScope,
    started: &mut Vec<StartedCode>,
) -> Option<Result<(), UnknownReason>> {
    let (CommandWord::Literal(program), arguments) = words.split_first()? else { return None };
    let name = base_name(program);
    Some(match name {
        "find" => find::parse_find(findings, words, scope, started),
        "xargs" => xargs::parse_xargs(findings, arguments, &scope.started_by(program))
            .map(|code| started.push(code)),
        name if SHELLS.contains(&name) => {
            shell::parse_shell(findings, words, scope).map(|line| started.extend(line))
        }
        name => {
            let wrapper = find_wrapper(name)?;
            let option = arguments.first().and_then(CommandWord::literal);
            if name == "command" && matches!(option, Some("-v" | "-V")) {
                findings.add_command(words, scope);
                return Some(Ok(()));
            }
            let is_architecture =
                name == "setarch" && option.is_some_and(|option| ARCHITECTURES.contains(&option));
            let arguments = arguments.get(usize::from(is_architecture)..).unwrap_or_default();
            wrapper.started_command(arguments, findings, scope).map(|inner| {
                // `exec` without a command only redirects, and `env` without one prints the
                // environment.
                let is_bare = inner.is_empty();
                if is_bare || wrapper.listing == WrapperListing::WrapperAndStartedCommand {
                    findings.add_command(words, scope);
                }
                if !is_bare {
                    let scope = scope.started_by(program);
                    started.push(StartedCode::Command(inner.to_vec(), scope));
                }
            })
        }
    })
}

impl Wrapper {
    /// Returns the words of the command that is started.
    fn started_command<'a>(
        &self,
        arguments: &'a [CommandWord],
        findings: &mut LineFindings,
        scope: &StatementScope,
    ) -> Result<&'a [CommandWord], UnknownReason> {
        let mut rest = arguments;
        let mut operands = self.operands;
        let mut are_options_over = false;
        while let Some((first, after)) = rest.split_first() {
            let assignment = Some(first)
                .filter(|_| self.assignments == LeadingAssignments::Allowed)
                .and_then(assignment);
            if let Some((name, value)) = assignment {
                add_assignment(findings, name, value, scope)?;
                are_options_over = true;
                rest = after;
                continue;
            }
            let Some(text) = first.literal() else {
                // An unknown operand is no program.
                if operands == 0 {
                    break;
                }
                operands -= 1;
                are_options_over = true;
                rest = after;
                continue;
            };
            if !are_options_over && text == "--" {
                are_options_over = true;
                rest = after;
            } else if !are_options_over && text.starts_with('-') {
                let number = text.strip_prefix('-').unwrap_or_default();
                let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
                // A value in the same word follows the letter, or the name and `=`.
                let holds_value = |valued: &&str| {
                    let value = text.strip_prefix(*valued).unwrap_or_default();
                    (valued.len() == 2 && !value.is_empty())
                        || (valued.starts_with("--") && value.starts_with('='))
                };
                if self.options_with_value.contains(&text) {
                    (_, rest) = after.split_first().ok_or(UnknownReason::RunsOthers)?;
                } else if self.flags.contains(&text)
                    || self.options_with_value.iter().any(holds_value)
                    || (self.name == "nice" && is_number)
                {
                    rest = after;
                } else {
                    return Err(UnknownReason::RunsOthers);
                }
            } else if operands > 0 {
                operands -= 1;
                are_options_over = true;
                rest = after;
            } else {
                break;
            }
        }
        Ok(rest)
    }
}

/// Returns the name and the value of a word that is an assignment. The value may be unknown.
fn assignment(word: &CommandWord) -> Option<(&str, Option<&str>)> {
    match word {
        CommandWord::Literal(text) if !text.starts_with('-') => {
            text.split_once('=').map(|(name, value)| (name, Some(value)))
        }
        CommandWord::Literal(_) => None,
        CommandWord::Unknown(source) => {
            let (name, _) = source.split_once('=')?;
            let is_name_char = |char: char| char.is_ascii_alphanumeric() || char == '_';
            (!name.is_empty() && name.chars().all(is_name_char)).then_some((name, None))
        }
    }
}

/// Records a variable that a wrapper sets for the command that it starts.
fn add_assignment(
    findings: &mut LineFindings,
    name: &str,
    value: Option<&str>,
    scope: &StatementScope,
) -> Result<(), UnknownReason> {
    match variables::effect(name, value) {
        VariableEffect::Harmless => {}
        VariableEffect::SearchPath => findings.add_unknown(name, UnknownReason::SearchPath),
        VariableEffect::Runs(line) => findings.add_started_line(line, scope.started_by(name)),
        VariableEffect::RunsAnything => return Err(UnknownReason::Variable),
    }
    Ok(())
}

/// Records that a wrapper reads a file.
fn add_read_file(findings: &mut LineFindings, path: &str, scope: &StatementScope) {
    findings.add_file(path, (FileUseMode::Read, FileUseOrigin::Operand), scope);
}
