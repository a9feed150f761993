//! Compares the analysis with bash itself: bash parses a line, and records commands instead of
//! running them. Every command that bash would run must be in the analysis, and every file that a
//! redirection creates, or the line must be unknown.
//!
//! `HAFT_SHELL_LINES` is the number of generated lines, and `HAFT_SHELL_SEED` the seed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use haft_shell::{
    CommandWord, FileUseMode, ShellAnalysis, SimpleCommand, analyze_argv, analyze_line,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::shown::shown;
use super::{corpus, made_up, syntax_lines};

const LINES: usize = 60;
/// A line with one of these runs other commands if its commands fail.
const FAILURE: &[&str] = &["||", "!", "if", "until"];

#[test]
fn what_bash_runs_is_found() {
    let seed: u8 = setting("HAFT_SHELL_SEED").unwrap_or(0);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let corpus: Vec<_> = corpus::lines().iter().map(|line| without_paths(line)).collect();
    let strategy = prop_oneof![9 => syntax_lines::line(corpus.clone()), 1 => made_up::line()];
    let generated = (0..setting("HAFT_SHELL_LINES").unwrap_or(LINES))
        .map(|_| without_paths(&strategy.new_tree(&mut runner).expect("a line").current()));
    let mut compared = 0;
    let mut differences = Vec::new();
    for line in corpus.into_iter().chain(generated) {
        let analysis = analyze_line(&line);
        if analysis.unknown.is_empty() {
            compared += 1;
            let difference = difference(&line, &analysis);
            differences
                .extend(difference.map(|it| format!("{line:?}: {it}\n{}", shown(&analysis))));
        }
    }
    println!("compared {compared} lines");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > LINES, "only {compared} lines are known");
}

