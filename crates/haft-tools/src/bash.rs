//! `bash`: one command. Plain words run directly; anything with shell syntax runs as `bash -c`.

use std::iter;

use haft_contract::limits::{
    BASH_ARG_CHARS_MAX, BASH_ARGS_MAX, BASH_CMD_CHARS_MAX, BASH_CWD_CHARS_MAX, TIMEOUT_MS_MAX,
};
use haft_contract::{
    Access, CommandLine, Cx, Effect, ErrorCode, OutputBody, PartialWord, ProcessEnding,
    RequirementSet, ShellOutcome, ShellParameter, ShellRequest, ShellRequirement, Tool, ToolError,
    ToolKind, ToolOutput, signal_text,
};
use haft_shell::{
    CommandWord, FileUse, FileUseMode, ShellAnalysis, UnclosedQuote, analyze_argv, analyze_line,
    unclosed_quote,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::text_file::workspace_write_requirements;

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

/// Built-ins that touch nothing but the shell itself: beside another command they need no judgement.
const SHELL_STATE_BUILTINS: &[&str] = &[
    ":", "break", "cd", "continue", "exit", "false", "pwd", "return", "set", "shift", "true",
    "wait",
];

/// Characters after an unclosed quote that the error repeats.
const QUOTED_CHARS_MAX: usize = 20;
/// Commands and files of one command line.
///
/// Limit (commands): haft asks about the whole line.
pub(crate) const ACCESSES_MAX: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashInput {
    /// A command line; with args, the executable alone.
    #[schemars(length(min = 1, max = BASH_CMD_CHARS_MAX))]
    cmd: String,
    /// Arguments, taken literally.
    #[schemars(length(max = BASH_ARGS_MAX), inner(length(max = BASH_ARG_CHARS_MAX)))]
    args: Option<Vec<String>>,
    opts: Option<BashOptions>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashOptions {
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
            "Run one command. Answers stdout and stderr in order. stdin is empty. Background processes are killed when \
             the command ends. Files under the root persist; /tmp and $HOME are private to this call and deleted \
             afterwards. No network unless a host was granted.",
        )
        .kind(ToolKind::Execute)
        .example_output(json!({"output": "what the command printed"}))
        .effect(Effect::Once)
        .dangerous()
        .aliases(aliases::BASH)
        .shell_line(ShellParameter { parameter: "cmd", words: "args" })
        .requires(shell_requirements())
        .try_accesses(|input: &BashInput| {
            check_line(input)?;
            Ok(accesses(input))
        })
        .timeout_ms(|input: &BashInput| input.opts.as_ref().and_then(|opts| opts.timeout_ms))
        .execute_with(|input: BashInput, cx: Cx| async move { run(&input, &cx).await })
}

/// Returns the requirement of a shell: any command, and the workspace to work in.
pub(crate) fn shell_requirements() -> RequirementSet {
    let shell = vec![ShellRequirement { cmd: "*".to_owned(), args: None }];
    RequirementSet { shell, ..workspace_write_requirements() }
}

/// Refuses a line that no shell can run.
fn check_line(input: &BashInput) -> Result<(), ToolError> {
    let invalid = |message: String| Err(ToolError::new(ErrorCode::InvalidInput, message));
    if input.cmd.trim().is_empty() {
        return invalid(
            "cmd: expected a command, found only white space; give the command to run".to_owned(),
        );
    }
    if input.args.is_none()
        && let Some(UnclosedQuote { quote, rest }) = unclosed_quote(&input.cmd)
    {
        let place = match rest.char_indices().nth(QUOTED_CHARS_MAX) {
            _ if rest.is_empty() => "at its end".to_owned(),
            Some((end, _)) => format!("before `{}…`", rest.get(..end).unwrap_or_default()),
            None => format!("before `{rest}`"),
        };
        return invalid(format!(
            "cmd: the line has an unclosed {quote} {place}, so nothing was run: close the quote, or remove it"
        ));
    }
    Ok(())
}

fn accesses(input: &BashInput) -> Vec<Access> {
    let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.as_deref());
    let argv = input.args.as_ref().map(|args| iter::once(&input.cmd).chain(args).cloned());
    let (judgement, line) = match argv.map(Iterator::collect::<Vec<_>>) {
        Some(argv) => (analyze_argv(&argv), argv.join(" ")),
        None => (analyze_line(&input.cmd), input.cmd.clone()),
    };
    accesses_of(&judgement, &line, cwd)
}

