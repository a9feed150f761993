//! The rules that «always» would add. They are enough, and no more than that.

use expect_test::{Expect, expect};
use haft_contract::{CommandLine, PatternVariables, ToolId};

use super::{AlwaysWidth, FAMILIES, LASTING_RULES_MAX, is_plain, lasting_rules};
use crate::access::{PathSubject, ResolvedAccess};
use crate::decide::{PolicyRequest, decide};
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

fn run(line: &str) -> ResolvedAccess {
    let argv = line.split(' ').map(str::to_owned).collect();
    ResolvedAccess::Shell { command: CommandLine::Argv(argv) }
}

fn rules(rules: &[(RuleScope, &str, &str, RuleAction)]) -> RuleSet {
    let rules = rules.iter().map(|(scope, permission, pattern, action)| {
        (*scope, Rule::new(*permission, *pattern, *action))
    });
    RuleSet::compile(rules, &PatternVariables::default(), Conditions::default()).unwrap()
}

fn lasting(tool: &str, accesses: &[ResolvedAccess], rules: &RuleSet) -> Vec<Rule> {
    let tool = ToolId::parse(tool).unwrap();
    let request = PolicyRequest { tool: &tool, accesses };
    lasting_rules(&request, rules, &PatternVariables::default(), AlwaysWidth::Wide)
}

