//! How narrowings stack, and what is said of subagents.

use haft_contract::{FsRequirement, Tool, ToolError};
use haft_policy::{PathSubject, ResolvedAccess, RuleAction, decide_access};
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn reading(patterns: &[&str]) -> RequirementSet {
    let fs = FsRequirement { read: texts(patterns), write: Vec::new() };
    RequirementSet { fs, ..RequirementSet::default() }
}

fn stacked(narrowings: &[Restrictions]) -> RestrictionStack {
    let below = |above: RestrictionStack, it: &Restrictions| {
        above.push_restrictions(it, &PatternVariables::default()).unwrap()
    };
    narrowings.iter().fold(RestrictionStack::default(), below)
}

fn id(text: &str) -> ToolId {
    ToolId::parse(text).unwrap()
}

#[test]
fn a_tool_is_kept_if_every_level_keeps_it() {
    let level =
        |tools: &[&str]| Restrictions { tools: Some(texts(tools)), ..Restrictions::default() };
    let kept = |levels: &[Restrictions]| {
        let narrowed = stacked(levels);
        let all = ["bash", "read", "web_fetch", "web_search"];
        all.into_iter().filter(|tool| narrowed.allows_tool(&id(tool))).collect::<Vec<_>>()
    };
    assert_eq!(kept(&[]), ["bash", "read", "web_fetch", "web_search"]);
    assert_eq!(
        kept(&[Restrictions::default(), level(&["web_*", "read"])]),
        ["read", "web_fetch", "web_search"]
    );
    assert_eq!(kept(&[level(&["web_*"]), level(&["*"])]), ["web_fetch", "web_search"]);
    assert_eq!(kept(&[level(&["read"]), level(&["bash"])]), Vec::<&str>::new());
    assert_eq!(kept(&[level(&[])]), Vec::<&str>::new());
}

#[test]
fn what_is_left_lies_within_every_level() {
    let level = |patterns: &[&str]| Restrictions {
        requires: Some(reading(patterns)),
        ..Restrictions::default()
    };
    let all = Capabilities::compile(&reading(&["**"]), &PatternVariables::default()).unwrap();
    let is_left = |levels: &[Restrictions], path: &str| {
        let path = PathSubject::in_root("/work".as_ref(), path.as_ref());
        stacked(levels)
            .restrict_capabilities(all.clone())
            .check(&ResolvedAccess::Read { path })
            .is_ok()
    };
    let levels = [level(&["src/**", "docs/**"]), Restrictions::default(), level(&["**/*.rs"])];
    assert!(is_left(&[], "a") && is_left(&levels[..2], "docs/a") && is_left(&levels, "src/a.rs"));
    assert!(
        !is_left(&levels[..1], "a") && !is_left(&levels, "docs/a") && !is_left(&levels, "a.rs")
    );
    assert!(!is_left(&[level(&[])], "src/a.rs"));
}

#[test]
fn rules_of_levels_hold_beside_each_other() {
    let level = |permission: &str, pattern: &str, action| Restrictions {
        permissions: vec![Rule::new(permission, pattern, action)],
        ..Restrictions::default()
    };
    let levels = [
        level("fs.read", "secret", RuleAction::Deny),
        level("fs.read", "secret", RuleAction::Allow),
    ];
    let session = (RuleScope::Session, Rule::new("*", "*", RuleAction::Allow));
    let (variables, conditions) = (PatternVariables::default(), Conditions::default());
    let session = RuleSet::compile([session], &variables, conditions).unwrap();
    let action = |levels: &[Restrictions], path: &str| {
        let path = PathSubject::in_root("/work".as_ref(), path.as_ref());
        let rules = stacked(levels).restrict_rules(session.clone(), conditions);
        decide_access(&id("read"), Some(&ResolvedAccess::Read { path }), &rules).action
    };
    assert_eq!(action(&levels, "secret/key"), RuleAction::Deny);
    assert_eq!(action(&levels, "a"), RuleAction::Allow);
    assert_eq!(action(&levels[1..], "secret/key"), RuleAction::Allow);
}

#[test]
fn narrowings_that_leave_the_same_have_one_key() {
    let key = |levels: &[Restrictions]| stacked(levels).access_key().to_string();
    let tools = || Restrictions { tools: Some(texts(&["read"])), ..Restrictions::default() };
    let requires = || Restrictions { requires: Some(reading(&["src"])), ..Restrictions::default() };
    let permissions = || Restrictions {
        permissions: vec![Rule::new("bash", "*", RuleAction::Deny)],
        ..Restrictions::default()
    };
    // Which tools there are is no matter of what one of them sees.
    assert_eq!(key(&[]), "");
    assert_eq!(key(&[tools(), Restrictions::default()]), "");
    assert_eq!(key(&[tools(), requires()]), key(&[requires()]));
    assert_ne!(key(&[requires()]), "");
    assert_ne!(key(&[requires()]), key(&[requires(), permissions()]));
    assert_ne!(key(&[permissions()]), key(&[requires()]));
    let nothing =
        Restrictions { requires: Some(RequirementSet::default()), ..Restrictions::default() };
    assert_ne!(key(&[nothing]), "");
}

#[test]
fn what_cannot_be_compiled_is_an_error() {
    let with = |narrowing: &Restrictions| {
        let made =
            RestrictionStack::default().push_restrictions(narrowing, &PatternVariables::default());
        made.err().map(|err| err.to_string()).unwrap_or_default()
    };
    let tools = Restrictions { tools: Some(texts(&["[a"])), ..Restrictions::default() };
    assert!(with(&tools).contains("\"[a\""), "{}", with(&tools));
    let requires = Restrictions { requires: Some(reading(&["~/x"])), ..Restrictions::default() };
    assert!(with(&requires).contains("~/x"), "{}", with(&requires));
    let rule = Rule::new("ba sh", "*", RuleAction::Deny);
    let permissions = Restrictions { permissions: vec![rule], ..Restrictions::default() };
    let message = with(&permissions);
    assert!(message.starts_with("agent rule `deny ba sh \"*\"`: permission"), "{message}");
}

#[test]
fn the_description_of_task_lists_each_subagent_in_one_line() {
    let published_as = |id: &str, subagents: &[SubagentSummary]| {
        let builder = Tool::new(id).description("Do it.");
        let builder = if id == "task" { builder.delegates() } else { builder };
        let tool = builder.execute(|_: Nothing| async { Ok::<_, ToolError>("") });
        let contract = Arc::clone(tool.valid_contract().unwrap());
        describe_with_subagents(contract, subagents).description.clone()
    };
    let summary = |name: &str, description: &str| SubagentSummary {
        name: name.to_owned(),
        description: description.to_owned(),
    };
    let long = |chars: usize| summary("long", &"ä".repeat(chars));
    let subagents = [summary("explore", "Finds\n- general: things\u{202e}.")];
    assert_eq!(
        published_as("task", &subagents),
        "Do it.\n\nThe subagents are:\n- explore: Finds - general: things."
    );
    assert_eq!(published_as("read", &subagents), "Do it.");
    assert!(!published_as("task", &[long(SUBAGENT_SHOWN_CHARS_MAX)]).ends_with('…'));
    assert!(published_as("task", &[long(SUBAGENT_SHOWN_CHARS_MAX + 1)]).ends_with('…'));
}
