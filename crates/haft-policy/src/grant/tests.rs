//! The files that a running call may touch: rules, capabilities and answers together.

use std::path::{Path, PathBuf};

use haft_contract::{FsRequirement, PatternVariables, RequirementSet, ToolId};

use super::Grant;
use crate::access::{PathSubject, ResolvedAccess};
use crate::capability::Capabilities;
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

fn path(relative: &str) -> PathSubject {
    PathSubject::in_root(Path::new("/work"), Path::new(relative))
}

fn grant(rules: &[(RuleAction, &str, &str)]) -> Grant {
    let variables =
        PatternVariables { workspace: vec![PathBuf::from("/work")], ..PatternVariables::default() };
    let fs =
        FsRequirement { read: vec!["{workspace}/**".to_owned()], write: vec!["src/**".to_owned()] };
    let requires = RequirementSet { fs, ..RequirementSet::default() };
    let capabilities = Capabilities::compile(&requires, &variables).unwrap();
    let scoped = |(action, permission, pattern): &(RuleAction, &str, &str)| {
        (RuleScope::Project, Rule::new(*permission, *pattern, *action))
    };
    let rules =
        RuleSet::compile(rules.iter().map(scoped), &variables, Conditions::default()).unwrap();
    Grant::of_call(&ToolId::parse("grep").unwrap(), &capabilities, &rules)
}

#[track_caller]
fn check_reads(grant: &Grant, rows: &[(&str, bool)]) {
    for (relative, expected) in rows {
        assert_eq!(grant.permits_read(&path(relative)), *expected, "{relative:?}");
    }
}

#[test]
fn a_walk_sees_what_rules_allow_and_capabilities_hold() {
    let grant = grant(&[
        (RuleAction::Allow, "fs.read", "*"),
        (RuleAction::Allow, "fs.write", "*"),
        (RuleAction::Deny, "fs.read", "secret"),
        (RuleAction::Ask, "grep", "private/**"),
        (RuleAction::Deny, "read", "docs"),
    ]);
    check_reads(
        &grant,
        &[("a", true), ("secret/x", false), ("private/x", false), ("docs/x", true)],
    );
    assert!(!grant.permits_read(&PathSubject::outside_roots("/etc/passwd")));
    assert!(grant.permits_write(&path("src/a")));
    assert!(!grant.permits_write(&path("docs/a")));
}

#[test]
fn what_is_denied_is_denied_where_nothing_was_granted_either() {
    let grant = grant(&[
        (RuleAction::Allow, "fs.read", "*"),
        (RuleAction::Deny, "fs.read", "/home/me/skills/keys"),
        (RuleAction::Deny, "read", "/home/me/skills/other"),
    ]);
    let denies = |place: &str| grant.denies_read(&PathSubject::outside_roots(place));
    assert!(denies("/home/me/skills/keys/a"));
    assert!(!denies("/home/me/skills/a"));
    // This rule is about another tool.
    assert!(!denies("/home/me/skills/other"));
}

#[test]
fn without_rules_nothing_is_permitted_unasked() {
    let unasked = grant(&[]);
    assert!(!unasked.permits_read(&path("a")));
    let answered = unasked.with_allowed(&[ResolvedAccess::Read { path: path("src") }]);
    check_reads(&answered, &[("src", true), ("src/a/b", true), ("srcx", false), ("docs", false)]);
    assert!(
        !answered.permits_write(&path("src")),
        "an answer about reading says nothing of writing"
    );
}

#[test]
fn an_answer_covers_what_was_asked_and_no_narrower_rule() {
    let asked = grant(&[
        (RuleAction::Ask, "fs.read", "*"),
        (RuleAction::Ask, "fs.read", "src/private"),
        (RuleAction::Deny, "fs.read", "src/secret"),
    ]);
    let answered = asked.with_allowed(&[ResolvedAccess::Read { path: path("") }]);
    check_reads(
        &answered,
        &[("", true), ("src/a", true), ("src/private/a", false), ("src/secret/a", false)],
    );
    let exact = answered.with_allowed(&[ResolvedAccess::Read { path: path("src/private/a") }]);
    check_reads(
        &exact,
        &[("src/private/a", true), ("src/private/b", false), ("src/secret", false)],
    );
}

#[test]
fn an_answer_reaches_no_further_than_the_capabilities() {
    let outside = PathSubject::outside_roots("/etc");
    let answered = grant(&[]).with_allowed(&[ResolvedAccess::Read { path: outside.clone() }]);
    assert!(!answered.permits_read(&outside));
    let unresolved = grant(&[(RuleAction::Allow, "*", "*")]);
    assert!(!unresolved.permits_read(&path("a/../../etc")));
}
