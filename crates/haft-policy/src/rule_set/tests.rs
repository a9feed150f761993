//! Loading rules: what is refused, with which words, and that examples are checked.

use std::path::PathBuf;

use expect_test::{Expect, expect};
use haft_contract::PatternVariables;

use super::RuleSet;
use crate::rule::{Conditions, Rule, RuleAction, RuleCondition, RuleScope};

fn variables() -> PatternVariables {
    PatternVariables { workspace: vec![PathBuf::from("/work")], ..PatternVariables::default() }
}

fn rule(permission: &str, pattern: &str, examples: &[&str], counter_examples: &[&str]) -> Rule {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Rule {
        match_examples: texts(examples),
        not_match_examples: texts(counter_examples),
        ..Rule::new(permission, pattern, RuleAction::Deny)
    }
}

fn compile(rules: &[Rule], variables: &PatternVariables) -> Result<RuleSet, super::RuleErrors> {
    RuleSet::compile(
        rules.iter().map(|rule| (RuleScope::Manifest, rule.clone())),
        variables,
        Conditions::default(),
    )
}

#[track_caller]
fn check(rules: &[Rule], expected: Expect) {
    let found =
        compile(rules, &variables()).map_or_else(|err| err.to_string(), |_| "ok".to_owned());
    expected.assert_eq(&found);
}

