//! Watchdogs that are programs: what they are told, how they answer, and that whatever goes wrong denies the call. The
//! examples of the documentation are run as they stand there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::{Expect, expect};
use haft::{
    HeadlessAsker, OperatorProgram, ProgramWatchdog, ReferenceWatchdog, Watchdog, WatchdogVerdict,
    WatchedCall,
};
use haft_contract::{
    Access, BoxFuture, CommandLine, FsRequirement, RequirementSet, ShellRequirement, Tool,
    ToolError, ToolId,
};
use haft_policy::{NetworkGuard, RuleAction, RuleScope};
use serde_json::{Value, json};

use crate::stage::{Setting, Stage, Text, rule};

const DOCUMENTATION: &str = include_str!("../../../../docs/watchdog.md");

/// A tool that would run its text as a line, write a file and reach a host, and does nothing.
fn deploy() -> Tool {
    let any = ShellRequirement { cmd: "*".to_owned(), args: None };
    let fs = FsRequirement { read: Vec::new(), write: vec!["{workspace}/**".to_owned()] };
    let requires = RequirementSet { fs, shell: vec![any], ..RequirementSet::default() };
    Tool::new("deploy")
        .requires(requires)
        .accesses(|input: &Text| {
            let argv = input.text.split_whitespace().map(str::to_owned).collect();
            vec![
                Access::Shell { command: CommandLine::Argv(argv) },
                Access::Shell { command: CommandLine::Unknown("ls | wc".to_owned()) },
                Access::Write { path: "out/log".to_owned() },
            ]
        })
        .execute(|_: Text| async { Ok::<_, ToolError>("done") })
}

fn shell(directory: &Path, script: &str) -> ProgramWatchdog {
    ProgramWatchdog(shell_program(directory, script))
}

fn shell_program(directory: &Path, script: &str) -> OperatorProgram {
    OperatorProgram {
        program: PathBuf::from("/bin/sh"),
        args: vec!["-c".into(), script.into()],
        // Far beyond what any test here needs, so that only a program that never answers gets there.
        timeout_ms: 60_000,
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        directory: directory.to_owned(),
    }
}

async fn judged(watchdog: impl Watchdog + 'static, text: &str) -> String {
    judged_under(RuleScope::Preset, watchdog, text).await
}

/// Returns the answer to a call that a rule of this scope allows.
async fn judged_under(scope: RuleScope, watchdog: impl Watchdog + 'static, text: &str) -> String {
    let setting = Setting {
        tools: vec![deploy()],
        watchdogs: vec![Arc::new(watchdog)],
        manifest: json!({"preset": "workspace"}),
        asker: Arc::new(HeadlessAsker),
        network_guard: NetworkGuard::Kernel,
        // The built-in watchdog does not ask about what a rule of the user allows.
        rules: vec![rule(scope, "*", "*", RuleAction::Allow)],
        ..Setting::default()
    };
    let stage = Stage::new(setting).await;
    let envelope = stage.call("deploy", json!({"text": text})).await;
    let code = envelope.code().map_or("none", |code| code.as_str());
    format!("{code}: {}", envelope.text())
}

#[tokio::test]
async fn answers() {
    let place = tempfile::tempdir().unwrap();
    let check = async |script: &str, expect: Expect| {
        expect.assert_eq(&judged(shell(place.path(), script), "x").await);
    };
    check("echo '{\"decision\":\"allow\"}'", expect!["none: done"]).await;
    check(
        "cat >/dev/null; echo '{\"decision\":\"allow\",\"reason\":\"fine\",\"more\":1}'",
        expect!["none: done"],
    )
    .await;
    check(
        "echo '{\"decision\":\"deny\",\"reason\":\"not on a Friday\"}'",
        expect!["WATCHDOG_DENIED: not on a Friday"],
    )
    .await;
    check(
        "echo '{\"decision\":\"deny\"}'",
        expect!["WATCHDOG_DENIED: the watchdog /bin/sh denies it"],
    )
    .await;
    check(
        "echo '{\"decision\":\"ask\",\"reason\":\"is it time?\"}'",
        expect![
            "PERMISSION_DENIED: no person can be asked here, so the call is denied: is it time?"
        ],
    )
    .await;
}

