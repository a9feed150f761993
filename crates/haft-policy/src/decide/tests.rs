//! Which rule decides, and how the decision reads.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{CommandLine, PatternVariables, ToolId};

use super::{PolicyDecision, PolicyRequest, RuleRemedy, decide};
use crate::access::{PathReach, PathSubject, ResolvedAccess, SHOWN_CHARS_MAX};
use crate::decide::SUGGESTION_BYTES_MAX;
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

/// Reads rules written as `scope action permission pattern`.
fn rules(lines: &[&str]) -> RuleSet {
    let parse = |line: &&str| {
        let mut fields = line.splitn(4, ' ');
        let mut field = || fields.next().unwrap_or("*");
        let scope = match field() {
            "preset" => RuleScope::Preset,
            "builtin" => RuleScope::Builtin,
            "manifest" => RuleScope::Manifest,
            "agent" => RuleScope::Agent,
            "project" => RuleScope::Project,
            "session" => RuleScope::Session,
            other => panic!("{other:?} is no scope"),
        };
        let action = match field() {
            "allow" => RuleAction::Allow,
            "ask" => RuleAction::Ask,
            "deny" => RuleAction::Deny,
            other => panic!("{other:?} is no action"),
        };
        (scope, Rule::new(field(), field(), action))
    };
    let variables =
        PatternVariables { workspace: vec![PathBuf::from("/work")], ..PatternVariables::default() };
    RuleSet::compile(lines.iter().map(parse), &variables, Conditions::default()).unwrap()
}

/// Reads an access written as `read path`, `write path`, `net host`, `run words`, `line text` or `use name`.
fn access(text: &str) -> ResolvedAccess {
    let (kind, rest) = text.split_once(' ').unwrap();
    let path = || match Path::new(rest).strip_prefix("/work") {
        Err(_) if rest.starts_with('/') => PathSubject::outside_roots(rest),
        Ok(relative) => PathSubject::in_root(Path::new("/work"), relative),
        Err(_) => PathSubject::in_root(Path::new("/work"), Path::new(rest)),
    };
    match kind {
        "read" => ResolvedAccess::Read { path: path() },
        "write" => ResolvedAccess::Write { path: path() },
        "read-tree" => ResolvedAccess::Read { path: path().with_reach(PathReach::Tree) },
        "write-tree" => ResolvedAccess::Write { path: path().with_reach(PathReach::Tree) },
        "net" => ResolvedAccess::Net { host: rest.to_owned() },
        "run" => shell(&rest.split(' ').collect::<Vec<_>>()),
        "line" => ResolvedAccess::Shell { command: CommandLine::Unknown(rest.to_owned()) },
        "use" => ResolvedAccess::Named { name: rest.to_owned() },
        other => panic!("{other:?} is no kind of access"),
    }
}

fn shell(argv: &[&str]) -> ResolvedAccess {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    ResolvedAccess::Shell { command: CommandLine::Argv(argv) }
}

fn decide_on(lines: &[&str], tool: &str, accesses: &[ResolvedAccess]) -> PolicyDecision {
    let tool = ToolId::parse(tool).unwrap();
    decide(&PolicyRequest { tool: &tool, accesses }, &rules(lines))
}

#[track_caller]
fn check(lines: &[&str], tool: &str, accesses: &[&str], expected: Expect) {
    let accesses: Vec<_> = accesses.iter().map(|text| access(text)).collect();
    expected.assert_eq(&decide_on(lines, tool, &accesses).explain());
}

#[track_caller]
fn check_action(lines: &[&str], tool: &str, text: &str, expected: RuleAction) {
    assert_eq!(
        decide_on(lines, tool, &[access(text)]).action,
        expected,
        "{tool} {text}: {lines:?}"
    );
}