#[test]
fn all_errors_are_reported_at_once() {
    check(
        &[
            rule("ba sh", "*", &[], &[]),
            rule("fs.read", "~/.ssh/**", &[], &[]),
            rule("bash", "git push", &["git push origin"], &["git status"]),
            rule("mcp:github", "*", &[], &[]),
            rule("*", "a/../b", &[], &[]),
            rule("bash", "git push", &["git status", "git pushx"], &["git push origin"]),
        ],
        expect![[r#"
            7 errors in permission rules:
              manifest rule `deny ba sh "*"`: permission "ba sh" cannot be used: expected a tool id such as bash, a capability such as fs.write, mcp:<server>:<tool>, one of these with *, or *
              manifest rule `deny fs.read "~/.ssh/**"`: pattern "~/.ssh/**" cannot be used: ~ is not expanded: write an absolute path, or [~] for a name that begins so
              manifest rule `deny mcp:github "*"`: permission "mcp:github" cannot be used: expected a tool id such as bash, a capability such as fs.write, mcp:<server>:<tool>, one of these with *, or *
              manifest rule `deny * "a/../b"`: pattern "a/../b" cannot be used: paths are resolved before they are judged, so .. never matches: write the path itself (as a path; if it is about commands, name the permission shell.run)
              manifest rule `deny bash "git push"`: its match example "git status" does not match the pattern
              manifest rule `deny bash "git push"`: its match example "git pushx" does not match the pattern
              manifest rule `deny bash "git push"`: its not_match example "git push origin" matches the pattern"#]],
    );
    check(
        &[rule("", "*", &[], &[])],
        expect![[
            r#"manifest rule `deny  "*"`: permission "" cannot be used: expected a tool id such as bash, a capability such as fs.write, mcp:<server>:<tool>, one of these with *, or *"#
        ]],
    );
}

#[test]
fn permissions_that_parse() {
    for permission in [
        "bash",
        "fs.write",
        "a.b_c",
        "mcp:github:create_issue",
        "mcp:*",
        "mcp:github:*",
        "fs.*",
        "*",
        "**",
    ] {
        assert!(compile(&[rule(permission, "*", &[], &[])], &variables()).is_ok(), "{permission}");
    }
    for permission in
        ["", " ", "a b", "mcp:", "mcp::x", "mcp:a:", "mcp:a:b:c", "other:a:b", "fs.{a,b}", "a?"]
    {
        assert!(compile(&[rule(permission, "*", &[], &[])], &variables()).is_err(), "{permission}");
    }
}

#[test]
fn examples_are_what_the_permission_is_about() {
    check(
        &[rule(
            "fs.read",
            "src/**",
            &["src/a.rs", "/work/src/a", "{workspace}/src"],
            &["/src/a", "tests"],
        )],
        expect!["ok"],
    );
    check(&[rule("fs.write", "{workspace}/src/**", &["src/a"], &["/src/a"])], expect!["ok"]);
    check(
        &[rule("net.fetch", "*.example.com", &["a.example.com"], &["example.com"])],
        expect!["ok"],
    );
    check(
        &[rule("bash", "git  push", &["git push  x"], &["src/git push"])],
        expect![[
            r#"manifest rule `deny bash "git  push"`: its not_match example "src/git push" matches the pattern"#
        ]],
    );
    check(&[rule("other", "src", &["src/a", "src --help"], &["tests"])], expect!["ok"]);
}

#[test]
fn only_what_presets_and_manifests_allow_may_depend_on_a_condition() {
    let conditioned =
        |action| Rule { when: Some(RuleCondition::Sandboxed), ..Rule::new("bash", "*", action) };
    for (scope, action, is_good) in [
        (RuleScope::Preset, RuleAction::Allow, true),
        (RuleScope::Manifest, RuleAction::Allow, true),
        (RuleScope::Agent, RuleAction::Allow, true),
        (RuleScope::Agent, RuleAction::Deny, false),
        (RuleScope::Manifest, RuleAction::Ask, false),
        (RuleScope::Manifest, RuleAction::Deny, false),
        (RuleScope::Builtin, RuleAction::Allow, false),
        (RuleScope::Project, RuleAction::Allow, false),
        (RuleScope::Session, RuleAction::Allow, false),
    ] {
        for sandboxed in [true, false] {
            let rules = [(scope, conditioned(action))];
            let compiled = RuleSet::compile(rules, &variables(), Conditions { sandboxed });
            assert_eq!(compiled.is_ok(), is_good, "{scope} {action}");
        }
    }
    check(
        &[conditioned(RuleAction::Deny)],
        expect![[
            r#"manifest rule `deny bash "*" when sandboxed`: it holds only when sandboxed: expected such a condition on an allow of a preset, a manifest or an agent; leave `when` out"#
        ]],
    );
}

#[test]
fn an_allow_is_held_to_its_narrow_reading() {
    let deny = rule("bash", "git push", &["/usr/bin/git push"], &[]);
    let allow = Rule { action: RuleAction::Allow, ..deny.clone() };
    assert!(compile(&[deny], &variables()).is_ok());
    assert!(compile(&[allow], &variables()).is_err());
}

#[test]
fn examples_of_an_empty_variable_are_not_held_against_it() {
    let ad_hoc = rule("fs.read", "{ad-hoc}/*.md", &["{ad-hoc}/a.md"], &[]);
    assert!(compile(&[ad_hoc], &variables()).is_ok());
    assert!(
        compile(&[rule("fs.read", "src", &["src/a"], &["tests"])], &PatternVariables::default())
            .is_ok()
    );
}

#[test]
fn rules_are_read_with_defaults_and_without_unknown_fields() {
    let read = |text: &str| toml::from_str::<Rule>(text);
    assert_eq!(read("permission = 'bash'").unwrap(), Rule::new("bash", "*", RuleAction::Ask));
    let full = "permission = 'bash'\npattern = 'git *'\naction = 'allow'\nmatch = ['git status']\nnot_match = ['gits']";
    let expected =
        Rule { action: RuleAction::Allow, ..rule("bash", "git *", &["git status"], &["gits"]) };
    assert_eq!(read(full).unwrap(), expected);
    let conditioned = read("permission = 'bash'\nwhen = 'sandboxed'").unwrap();
    assert_eq!(conditioned.when, Some(RuleCondition::Sandboxed));
    assert_eq!(toml::to_string(&conditioned).unwrap().lines().last(), Some("when = \"sandboxed\""));
    assert!(read("permission = 'bash'\nwhen = 'sunny'").is_err());
    assert!(read("permission = 'bash'\nactoin = 'allow'").is_err());
    assert!(read("permission = 'bash'\naction = 'Allow'").is_err());
    assert!(read("pattern = '*'").is_err());
}
