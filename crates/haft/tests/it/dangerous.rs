//! A dangerous tool runs only if the user named it, whatever rules about capabilities allow.

use std::sync::{Arc, Mutex};

use haft::{Ask, AskAnswer, Asker, Call, HeadlessAsker};
use haft_contract::{Access, BoxFuture, Effect, Remedy, RequirementSet, Tool, ToolError, ToolId};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::json;

use crate::stage::{Counter, Setting, Stage, Text, rule};

/// Returns a dangerous tool that says it reads the root, as a tool without `requires` does.
fn dangerous(id: &str, counter: &Counter) -> Tool {
    let counter = counter.clone();
    let mut requires = RequirementSet::default();
    requires.fs.read = vec!["{workspace}/**".to_owned()];
    Tool::new(id)
        .effect(Effect::Once)
        .dangerous()
        .requires(requires)
        .accesses(|_: &Text| vec![Access::read(".")])
        .execute_with(move |_: Text, _| {
            counter.add();
            async { Ok::<_, ToolError>("ran") }
        })
}

/// The preset of most users, as far as it matters here.
fn preset() -> Vec<(RuleScope, Rule)> {
    vec![
        rule(RuleScope::Preset, "fs.read", "{workspace}/**", RuleAction::Allow),
        rule(RuleScope::Preset, "fs.write", "{workspace}/**", RuleAction::Allow),
        rule(RuleScope::Preset, "task", "*", RuleAction::Allow),
    ]
}

async fn is_executed(tool: &str, more: &[(RuleScope, Rule)], is_tool_named: bool) -> bool {
    let counter = Counter::default();
    let rules = preset().into_iter().chain(more.iter().cloned()).collect();
    let tools = vec![dangerous(tool, &counter)];
    let stage = Stage::new(Setting { tools, rules, ..Setting::default() }).await;
    let call = Call { is_tool_named, ..Call::new(tool, json!({"text": ""})) };
    let envelope = stage.run.call(call).await.unwrap();
    let is_executed = counter.count() == 1;
    if !is_executed {
        assert_eq!(envelope.code().map(|code| code.as_str()), Some("PERMISSION_DENIED"));
        let refusal = envelope.metadata().refusal.clone().unwrap();
        assert!(refusal.because.contains("is dangerous"), "{}", refusal.because);
        let of_tool = Remedy::AllowTool(ToolId::parse(tool).unwrap());
        assert!(refusal.remedies.contains(&of_tool), "{:?}", refusal.remedies);
    }
    is_executed
}

#[tokio::test]
async fn rules_that_name_the_tool_let_it_run() {
    let allow = |scope, permission| vec![rule(scope, permission, "*", RuleAction::Allow)];
    // No rule, and rules about capabilities, name no tool.
    assert!(!is_executed("delete_rows", &[], false).await);
    assert!(!is_executed("delete_rows", &allow(RuleScope::User, "fs.read"), false).await);
    assert!(!is_executed("delete_rows", &allow(RuleScope::Session, "fs.*"), false).await);
    assert!(!is_executed("delete_rows", &allow(RuleScope::Session, "other"), false).await);
    // These name it. The preset `full` is the last of them.
    assert!(is_executed("delete_rows", &allow(RuleScope::Session, "delete_rows"), false).await);
    assert!(is_executed("delete_rows", &allow(RuleScope::Manifest, "delete_*"), false).await);
    assert!(is_executed("delete_rows", &allow(RuleScope::Preset, "*"), false).await);
    // A plan made sure of it.
    assert!(is_executed("delete_rows", &[], true).await);
    // The built-in file tools and commands do nothing beyond what the rules are about, and presets name `task`.
    assert!(is_executed("write", &[], false).await);
    assert!(is_executed("bash", &[], false).await);
    assert!(is_executed("task", &[], false).await);
}

/// Answers every question alike and keeps its lines. The mutex is written by the pipeline and read by the test.
struct Answering {
    answer: AskAnswer,
    asked: Mutex<Vec<Ask>>,
}

impl Asker for Answering {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async { self.answer.clone() })
    }
}

#[tokio::test]
async fn an_answer_names_the_tool() {
    let questions = |answer: AskAnswer| async move {
        let asker = Arc::new(Answering { answer, asked: Mutex::default() });
        let counter = Counter::default();
        let setting = Setting {
            tools: vec![dangerous("delete_rows", &counter)],
            rules: preset(),
            asker: asker.clone(),
            ..Setting::default()
        };
        let stage = Stage::new(setting).await;
        for text in ["a", "b"] {
            stage.call("delete_rows", json!({ "text": text })).await;
        }
        let asked = std::mem::take(&mut *asker.asked.lock().unwrap());
        (asked, counter.count())
    };
    let (asked, executed) = questions(AskAnswer::AllowOnce).await;
    assert_eq!((asked.len(), executed), (2, 2));
    let reasons = &asked[0].reasons;
    assert_eq!(*reasons, ["delete_rows is dangerous, and no rule that names it allows it"]);
    assert_eq!(asked[0].always_rules, [Rule::new("delete_rows", "*", RuleAction::Allow)]);
    let (asked, executed) = questions(AskAnswer::AllowForSession).await;
    assert_eq!((asked.len(), executed), (1, 2));
    let (asked, executed) = questions(AskAnswer::Reject).await;
    assert_eq!((asked.len(), executed), (2, 0));
}

#[tokio::test]
async fn a_deny_of_a_named_tool_stays_a_deny() {
    let counter = Counter::default();
    let mut rules = preset();
    rules.push(rule(RuleScope::Session, "delete_rows", "*", RuleAction::Allow));
    rules.push(rule(RuleScope::Manifest, "fs.read", "*", RuleAction::Deny));
    let tools = vec![dangerous("delete_rows", &counter)];
    let asker = Arc::new(HeadlessAsker);
    let stage = Stage::new(Setting { tools, rules, asker, ..Setting::default() }).await;
    let call = Call { is_tool_named: true, ..Call::new("delete_rows", json!({"text": ""})) };
    let envelope = stage.run.call(call).await.unwrap();
    assert_eq!(envelope.code().map(|code| code.as_str()), Some("PERMISSION_DENIED"));
    assert_eq!(counter.count(), 0);
}