#[test]
fn a_servers_tool_is_named_as_the_server_does() {
    let check = |lines: &[&str], expect: RuleAction| {
        check_action(lines, "git_status", "use mcp:git:status", expect);
    };
    check(&["manifest allow mcp:git:status *"], RuleAction::Allow);
    check(&["manifest allow mcp:git:* *"], RuleAction::Allow);
    check(&["manifest allow mcp:git:log *", "manifest allow mcp:fs:* *"], RuleAction::Ask);
    // As exact as the tool's id, and more exact than all of the server.
    check(&["manifest allow mcp:git:* *", "manifest deny mcp:git:status *"], RuleAction::Deny);
    check(&["manifest deny mcp:* *", "project allow mcp:git:status *"], RuleAction::Deny);
    check(&["manifest ask git_* *", "manifest allow mcp:git:status *"], RuleAction::Allow);
    // Another tool of that id is not the server's.
    check_action(
        &["manifest allow mcp:git:status *"],
        "git_status",
        "use calendar",
        RuleAction::Ask,
    );
}

#[test]
fn without_rules_everything_asks() {
    check(
        &[],
        "bash",
        &["run npm test"],
        expect![[
            r#"bash needs approval for shell.run of "npm test": no rule matches, and then the answer is ask; the rule `allow bash "npm test"` would allow it"#
        ]],
    );
    check(
        &[],
        "todo",
        &[],
        expect![[
            r#"todo needs approval: no rule matches, and then the answer is ask; the rule `allow todo "*"` would allow it"#
        ]],
    );
    check(
        &[],
        "web_fetch",
        &["net Example.com"],
        expect![[
            r#"web_fetch needs approval for net.fetch of "Example.com": no rule matches, and then the answer is ask; the rule `allow web_fetch "example.com"` would allow it"#
        ]],
    );
    check(
        &[],
        "cal",
        &["use calendar"],
        expect![[
            r#"cal needs approval for use of "calendar": no rule matches, and then the answer is ask; the rule `allow cal "calendar"` would allow it"#
        ]],
    );
}

#[test]
fn the_more_exact_permission_wins() {
    let lines = ["manifest allow bash *", "manifest deny shell.run git push"];
    check_action(&lines, "bash", "run git push", RuleAction::Allow);
    check_action(&lines, "other", "run git push", RuleAction::Deny);
    check_action(
        &["manifest allow shell.run", "session deny shell.* git push"],
        "bash",
        "run git push",
        RuleAction::Allow,
    );
    check_action(
        &["manifest allow shell.*", "session deny * git push"],
        "bash",
        "run git push",
        RuleAction::Allow,
    );
    check_action(
        &["manifest deny shell.* git", "session allow shell.run"],
        "bash",
        "run git x",
        RuleAction::Deny,
    );
}

#[test]
fn then_the_longer_literal_prefix_wins() {
    let lines = ["session allow bash git *", "project deny bash git push*"];
    check_action(&lines, "bash", "run git push", RuleAction::Deny);
    check_action(&lines, "bash", "run git log", RuleAction::Allow);
    let lines = ["session ask fs.read src/**", "project allow fs.read src/public/**"];
    check_action(&lines, "read", "read src/public/a", RuleAction::Allow);
    check_action(&lines, "read", "read src/a", RuleAction::Ask);
    let lines = [
        "session deny net.fetch *",
        "project allow net.fetch *.example.com",
        "project deny net.fetch a.example.com",
    ];
    check_action(&lines, "web_fetch", "net b.example.com", RuleAction::Allow);
    check_action(&lines, "web_fetch", "net a.example.com", RuleAction::Deny);
    check_action(&lines, "web_fetch", "net example.com", RuleAction::Deny);
}

