//! The exceptions that «always» offers for a call that a watchdog asks about, and which calls they cover.

use haft_contract::{CommandLine, PatternVariables, ToolId};

use super::{exception_rules, has_exception, is_allowed_by_user};
use crate::access::ResolvedAccess;
use crate::decide::PolicyRequest;
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

fn bash() -> ToolId {
    ToolId::parse("bash").unwrap()
}

fn run(line: &str) -> ResolvedAccess {
    let argv = line.split(' ').map(str::to_owned).collect();
    ResolvedAccess::Shell { command: CommandLine::Argv(argv) }
}

fn rules(rules: &[(RuleScope, &str)]) -> RuleSet {
    let allow = |pattern: &str| Rule::new("bash", pattern, RuleAction::Allow);
    let rules = rules.iter().map(|(scope, pattern)| (*scope, allow(pattern)));
    RuleSet::compile(rules, &PatternVariables::default(), Conditions::default()).unwrap()
}

#[test]
fn always_offers_rules_that_spell_the_call() {
    let preset = rules(&[(RuleScope::Preset, "*")]);
    let accesses = [run("sudo make install")];
    let tool = bash();
    let question = PolicyRequest { tool: &tool, accesses: &accesses };
    let offered = exception_rules(&question, &preset, &PatternVariables::default());
    assert_eq!(offered, [Rule::new("bash", "sudo make install $", RuleAction::Allow)]);
    let added = [(RuleScope::Session, offered[0].clone())];
    let with_it =
        preset.with_added(added, &PatternVariables::default(), Conditions::default()).unwrap();
    assert!(!has_exception(&question, &preset) && has_exception(&question, &with_it));
    for other in ["sudo make install x", "sudo make", "sudo reboot"] {
        let accesses = [run(other)];
        assert!(!has_exception(&PolicyRequest { tool: &tool, accesses: &accesses }, &with_it));
    }
    let both = [accesses[0].clone(), run("sudo reboot")];
    assert!(!has_exception(&PolicyRequest { tool: &tool, accesses: &both }, &with_it));
}

#[test]
fn a_command_that_is_not_wholly_known_has_no_exception() {
    let accesses = [ResolvedAccess::Shell { command: CommandLine::Unknown("$x".to_owned()) }];
    let tool = bash();
    let question = PolicyRequest { tool: &tool, accesses: &accesses };
    let all = rules(&[(RuleScope::Session, "*")]);
    assert_eq!(exception_rules(&question, &all, &PatternVariables::default()), []);
    assert!(!has_exception(&question, &all));
}

#[test]
fn a_rule_of_the_user_allows_and_one_of_the_preset_does_not() {
    let access = run("sudo make");
    let check = |scope: RuleScope, pattern: &str, expect: bool| {
        let rules = rules(&[(scope, pattern)]);
        assert_eq!(is_allowed_by_user(&bash(), &access, &rules), expect, "{scope} {pattern}");
    };
    check(RuleScope::Preset, "*", false);
    check(RuleScope::Agent, "*", false);
    check(RuleScope::Session, "*", true);
    check(RuleScope::Manifest, "sudo *", true);
    check(RuleScope::Manifest, "make *", false);
    let wide = rules(&[(RuleScope::Session, "*")]);
    let tool = bash();
    let question = PolicyRequest { tool: &tool, accesses: std::slice::from_ref(&access) };
    assert!(!has_exception(&question, &wide), "a wide rule is no exception");
}
