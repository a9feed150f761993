//! The presets, parsed as front ends parse them, against calls of every kind.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{Command, ToolId, Variables};
use serde::Deserialize;

use super::PRESETS;
use crate::access::{Canonical, PathSubject};
use crate::decide::{Question, decide};
use crate::rule::{Action, Conditions, Rule, RuleScope};
use crate::rule_set::RuleSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    permissions: Vec<Rule>,
}

fn preset(name: &str, sandboxed: bool) -> RuleSet {
    let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name).unwrap();
    let manifest: Manifest = toml::from_str(text).unwrap();
    let variables = Variables { workspace: vec![PathBuf::from("/work")], ..Variables::default() };
    let rules = manifest.permissions.into_iter().map(|rule| (RuleScope::Preset, rule));
    RuleSet::compile(rules, &variables, Conditions { sandboxed }).unwrap()
}

fn calls() -> Vec<(&'static str, &'static str, Option<Canonical>)> {
    let inside = || PathSubject::beneath(Path::new("/work"), Path::new("a"));
    let outside = || PathSubject::outside("/etc/passwd");
    let argv = vec!["ls".to_owned()];
    vec![
        ("read", "inside", Some(Canonical::Read { path: inside() })),
        ("grep", "outside", Some(Canonical::Read { path: outside() })),
        ("edit", "inside", Some(Canonical::Write { path: inside() })),
        ("write", "outside", Some(Canonical::Write { path: outside() })),
        ("bash", "ls", Some(Canonical::Shell { command: Command::Argv(argv) })),
        (
            "bash",
            "a line",
            Some(Canonical::Shell { command: Command::Unknown("ls | wc".to_owned()) }),
        ),
        ("web_fetch", "a host", Some(Canonical::Net { host: "example.com".to_owned() })),
        ("cal", "a name", Some(Canonical::Named { name: "calendar".to_owned() })),
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
            decide(&Question { tool: &tool, accesses: &accesses }, &rules).action
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
    let accesses = [Canonical::Shell { command: Command::Unknown("ls | wc".to_owned()) }];
    let decision =
        decide(&Question { tool: &tool, accesses: &accesses }, &preset("workspace", false));
    expect![[r#"bash needs approval for shell.run of "ls | wc": the preset rule `allow bash "*" when sandboxed` does not hold while commands are not fully confined, as with --unsafe-no-sandbox or --allow-network (see haft doctor)"#]].assert_eq(&decision.explain());
    // What someone denies by name may hide in a line that is not known.
    let deny = (RuleScope::Manifest, Rule::new("bash", "rm -rf *", Action::Deny));
    let rules = preset("workspace", true)
        .with_added([deny], &Variables::default(), Conditions::default())
        .unwrap();
    let decision = decide(&Question { tool: &tool, accesses: &accesses }, &rules);
    expect![[r#"bash needs approval for shell.run of "ls | wc": its commands are not known, and the manifest rule `deny bash "rm -rf *"` may match one of them; while that rule stands, no added rule allows it"#]].assert_eq(&decision.explain());
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