#[tokio::test]
async fn whatever_goes_wrong_denies() {
    let place = tempfile::tempdir().unwrap();
    let check = async |script: &str, expect: Expect| {
        expect.assert_eq(&judged(shell(place.path(), script), "x").await);
    };
    check("echo '{\"decision\":\"allow\"}'; echo broken >&2; exit 3", expect!["WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: it ended with exit status: 3: broken"]).await;
    check("kill -9 $$", expect!["WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: it ended with signal: 9 (SIGKILL)"]).await;
    check("true", expect![[r#"WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: it said nothing: expected {"decision":"allow"}, or deny or ask with a reason"#]]).await;
    check("echo allow", expect![[r#"WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: its answer is not usable (expected value at line 1 column 1): expected {"decision":"allow"}, or deny or ask with a reason"#]]).await;
    check("echo '{\"decision\":\"maybe\"}'", expect![[r#"WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: its answer is not usable (unknown variant `maybe`, expected one of `allow`, `deny`, `ask` at line 1 column 19): expected {"decision":"allow"}, or deny or ask with a reason"#]]).await;
    check("echo '{\"reason\":\"x\"}'", expect![[r#"WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: its answer is not usable (missing field `decision` at line 1 column 14): expected {"decision":"allow"}, or deny or ask with a reason"#]]).await;
    check("echo '{\"decision\":\"allow\"}{\"decision\":\"allow\"}'", expect![[r#"WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: its answer is not usable (trailing characters at line 1 column 21): expected {"decision":"allow"}, or deny or ask with a reason"#]]).await;
    check("head -c 70000 /dev/zero", expect!["WATCHDOG_DENIED: the watchdog /bin/sh failed, so the call is denied: it said more than 65536 bytes"]).await;
    let missing = ProgramWatchdog(OperatorProgram {
        program: "/nonexistent/guard".into(),
        ..shell_program(place.path(), "")
    });
    expect!["WATCHDOG_DENIED: the watchdog /nonexistent/guard failed, so the call is denied: it could not be started: No such file or directory (os error 2)"].assert_eq(&judged(missing, "x").await);
}

#[tokio::test]
async fn an_answer_at_the_limit_counts_and_one_byte_more_does_not() {
    let place = tempfile::tempdir().unwrap();
    let padded = |bytes: usize| {
        let answer = "{\"decision\":\"allow\"}";
        shell(place.path(), &format!("printf '%-{bytes}s' '{answer}'"))
    };
    assert_eq!(judged(padded(65_536), "x").await, "none: done");
    let refused = judged(padded(65_537), "x").await;
    assert!(refused.ends_with("it said more than 65536 bytes"), "{refused}");
}

#[tokio::test]
async fn a_program_may_complain_at_length_and_still_answer() {
    let place = tempfile::tempdir().unwrap();
    let script = "head -c 1000000 /dev/zero >&2; echo '{\"decision\":\"allow\"}'";
    assert_eq!(judged(shell(place.path(), script), "x").await, "none: done");
}

#[tokio::test]
async fn a_program_that_does_not_answer_in_time_denies() {
    let place = tempfile::tempdir().unwrap();
    let slow = shell_program(place.path(), "sleep 1000");
    let watchdog = ProgramWatchdog(OperatorProgram { timeout_ms: 1, ..slow });
    let refused = judged(watchdog, "x").await;
    assert!(refused.ends_with("it did not answer within 1 ms"), "{refused}");
}

#[tokio::test]
async fn a_program_that_nobody_waits_for_any_longer_is_killed_with_what_it_started() {
    let place = tempfile::tempdir().unwrap();
    let watchdog = shell(place.path(), "sleep 1000 & echo $! > started; mv started pid; wait");
    let (tool, input) = (ToolId::parse("deploy").unwrap(), json!({}));
    let call = WatchedCall {
        tool: &tool,
        input: &input,
        accesses: &[],
        manifest: &Value::Null,
        session: "s1",
        root: place.path(),
        allowed_by_user: &[],
        is_network_decided: false,
        led_to: None,
    };
    let file = place.path().join("pid");
    tokio::select! {
        verdict = watchdog.judge(call) => panic!("it answered {verdict:?}"),
        () = until(|| file.exists()) => {}
    }
    let pid = std::fs::read_to_string(&file).unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    until(|| std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
}

/// Waits for something that will be so.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_program_is_told_the_whole_call() {
    let place = tempfile::tempdir().unwrap();
    let script = "cat > told; env > environment; echo '{\"decision\":\"allow\"}'";
    assert_eq!(judged(shell(place.path(), script), "git push").await, "none: done");
    let told = std::fs::read(place.path().join("told")).unwrap();
    let mut told: Value = serde_json::from_slice(&told).unwrap();
    let root = told["root"].as_str().unwrap().to_owned();
    let log = told["accesses"][2]["path"].as_str().unwrap().to_owned();
    assert_eq!(log, format!("{root}/out/log"));
    told["root"] = "ROOT".into();
    told["accesses"][2]["path"] = "ROOT/out/log".into();
    expect![[r#"
        {
          "version": 1,
          "tool": "deploy",
          "input": {
            "text": "git push"
          },
          "accesses": [
            {
              "capability": "shell.run",
              "argv": [
                "git",
                "push"
              ]
            },
            {
              "capability": "shell.run",
              "line": "ls | wc"
            },
            {
              "capability": "fs.write",
              "path": "ROOT/out/log",
              "relative": "out/log"
            }
          ],
          "manifest": {
            "preset": "workspace"
          },
          "session": "s1",
          "root": "ROOT"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&told).unwrap());
    let environment = std::fs::read_to_string(place.path().join("environment")).unwrap();
    let shells_own = ["PATH=", "PWD=", "OLDPWD=", "SHLVL=", "_="];
    let is_foreign = |line: &&str| !shells_own.iter().any(|name| line.starts_with(name));
    assert_eq!(environment.lines().find(is_foreign), None, "the environment is what was given");
}

/// Denies each call, and says what it was shown.
struct Quoting;

impl Watchdog for Quoting {
    fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        let shown = json!([call.tool.as_str(), call.input, call.manifest, call.session]);
        Box::pin(async move { WatchdogVerdict::Deny(shown.to_string()) })
    }
}

#[tokio::test]
async fn a_watchdog_in_rust_is_shown_the_whole_call() {
    let expect = r#"WATCHDOG_DENIED: ["deploy",{"text":"git push"},{"preset":"workspace"},"s1"]"#;
    assert_eq!(judged(Quoting, "git push").await, expect);
}

/// Returns the code of the chapter's block in that language.
fn example(language: &str) -> &'static str {
    let opening = format!("```{language}\n");
    let (_, rest) = DOCUMENTATION.split_once(opening.as_str()).unwrap();
    rest.split_once("```").unwrap().0
}

#[tokio::test]
async fn the_examples_of_the_documentation_do_what_they_say() {
    for (language, program) in [("sh", "/bin/sh"), ("python", "python3")] {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("guard");
        std::fs::write(&script, example(language)).unwrap();
        let watchdog = || {
            ProgramWatchdog(OperatorProgram {
                program: program.into(),
                args: vec![script.clone().into()],
                ..shell_program(place.path(), "")
            })
        };
        assert_eq!(judged(watchdog(), "git status").await, "none: done", "{language}");
        let refused = judged(watchdog(), "terraform destroy").await;
        assert_eq!(
            refused, "WATCHDOG_DENIED: infrastructure is not destroyed from here",
            "{language}"
        );
        let asked = judged(watchdog(), "git push origin").await;
        assert!(
            asked.starts_with("PERMISSION_DENIED: ") && asked.contains("a push is seen by others"),
            "{language}: {asked}"
        );
    }
}

#[tokio::test]
async fn the_built_in_watchdog_denies_and_asks() {
    let check = async |text: &str, expect: Expect| {
        expect.assert_eq(&judged(ReferenceWatchdog, text).await);
    };
    check("git status", expect!["none: done"]).await;
    check("sudo ls", expect![[r#"PERMISSION_DENIED: no person can be asked here, so the call is denied: "sudo ls" uses or changes rights beyond those of this user"#]]).await;
    check("rm -rf /", expect![[r#"WATCHDOG_DENIED: "rm -rf /" would destroy or change the machine itself; leave it alone"#]]).await;
    let allowed = async |text: &str, expect: Expect| {
        expect.assert_eq(&judged_under(RuleScope::Manifest, ReferenceWatchdog, text).await);
    };
    allowed("sudo ls", expect!["none: done"]).await;
    allowed("rm -rf /", expect![[r#"WATCHDOG_DENIED: "rm -rf /" would destroy or change the machine itself; leave it alone"#]]).await;
}
