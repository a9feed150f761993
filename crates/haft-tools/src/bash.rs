//! `bash`: one command. Plain words run directly; anything with shell syntax runs as `bash -c`.

use haft_contract::limits::{
    BASH_ARG_CHARS_MAX, BASH_ARGS_MAX, BASH_CMD_CHARS_MAX, BASH_CWD_CHARS_MAX, TIMEOUT_MS_MAX,
};
use haft_contract::{
    Access, Body, Command, Cx, Effect, Ending, ErrorCode, Kind, Output, RequirementSet,
    ShellOutcome, ShellRequest, ShellRequirement, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::text_file::changes_workspace;

/// Words that only a shell understands: a line that starts with one has plain words and still needs a shell.
const SHELL_WORDS: &[&str] = &[
    ".",
    ":",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// Programs that run what their arguments say.
const RUN_OTHERS: &[&str] = &[
    "bash", "busybox", "chroot", "dash", "doas", "env", "find", "flock", "ionice", "ksh", "nice",
    "nohup", "parallel", "script", "setsid", "sh", "ssh", "stdbuf", "strace", "su", "sudo",
    "taskset", "timeout", "unshare", "watch", "xargs", "zsh",
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A command line; with args, the executable alone.
    #[schemars(length(min = 1, max = BASH_CMD_CHARS_MAX))]
    cmd: String,
    /// Arguments, taken literally.
    #[schemars(length(max = BASH_ARGS_MAX), inner(length(max = BASH_ARG_CHARS_MAX)))]
    args: Option<Vec<String>>,
    opts: Option<Opts>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Opts {
    /// Working directory within the root.
    #[schemars(length(max = BASH_CWD_CHARS_MAX))]
    cwd: Option<String>,
    /// Milliseconds until it is killed; default: 60000.
    #[schemars(range(min = 1, max = TIMEOUT_MS_MAX))]
    timeout_ms: Option<u64>,
}

pub(crate) fn bash() -> Tool {
    Tool::new("bash")
        .description(
            "Run one command and return its stdout and stderr in order. There is no input; everything started ends \
             with the command. Long output is cut in the middle and kept in a file that read can open.",
        )
        .kind(Kind::Execute)
        .effect(Effect::Once)
        .dangerous()
        .requires(requires())
        .accesses(accesses)
        .timeout_ms(|input: &Input| input.opts.as_ref().and_then(|opts| opts.timeout_ms))
        .execute_with(|input: Input, cx: Cx| async move { run(&input, &cx).await })
}

/// What a shell needs: any command, and the workspace to work in.
pub(crate) fn requires() -> RequirementSet {
    let shell = vec![ShellRequirement { cmd: "*".to_owned(), args: None }];
    RequirementSet { shell, ..changes_workspace() }
}

fn accesses(input: &Input) -> Vec<Access> {
    let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.as_ref());
    let directory = cwd.map(Access::read);
    std::iter::once(Access::Shell { command: command(input) }).chain(directory).collect()
}

fn command(input: &Input) -> Command {
    match (&input.args, plain_words(&input.cmd)) {
        (Some(args), _) => {
            let argv: Vec<String> = std::iter::once(&input.cmd).chain(args).cloned().collect();
            if runs_others(&input.cmd) {
                Command::Unknown(argv.join(" "))
            } else {
                Command::Argv(argv)
            }
        }
        (None, Some(words)) if !words.iter().take(1).any(|word| runs_others(word)) => {
            Command::Argv(words)
        }
        (None, _) => Command::Unknown(input.cmd.clone()),
    }
}

/// Returns whether a program runs what its arguments say, so that its name alone tells nothing.
fn runs_others(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    SHELL_WORDS.contains(&program) || RUN_OTHERS.contains(&name)
}

/// Returns the words of a line in which no character means anything to a shell but the spaces between words.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "_./:=@%+,- ".contains(character);
    let words: Vec<String> =
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let starts_plain = words.first().is_some_and(|first| !first.contains('='));
    (line.chars().all(is_plain) && starts_plain).then_some(words)
}

async fn run(input: &Input, cx: &Cx) -> Result<Output, ToolError> {
    let (program, args) = match (&input.args, plain_words(&input.cmd)) {
        (Some(args), _) => (input.cmd.clone(), args.clone()),
        (None, Some(words))
            if !words.iter().take(1).any(|word| SHELL_WORDS.contains(&word.as_str())) =>
        {
            let mut words = words.into_iter();
            (words.next().unwrap_or_default(), words.collect())
        }
        (None, _) => ("bash".to_owned(), vec!["-c".to_owned(), input.cmd.clone()]),
    };
    if input.cmd.trim().is_empty() {
        return Err(ToolError::new(
            ErrorCode::InvalidInput,
            "cmd: expected a command, found only white space",
        ));
    }
    let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.clone());
    let request = ShellRequest { program: program.clone(), args, cwd };
    let outcome = cx.shell().run(request).await.map_err(|mut err| {
        if input.args.is_some()
            && err.code == ErrorCode::ProcessSpawnFailed
            && program.contains(' ')
        {
            err.message.push_str(": with args, cmd is the executable alone");
        }
        err
    })?;
    answer(&program, cx, outcome, ": give opts.timeout_ms if it needs longer")
}

/// Turns what a command did into the tool's answer; `longer` says how it could have had more time.
pub(crate) fn answer(
    program: &str,
    cx: &Cx,
    outcome: ShellOutcome,
    longer: &str,
) -> Result<Output, ToolError> {
    let mut output = Output::new(Body::Excerpt(outcome.output));
    output.enforced = Some(outcome.enforced);
    let (code, message) = match outcome.ending {
        Ending::Exited(0) => {
            output.exit_code = Some(0);
            return Ok(output);
        }
        Ending::Exited(status) => {
            output.exit_code = Some(status);
            (ErrorCode::CommandFailed, format!("{program} exited with status {status}"))
        }
        Ending::Signalled(signal) => {
            (ErrorCode::CommandFailed, format!("{program} was ended by signal {signal}"))
        }
        Ending::TimedOut => (
            ErrorCode::ProcessTimeout,
            format!(
                "{program} did not end within {} ms and was killed with everything it started{longer}",
                cx.timeout_ms()
            ),
        ),
        Ending::Aborted => (
            ErrorCode::ProcessAborted,
            format!("the call was cancelled, and {program} was killed with everything it started"),
        ),
    };
    Err(ToolError::new(code, message).with_output(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_taken_apart() {
        let check = |line: &str, expect: Option<&[&str]>| {
            let words = plain_words(line);
            let words =
                words.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(words.as_deref(), expect, "for {line:?}");
        };
        check("git status", Some(&["git", "status"]));
        check("  ls   -la ./src/x_1.rs ", Some(&["ls", "-la", "./src/x_1.rs"]));
        check("make CC=gcc", Some(&["make", "CC=gcc"]));
        for shell in [
            "CC=gcc make",
            "a; b",
            "a | b",
            "a > b",
            "a && b",
            "echo $x",
            "echo `x`",
            "echo 'x'",
            "ls *",
            "a\nb",
            "~/x",
            "a #b",
            "{a,b}",
            "a\\ b",
            "",
            " ",
            "a!b",
            "(a)",
            "a\tb",
            "é",
        ] {
            check(shell, None);
        }
    }

    #[test]
    fn shell_words_are_sorted() {
        assert!(SHELL_WORDS.is_sorted() && RUN_OTHERS.is_sorted());
    }
}
