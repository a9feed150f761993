//! The presets, parsed as front ends parse them, against calls of every kind.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{CommandLine, PatternVariables, ToolId};
use serde::Deserialize;

use super::PRESETS;
use crate::access::{PathSubject, ResolvedAccess};
use crate::decide::{PolicyRequest, decide};
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    permissions: Vec<Rule>,
}

fn preset(name: &str, sandboxed: bool) -> RuleSet {
    let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name).unwrap();
    let manifest: Manifest = toml::from_str(text).unwrap();
    let variables =
        PatternVariables { workspace: vec![PathBuf::from("/work")], ..PatternVariables::default() };
    let rules = manifest.permissions.into_iter().map(|rule| (RuleScope::Preset, rule));
    RuleSet::compile(rules, &variables, Conditions { sandboxed }).unwrap()
}

fn calls() -> Vec<(&'static str, &'static str, Option<ResolvedAccess>)> {
    let inside = || PathSubject::in_root(Path::new("/work"), Path::new("a"));
    let outside = || PathSubject::outside_roots("/etc/passwd");
    let argv = vec!["ls".to_owned()];
    vec![
        ("read", "inside", Some(ResolvedAccess::Read { path: inside() })),
        ("grep", "outside", Some(ResolvedAccess::Read { path: outside() })),
        ("edit", "inside", Some(ResolvedAccess::Write { path: inside() })),
        ("write", "outside", Some(ResolvedAccess::Write { path: outside() })),
        ("bash", "ls", Some(ResolvedAccess::Shell { command: CommandLine::Argv(argv) })),
        (
            "bash",
            "a line",
            Some(ResolvedAccess::Shell { command: CommandLine::Unknown("ls | wc".to_owned()) }),
        ),
        ("web_fetch", "a host", Some(ResolvedAccess::Net { host: "example.com".to_owned() })),
        ("cal", "a name", Some(ResolvedAccess::Named { name: "calendar".to_owned() })),
        ("todo", "nothing", None),
        ("skill", "nothing", None),
        ("tool_search", "nothing", None),
        ("question", "nothing", None),
        ("task", "nothing", None),
    ]
}

#[track_caller]
fn check(name: &str, expected: Expect) {
    let mut table = String::new();
    for (tool, what, access) in calls() {
        let tool = ToolId::parse(tool).unwrap();
        let accesses: Vec<_> = access.into_iter().collect();
        let action = |sandboxed| {
            let rules = preset(name, sandboxed);
            decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &rules).action
        };
        let (open, confined) = (action(false), action(true));
        table.push_str(&format!("{tool} {what}: {open}"));
        if open != confined {
            table.push_str(&format!(", sandboxed {confined}"));
        }
        table.push('\n');
    }
    expected.assert_eq(&table);
}

#[test]
fn read_only() {
    check(
        "read-only",
        expect![[r#"
        read inside: allow
        grep outside: ask
        edit inside: deny
        write outside: deny
        bash ls: deny
        bash a line: deny
        web_fetch a host: ask
        cal a name: ask
        todo nothing: allow
        skill nothing: allow
        tool_search nothing: allow
        question nothing: allow
        task nothing: allow
    "#]],
    );
}

#[test]
fn ask() {
    check(
        "ask",
        expect![[r#"
        read inside: allow
        grep outside: ask
        edit inside: ask
        write outside: ask
        bash ls: ask
        bash a line: ask
        web_fetch a host: ask
        cal a name: ask
        todo nothing: allow
        skill nothing: allow
        tool_search nothing: allow
        question nothing: allow
        task nothing: ask
    "#]],
    );
}

#[test]
fn workspace() {
    check(
        "workspace",
        expect![[r#"
            read inside: allow
            grep outside: ask
            edit inside: allow
            write outside: ask
            bash ls: ask, sandboxed allow
            bash a line: ask, sandboxed allow
            web_fetch a host: ask
            cal a name: ask
            todo nothing: allow
            skill nothing: allow
            tool_search nothing: allow
            question nothing: allow
            task nothing: allow
        "#]],
    );
}

#[test]
fn workspace_lets_commands_run_only_while_they_are_confined() {
    let tool = ToolId::parse("bash").unwrap();
    let accesses = [ResolvedAccess::Shell { command: CommandLine::Unknown("ls | wc".to_owned()) }];
    let decision =
        decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &preset("workspace", false));
    expect![[r#"bash needs approval for shell.run of "ls | wc": the preset rule `allow bash "*" when sandboxed` does not hold while commands are not fully confined, as without the sandbox or with the network allowed"#]].assert_eq(&decision.explain());
    // A program that is denied by name may hide in an unknown line.
    let deny = (RuleScope::Manifest, Rule::new("bash", "rm -rf *", RuleAction::Deny));
    let rules = preset("workspace", true)
        .with_added([deny], &PatternVariables::default(), Conditions::default())
        .unwrap();
    let decision = decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &rules);
    expect![[r#"bash needs approval for shell.run of "ls | wc": not all of its words are known, and the manifest rule `deny bash "rm -rf *"` may match them; while that rule stands, no added rule allows it"#]].assert_eq(&decision.explain());
}

#[test]
fn full() {
    check(
        "full",
        expect![[r#"
        read inside: allow
        grep outside: allow
        edit inside: allow
        write outside: allow
        bash ls: allow
        bash a line: allow
        web_fetch a host: allow
        cal a name: allow
        todo nothing: allow
        skill nothing: allow
        tool_search nothing: allow
        question nothing: allow
        task nothing: allow
    "#]],
    );
}