#[test]
fn options_in_front_of_a_subcommand_pass_no_rule_that_forbids_it() {
    let lines = ["manifest allow bash git *", "session deny bash git push*"];
    for line in ["-C . push", "--no-pager push", "-P push -f", "--git-dir=x -p push"] {
        check_action(&lines, "bash", &format!("run git {line}"), RuleAction::Deny);
    }
    check_action(&lines, "bash", "run git -C push log", RuleAction::Allow);
    // An allow says only what it says.
    let lines = ["session allow bash git push*"];
    check_action(&lines, "bash", "run git -C . push", RuleAction::Ask);
    // Spelled out it is the closer rule.
    let lines = ["session deny bash git push*", "session allow bash git -C . push"];
    check_action(&lines, "bash", "run git -C . push", RuleAction::Allow);
}

#[test]
fn relative_and_absolute_prefixes_compare() {
    for allow in ["/work/src", "{workspace}/src", "src", "/work/src/**", "{workspace}/src/*"] {
        let allow = format!("session allow fs.read {allow}");
        check_action(
            &[&allow, "project deny fs.read src/secret"],
            "read",
            "read src/secret",
            RuleAction::Deny,
        );
        check_action(
            &[&allow, "project deny fs.read /work/src/secret"],
            "read",
            "read src/secret",
            RuleAction::Deny,
        );
        check_action(
            &[&allow, "project deny fs.read src/*"],
            "read",
            "read src/a",
            RuleAction::Allow,
        );
    }
    // All of the workspace is no more specific than anything.
    let lines = ["project allow fs.read {workspace}/**", "project deny fs.read **/.env"];
    check_action(&lines, "read", "read a/.env", RuleAction::Deny);
}

#[test]
fn then_the_nearer_scope_then_the_stricter_action() {
    check_action(
        &["manifest ask bash git", "project allow bash git"],
        "bash",
        "run git x",
        RuleAction::Allow,
    );
    check_action(
        &["session deny bash git", "project allow bash git"],
        "bash",
        "run git x",
        RuleAction::Deny,
    );
    check_action(
        &["session allow bash git", "project deny bash git"],
        "bash",
        "run git x",
        RuleAction::Allow,
    );
    check_action(
        &["session allow bash git", "session ask bash git"],
        "bash",
        "run git x",
        RuleAction::Ask,
    );
    check_action(
        &["session deny bash git", "session ask bash git"],
        "bash",
        "run git x",
        RuleAction::Deny,
    );
}

#[test]
fn a_deny_of_the_manifest_is_pinned() {
    check(
        &["manifest deny shell.run git push*", "session allow bash git push origin"],
        "bash",
        &["run git push origin"],
        expect![[
            r#"bash is denied shell.run of "git push origin": the manifest rule `deny shell.run "git push*"` decides; what the manifest denies only the manifest can allow"#
        ]],
    );
    // The manifest itself may make an exception.
    let lines = ["manifest deny bash *", "manifest allow bash git status"];
    check_action(&lines, "bash", "run git status", RuleAction::Allow);
    check_action(&lines, "bash", "run git push", RuleAction::Deny);
    // A question of the manifest can be answered for good.
    check_action(
        &["manifest ask bash *", "project allow bash *"],
        "bash",
        "run git",
        RuleAction::Allow,
    );
}

#[test]
fn what_haft_itself_denies_the_manifest_cannot_allow() {
    check(
        &["builtin deny fs.write **/.git/hooks/**", "manifest allow edit .git/hooks/a"],
        "edit",
        &["write .git/hooks/a"],
        expect![[
            r#"edit is denied fs.write of ".git/hooks/a": the built-in rule `deny fs.write "**/.git/hooks/**"` decides; what haft itself denies no rule allows"#
        ]],
    );
    // It may except something from its own denies.
    let lines = ["builtin deny fs.write state", "builtin allow fs.write state/outputs"];
    check_action(&lines, "edit", "write state/outputs/a", RuleAction::Allow);
    check_action(&lines, "edit", "write state/a", RuleAction::Deny);
}