fn shown(rules: &[Rule]) -> String {
    rules.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Shows what would be added, after checking that it helps.
#[track_caller]
fn check(tool: &str, accesses: &[ResolvedAccess], rules: &RuleSet, expected: Expect) {
    let added = lasting(tool, accesses, rules);
    expected.assert_eq(&shown(&added));
    if !added.is_empty() {
        let added = added.into_iter().map(|rule| (RuleScope::Session, rule));
        let rules =
            rules.with_added(added, &PatternVariables::default(), Conditions::default()).unwrap();
        let tool = ToolId::parse(tool).unwrap();
        assert_eq!(
            decide(&PolicyRequest { tool: &tool, accesses }, &rules).action,
            RuleAction::Allow
        );
    }
}

#[test]
fn subcommands_of_families_are_allowed_with_whatever_follows() {
    let none = RuleSet::default();
    let check = |line, expected| check("bash", &[run(line)], &none, expected);
    check("git commit -m x", expect![[r#"allow bash "git commit *""#]]);
    check("git status", expect![[r#"allow bash "git status *""#]]);
    check("cargo test -p haft", expect![[r#"allow bash "cargo test *""#]]);
    check("npm run build --fast", expect![[r#"allow bash "npm run build *""#]]);
    check("docker compose up -d", expect![[r#"allow bash "docker compose up *""#]]);
    check("make all", expect![[r#"allow bash "make all *""#]]);
}

#[test]
fn everything_else_is_allowed_as_it_was_shown() {
    let none = RuleSet::default();
    let check = |line, expected| check("bash", &[run(line)], &none, expected);
    check("rm -rf build", expect![[r#"allow bash "rm -rf build $""#]]);
    check("sudo git status", expect![[r#"allow bash "sudo git status $""#]]);
    check("python3 -c x=1", expect![[r#"allow bash "python3 -c x=1 $""#]]);
    check("git push origin", expect![[r#"allow bash "git push origin $""#]]);
    check("git -C x commit", expect![[r#"allow bash "git -C x commit $""#]]);
    check("git", expect![[r#"allow bash "git $""#]]);
    check("npm run", expect![[r#"allow bash "npm run $""#]]);
    check("/usr/bin/git status", expect![[r#"allow bash "/usr/bin/git status $""#]]);
    check("make SHELL=/bin/x", expect![[r#"allow bash "make SHELL=/bin/x $""#]]);
    check("echo $ a*", expect![[r#"allow bash "echo [$] a[*] $""#]]);
    check("echo a $", expect![[r#"allow bash "echo a [$] $""#]]);
}

#[test]
fn narrow_rules_are_about_this_call_and_wide_ones_about_its_kind() {
    let none = RuleSet::default();
    let workspace = std::path::PathBuf::from("/work");
    let variables = PatternVariables { workspace: vec![workspace], ..PatternVariables::default() };
    let check = |tool: &str, accesses: &[ResolvedAccess], narrow: Expect, wide: Expect| {
        let tool = ToolId::parse(tool).unwrap();
        let request = PolicyRequest { tool: &tool, accesses };
        let rules = |width| shown(&lasting_rules(&request, &none, &variables, width));
        narrow.assert_eq(&rules(AlwaysWidth::Narrow));
        wide.assert_eq(&rules(AlwaysWidth::Wide));
    };
    let write = |path: &str| ResolvedAccess::Write {
        path: PathSubject::in_root("/work".as_ref(), path.as_ref()),
    };
    check(
        "bash",
        &[run("cargo test -p haft")],
        expect![[r#"allow bash "cargo test -p haft $""#]],
        expect![[r#"allow bash "cargo test *""#]],
    );
    check(
        "write",
        &[write("src/a b/c.rs")],
        expect![[r#"allow write "src/a b/c.rs""#]],
        expect![[r#"allow write "src/a b/**""#]],
    );
    // Not everything in the root.
    check(
        "write",
        &[write("a.rs")],
        expect![[r#"allow write "a.rs""#]],
        expect![[r#"allow write "a.rs""#]],
    );
    let net = ResolvedAccess::Net { host: "docs.rs".to_owned() };
    check(
        "web_fetch",
        &[net],
        expect![[r#"allow web_fetch "docs.rs""#]],
        expect![[r#"allow web_fetch "docs.rs""#]],
    );
}

#[test]
fn an_exact_rule_allows_no_argument_more() {
    let none = RuleSet::default();
    let added = lasting("bash", &[run("rm -rf build")], &none);
    let added = added.into_iter().map(|rule| (RuleScope::Session, rule));
    let rules =
        none.with_added(added, &PatternVariables::default(), Conditions::default()).unwrap();
    let action = |line: &str| {
        let tool = ToolId::parse("bash").unwrap();
        decide(&PolicyRequest { tool: &tool, accesses: &[run(line)] }, &rules).action
    };
    assert_eq!(action("rm -rf build"), RuleAction::Allow);
    assert_eq!(action("rm -rf build /"), RuleAction::Ask);
    assert_eq!(action("rm -rf"), RuleAction::Ask);
}

#[test]
fn each_access_that_asks_gets_a_rule_once() {
    let rules = rules(&[(RuleScope::Project, "bash", "ls *", RuleAction::Allow)]);
    let accesses =
        [run("ls"), run("git add a"), run("rm a"), run("git add b"), run("git commit -m x")];
    check(
        "bash",
        &accesses,
        &rules,
        expect![[r#"
            allow bash "git add *"
            allow bash "rm a $"
            allow bash "git commit *""#]],
    );
    let write = ResolvedAccess::Write { path: PathSubject::outside_roots("/data/x y") };
    check(
        "bash",
        &[run("git log"), write],
        &RuleSet::default(),
        expect![[r#"
            allow bash "git log *"
            allow fs.write "/data/x y""#]],
    );
    check("mail", &[], &RuleSet::default(), expect![[r#"allow mail "*""#]]);
}

#[test]
fn where_no_rule_helps_none_is_offered() {
    let none = RuleSet::default();
    let line = || ResolvedAccess::Shell { command: CommandLine::Unknown("ls | wc".to_owned()) };
    check("bash", &[line()], &none, expect![""]);
    check("bash", &[run("git log"), line()], &none, expect![""]);
    check("bash", &[run(&format!("echo {}", "x".repeat(300)))], &none, expect![""]);
    let argv = vec!["echo".to_owned(), String::new()];
    check(
        "bash",
        &[ResolvedAccess::Shell { command: CommandLine::Argv(argv) }],
        &none,
        expect![""],
    );
    let pinned = rules(&[(RuleScope::Manifest, "bash", "git push *", RuleAction::Deny)]);
    check("bash", &[run("git push")], &pinned, expect![""]);
    let asked = rules(&[(RuleScope::Session, "bash", "git log --all $", RuleAction::Ask)]);
    check("bash", &[run("git log --all")], &asked, expect![""]);
}

#[test]
fn a_wide_rule_that_would_not_win_gives_way_to_the_exact_one() {
    let asked = rules(&[(RuleScope::Project, "bash", "git log --al", RuleAction::Ask)]);
    check("bash", &[run("git log --al")], &asked, expect![[r#"allow bash "git log --al $""#]]);
}

#[test]
fn rules_that_nobody_would_read_are_not_offered() {
    let rule_count = |count: usize| {
        let accesses: Vec<_> = (0..count).map(|number| run(&format!("rm {number}"))).collect();
        lasting("bash", &accesses, &RuleSet::default()).len()
    };
    assert_eq!(rule_count(LASTING_RULES_MAX), LASTING_RULES_MAX);
    assert_eq!(rule_count(LASTING_RULES_MAX + 1), 0);
}

#[test]
fn families_are_sorted_and_their_words_are_words() {
    assert!(FAMILIES.is_sorted_by_key(|family| family.program));
    for family in FAMILIES {
        let words = family.deeper.iter().chain(family.exact);
        assert!(words.clone().all(|word| is_plain(word)), "{}", family.program);
        assert!(
            family.deeper.iter().all(|word| !family.exact.contains(word)),
            "{}",
            family.program
        );
    }
}