/// Returns what a line or a command that was judged would touch when it is run in `cwd`.
///
/// A part of the line that may run any program is unknown by itself. If another part is not known, the commands of the
/// line stay what they are for rules that forbid, and no rule that allows speaks of them.
pub(crate) fn accesses_of(judgement: &ShellAnalysis, line: &str, cwd: Option<&str>) -> Vec<Access> {
    let is_doubtful = judgement.unknown.iter().any(|part| !part.reason.hides_commands());
    let known = judgement.commands.iter().map(|command| match command.argv() {
        Some(argv) if !is_doubtful => CommandLine::Argv(argv),
        Some(_) | None => CommandLine::Partial(command.words.iter().map(partial_word).collect()),
    });
    let hiding = judgement.unknown.iter().filter(|part| part.reason.hides_commands());
    let unknown = hiding.map(|part| CommandLine::Unknown(part.text.clone()));
    let mut commands: Vec<CommandLine> = known.chain(unknown).collect();
    let steers = |command: &CommandLine| {
        let program = match command {
            CommandLine::Argv(argv) => argv.first().map(String::as_str),
            CommandLine::Partial(words) => words.first().and_then(PartialWord::literal),
            CommandLine::Unknown(_) => None,
        };
        program.is_some_and(|program| SHELL_STATE_BUILTINS.contains(&program))
    };
    if !commands.iter().all(steers) {
        commands.retain(|command| !steers(command));
    }
    let shell: Vec<Access> =
        commands.into_iter().map(|command| Access::Shell { command }).collect();
    let file_access = |file: &FileUse| {
        let path = match cwd {
            Some(cwd) if !file.path.starts_with('/') => format!("{cwd}/{}", file.path),
            Some(_) | None => file.path.clone(),
        };
        match file.mode {
            FileUseMode::Read => Access::read(path),
            FileUseMode::Write => Access::write(path),
        }
    };
    let files: Vec<Access> = judgement.files.iter().map(file_access).collect();
    let whole = || vec![Access::Shell { command: CommandLine::Unknown(line.to_owned()) }];
    let is_counted = !shell.is_empty() && shell.len() + files.len() <= ACCESSES_MAX;
    let mut accesses = if is_counted { shell } else { whole() };
    accesses.extend(files.into_iter().take(ACCESSES_MAX - 1));
    accesses.extend(cwd.map(Access::read));
    accesses
}

fn partial_word(word: &CommandWord) -> PartialWord {
    match word {
        CommandWord::Literal(text) => PartialWord::Literal(text.clone()),
        CommandWord::Unknown(source) => PartialWord::Expanded { unknown: source.clone() },
    }
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

async fn run(input: &BashInput, cx: &Cx) -> Result<ToolOutput, ToolError> {
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
    let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.clone());
    let request = ShellRequest { program: program.clone(), args, cwd };
    let outcome = cx.shell().run(request).await.map_err(|mut err| {
        if input.args.is_some()
            && err.code == ErrorCode::ProcessSpawnFailed
            && program.contains(' ')
        {
            err.message
                .push_str(": with args, cmd is the executable alone; leave args out to run a line");
        }
        err
    })?;
    command_output(&program, cx, outcome, ": give a larger opts.timeout_ms, or run less at once")
}