#[test]
fn of_the_commands_of_a_line_the_strictest_decides_and_is_named() {
    let lines = ["preset allow bash", "manifest deny bash rm -rf *", "project ask bash git push"];
    check(
        &lines,
        "bash",
        &["run cd x", "run git push", "run rm -rf build", "run ls"],
        expect![[
            r#"bash is denied shell.run of "rm -rf build": the manifest rule `deny bash "rm -rf *"` decides; what the manifest denies only the manifest can allow"#
        ]],
    );
    check(
        &lines,
        "bash",
        &["run cd x", "run git push", "run ls"],
        expect![[
            r#"bash needs approval for shell.run of "git push": the project rule `ask bash "git push"` decides; the rule `allow bash "git push"` would allow it"#
        ]],
    );
    // Only the unknown part of a line asks, and the other parts are judged as they are.
    check(
        &lines,
        "bash",
        &["run ls", "line rm $x", "run git log"],
        expect![[
            r#"bash needs approval for shell.run of "rm $x": not all of its words are known, and the project rule `ask bash "git push"` may match them; while that rule stands, no added rule allows it"#
        ]],
    );
    check(
        &lines,
        "bash",
        &["line rm $x", "run rm -rf build"],
        expect![[
            r#"bash is denied shell.run of "rm -rf build": the manifest rule `deny bash "rm -rf *"` decides; what the manifest denies only the manifest can allow"#
        ]],
    );
}

#[test]
fn a_preset_fills_only_what_is_left_open() {
    let lines = ["preset deny bash git push", "manifest allow *"];
    check_action(&lines, "bash", "run git push", RuleAction::Allow);
    check_action(
        &["preset allow *", "project deny bash git"],
        "bash",
        "run git x",
        RuleAction::Deny,
    );
    check_action(&["preset allow *", "project deny bash git"], "bash", "run ls", RuleAction::Allow);
    check(
        &["preset deny fs.write"],
        "edit",
        &["write src/a"],
        expect![[
            r#"edit is denied fs.write of "src/a": the preset rule `deny fs.write "*"` decides; the rule `allow edit "src/a"` would allow it"#
        ]],
    );
}

#[test]
fn of_several_accesses_the_strictest_decides() {
    let lines = ["project allow fs.write src", "session deny fs.write src/gen"];
    check(
        &lines,
        "apply_patch",
        &["write src/a", "write docs/b", "write docs/c"],
        expect![[
            r#"apply_patch needs approval for fs.write of "docs/b": no rule matches, and then the answer is ask; the rule `allow apply_patch "docs/b"` would allow it"#
        ]],
    );
    check(
        &lines,
        "apply_patch",
        &["write docs/b", "write src/gen/x", "write src/a"],
        expect![[
            r#"apply_patch is denied fs.write of "src/gen/x": the session rule `deny fs.write "src/gen"` decides; that rule would have to change"#
        ]],
    );
    check(
        &lines,
        "apply_patch",
        &["write src/a", "write src/b"],
        expect![[
            r#"apply_patch may do fs.write of "src/a": the project rule `allow fs.write "src"` decides"#
        ]],
    );
}

