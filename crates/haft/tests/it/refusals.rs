//! Calls that do not execute: each is answered with an envelope and leaves a row.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use haft::{Ask, AskAnswer, Asker, Call, Watchdog, WatchdogVerdict, WatchedCall};
use haft_contract::{
    Access, BoxFuture, CommandLine, Cx, Effect, FileChange, FsRequirement, Precondition,
    RequirementSet, ShellRequirement, Tool, ToolError,
};
use haft_policy::{RuleAction, RuleScope};
use serde_json::json;

use crate::stage::{Counter, Setting, Stage, Text, rule, shown};

/// A tool that counts how often it is executed.
pub(crate) fn counted(id: &str, counter: &Counter) -> Tool {
    let counter = counter.clone();
    Tool::new(id).effect(Effect::Once).execute_with(move |_: Text, _| {
        counter.add();
        async { Ok::<_, ToolError>("done") }
    })
}

/// A tool that reads the path it is given, and may read below `docs` only.
fn reader(counter: &Counter) -> Tool {
    let counter = counter.clone();
    let fs = FsRequirement { read: vec!["docs/**".to_owned()], write: Vec::new() };
    Tool::new("reader")
        .requires(RequirementSet { fs, ..RequirementSet::default() })
        .accesses(|input: &Text| vec![Access::read(&input.text)])
        .execute_with(move |_: Text, _| {
            counter.add();
            async { Ok::<_, ToolError>("read") }
        })
}

/// A tool that runs a command and touches files as its input says: `rg x | read . | write out`.
fn shell() -> Tool {
    fn accesses(input: &Text) -> Vec<Access> {
        let declared = input.text.split(" | ").map(|part| match part.split_once(' ') {
            Some(("read", path)) => Access::read(path),
            Some(("write", path)) => Access::write(path),
            Some(("unknown", line)) => {
                Access::Shell { command: CommandLine::Unknown(line.to_owned()) }
            }
            _ => {
                let argv = part.split(' ').map(str::to_owned).collect();
                Access::Shell { command: CommandLine::Argv(argv) }
            }
        });
        declared.collect()
    }
    let everything = || vec!["**".to_owned()];
    Tool::new("bash")
        .requires(RequirementSet {
            fs: FsRequirement { read: everything(), write: everything() },
            shell: vec![ShellRequirement { cmd: "*".to_owned(), args: None }],
            ..RequirementSet::default()
        })
        .accesses(accesses)
        .execute_with(|_: Text, _| async { Ok::<_, ToolError>("ran") })
}

/// A tool that asks the grant itself about each file that it comes to.
fn walker() -> Tool {
    let fs = FsRequirement { read: vec!["**".to_owned()], write: Vec::new() };
    Tool::new("grep")
        .requires(RequirementSet { fs, ..RequirementSet::default() })
        .accesses(|input: &Text| vec![Access::read(&input.text)])
        .execute_with(|_: Text, _| async { Ok::<_, ToolError>("searched") })
}

/// A stage with files in it, on which everything is allowed but for these rules.
async fn stage_denying(denies: &[(&str, &str)]) -> Stage {
    let denies = denies.iter().map(|(permission, pattern)| {
        rule(RuleScope::Manifest, permission, pattern, RuleAction::Deny)
    });
    let rules = std::iter::once(rule(RuleScope::Preset, "*", "*", RuleAction::Allow)).chain(denies);
    let tools = vec![shell(), walker()];
    let stage = Stage::new(Setting { tools, rules: rules.collect(), ..Setting::default() }).await;
    let root = stage.directory.path().join("root");
    std::fs::create_dir_all(root.join("secret")).unwrap();
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    std::fs::write(root.join("secret/key"), "k").unwrap();
    std::fs::write(root.join("src/a"), "a").unwrap();
    std::os::unix::fs::symlink("src", root.join("link")).unwrap();
    stage
}