/// Turns what a command did into the tool's answer; `longer` says how it could have had more time.
pub(crate) fn command_output(
    program: &str,
    cx: &Cx,
    outcome: ShellOutcome,
    longer: &str,
) -> Result<ToolOutput, ToolError> {
    let mut output = ToolOutput::new(OutputBody::Excerpt(outcome.output));
    output.confined = Some(outcome.confined);
    let (code, mut message) = match outcome.ending {
        ProcessEnding::Exited(0) => {
            output.exit_code = Some(0);
            return Ok(output);
        }
        ProcessEnding::Exited(status) => {
            output.exit_code = Some(status);
            (ErrorCode::CommandFailed, format!("{program} exited with status {status}"))
        }
        ProcessEnding::Signalled(signal) => {
            (ErrorCode::CommandFailed, format!("{program} was ended by {}", signal_text(signal)))
        }
        ProcessEnding::TimedOut => (
            ErrorCode::ProcessTimeout,
            format!(
                "{program} did not end within {} ms and was killed with everything it started{longer}",
                cx.timeout_ms()
            ),
        ),
        ProcessEnding::Aborted => (
            ErrorCode::ProcessAborted,
            format!("the call was cancelled, and {program} was killed with everything it started"),
        ),
    };
    if let Some(hindrance) = outcome.confinement_hint {
        message.extend(["; ", &hindrance]);
    }
    Err(ToolError::new(code, message).with_output(output))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

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

    fn check_accesses(input: serde_json::Value, expect: Expect) {
        let input: BashInput = serde_json::from_value(input).unwrap();
        let lines: Vec<_> =
            accesses(&input).iter().map(|access| serde_json::to_string(access).unwrap()).collect();
        expect.assert_eq(&(lines.join("\n") + "\n"));
    }

    #[test]
    fn a_line_is_known_by_its_commands_and_files() {
        check_accesses(
            serde_json::json!({ "cmd": "cd src && git commit -m \"pull it\" 2>&1 | tee ../log; rm $x" }),
            expect![[r#"
                {"capability":"shell.run","command":{"argv":["git","commit","-m","pull it"]}}
                {"capability":"shell.run","command":{"argv":["tee","../log"]}}
                {"capability":"shell.run","command":{"partial":["rm",{"unknown":"$x"}]}}
                {"capability":"fs.write","path":"src/../log"}
            "#]],
        );
        check_accesses(
            serde_json::json!({ "cmd": "cat a > b", "opts": { "cwd": "sub" } }),
            expect![[r#"
                {"capability":"shell.run","command":{"argv":["cat","a"]}}
                {"capability":"fs.write","path":"sub/b"}
                {"capability":"fs.read","path":"sub/a"}
                {"capability":"fs.read","path":"sub"}
            "#]],
        );
        check_accesses(
            serde_json::json!({ "cmd": "rm", "args": ["-f", "$x"] }),
            expect![[r#"
            {"capability":"shell.run","command":{"argv":["rm","-f","$x"]}}
            {"capability":"fs.write","path":"$x"}
        "#]],
        );
        check_accesses(
            serde_json::json!({ "cmd": "git diff --no-index /dev/null .env", "opts": { "cwd": "sub" } }),
            expect![[r#"
                {"capability":"shell.run","command":{"argv":["git","diff","--no-index","/dev/null",".env"]}}
                {"capability":"fs.read","path":"sub/.env"}
                {"capability":"fs.read","path":"sub"}
            "#]],
        );
        check_accesses(
            serde_json::json!({ "cmd": "timeout", "args": ["5", "bash", "-c", "rm x; $y"] }),
            expect![[r#"
                {"capability":"shell.run","command":{"argv":["rm","x"]}}
                {"capability":"shell.run","command":{"unknown":"$y"}}
                {"capability":"fs.write","path":"x"}
            "#]],
        );
        for line in ["echo 'a", "x=5", " "] {
            let input = serde_json::json!({ "cmd": line });
            let input: BashInput = serde_json::from_value(input).unwrap();
            let command = CommandLine::Unknown(line.to_owned());
            assert_eq!(accesses(&input), [Access::Shell { command }]);
        }
    }

    #[test]
    fn a_line_of_very_many_accesses_is_unknown_as_a_whole() {
        let line = |count: usize| {
            let lines: Vec<_> = (0..count).map(|index| format!("true {index}")).collect();
            lines.join("\n")
        };
        let first = |cmd: String| {
            let input = BashInput { cmd, args: None, opts: None };
            let accesses = accesses(&input);
            (accesses.len(), accesses.first().cloned())
        };
        let command = CommandLine::Argv(vec!["true".to_owned(), "0".to_owned()]);
        let known = Some(Access::Shell { command });
        assert_eq!(first(line(ACCESSES_MAX)), (ACCESSES_MAX, known));
        let long = line(ACCESSES_MAX + 1);
        let unknown = Some(Access::Shell { command: CommandLine::Unknown(long.clone()) });
        assert_eq!(first(long), (1, unknown));
    }

    #[test]
    fn shell_words_are_sorted() {
        assert!(SHELL_WORDS.is_sorted());
    }
}
