//! Commands that start another command which their arguments spell. Only spellings that are understood are taken
//! apart; an option that is not in the table makes the command unknown.

use crate::judgement::{How, UnknownReason, Why, Word};
use crate::variables;
use crate::walk::{After, Scope, Walk};
use crate::word::line_of;

mod find;
mod shell;
mod xargs;

/// A wrapper whose command follows its options, and then as many operands as it takes itself.
struct Wrapper {
    name: &'static str,
    flags: &'static [&'static str],
    /// Options whose value is the next word, or follows `=` or the letter.
    valued: &'static [&'static str],
    operands: usize,
    assignments: Assignments,
    shown: Shown,
}

/// Whether `NAME=value` may stand before the command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Assignments {
    Taken,
    NotTaken,
}

/// Whether the wrapper counts as a command beside the one that it starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Alone,
    Both,
}

const WRAPPERS: &[Wrapper] = &[
    plain("builtin"),
    plain("command"),
    Wrapper {
        flags: &["-", "-i", "--ignore-environment", "-0", "--null"],
        valued: &["-u", "--unset"],
        assignments: Assignments::Taken,
        ..plain("env")
    },
    Wrapper { flags: &["-c"], valued: &["-a"], ..plain("exec") },
    Wrapper { flags: &["-t"], valued: &["-c", "--class", "-n", "--classdata"], ..plain("ionice") },
    Wrapper { valued: &["-n", "--adjustment"], ..plain("nice") },
    plain("nohup"),
    Wrapper { flags: &["-c", "--ctty", "-f", "--fork", "-w", "--wait"], ..plain("setsid") },
    Wrapper { valued: &["-i", "--input", "-o", "--output", "-e", "--error"], ..plain("stdbuf") },
    Wrapper {
        flags: &["-A", "-E", "-H", "-k", "-n", "-S", "--non-interactive", "--preserve-env"],
        valued: &["-u", "--user", "-g", "--group"],
        assignments: Assignments::Taken,
        shown: Shown::Both,
        ..plain("sudo")
    },
    Wrapper { flags: &["-p", "-v", "--portability", "--verbose"], ..plain("time") },
    Wrapper {
        flags: &["-v", "--verbose", "--preserve-status", "--foreground"],
        valued: &["-k", "--kill-after", "-s", "--signal"],
        operands: 1,
        ..plain("timeout")
    },
];

/// Wrappers that run built-ins in the shell itself.
const RUNS_BUILTINS: &[&str] = &["builtin", "command"];
const SHELLS: &[&str] = &["bash", "dash", "ksh", "sh"];

const fn plain(name: &'static str) -> Wrapper {
    Wrapper {
        name,
        flags: &[],
        valued: &[],
        operands: 0,
        assignments: Assignments::NotTaken,
        shown: Shown::Alone,
    }
}

pub(crate) fn is_wrapper(name: &str) -> bool {
    SHELLS.contains(&name)
        || matches!(name, "find" | "xargs")
        || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

/// Judges a wrapper and what it starts, or returns nothing if the command is another.
pub(crate) fn judge(walk: &mut Walk, words: &[Word], scope: &Scope) -> Option<After> {
    let (Word::Literal(program), arguments) = words.split_first()? else { return None };
    let name = crate::command::base_name(program);
    let unmoved = |()| After::unmoved(scope);
    let judged = match name {
        "find" => find::judge(walk, words, scope).map(unmoved),
        "xargs" => xargs::judge(walk, arguments, &scope.through(program)).map(unmoved),
        name if SHELLS.contains(&name) => shell::judge(walk, words, scope).map(unmoved),
        name => {
            let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
            start(walk, wrapper, words, scope)
        }
    };
    Some(judged.unwrap_or_else(|reason| {
        walk.unknown(&line_of(words), reason);
        if RUNS_BUILTINS.contains(&name) { After::anywhere() } else { After::unmoved(scope) }
    }))
}

fn start(
    walk: &mut Walk,
    wrapper: &Wrapper,
    words: &[Word],
    scope: &Scope,
) -> Result<After, UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::RunsOthers)?;
    let looks_up = matches!(arguments.first().and_then(Word::literal), Some("-v" | "-V"));
    if wrapper.name == "command" && looks_up {
        walk.known(words, scope);
        return Ok(After::unmoved(scope));
    }
    let inner = wrapper.inner(arguments)?;
    let is_bare = inner.is_empty();
    // `exec` alone has its redirections, and `env` alone prints the environment.
    if is_bare || wrapper.shown == Shown::Both {
        walk.known(words, scope);
    }
    let after = if is_bare {
        After::unmoved(scope)
    } else {
        walk.command(inner, &scope.through(program.literal().unwrap_or_default()))
    };
    Ok(if RUNS_BUILTINS.contains(&wrapper.name) { after } else { After::unmoved(scope) })
}

impl Wrapper {
    /// Returns the words of the command that is started.
    fn inner<'a>(&self, arguments: &'a [Word]) -> Result<&'a [Word], UnknownReason> {
        let mut rest = arguments;
        let mut operands = self.operands;
        let mut are_options_over = false;
        while let Some((first, after)) = rest.split_first() {
            let text = first.literal().ok_or(UnknownReason::RunsOthers)?;
            if !are_options_over && text == "--" {
                are_options_over = true;
                rest = after;
            } else if !are_options_over && text.starts_with('-') {
                rest = self.after_option(text, after)?;
            } else if self.assignments == Assignments::Taken && text.contains('=') {
                let (name, value) = text.split_once('=').unwrap_or_default();
                if variables::decides(name, Some(value)) {
                    return Err(UnknownReason::Variable);
                }
                are_options_over = true;
                rest = after;
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

    fn after_option<'a>(
        &self,
        option: &str,
        after: &'a [Word],
    ) -> Result<&'a [Word], UnknownReason> {
        let is_letter_with_value =
            |valued: &&&str| valued.len() == 2 && option.len() > 2 && option.starts_with(**valued);
        let is_name_with_value = |valued: &&&str| {
            valued.starts_with("--")
                && option.strip_prefix(**valued).is_some_and(|rest| rest.starts_with('='))
        };
        let number = option.strip_prefix('-').unwrap_or_default();
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        if self.valued.contains(&option) {
            let (_, rest) = after.split_first().ok_or(UnknownReason::RunsOthers)?;
            Ok(rest)
        } else if self.flags.contains(&option)
            || self.valued.iter().any(|valued| is_letter_with_value(&valued))
            || self.valued.iter().any(|valued| is_name_with_value(&valued))
            || (self.name == "nice" && !number.is_empty() && is_number)
        {
            Ok(after)
        } else {
            Err(UnknownReason::RunsOthers)
        }
    }
}

/// Notes that a wrapper reads a file.
fn reads(walk: &mut Walk, path: &str, scope: &Scope) {
    walk.file(path, (How::Read, Why::Operand), scope);
}
