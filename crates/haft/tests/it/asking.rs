//! Tests questions to a person: their content, the effect of each answer, and that haft asks one question at a time and
//! none in vain.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use haft::{
    Ask, AskAnswer, Asker, Call, HeadlessAsker, ProjectRules, Watchdog, WatchdogVerdict,
    WatchedCall,
};
use haft_contract::{
    Access, BoxFuture, CommandLine, Effect, Envelope, ErrorCode, NetRequirement, RequirementSet,
    RunId, ShellRequirement, Tool, ToolError,
};
use haft_policy::{NetworkGuard, Rule, RuleAction, RuleCondition, RuleScope};
use serde_json::json;
use tokio::sync::{Barrier, Notify, Semaphore};

use crate::stage::{Counter, Setting, Stage, Text, rule};

/// A tool that says it runs the commands that its text names, separated by semicolons, and only counts them.
fn runner(counter: &Counter) -> Tool {
    let counter = counter.clone();
    let any = ShellRequirement { cmd: "*".to_owned(), args: None };
    let command = |text: &str| match text.strip_prefix("? ") {
        Some(line) => CommandLine::Unknown(line.to_owned()),
        None => CommandLine::Argv(text.split_whitespace().map(str::to_owned).collect()),
    };
    Tool::new("run")
        .effect(Effect::Once)
        .requires(RequirementSet { shell: vec![any], ..RequirementSet::default() })
        .accesses(move |input: &Text| {
            let commands = input.text.split(';').map(command);
            commands.map(|command| Access::Shell { command }).collect()
        })
        .execute_with(move |_: Text, _| {
            counter.add();
            async { Ok::<_, ToolError>("ran") }
        })
}

/// Answers every question alike and keeps it. The mutex is written by the pipeline and read by the test.
struct Scripted {
    answer: AskAnswer,
    asked: Mutex<Vec<Ask>>,
}

impl Scripted {
    fn new(answer: AskAnswer) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Asker for Scripted {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async { self.answer.clone() })
    }
}

fn asking(counter: &Counter, asker: Arc<dyn Asker>) -> Setting {
    Setting { tools: vec![runner(counter)], rules: Vec::new(), asker, ..Setting::default() }
}

fn run(text: &str) -> Call {
    Call::new("run", json!({"text": text}))
}

fn summary(envelope: &Envelope) -> String {
    let code = envelope.code().map_or("none", |code| code.as_str());
    format!("{code}: {}", envelope.text())
}

