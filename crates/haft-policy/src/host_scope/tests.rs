//! Which hosts a call may reach, and which of them as what they are.

use expect_test::{Expect, expect};
use haft_contract::{NetRequirement, PatternVariables, RequirementSet, ToolId};

use super::HostScope;
use crate::access::ResolvedAccess;
use crate::capability::Capabilities;
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

const MANIFEST: RuleScope = RuleScope::Manifest;
const SESSION: RuleScope = RuleScope::Session;

fn hosts(hosts: &[&str]) -> Capabilities {
    let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
    let requires = RequirementSet { net: NetRequirement { hosts }, ..RequirementSet::default() };
    Capabilities::compile(&requires, &PatternVariables::default()).unwrap()
}

fn rules(rules: &[(RuleScope, RuleAction, &str, &str)]) -> RuleSet {
    let rules = rules.iter().map(|(scope, action, permission, pattern)| {
        (*scope, Rule::new(*permission, *pattern, *action))
    });
    RuleSet::compile(rules, &PatternVariables::default(), Conditions::default()).unwrap()
}

fn of_bash(agent: &[&str], of: &[(RuleScope, RuleAction, &str, &str)]) -> HostScope {
    HostScope::of_commands(&ToolId::parse("bash").unwrap(), &hosts(&[]), &hosts(agent), &rules(of))
}

#[track_caller]
fn check(scope: &HostScope, names: &[&str], expected: Expect) {
    let shown = |host: &&str| match scope.admits(host) {
        Some(grant) if grant.allows_private_addresses => format!("{host}: as such\n"),
        Some(_) => format!("{host}: by name\n"),
        None => format!("{host}: no\n"),
    };
    expected.assert_eq(&names.iter().map(shown).collect::<String>());
}