#[test]
fn a_call_that_touches_nothing_is_judged_on_its_tool() {
    check(
        &["manifest allow todo"],
        "todo",
        &[],
        expect![[r#"todo is allowed: the manifest rule `allow todo "*"` decides"#]],
    );
    check(
        &["manifest deny to*"],
        "todo",
        &[],
        expect![[
            r#"todo is denied: the manifest rule `deny to* "*"` decides; what the manifest denies only the manifest can allow"#
        ]],
    );
    assert_eq!(decide_on(&["project allow todo x"], "todo", &[]).action, RuleAction::Ask);
    assert_eq!(decide_on(&["project allow fs.read"], "todo", &[]).action, RuleAction::Ask);
}

#[test]
fn a_command_that_is_not_known_is_allowed_only_without_narrower_rules() {
    check_action(&["session allow bash *"], "bash", "line ls | wc", RuleAction::Allow);
    check_action(&["session allow bash ls*"], "bash", "line ls | wc", RuleAction::Ask);
    check_action(
        &["session allow bash *", "project deny shell.run *"],
        "bash",
        "line ls | wc",
        RuleAction::Allow,
    );
    check_action(&["project deny shell.run *"], "bash", "line ls | wc", RuleAction::Deny);
    check(
        &["session allow bash *", "manifest deny shell.run git push"],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": not all of its words are known, and the manifest rule `deny shell.run "git push"` may match them; while that rule stands, no added rule allows it"#
        ]],
    );
    check(
        &["session allow bash *", "project ask bash rm *"],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": not all of its words are known, and the project rule `ask bash "rm *"` may match them; while that rule stands, no added rule allows it"#
        ]],
    );
    check(
        &["manifest deny bash git push"],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": not all of its words are known, and the manifest rule `deny bash "git push"` may match them; while that rule stands, no added rule allows it"#
        ]],
    );
    check(
        &["project ask bash *", "manifest deny bash rm"],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": the project rule `ask bash "*"` decides; the manifest rule `deny bash "rm"` would have to change, since it may match part of the command"#
        ]],
    );
    check(
        &["preset allow *", "preset deny bash rm"],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": not all of its words are known, and the preset rule `deny bash "rm"` may match them; the rule `allow bash "*"` would allow it"#
        ]],
    );
    check(
        &[],
        "bash",
        &["line ls | wc"],
        expect![[
            r#"bash needs approval for shell.run of "ls | wc": no rule matches, and then the answer is ask; the rule `allow bash "*"` would allow it"#
        ]],
    );
    // A preset stays out of what a written rule decides.
    check_action(
        &["preset deny bash rm", "project allow bash"],
        "bash",
        "line ls | wc",
        RuleAction::Allow,
    );
}

#[test]
fn explanations_name_the_rule_and_the_way_out() {
    check(
        &["project deny bash git push*"],
        "bash",
        &["run git push origin"],
        expect![[
            r#"bash is denied shell.run of "git push origin": the project rule `deny bash "git push*"` decides; that rule would have to change"#
        ]],
    );
    check(
        &["session deny bash git push*"],
        "bash",
        &["run git push"],
        expect![[
            r#"bash is denied shell.run of "git push": the session rule `deny bash "git push*"` decides; that rule would have to change"#
        ]],
    );
    check(
        &["session deny bash *"],
        "bash",
        &["run git push"],
        expect![[
            r#"bash is denied shell.run of "git push": the session rule `deny bash "*"` decides; that rule would have to change"#
        ]],
    );
    check(
        &["project ask fs.read /etc/**"],
        "read",
        &["read /etc/passwd"],
        expect![[
            r#"read needs approval for fs.read of "/etc/passwd": the project rule `ask fs.read "/etc/**"` decides; the rule `allow read "/etc/passwd"` would allow it"#
        ]],
    );
    check(
        &["project deny grep"],
        "grep",
        &["read /work"],
        expect![[
            r#"grep is denied fs.read of ".": the project rule `deny grep "*"` decides; that rule would have to change"#
        ]],
    );
    check(
        &["session allow bash git *"],
        "bash",
        &["run git status"],
        expect![[
            r#"bash may do shell.run of "git status": the session rule `allow bash "git *"` decides"#
        ]],
    );
    check(
        &["session allow bash"],
        "read",
        &["read src"],
        expect![[
            r#"read needs approval for fs.read of "src": no rule matches, and then the answer is ask; the rule `allow read "src"` would allow it"#
        ]],
    );
    check(
        &["project ask fs.*"],
        "bash",
        &["read src"],
        expect![[
            r#"bash needs approval for fs.read of "src": the project rule `ask fs.* "*"` decides; the rule `allow fs.read "src"` would allow it"#
        ]],
    );
    check(
        &["project deny bash"],
        "bash",
        &["read src"],
        expect![[
            r#"bash is denied fs.read of "src": the project rule `deny bash "*"` decides; that rule would have to change"#
        ]],
    );
    check(
        &["manifest deny bash *"],
        "bash",
        &["line a; b"],
        expect![[
            r#"bash is denied shell.run of "a; b": the manifest rule `deny bash "*"` decides; what the manifest denies only the manifest can allow"#
        ]],
    );
}