#[tokio::test]
async fn a_question_says_what_is_asked_why_and_what_always_would_add() {
    let asker = Scripted::new(AskAnswer::AllowOnce);
    let stage = Stage::new(asking(&Counter::default(), asker.clone())).await;
    stage.run.call(run("git commit -m x; rm a; git add b")).await.unwrap();
    let mut ask = asker.asked.lock().unwrap().remove(0);
    assert_eq!(ask.root, stage.directory.path().join("root").canonicalize().unwrap());
    assert!(ask.id.starts_with("ask_"), "{}", ask.id);
    (ask.root, ask.id) = ("root".into(), "ask".into());
    expect![[r#"
        Ask {
            id: "ask",
            call_id: "r1/main/0/1/1",
            driver_call_id: None,
            tool: ToolId(
                "run",
            ),
            input: "{\"text\":\"git commit -m x; rm a; git add b\"}",
            accesses: [
                "shell.run of \"git commit -m x\"",
                "shell.run of \"rm a\"",
                "shell.run of \"git add b\"",
            ],
            reasons: [
                "run needs approval for shell.run of \"git commit -m x\": no rule matches, and then the answer is ask; the rule `allow run \"git commit -m x\"` would allow it",
                "run needs approval for shell.run of \"rm a\": no rule matches, and then the answer is ask; the rule `allow run \"rm a\"` would allow it",
                "run needs approval for shell.run of \"git add b\": no rule matches, and then the answer is ask; the rule `allow run \"git add b\"` would allow it",
            ],
            always_rules: [
                Rule {
                    permission: "run",
                    pattern: "git commit *",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
                Rule {
                    permission: "run",
                    pattern: "rm a $",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
                Rule {
                    permission: "run",
                    pattern: "git add *",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
            ],
            exact_rules: [
                Rule {
                    permission: "run",
                    pattern: "git commit -m x $",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
                Rule {
                    permission: "run",
                    pattern: "rm a $",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
                Rule {
                    permission: "run",
                    pattern: "git add b $",
                    action: Allow,
                    when: None,
                    match_examples: [],
                    not_match_examples: [],
                },
            ],
            connection: "s1",
            root: "root",
        }
    "#]].assert_debug_eq(&ask);
}

#[tokio::test]
async fn a_long_input_and_many_accesses_are_cut() {
    let asker = Scripted::new(AskAnswer::AllowOnce);
    let stage = Stage::new(asking(&Counter::default(), asker.clone())).await;
    let many: Vec<String> =
        (0..100).map(|number| format!("rm {number} {}", "ä".repeat(30))).collect();
    stage.run.call(run(&many.join(";"))).await.unwrap();
    let ask = asker.asked.lock().unwrap().remove(0);
    assert!((4_096..4_100).contains(&ask.input.len()) && ask.input.ends_with('…'));
    assert_eq!((ask.accesses.len(), ask.reasons.len()), (21, 21));
    assert_eq!(ask.accesses.last().map(String::as_str), Some("and 80 more"));
    assert_eq!(ask.always_rules, [], "too many rules to be read are not offered");
}

#[tokio::test]
async fn always_for_the_session_spares_the_next_question_of_that_kind() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowForSession));
    let stage = Stage::new(asking(&counter, asker.clone())).await;
    for (text, asked) in [
        ("git commit -m x", 1),
        ("git commit -m y", 1),
        ("git log", 2),
        ("rm a", 3),
        ("rm a", 3),
        ("rm a b", 4),
        ("git commit; git log; rm a", 4),
        ("? git commit", 5),
        // No rule could be offered, so the answer was as good as once.
        ("? git commit", 6),
    ] {
        stage.run.call(run(text)).await.unwrap();
        assert_eq!(asker.count(), asked, "after {text:?}");
    }
    assert_eq!(counter.count(), 9);
    let other = stage.other_connection("s2", asker.clone());
    other.call(run("git commit -m z")).await.unwrap();
    assert_eq!(asker.count(), 7, "another session was not told always");
}

#[tokio::test]
async fn exactly_this_for_the_session_spares_the_same_call_only() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowExactForSession));
    let stage = Stage::new(asking(&counter, asker.clone())).await;
    for (text, asked) in
        [("git commit -m x", 1), ("git commit -m x", 1), ("git commit -m y", 2), ("rm a", 3)]
    {
        stage.run.call(run(text)).await.unwrap();
        assert_eq!(asker.count(), asked, "after {text:?}");
    }
}

#[tokio::test]
async fn a_rejection_for_the_session_spares_the_next_question_of_that_kind() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::RejectForSession));
    let stage = Stage::new(asking(&counter, asker.clone())).await;
    for (text, asked) in [
        ("git commit -m x", 1),
        ("git commit -m x", 1),
        ("git commit -m y", 2),
        ("git log", 3),
        ("git commit -m x; ls", 3),
        // No rule could be offered, so the next one is asked about again.
        ("? date", 4),
        ("? date", 5),
    ] {
        let envelope = stage.run.call(run(text)).await.unwrap();
        assert_eq!(envelope.code(), Some(ErrorCode::PermissionDenied), "{text:?}");
        assert_eq!(asker.count(), asked, "after {text:?}");
    }
    assert_eq!(counter.count(), 0);
    let other = stage.other_connection("s2", Scripted::new(AskAnswer::AllowOnce));
    assert_eq!(other.call(run("git commit -m z")).await.unwrap().code(), None);
    let said = stage.run.call(run("git commit -m y")).await.unwrap();
    expect![[r#"PERMISSION_DENIED: run is denied shell.run of "git commit -m y": the session rule `deny run "git commit -m y $"` decides; that rule would have to change"#]].assert_eq(&summary(&said));
}

/// Keeps rules in memory, or fails. The mutex is written by the pipeline and read by the test.
#[derive(Default)]
struct Kept {
    rules: Mutex<Vec<Rule>>,
    fails: bool,
}

impl ProjectRules for Kept {
    fn add(&self, rules: &[Rule]) -> Result<(), String> {
        if self.fails {
            return Err("the disk is full".to_owned());
        }
        self.rules.lock().unwrap().extend_from_slice(rules);
        Ok(())
    }
}

#[tokio::test]
async fn always_for_the_project_is_kept_and_holds_in_every_session_at_once() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowForProject));
    let kept = Arc::new(Kept::default());
    let setting = Setting { project_rules: Some(kept.clone()), ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    let early = stage.other_connection("s2", asker.clone());
    stage.run.call(run("git commit -m x; rm a")).await.unwrap();
    let late = stage.other_connection("s3", asker.clone());
    for run_of_session in [&stage.run, &early, &late] {
        run_of_session.call(run("git commit -m y")).await.unwrap();
    }
    assert_eq!((asker.count(), counter.count()), (1, 4));
    let shown: Vec<String> = kept.rules.lock().unwrap().iter().map(Rule::to_string).collect();
    expect![[r#"
        allow run "git commit *"
        allow run "rm a $""#]]
    .assert_eq(&shown.join("\n"));
}

#[tokio::test]
async fn exactly_this_for_the_project_keeps_the_narrow_rules() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowExactForProject));
    let kept = Arc::new(Kept::default());
    let setting = Setting { project_rules: Some(kept.clone()), ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    stage.run.call(run("git commit -m x; rm a")).await.unwrap();
    let shown: Vec<String> = kept.rules.lock().unwrap().iter().map(Rule::to_string).collect();
    expect![[r#"
        allow run "git commit -m x $"
        allow run "rm a $""#]]
    .assert_eq(&shown.join("\n"));
}

#[tokio::test]
async fn rules_that_could_not_be_kept_allow_the_call_this_once() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowForProject));
    let kept = Arc::new(Kept { fails: true, ..Kept::default() });
    let setting = Setting { project_rules: Some(kept), ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    stage.run.call(run("git log")).await.unwrap();
    stage.run.call(run("git log")).await.unwrap();
    assert_eq!((asker.count(), counter.count()), (2, 2));
}