#[test]
fn a_difference_is_noticed() {
    let check = |line: &str, analyzed: &str, expect: &str| {
        let difference = difference(line, &analyze_line(analyzed));
        assert_eq!(difference.as_deref(), Some(expect), "{line}");
    };
    check("a; b", "a", r#"bash ran ["b"]"#);
    check("a 'b c'", "a b c", r#"bash ran ["a", "b c"]"#);
    check(
        "if ! a; then b; fi",
        "a",
        r#"bash spells it "{ \n    if ! a; then\n        b;\n    fi\n}\n", which starts b"#,
    );
    check("cd d; time echo $(c)", "cd d; time echo x", r#"bash ran ["c"]"#);
    check("a > b", "a", r#"bash wrote "b""#);
    check("timeout 1 a", "a", r#"bash ran ["timeout", "1", "a"], which starts timeout > a"#);
    check(
        "case x in y) a;; esac",
        "b",
        "bash spells it \"{ \\n    case x in \\n        y)\\n            a\\n        ;;\\n    esac\\n}\\n\", which starts a",
    );
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns a line that names no file outside its directory.
fn without_paths(line: &str) -> String {
    line.replace('/', "_").replace(['\r', '\0'], "")
}

struct Recorded {
    commands: Vec<Vec<String>>,
    /// Files that the line created.
    written: BTreeSet<String>,
    /// The line as bash spells it, if bash accepts all of it.
    form: Option<String>,
}

/// Returns the difference between the analysis of a line and bash.
fn difference(line: &str, analysis: &ShellAnalysis) -> Option<String> {
    let may_fail = FAILURE.iter().any(|syntax| line.contains(syntax));
    for status in if may_fail { ["0", "1"].as_slice() } else { &["0"] } {
        let recorded = record(line, analysis, status);
        for argv in &recorded.commands {
            let own = analyze_argv(argv);
            if !is_listed(argv, analysis) && own.commands.iter().all(|it| it.launchers.is_empty()) {
                return Some(format!("bash ran {argv:?}"));
            }
            if let Some(missing) = missing_command(&own, analysis) {
                return Some(format!("bash ran {argv:?}, which starts {missing}"));
            }
        }
        for name in &recorded.written {
            let is_named = analysis.files.iter().any(|file| {
                file.mode == FileUseMode::Write && file.path.rsplit('/').next() == Some(name)
            });
            if !is_named {
                return Some(format!("bash wrote {name:?}"));
            }
        }
        if let Some(form) = recorded.form {
            let spelled = analyze_line(&form);
            if let Some(missing) =
                missing_command(&spelled, analysis).filter(|_| spelled.unknown.is_empty())
            {
                return Some(format!("bash spells it {form:?}, which starts {missing}"));
            }
        }
    }
    None
}

fn is_listed(argv: &[String], analysis: &ShellAnalysis) -> bool {
    let words: Vec<_> = argv.iter().cloned().map(CommandWord::Literal).collect();
    analysis.commands.iter().any(|it| it.launchers.is_empty() && may_be(&it.words, &words))
}

/// Returns a command of the first analysis that is not in the second.
fn missing_command(all: &ShellAnalysis, analysis: &ShellAnalysis) -> Option<String> {
    let is_covered = |command: &SimpleCommand| {
        analysis
            .commands
            .iter()
            .any(|it| it.launchers == command.launchers && may_be(&it.words, &command.words))
    };
    let missing = all.commands.iter().find(|command| !is_covered(command))?;
    let launchers = missing.launchers.iter().map(|program| format!("{program} > "));
    Some(launchers.collect::<String>() + &missing.text())
}

/// Returns whether words may be `words`: a word that the shell expands stands for any words.
fn may_be(pattern: &[CommandWord], words: &[CommandWord]) -> bool {
    match pattern.split_first() {
        None => words.is_empty(),
        Some((first @ CommandWord::Literal(_), rest)) => {
            words.split_first().is_some_and(|(word, words)| word == first && may_be(rest, words))
        }
        Some((CommandWord::Unknown(_), rest)) => {
            (0..=words.len()).any(|skipped| may_be(rest, &words[skipped..]))
        }
    }
}

fn record(line: &str, analysis: &ShellAnalysis, status: &str) -> Recorded {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path().join("work");
    std::fs::create_dir(&directory).expect("a directory");
    let mut given = BTreeSet::new();
    for file in analysis.files.iter().filter(|file| file.mode == FileUseMode::Read) {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if std::fs::write(directory.join(name), "").is_ok() {
            given.insert(name.to_owned());
        }
    }
    let record_file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/record.sh");
    let output = scratch.path().join("output");
    let form = scratch.path().join("form");
    let ran = Command::new("timeout")
        .args(["-s", "KILL", "10", "bash", "-c", line])
        .current_dir(&directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", &directory)
        .env("BASH_ENV", record_file)
        .env("ORACLE_OUTPUT", &output)
        .env("ORACLE_FORM", &form)
        .env("ORACLE_LINE", line)
        .env("ORACLE_STATUS", status)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ran.expect("bash and timeout are installed");
    let bytes = std::fs::read(&output);
    let bytes = bytes.unwrap_or_else(|err| panic!("bash did not start with {line:?}: {err}"));
    // The last record may be cut off.
    let end = bytes.iter().rposition(|byte| *byte == 0).unwrap_or_default();
    let mut fields = bytes[..end].split(|byte| *byte == 0);
    let mut commands = Vec::new();
    while let Some(count) = fields.next().and_then(|it| str::from_utf8(it).ok()?.parse().ok()) {
        let argv: Vec<_> = fields
            .by_ref()
            .take(count)
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect();
        if argv.len() == count {
            commands.push(argv);
        }
    }
    let is_new = |name: &String| !given.contains(name);
    let written = names(&directory).filter(is_new).collect();
    let form = std::fs::read(&form).ok().and_then(|text| {
        let text = String::from_utf8(text).ok()?;
        Some(text.split_once('\n')?.1.to_owned())
    });
    Recorded { commands, written, form }
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
}