#[tokio::test]
async fn a_command_that_reaches_a_whole_directory_asks_where_a_deny_may_be_met() {
    let stage = stage_denying(&[("fs.read", "secret/**"), ("fs.write", "src/deep/keep")]).await;
    let around = stage.directory.path().to_string_lossy().into_owned();
    let check = async |input: &str, expect: RuleAction| {
        let input = input.replace("AROUND", &around);
        let explained = stage.session.explain("bash", json!({"text": input})).await.unwrap();
        assert_eq!(explained.outcome, expect, "{input}: {explained:?}");
    };
    for asks in [
        "rg x | read .",
        "grep -r x | read .",
        "cp -r . /tmp/x | read .",
        "tar c . | read .",
        "git grep x | read .",
        "unknown cat $x | read .",
        "ls | read src | rg x | read .",
        "grep -r x / | read /",
        "grep -r x AROUND | read AROUND",
        "rm -r src | write src",
        "rm -r link | write link",
        "cp a src/deep | read src/a | write src/deep",
        "tar x | write made/../src",
    ] {
        check(asks, RuleAction::Ask).await;
    }
    for allowed in [
        "rg x src | read src",
        "rg x src/a | read src/a",
        "cp -r src out | read src | write out",
        "ls -la | read .",
        "find / -name x | read /",
        "cargo test | read src",
        "mkdir -p src | write src",
        "rm src/a | write src/a",
        "unknown cat $x",
    ] {
        check(allowed, RuleAction::Allow).await;
    }
    check("cat secret/key | read secret/key", RuleAction::Deny).await;
    check("rg x secret | read secret", RuleAction::Deny).await;
    // Tools that open files one by one ask the grant about each.
    let walked = stage.session.explain("grep", json!({"text": "."})).await.unwrap();
    assert_eq!(walked.outcome, RuleAction::Allow, "{walked:?}");
}

#[tokio::test]
async fn without_a_narrower_deny_commands_reach_whole_directories_unasked() {
    let stage = stage_denying(&[("fs.read", "/etc/shadow"), ("bash", "sudo *")]).await;
    for input in ["rg x | read .", "rm -r src | write src", "grep -r x src | read src"] {
        assert_eq!(stage.call("bash", json!({"text": input})).await.text(), "ran", "{input}");
    }
}