#[test]
fn what_the_agent_requires_is_granted_to_commands_unless_denied() {
    let scope = of_bash(
        &["crates.io", "*.crates.io", "10.0.0.1"],
        &[
            (SESSION, RuleAction::Allow, "bash", "*"),
            (MANIFEST, RuleAction::Deny, "net.fetch", "evil.crates.io"),
            (SESSION, RuleAction::Ask, "net.fetch", "asked.crates.io"),
        ],
    );
    check(
        &scope,
        &[
            "crates.io",
            "STATIC.crates.io.",
            "evil.crates.io",
            "asked.crates.io",
            "10.0.0.1",
            "10.0.0.2",
            "example.com",
        ],
        expect![[r#"
            crates.io: by name
            STATIC.crates.io.: by name
            evil.crates.io: no
            asked.crates.io: no
            10.0.0.1: as such
            10.0.0.2: no
            example.com: no
        "#]],
    );
    assert!(!scope.is_empty());
}

#[test]
fn a_rule_about_hosts_grants_them_to_commands() {
    let scope = of_bash(
        &[],
        &[
            (SESSION, RuleAction::Allow, "net.fetch", "example.com"),
            (MANIFEST, RuleAction::Allow, "net.*", "*.internal"),
            (MANIFEST, RuleAction::Deny, "net.fetch", "*"),
            (MANIFEST, RuleAction::Allow, "net.fetch", "pypi.org"),
        ],
    );
    check(
        &scope,
        // A deny of everything in the manifest leaves what the manifest itself excepts.
        &["pypi.org", "example.com", "git.internal"],
        expect![[r#"
            pypi.org: by name
            example.com: no
            git.internal: no
        "#]],
    );
}

#[test]
fn that_a_tool_may_run_grants_no_host() {
    for allow in ["bash", "*", "b*"] {
        let scope = of_bash(&[], &[(SESSION, RuleAction::Allow, allow, "*")]);
        assert!(scope.is_empty(), "{allow}");
        assert_eq!(scope.admits("example.com"), None, "{allow}");
    }
    let preset = of_bash(&[], &[(RuleScope::Preset, RuleAction::Allow, "net.fetch", "*")]);
    assert!(preset.is_empty() && preset.admits("example.com").is_none());
    // Nor does asking about each run take the hosts away.
    let asked = of_bash(&["crates.io"], &[(SESSION, RuleAction::Ask, "bash", "*")]);
    assert!(asked.admits("crates.io").is_some());
}

#[test]
fn only_what_is_named_as_such_may_be_an_address_of_this_machine_or_its_networks() {
    let named = &["localhost", "127.0.0.1", "::1", "printer", "git.corp.internal", "example.com"];
    check(
        &of_bash(named, &[]),
        named,
        expect![[r#"
        localhost: as such
        127.0.0.1: as such
        ::1: as such
        printer: as such
        git.corp.internal: as such
        example.com: by name
    "#]],
    );
    let wild = of_bash(&["*", "*.localhost"], &[(SESSION, RuleAction::Allow, "net.fetch", "*")]);
    check(
        &wild,
        &["localhost", "127.0.0.1", "[::1]:80", "a.localhost"],
        expect![[r#"
        localhost: by name
        127.0.0.1: by name
        [::1]:80: by name
        a.localhost: by name
    "#]],
    );
    let by_rule = of_bash(&["*"], &[(SESSION, RuleAction::Allow, "net.fetch", "localhost")]);
    check(
        &by_rule,
        &["localhost:8080", "10.0.0.1"],
        expect![[r#"
        localhost:8080: as such
        10.0.0.1: by name
    "#]],
    );
}

#[test]
fn a_tool_of_its_own_reaches_what_it_requires_and_the_agent_has() {
    let tool = ToolId::parse("web_fetch").unwrap();
    let rules = rules(&[
        (SESSION, RuleAction::Allow, "net.fetch", "more.org"),
        (SESSION, RuleAction::Ask, "web_fetch", "*.org"),
        (MANIFEST, RuleAction::Deny, "web_fetch", "evil.example.com"),
    ]);
    let own = hosts(&["*.example.com", "a.org", "b.org"]);
    let scope = HostScope::of_tool(&tool, &own, &hosts(&["*.example.com", "*.org"]), &rules);
    let names = ["a.example.com", "evil.example.com", "a.org", "b.org", "more.org"];
    check(
        &scope,
        &names,
        expect![[r#"
        a.example.com: by name
        evil.example.com: no
        a.org: no
        b.org: no
        more.org: no
    "#]],
    );
    let answered = scope.with_allowed(&[
        ResolvedAccess::Net { host: "a.org".to_owned() },
        ResolvedAccess::Net { host: "evil.example.com".to_owned() },
        ResolvedAccess::Net { host: "elsewhere.net".to_owned() },
    ]);
    check(
        &answered,
        &[names.as_slice(), &["elsewhere.net"]].concat(),
        expect![[r#"
        a.example.com: by name
        evil.example.com: no
        a.org: by name
        b.org: no
        more.org: no
        elsewhere.net: no
    "#]],
    );
    let narrowed = HostScope::of_tool(&tool, &own, &hosts(&["a.org"]), &RuleSet::default());
    check(
        &narrowed,
        &["a.org", "b.org", "a.example.com"],
        expect![[r#"
        a.org: by name
        b.org: no
        a.example.com: no
    "#]],
    );
}

#[test]
fn a_tool_that_may_reach_every_host_reaches_this_machine_where_somebody_named_it() {
    let tool = ToolId::parse("web_fetch").unwrap();
    let names = ["localhost", "10.0.0.1", "10.0.0.2", "169.254.169.254", "example.com"];
    let of = |rules: &RuleSet| HostScope::of_tool(&tool, &hosts(&["*"]), &hosts(&["*"]), rules);
    let local = |host: &str| ResolvedAccess::Net { host: host.to_owned() };
    let ruled = of(&rules(&[
        (RuleScope::Preset, RuleAction::Allow, "*", "*"),
        (RuleScope::Preset, RuleAction::Allow, "net.fetch", "10.0.0.2"),
        (MANIFEST, RuleAction::Allow, "net.fetch", "localhost"),
        (SESSION, RuleAction::Allow, "web_fetch", "10.0.0.1"),
        (SESSION, RuleAction::Allow, "net.fetch", "*"),
    ]));
    // If rules let the call pass, that is no answer about its host.
    let passed = ruled.with_allowed(&[local("169.254.169.254")]);
    check(
        &passed,
        &names,
        expect![[r#"
            localhost: as such
            10.0.0.1: as such
            10.0.0.2: by name
            169.254.169.254: by name
            example.com: by name
        "#]],
    );
    let asked = rules(&[(RuleScope::Preset, RuleAction::Ask, "net.fetch", "*")]);
    let allowed = [local("10.0.0.1"), local("example.com")];
    let answered = of(&asked).with_allowed(&allowed).with_approval();
    check(
        &answered,
        &names,
        expect![[r#"
            localhost: no
            10.0.0.1: as such
            10.0.0.2: no
            169.254.169.254: no
            example.com: by name
        "#]],
    );
}

#[test]
fn a_rule_about_the_whole_tool_takes_no_name_away_and_gives_none() {
    let tool = ToolId::parse("web_fetch").unwrap();
    let ruled = rules(&[
        (SESSION, RuleAction::Allow, "web_fetch", "*"),
        (MANIFEST, RuleAction::Allow, "net.fetch", "10.0.0.1"),
        (MANIFEST, RuleAction::Allow, "net.fetch", "10.0.0.2"),
        (SESSION, RuleAction::Deny, "net.fetch", "10.0.0.2"),
        (RuleScope::Preset, RuleAction::Allow, "net.fetch", "10.0.0.3"),
    ]);
    let names = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
    let scope = HostScope::of_tool(&tool, &hosts(&["*"]), &hosts(&["*"]), &ruled);
    check(
        &scope,
        &names,
        expect![[r#"
        10.0.0.1: as such
        10.0.0.2: by name
        10.0.0.3: by name
    "#]],
    );
}

#[test]
fn a_command_that_says_which_hosts_it_wants_gets_these_alone() {
    let wanted = |name: &str| [ResolvedAccess::Net { host: name.to_owned() }];
    let of = |rules: &RuleSet| {
        let clone = ToolId::parse("repo_clone").unwrap();
        HostScope::of_commands(&clone, &hosts(&["*"]), &hosts(&["localhost"]), rules)
    };
    let names = ["example.com", "other.com", "10.0.0.1", "localhost"];
    let ruled = rules(&[(SESSION, RuleAction::Allow, "repo_clone", "*")]);
    let of_host =
        |host: &str| of(&ruled).limited_to_declared(&wanted(host)).with_allowed(&wanted(host));
    check(
        &of_host("Example.com"),
        &names,
        expect![[r#"
        example.com: by name
        other.com: no
        10.0.0.1: no
        localhost: no
    "#]],
    );
    // A rule about the whole tool names no address; a requirement and a person do.
    check(
        &of_host("10.0.0.1"),
        &names[2..],
        expect![[r#"
        10.0.0.1: by name
        localhost: no
    "#]],
    );
    check(
        &of_host("10.0.0.1").with_approval(),
        &names[2..],
        expect![[r#"
        10.0.0.1: as such
        localhost: no
    "#]],
    );
    check(
        &of_host("localhost"),
        &names[2..],
        expect![[r#"
        10.0.0.1: no
        localhost: as such
    "#]],
    );
    assert!(of(&ruled).limited_to_declared(&[]).admits("other.com").is_some());
}

#[test]
fn a_host_at_a_private_address_is_reached_if_both_are_granted() {
    let admits = |agent: &[&str], host: &str, address: &str| {
        of_bash(agent, &[]).admits_address(host, address.parse().unwrap())
    };
    let both = ["db.example.com", "10.0.0.0/8"];
    assert!(admits(&both, "db.example.com", "10.1.2.3"));
    assert!(admits(&both, "DB.example.com.", "::ffff:10.1.2.3"));
    assert!(admits(&["db.example.com", "10.1.2.3"], "db.example.com", "10.1.2.3"));
    assert!(admits(&["db.example.com", "fd00::/8"], "db.example.com", "fd12::1"));
    // Another address, another host, or one of the two alone.
    assert!(!admits(&both, "db.example.com", "192.168.0.1"));
    assert!(!admits(&both, "other.example.com", "10.1.2.3"));
    assert!(!admits(&["db.example.com"], "db.example.com", "10.1.2.3"));
    assert!(!admits(&["10.0.0.0/8"], "db.example.com", "10.1.2.3"));
    // A wildcard names no host.
    assert!(!admits(&["*.example.com", "10.0.0.0/8"], "db.example.com", "10.1.2.3"));
    assert!(!admits(&["*", "10.0.0.0/8"], "db.example.com", "10.1.2.3"));
    // A deny holds.
    let denied = of_bash(&both, &[(MANIFEST, RuleAction::Deny, "net.fetch", "10.9.9.9")]);
    assert!(denied.admits_address("db.example.com", [10, 1, 2, 3].into()));
    assert!(!denied.admits_address("db.example.com", [10, 9, 9, 9].into()));
}

#[test]
fn a_range_grants_its_addresses_and_is_not_too_wide() {
    let scope = of_bash(&["10.1.0.0/16"], &[]);
    check(
        &scope,
        &["10.1.2.3", "10.2.0.1"],
        expect![[r#"
            10.1.2.3: as such
            10.2.0.1: no
        "#]],
    );
    for wide in ["0.0.0.0/0", "10.0.0.0/7", "::/0", "10.0.0.0/33", "db.example/8", "10.0.0.0/x"] {
        let net = NetRequirement { hosts: vec![wide.to_owned()] };
        let requires = RequirementSet { net, ..RequirementSet::default() };
        let compiled = Capabilities::compile(&requires, &PatternVariables::default());
        assert!(compiled.is_err(), "{wide}");
    }
}