#[tokio::test]
async fn a_manifest_deny_is_not_asked_about_and_always_cannot_lift_it() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowForSession));
    let rules = vec![
        rule(RuleScope::Manifest, "run", "git push *", RuleAction::Deny),
        rule(RuleScope::Builtin, "run", "git gc *", RuleAction::Deny),
    ];
    let setting =
        Setting { rules, network_guard: NetworkGuard::Kernel, ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    stage.run.call(run("git log")).await.unwrap();
    let check = async |text: &str, expect: Expect| {
        expect.assert_eq(&summary(&stage.run.call(run(text)).await.unwrap()));
    };
    check("git log; git push", expect![[r#"PERMISSION_DENIED: run is denied shell.run of "git push": the manifest rule `deny run "git push *"` decides; what the manifest denies only the manifest can allow"#]]).await;
    check("git gc", expect![[r#"PERMISSION_DENIED: run is denied shell.run of "git gc": the built-in rule `deny run "git gc *"` decides; what haft itself denies no rule allows"#]]).await;
    assert_eq!((asker.count(), counter.count()), (1, 1));
}

struct Wary;

impl Watchdog for Wary {
    fn judge<'a>(&'a self, _: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        Box::pin(async { WatchdogVerdict::Ask("I am wary".to_owned()) })
    }
}

#[tokio::test]
async fn always_answers_a_watchdog_about_this_very_call() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowForSession));
    let setting = Setting { watchdogs: vec![Arc::new(Wary)], ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    for text in ["git log", "git log", "git log x", "git log x", "? ls | wc", "? ls | wc"] {
        stage.run.call(run(text)).await.unwrap();
    }
    let asked = asker.asked.lock().unwrap();
    assert_eq!((asked.len(), counter.count()), (4, 6));
    let offered: Vec<Vec<String>> = asked
        .iter()
        .map(|ask| ask.always_rules.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(offered[0], ["allow run \"git log $\""]);
    assert_eq!(offered[1], ["allow run \"git log x $\""]);
    // A command that is not known cannot be spelled.
    assert!(offered[2].is_empty() && offered[3].is_empty(), "{offered:?}");
    assert!(asked.iter().all(|ask| ask.reasons.len() == 2), "{asked:?}");
}

#[tokio::test]
async fn a_wide_rule_is_no_answer_to_a_watchdog_of_the_user() {
    let (counter, asker) = (Counter::default(), Scripted::new(AskAnswer::AllowOnce));
    let rules = vec![rule(RuleScope::Session, "run", "*", RuleAction::Allow)];
    let setting =
        Setting { rules, watchdogs: vec![Arc::new(Wary)], ..asking(&counter, asker.clone()) };
    let stage = Stage::new(setting).await;
    stage.run.call(run("git log")).await.unwrap();
    assert_eq!((asker.count(), counter.count()), (1, 1));
}

#[tokio::test]
async fn a_call_may_have_somebody_of_its_own_to_ask() {
    let (session, own) = (Scripted::new(AskAnswer::Reject), Scripted::new(AskAnswer::AllowOnce));
    let stage = Stage::new(asking(&Counter::default(), session.clone())).await;
    let call = Call { asker: Some(own.clone()), ..run("git log") };
    expect!["none: ran"].assert_eq(&summary(&stage.run.call(call).await.unwrap()));
    assert_eq!((session.count(), own.count()), (0, 1));
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_refusal_says_what_would_allow_the_call() {
    let check = async |setting: Setting, text: &str, expect: Expect| {
        let stage = Stage::new(setting).await;
        let envelope = stage.run.call(run(text)).await.unwrap();
        let refusal = envelope.metadata().refusal.as_deref().unwrap();
        let value = json!({ "decided_by": refusal.decided_by, "remedies": refusal.remedies });
        expect.assert_eq(&format!("{}\n{value}", summary(&envelope)));
    };
    let counter = Counter::default();
    let setting = || asking(&counter, Arc::new(HeadlessAsker));
    check(setting(), "git log -n 1", expect![[r#"
        PERMISSION_DENIED: no person can be asked here, so the call is denied: run needs approval for shell.run of "git log -n 1": no rule matches, and then the answer is ask; the rule `allow run "git log -n 1"` would allow it
        {"decided_by":"no_answer","remedies":[{"allow_tool":"run"},{"add_rule":{"permission":"run","pattern":"git log *"}}]}"#]]).await;
    check(setting(), "echo \"a\\b\"", expect![[r#"
        PERMISSION_DENIED: no person can be asked here, so the call is denied: run needs approval for shell.run of "echo \"a\\b\"": no rule matches, and then the answer is ask; the rule `allow run "echo \"a[\\]b\""` would allow it
        {"decided_by":"no_answer","remedies":[{"allow_tool":"run"},{"add_rule":{"permission":"run","pattern":"echo \"a[\\]b\" $"}}]}"#]]).await;
    check(setting(), "? ls | wc", expect![[r#"
        PERMISSION_DENIED: no person can be asked here, so the call is denied: run needs approval for shell.run of "ls | wc": no rule matches, and then the answer is ask; the rule `allow run "*"` would allow it
        {"decided_by":"no_answer","remedies":[{"allow_tool":"run"}]}"#]]).await;
    let watched = Setting { watchdogs: vec![Arc::new(Wary)], ..setting() };
    check(watched, "git log", expect![[r#"
        PERMISSION_DENIED: no person can be asked here, so the call is denied: run needs approval for shell.run of "git log": no rule matches, and then the answer is ask; the rule `allow run "git log"` would allow it; I am wary
        {"decided_by":"watchdog","remedies":[{"add_rule":{"permission":"run","pattern":"git log $"}}]}"#]]).await;
    check(asking(&counter, Scripted::new(AskAnswer::Unanswered)), "git log", expect![[r#"
        PERMISSION_DENIED: no person can be asked here, so the call is denied: run needs approval for shell.run of "git log": no rule matches, and then the answer is ask; the rule `allow run "git log"` would allow it
        {"decided_by":"no_answer","remedies":[{"allow_tool":"run"},{"add_rule":{"permission":"run","pattern":"git log *"}}]}"#]]).await;
    check(asking(&counter, Scripted::new(AskAnswer::Reject)), "git log", expect![[r#"
        PERMISSION_DENIED: the user rejected the call (run needs approval for shell.run of "git log": no rule matches, and then the answer is ask; the rule `allow run "git log"` would allow it)
        {"decided_by":"person","remedies":[]}"#]]).await;
    assert_eq!(counter.count(), 0);
}

/// Answers when the test lets it, and says when it is asked.
struct Patient {
    asked: Notify,
    may_answer: Semaphore,
    count: Counter,
}

impl Asker for Patient {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        self.count.add();
        self.asked.notify_one();
        Box::pin(async {
            self.may_answer.acquire().await.unwrap().forget();
            AskAnswer::AllowForSession
        })
    }
}

/// Says when a call comes by.
struct Turnstile(Arc<Notify>);

impl Watchdog for Turnstile {
    fn judge<'a>(&'a self, _: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        self.0.notify_one();
        Box::pin(async { WatchdogVerdict::Allow })
    }
}

struct Queue {
    stage: Stage,
    asker: Arc<Patient>,
    passed: Arc<Notify>,
    counter: Counter,
}

impl Queue {
    async fn new() -> Self {
        let (counter, passed) = (Counter::default(), Arc::new(Notify::new()));
        let asker = Arc::new(Patient {
            asked: Notify::new(),
            may_answer: Semaphore::new(0),
            count: Counter::default(),
        });
        let watchdogs: Vec<Arc<dyn Watchdog>> = vec![Arc::new(Turnstile(passed.clone()))];
        let stage = Stage::new(Setting { watchdogs, ..asking(&counter, asker.clone()) }).await;
        Self { stage, asker, passed, counter }
    }

    /// Begins a call, and returns when it has passed the watchdogs and waits for its question. The test's runtime has
    /// one thread, so the call goes on until it has to wait before anybody else does.
    async fn begin(&self, call: Call) -> tokio::task::JoinHandle<Envelope> {
        let run = self.stage.run.clone();
        let call = tokio::spawn(async move { run.call(call).await.unwrap() });
        self.passed.notified().await;
        call
    }
}

#[tokio::test]
async fn questions_come_one_at_a_time_and_an_always_answers_those_that_wait() {
    let queue = Queue::new().await;
    let first = queue.begin(run("git log")).await;
    queue.asker.asked.notified().await;
    let same = queue.begin(run("git log -n 2")).await;
    let other = queue.begin(run("git diff")).await;
    assert_eq!(queue.asker.count.count(), 1);
    queue.asker.may_answer.add_permits(1);
    first.await.unwrap();
    same.await.unwrap();
    queue.asker.asked.notified().await;
    assert_eq!(queue.asker.count.count(), 2);
    queue.asker.may_answer.add_permits(1);
    other.await.unwrap();
    assert_eq!((queue.asker.count.count(), queue.counter.count()), (2, 3));
}

#[tokio::test]
async fn a_call_that_waits_for_its_question_can_be_cancelled() {
    let queue = Queue::new().await;
    let first = queue.begin(run("git log")).await;
    queue.asker.asked.notified().await;
    let waiting = run("git diff");
    let cancellation = waiting.cancellation.clone();
    let waiting = queue.begin(waiting).await;
    cancellation.cancel();
    expect!["PROCESS_ABORTED: the call was cancelled before it began"]
        .assert_eq(&summary(&waiting.await.unwrap()));
    queue.asker.may_answer.add_permits(1);
    first.await.unwrap();
    assert_eq!((queue.asker.count.count(), queue.counter.count()), (1, 1));
}

/// Answers only when two questions are open.
struct Both(Barrier);

impl Asker for Both {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async {
            self.0.wait().await;
            AskAnswer::AllowOnce
        })
    }

    fn asks_one_at_a_time(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_front_end_may_have_several_questions_open() {
    let counter = Counter::default();
    let stage = Stage::new(asking(&counter, Arc::new(Both(Barrier::new(2))))).await;
    let (one, other) = tokio::join!(stage.run.call(run("git log")), stage.run.call(run("git log")));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(counter.count(), 2);
}

#[tokio::test]
async fn commands_pass_the_network_guard_where_hosts_are_granted() {
    let check = async |setting: Setting, text: &str, expected: &str| {
        let stage =
            Stage::new(Setting { tools: vec![runner(&Counter::default())], ..setting }).await;
        let envelope = stage.run.call(run(text)).await.unwrap();
        assert_eq!(envelope.code().map_or("none", |code| code.as_str()), expected, "{text}");
    };
    check(Setting::default(), "curl x", "TOOL_NETWORK_DISABLED").await;
    check(Setting::default(), "git push", "TOOL_GIT_REMOTE_DISABLED").await;
    check(Setting::default(), "ssh x", "none").await;
    let strict = Setting { network_guard: NetworkGuard::Strict, ..Setting::default() };
    check(strict, "ssh x", "TOOL_NETWORK_DISABLED").await;
    let kernel = Setting { network_guard: NetworkGuard::Kernel, ..Setting::default() };
    check(kernel, "curl x", "none").await;
    let net = NetRequirement { hosts: vec!["crates.io".to_owned()] };
    let requires = RequirementSet { net, ..RequirementSet::default() };
    check(Setting { requires, ..Setting::default() }, "curl x", "none").await;
    let mut by_rule = Setting::default();
    by_rule.rules.push(rule(RuleScope::Session, "net.fetch", "crates.io", RuleAction::Allow));
    check(by_rule, "curl x", "none").await;
}

#[tokio::test]
async fn a_rule_that_holds_while_sandboxed_does_not_hold_without_the_sandbox() {
    let counter = Counter::default();
    let free =
        Rule { when: Some(RuleCondition::Sandboxed), ..Rule::new("run", "*", RuleAction::Allow) };
    let setting = Setting {
        rules: vec![(RuleScope::Preset, free)],
        ..asking(&counter, Arc::new(HeadlessAsker))
    };
    // Nothing can be confined here: there is no helper program.
    let stage = Stage::new(setting).await;
    let envelope = stage.run.call(run("? ls | wc")).await.unwrap();
    assert_eq!(counter.count(), 0);
    assert!(envelope.text().contains("sandboxed"), "{}", envelope.text());
}

impl Stage {
    /// Opens another session of the same runtime and returns a run in it.
    fn other_connection(&self, id: &str, asker: Arc<dyn Asker>) -> haft::Run {
        let options =
            haft::ConnectionOptions { asker, ..haft::ConnectionOptions::headless(id, "test") };
        let session = self.runtime.open_connection(options).unwrap();
        session.run(RunId::parse(id).unwrap())
    }
}