#[tokio::test]
async fn a_command_that_may_meet_a_deny_says_which() {
    let stage = stage_denying(&[("fs.read", "**/.env")]).await;
    let envelope = stage.call("bash", json!({"text": "rg x | read ."})).await;
    expect![[r#"no person can be asked here, so the call is denied: bash needs approval for fs.read of ".": it reaches all beneath, and the manifest rule `deny fs.read "**/.env"` may match something there; while that rule stands, no added rule allows it"#]].assert_eq(&envelope.text());
}

#[tokio::test]
async fn unknown_tools_and_invalid_inputs_are_refused_and_recorded() {
    let counter = Counter::default();
    let stage =
        Stage::new(Setting { tools: vec![counted("send.mail", &counter)], ..Setting::default() })
            .await;
    let check = async |tool: &str, input, expect: Expect| {
        expect.assert_eq(&shown(&stage.call(tool, input).await));
    };
    check(
        "sendmail",
        json!({"text": "x"}),
        expect![[r#"
            {
              "type": "error",
              "error_text": "no tool is called \"sendmail\": use send.mail {text}",
              "metadata": {
                "refusal": {
                  "code": "TOOL_NOT_FOUND",
                  "decided_by": "contract",
                  "because": "no tool is called \"sendmail\": use send.mail {text}"
                },
                "call_id": "r1/main/0/1/1",
                "code": "TOOL_NOT_FOUND"
              }
            }"#]],
    )
    .await;
    check(
        "Send Mail!",
        json!({"password": "hunter2"}),
        expect![[r#"
            {
              "type": "error",
              "error_text": "no tool is called \"Send Mail!\": use send.mail {text}",
              "metadata": {
                "refusal": {
                  "code": "TOOL_NOT_FOUND",
                  "decided_by": "contract",
                  "because": "no tool is called \"Send Mail!\": use send.mail {text}"
                },
                "call_id": "r1/main/0/1/2",
                "code": "TOOL_NOT_FOUND"
              }
            }"#]],
    )
    .await;
    check("send.mail", json!({"txt": "x", "text": 1}), expect![[r#"
        {
          "type": "error",
          "error_text": "invalid input for send.mail: text: expected string, found 1; txt: no such parameter: the tool has text; did you mean text?",
          "metadata": {
            "refusal": {
              "code": "INVALID_INPUT",
              "decided_by": "contract",
              "because": "invalid input for send.mail: text: expected string, found 1; txt: no such parameter: the tool has text; did you mean text?"
            },
            "call_id": "r1/main/0/1/3",
            "code": "INVALID_INPUT"
          }
        }"#]]).await;
    check(
        "send__mail",
        json!({"text": "x"}),
        expect![[r#"
            {
              "type": "output",
              "data": "done",
              "metadata": {
                "call_id": "r1/main/0/1/4"
              }
            }"#]],
    )
    .await;
    assert_eq!(counter.count(), 1);
    expect![[r#"
        1 sendmail refused {"bytes":12,"sha256":"fcd1ccec08db6f78a81fee6c26da9e6b8d0d3ba58b4403713fffebcfaa6cf119"}
        2 Send Mail! refused {"bytes":22,"sha256":"7881d759c44f0e45f22a9ec1075a2b26a80da5dea5e08eb791d84468c4388222"}
        3 send.mail refused {"text":1,"txt":"x"}
        4 send.mail succeeded {"text":"x"}
    "#]].assert_eq(&stage.journal().await);
}

#[tokio::test]
async fn an_access_outside_the_tools_own_requirement_is_refused() {
    let counter = Counter::default();
    let stage = Stage::new(Setting { tools: vec![reader(&counter)], ..Setting::default() }).await;
    std::fs::create_dir(stage.directory.path().join("root/docs")).unwrap();
    let check = async |path: &str, expect: Expect| {
        let answer = shown(&stage.call("reader", json!({"text": path})).await);
        let directory = stage.directory.path().to_string_lossy().into_owned();
        expect.assert_eq(&answer.replace(&directory, "…"));
    };
    check("src/main.rs", expect![[r#"
        {
          "type": "error",
          "error_text": "fs.read of \"src/main.rs\" is outside fs.read [\"docs/**\"]; stay inside, or grant more under requires",
          "metadata": {
            "refusal": {
              "code": "CAPABILITY_DENIED",
              "decided_by": "capabilities",
              "because": "fs.read of \"src/main.rs\" is outside fs.read [\"docs/**\"]; stay inside, or grant more under requires"
            },
            "call_id": "r1/main/0/1/1",
            "code": "CAPABILITY_DENIED"
          }
        }"#]]).await;
    check("docs/../src/main.rs", expect![[r#"
        {
          "type": "error",
          "error_text": "fs.read of \"src/main.rs\" is outside fs.read [\"docs/**\"]; stay inside, or grant more under requires",
          "metadata": {
            "refusal": {
              "code": "CAPABILITY_DENIED",
              "decided_by": "capabilities",
              "because": "fs.read of \"src/main.rs\" is outside fs.read [\"docs/**\"]; stay inside, or grant more under requires"
            },
            "call_id": "r1/main/0/1/2",
            "code": "CAPABILITY_DENIED"
          }
        }"#]]).await;
    check(
        "../docs/x",
        expect![[r#"
            {
              "type": "error",
              "error_text": "path \"../docs/x\" is outside the workspace: use a path within …/root",
              "metadata": {
                "refusal": {
                  "code": "TOOL_PATH_ESCAPE",
                  "decided_by": "roots",
                  "because": "path \"../docs/x\" is outside the workspace: use a path within …/root"
                },
                "call_id": "r1/main/0/1/3",
                "code": "TOOL_PATH_ESCAPE"
              }
            }"#]],
    )
    .await;
    assert_eq!(counter.count(), 0);
    check(
        "docs/x",
        expect![[r#"
            {
              "type": "output",
              "data": "read",
              "metadata": {
                "call_id": "r1/main/0/1/4"
              }
            }"#]],
    )
    .await;
}

#[tokio::test]
async fn rules_decide_and_are_named() {
    let counter = Counter::default();
    let rules = vec![
        rule(RuleScope::Manifest, "fs.read", "docs/**", RuleAction::Allow),
        rule(RuleScope::Manifest, "reader", "docs/private/**", RuleAction::Deny),
        rule(RuleScope::Session, "reader", "docs/private/mine", RuleAction::Allow),
    ];
    let stage =
        Stage::new(Setting { tools: vec![reader(&counter)], rules, ..Setting::default() }).await;
    let check = async |path: &str, expect: Expect| {
        let envelope = stage.call("reader", json!({"text": path})).await;
        let code = envelope.code().map_or("none", |code| code.as_str());
        expect.assert_eq(&format!("{code}: {}", envelope.text()));
    };
    check("docs/x", expect!["none: read"]).await;
    check("docs/private/x", expect![[r#"PERMISSION_DENIED: reader is denied fs.read of "docs/private/x": the manifest rule `deny reader "docs/private/**"` decides; what the manifest denies only the manifest can allow"#]]).await;
    check("docs/private/mine", expect![[r#"PERMISSION_DENIED: reader is denied fs.read of "docs/private/mine": the manifest rule `deny reader "docs/private/**"` decides; what the manifest denies only the manifest can allow"#]]).await;
}

#[tokio::test]
async fn without_a_rule_and_without_anybody_to_ask_a_call_is_denied() {
    let counter = Counter::default();
    let setting =
        Setting { tools: vec![counted("mail", &counter)], rules: Vec::new(), ..Setting::default() };
    let stage = Stage::new(setting).await;
    expect![[r#"
        {
          "type": "error",
          "error_text": "no person can be asked here, so the call is denied: mail needs approval: no rule matches, and then the answer is ask; the rule `allow mail \"*\"` would allow it",
          "metadata": {
            "refusal": {
              "code": "PERMISSION_DENIED",
              "decided_by": "no_answer",
              "because": "no person can be asked here, so the call is denied: mail needs approval: no rule matches, and then the answer is ask; the rule `allow mail \"*\"` would allow it",
              "remedies": [
                {
                  "allow_tool": "mail"
                },
                {
                  "add_rule": {
                    "permission": "mail",
                    "pattern": "*"
                  }
                }
              ]
            },
            "call_id": "r1/main/0/1/1",
            "code": "PERMISSION_DENIED"
          }
        }"#]].assert_eq(&shown(&stage.call("mail", json!({"text": "x"})).await));
    assert_eq!(counter.count(), 0);
}

/// Says the same to every call.
struct Fixed(WatchdogVerdict);

impl Watchdog for Fixed {
    fn judge<'a>(&'a self, _: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        Box::pin(async { self.0.clone() })
    }
}

/// Answers every question alike and keeps it. The mutex is written by the pipeline and read by the test.
struct Scripted {
    answer: AskAnswer,
    asked: Mutex<Vec<Ask>>,
}

impl Asker for Scripted {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async { self.answer.clone() })
    }
}

#[tokio::test]
async fn rules_and_watchdogs_ask_once_together() {
    for (answer, executions) in
        [(AskAnswer::AllowOnce, 1), (AskAnswer::Reject, 0), (AskAnswer::Unanswered, 0)]
    {
        let counter = Counter::default();
        let asker = Arc::new(Scripted { answer: answer.clone(), asked: Mutex::default() });
        let watchdogs: Vec<Arc<dyn Watchdog>> = vec![
            Arc::new(Fixed(WatchdogVerdict::Allow)),
            Arc::new(Fixed(WatchdogVerdict::Ask("mail leaves the house".to_owned()))),
        ];
        let setting = Setting {
            tools: vec![counted("mail", &counter)],
            rules: Vec::new(),
            watchdogs,
            asker: Arc::clone(&asker) as Arc<_>,
            ..Setting::default()
        };
        let stage = Stage::new(setting).await;
        stage.call("mail", json!({"text": "x"})).await;
        assert_eq!(counter.count(), executions, "after {answer:?}");
        let asked = asker.asked.lock().unwrap().clone();
        assert_eq!((asked.len(), asked[0].reasons.len()), (1, 2), "{asked:?}");
    }
}

#[tokio::test]
async fn a_watchdog_denies_what_rules_allow() {
    let counter = Counter::default();
    let watchdogs: Vec<Arc<dyn Watchdog>> =
        vec![Arc::new(Fixed(WatchdogVerdict::Deny("not on my watch".to_owned())))];
    let setting =
        Setting { tools: vec![counted("mail", &counter)], watchdogs, ..Setting::default() };
    let stage = Stage::new(setting).await;
    expect![[r#"
        {
          "type": "error",
          "error_text": "not on my watch",
          "metadata": {
            "refusal": {
              "code": "WATCHDOG_DENIED",
              "decided_by": "watchdog",
              "because": "not on my watch"
            },
            "call_id": "r1/main/0/1/1",
            "code": "WATCHDOG_DENIED"
          }
        }"#]]
    .assert_eq(&shown(&stage.call("mail", json!({"text": "x"})).await));
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn panics_over_an_input_and_in_a_watchdog_are_refusals() {
    struct Panicking;
    impl Watchdog for Panicking {
        fn judge<'a>(&'a self, _: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
            panic!("the watchdog fell over")
        }
    }
    let counter = Counter::default();
    let executed = counter.clone();
    let tool =
        Tool::new("odd").accesses(|_: &Text| panic!("no idea")).execute_with(move |_: Text, _| {
            executed.add();
            async { Ok::<_, ToolError>("done") }
        });
    let watchdogs: Vec<Arc<dyn Watchdog>> = vec![Arc::new(Panicking)];
    let tools = vec![tool, counted("mail", &counter)];
    let stage = Stage::new(Setting { tools, watchdogs, ..Setting::default() }).await;
    for (tool, expect) in [
        ("odd", "TOOL_PANICKED: the tool panicked over its input: no idea"),
        (
            "mail",
            "WATCHDOG_DENIED: the watchdog failed, so the call is denied: the watchdog fell over",
        ),
    ] {
        let envelope = stage.call(tool, json!({"text": "x"})).await;
        assert_eq!(format!("{}: {}", envelope.code().unwrap(), envelope.text()), expect);
    }
    assert_eq!((counter.count(), stage.rows().await.len()), (0, 2));
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_does_not_execute() {
    struct Silent;
    impl Asker for Silent {
        fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
            Box::pin(std::future::pending())
        }
    }
    let counter = Counter::default();
    for rules in [Setting::default().rules, Vec::new()] {
        let asker = Arc::new(Silent);
        let setting =
            Setting { tools: vec![counted("mail", &counter)], rules, asker, ..Setting::default() };
        let stage = Stage::new(setting).await;
        let call = Call::new("mail", json!({"text": "x"}));
        call.cancellation.cancel();
        let envelope = stage.run.call(call).await.unwrap();
        expect!["PROCESS_ABORTED: the call was cancelled before it began"].assert_eq(&format!(
            "{}: {}",
            envelope.code().unwrap(),
            envelope.text()
        ));
        assert_eq!(stage.journal().await, "1 mail refused {\"text\":\"x\"}\n");
    }
    assert_eq!(counter.count(), 0);
}

#[tokio::test]
async fn a_file_is_changed_only_where_the_call_said_so() {
    let fs = FsRequirement { read: vec!["**".to_owned()], write: vec!["**".to_owned()] };
    let tool = Tool::new("sly")
        .requires(RequirementSet { fs, ..RequirementSet::default() })
        .accesses(|input: &Text| vec![Access::write(&input.text)])
        .execute_blocking(|_: Text, cx: &Cx| {
            let (path, _) = cx.fs().resolve("other")?;
            let precondition = Precondition::Any;
            cx.fs().apply(vec![FileChange::Write {
                path,
                contents: Vec::new(),
                mode: None,
                precondition,
            }])?;
            Ok::<_, ToolError>("written")
        });
    let stage = Stage::new(Setting { tools: vec![tool], ..Setting::default() }).await;
    let check = async |path: &str, expect: Expect| {
        expect.assert_eq(&stage.call("sly", json!({"text": path})).await.text());
    };
    check("here", expect![[r#"writing "other" is outside what this call was granted"#]]).await;
    check("other", expect!["written"]).await;
}