#[test]
fn suggested_patterns_spell_the_command_and_nothing_more() {
    let pattern = |argv: &[&str]| match decide_on(&[], "bash", &[shell(argv)]).remedy {
        Some(RuleRemedy::Add(rule)) => rule.pattern,
        other => panic!("{other:?} adds no rule"),
    };
    assert_eq!(pattern(&["git", "commit", "-m", "a  b*"]), "git commit -m a[ ][ ]b[*]");
    assert_eq!(pattern(&["git", "commit", "-m", "", "x"]), "git commit -m *");
    let longest = "x".repeat(SUGGESTION_BYTES_MAX - "echo ".len());
    assert_eq!(pattern(&["echo", &longest]), format!("echo {longest}"));
    assert_eq!(pattern(&["echo", &(longest + "x")]), "echo *");
    assert_eq!(pattern(&[]), "*");
}

#[test]
fn a_long_command_is_cut_in_messages() {
    let shown = |chars: usize| shell(&["é".repeat(chars).as_str()]).to_string();
    let longest = "é".repeat(SHOWN_CHARS_MAX);
    assert_eq!(shown(SHOWN_CHARS_MAX), format!("shell.run of \"{longest}\""));
    assert_eq!(shown(SHOWN_CHARS_MAX + 1), format!("shell.run of \"{longest}…\""));
}

#[test]
fn what_reaches_all_beneath_a_directory_asks_where_a_deny_may_be_met() {
    let of = |deny: &str, access: &str, action| {
        let lines = ["preset allow fs.* {workspace}/**", "preset allow bash", deny];
        check_action(&lines, "bash", access, action);
    };
    for (pattern, trees, others) in [
        ("secret/**", &[".", "/work"][..], &["src", "secrets", "a/secret", "/etc"][..]),
        ("a/b/c", &[".", "a", "a/b"], &["b", "a/c", "a/bb", "a/b/d"]),
        ("**/.env", &[".", "src", "src/a"], &["/etc"]),
        (".env", &[".", "src"], &["/etc"]),
        ("src/*/x", &[".", "src", "src/a"], &["docs", "src/a/y"]),
        ("/work/src/x", &[".", "src", "/"], &["docs", "/etc"]),
        ("{workspace}/src/**/x", &[".", "src", "src/a/b", "/"], &["docs", "/etc"]),
    ] {
        let denies =
            [format!("manifest deny fs.read {pattern}"), format!("session ask fs.* {pattern}")];
        for deny in &denies {
            let lines = ["manifest allow fs.read", deny];
            for tree in trees {
                let access = format!("read-tree {tree}");
                check_action(&lines, "bash", &access, RuleAction::Ask);
                check_action(&lines, "bash", &access.replace("-tree", ""), RuleAction::Allow);
            }
            for other in others {
                check_action(&lines, "bash", &format!("read-tree {other}"), RuleAction::Allow);
            }
        }
    }
    of("manifest deny fs.read secret/**", "read-tree secret", RuleAction::Deny);
    of("manifest deny fs.read secret/**", "read-tree secret/a", RuleAction::Deny);
    of("manifest deny fs.write src/gen/**", "write-tree src", RuleAction::Ask);
    of("manifest deny fs.write src/gen/**", "read-tree src", RuleAction::Allow);
    of("manifest deny bash rm", "read-tree src", RuleAction::Allow);
    of("manifest deny shell.run rm", "write-tree src", RuleAction::Allow);
    // Without a rule about something beneath, nothing changes.
    check_action(
        &["preset allow fs.read {workspace}/**"],
        "bash",
        "read-tree .",
        RuleAction::Allow,
    );
}

#[test]
fn an_allow_of_a_tree_covers_all_of_it() {
    let check = |pattern: &str, access: &str, action| {
        let allow = format!("session allow fs.read {pattern}");
        check_action(&[&allow], "bash", access, action);
    };
    for pattern in ["src", "src/**", "**", "{workspace}/**", "s*/**", "src/**/*"] {
        check(pattern, "read-tree src/gen", RuleAction::Allow);
    }
    for pattern in ["src/*", "**/gen", "*/gen"] {
        check(pattern, "read-tree src/gen", RuleAction::Ask);
        check(pattern, "read src/gen", RuleAction::Allow);
    }
}

#[test]
fn a_tree_in_which_a_deny_may_be_met_is_explained() {
    check(
        &["preset allow *", "manifest deny fs.read secret/**"],
        "bash",
        &["run rg x", "read-tree ."],
        expect![[
            r#"bash needs approval for fs.read of ".": it reaches all beneath, and the manifest rule `deny fs.read "secret/**"` may match something there; while that rule stands, no added rule allows it"#
        ]],
    );
    check(
        &["project deny fs.read *", "session ask fs.read secret/**"],
        "bash",
        &["read-tree ."],
        expect![[
            r#"bash is denied fs.read of ".": the project rule `deny fs.read "*"` decides; the session rule `ask fs.read "secret/**"` would have to change, since it may match something beneath"#
        ]],
    );
}

/// Decides beneath a restriction.
#[track_caller]
fn check_beneath(ceiling: &[&str], lines: &[&str], question: (&str, &str), expected: Expect) {
    let tool = ToolId::parse(question.0).unwrap();
    let accesses = [access(question.1)];
    let rules = rules(lines).restricted_by(&rules(ceiling));
    let decision = decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &rules);
    expected.assert_eq(&decision.explain());
}

#[test]
fn a_ceiling_takes_away_and_gives_nothing() {
    let allowed = &["session allow * *"];
    let ceiling = &["agent deny fs.write *", "agent allow fs.write docs/**", "agent allow bash *"];
    check_beneath(
        ceiling,
        allowed,
        ("edit", "write docs/a"),
        expect![[r#"edit may do fs.write of "docs/a": the session rule `allow * "*"` decides"#]],
    );
    check_beneath(
        ceiling,
        allowed,
        ("edit", "write src/a"),
        expect![[
            r#"edit is denied fs.write of "src/a": the agent rule `deny fs.write "*"` decides; what an agent's file denies no answer and no rule elsewhere allows"#
        ]],
    );
    // Its allows do not lift the decisions of the others.
    check_beneath(
        ceiling,
        &["manifest ask bash git*"],
        ("bash", "run git push"),
        expect![[
            r#"bash needs approval for shell.run of "git push": the manifest rule `ask bash "git*"` decides; the rule `allow bash "git push"` would allow it"#
        ]],
    );
    check_beneath(
        ceiling,
        &[],
        ("read", "read a"),
        expect![[
            r#"read needs approval for fs.read of "a": no rule matches, and then the answer is ask; the rule `allow read "a"` would allow it"#
        ]],
    );
}

#[test]
fn what_lifts_a_rule_is_not_offered_where_a_ceiling_stands() {
    let asking = &["agent ask bash git push*"];
    let question = ("bash", "run git push");
    check_beneath(
        asking,
        &["session allow bash *"],
        question,
        expect![[
            r#"bash needs approval for shell.run of "git push": the agent rule `ask bash "git push*"` decides; it asks every time, until the agent's file says otherwise"#
        ]],
    );
    check_beneath(
        asking,
        &["project deny bash *"],
        question,
        expect![[
            r#"bash is denied shell.run of "git push": the project rule `deny bash "*"` decides; whatever else is allowed, the agent rule `ask bash "git push*"` stands"#
        ]],
    );
}
