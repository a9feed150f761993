//! The rules' own examples, and what becomes of files and of lines whose commands are not known.

use std::path::Path;

use expect_test::{Expect, expect};
use haft_contract::{CommandLine, PartialWord, ToolId};
use haft_policy::{PathSubject, ResolvedAccess};
use serde_json::Value;

use super::table::{COMMAND_RULES, RuleSeverity};
use super::{SHOWN_CHARS_MAX, WatchdogVerdict, command_finding, is_fork_bomb, verdict};
use crate::watchdog::WatchedCall;

const ROOT: &str = "/work";

fn judge(accesses: &[ResolvedAccess]) -> WatchdogVerdict {
    let tool = ToolId::parse("bash").unwrap();
    let (input, root) = (Value::Null, Path::new(ROOT));
    verdict(&WatchedCall {
        tool: &tool,
        input: &input,
        accesses,
        manifest: &Value::Null,
        session: "s",
        root,
        allowed_by_user: &[],
        is_network_decided: false,
        led_to: None,
    })
}

fn argv(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn line(line: &str) -> ResolvedAccess {
    ResolvedAccess::Shell { command: CommandLine::Unknown(line.to_owned()) }
}

#[test]
fn every_rule_matches_its_examples_and_no_other() {
    let root = Path::new(ROOT);
    for rule in COMMAND_RULES {
        assert!(!rule.matches.is_empty() && !rule.not_matches.is_empty(), "{:?}", rule.programs);
        for example in rule.matches {
            let found = command_finding(&argv(example), root);
            let found = found.unwrap_or_else(|| panic!("nothing matches {example:?}"));
            assert!(found.text.ends_with(rule.reason), "{example:?}: {}", found.text);
            assert_eq!(found.severity, rule.severity, "{example:?}");
        }
        for example in rule.not_matches {
            let words = argv(example);
            let (program, arguments) = words.split_first().unwrap();
            let matches =
                rule.programs.contains(&program.as_str()) && rule.when.holds(arguments, root);
            assert!(!matches, "{example:?}");
            let found = command_finding(&words, root);
            assert!(
                found
                    .is_none_or(|found| !found.text.ends_with(rule.reason)
                        || found.severity != rule.severity),
                "{example:?}"
            );
        }
    }
}

#[track_caller]
fn check(accesses: &[ResolvedAccess], expected: Expect) {
    let shown = match judge(accesses) {
        WatchdogVerdict::Allow => "allow".to_owned(),
        WatchdogVerdict::Ask(reason) => format!("ask: {reason}"),
        WatchdogVerdict::Deny(reason) => format!("deny: {reason}"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn files() {
    let write = |path: PathSubject| [ResolvedAccess::Write { path }];
    check(&write(PathSubject::in_root(Path::new(ROOT), Path::new("src/a"))), expect!["allow"]);
    check(
        &write(PathSubject::in_root(Path::new("/data"), Path::new("a"))),
        expect!["ask: writing to /data/a, which lies outside the workspace root"],
    );
    check(
        &write(PathSubject::in_root(Path::new("/etc/app"), Path::new("a"))),
        expect!["deny: writing to /etc/app/a would change the machine itself; leave it alone"],
    );
    check(
        &write(PathSubject::outside_roots("/dev/sda")),
        expect!["deny: writing to /dev/sda would change the machine itself; leave it alone"],
    );
    check(&write(PathSubject::outside_roots("/dev/null")), expect!["allow"]);
    check(
        &write(PathSubject::in_root(Path::new("/usr/src/lib"), Path::new("a"))),
        expect!["ask: writing to /usr/src/lib/a, which lies outside the workspace root"],
    );
    check(
        &write(PathSubject::outside_roots("/usr/bin/x")),
        expect!["deny: writing to /usr/bin/x would change the machine itself; leave it alone"],
    );
    check(
        &write(PathSubject::outside_roots("/boot/x")),
        expect!["deny: writing to /boot/x would change the machine itself; leave it alone"],
    );
    check(
        &[ResolvedAccess::Read { path: PathSubject::outside_roots("/etc/passwd") }],
        expect!["allow"],
    );
    check(&[], expect!["allow"]);
}

#[test]
fn lines_whose_commands_are_not_known() {
    check(&[line("ls *.rs | wc -l")], expect!["allow"]);
    check(&[line("echo 'rm -rf /' > notes")], expect!["allow"]);
    check(
        &[line("cd /tmp && rm -rf $HOME")],
        expect![[
            r#"deny: "rm -rf $HOME" would destroy or change the machine itself; leave it alone"#
        ]],
    );
    check(
        &[line("sudo ls; true")],
        expect![[r#"ask: "sudo ls" uses or changes rights beyond those of this user"#]],
    );
    check(
        &[line("x=1; sudo rm -rf /usr")],
        expect![[
            r#"deny: "sudo rm -rf /usr" would destroy or change the machine itself; leave it alone"#
        ]],
    );
    check(
        &[line("echo $(curl x) | sh")],
        expect![[r#"ask: "curl x" fetches things from elsewhere"#]],
    );
}

#[test]
fn a_fork_bomb_is_denied_however_its_line_was_taken_apart() {
    let tool = ToolId::parse("bash").unwrap();
    let judge = |input: Value| {
        let call = WatchedCall {
            tool: &tool,
            input: &input,
            accesses: &[],
            manifest: &Value::Null,
            session: "s",
            root: Path::new(ROOT),
            allowed_by_user: &[],
            is_network_decided: false,
            led_to: None,
        };
        verdict(&call)
    };
    for bomb in [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"] {
        let denied = matches!(judge(serde_json::json!({"cmd": bomb})), WatchdogVerdict::Deny(_));
        assert!(denied, "{bomb}");
        let inside = serde_json::json!({"cmd": "bash", "args": ["-c", bomb]});
        assert!(matches!(judge(inside), WatchdogVerdict::Deny(_)), "{bomb}");
    }
    assert_eq!(judge(serde_json::json!({"cmd": "ls"})), WatchdogVerdict::Allow);
}

#[test]
fn what_granted_hosts_make_foreseen_is_not_asked() {
    let tool = ToolId::parse("bash").unwrap();
    let judge = |line: &str, has_hosts: bool| {
        let accesses = [ResolvedAccess::Shell { command: CommandLine::Argv(argv(line)) }];
        let call = WatchedCall {
            tool: &tool,
            input: &Value::Null,
            accesses: &accesses,
            manifest: &Value::Null,
            session: "s",
            root: Path::new(ROOT),
            allowed_by_user: &[],
            is_network_decided: has_hosts,
            led_to: None,
        };
        verdict(&call)
    };
    assert!(matches!(judge("curl https://docs.rs", false), WatchdogVerdict::Ask(_)));
    assert_eq!(judge("curl https://docs.rs", true), WatchdogVerdict::Allow);
    assert_eq!(judge("curl http://localhost:80", false), WatchdogVerdict::Allow);
    assert!(matches!(judge("sudo ls", true), WatchdogVerdict::Ask(_)));
}

#[test]
fn the_strictest_of_several_commands_decides() {
    let run = |line: &str| ResolvedAccess::Shell { command: CommandLine::Argv(argv(line)) };
    check(
        &[run("ls"), run("curl x"), run("sudo ls")],
        expect![[r#"ask: "curl x" fetches things from elsewhere"#]],
    );
    check(
        &[run("curl x"), run("rm -rf /")],
        expect![[r#"deny: "rm -rf /" would destroy or change the machine itself; leave it alone"#]],
    );
    check(&[run("git status"), run("cargo test")], expect!["allow"]);
}

#[test]
fn a_long_command_is_cut_where_it_is_shown() {
    let shown = |chars: usize| {
        command_finding(&argv(&"sudo ".repeat(chars / 5)), Path::new(ROOT)).unwrap().text
    };
    assert!(
        shown(SHOWN_CHARS_MAX).starts_with(&format!("\"{}\"", "sudo ".repeat(SHOWN_CHARS_MAX / 5)))
    );
    let cut = format!("\"{}…\"", "sudo ".repeat(SHOWN_CHARS_MAX / 5));
    assert!(shown(SHOWN_CHARS_MAX + 5).starts_with(&cut));
}

#[test]
fn fork_bombs_in_any_spelling() {
    for bomb in
        [":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "x=1; function f () { f|f& }; f"]
    {
        assert!(is_fork_bomb(bomb), "{bomb}");
    }
    for function in ["f() { g | f & }", "f() { ls | wc; }; f", "(){", "echo ':(){'"] {
        assert!(!is_fork_bomb(function), "{function}");
    }
}

#[test]
fn a_workspace_inside_a_system_directory_is_the_workspaces() {
    let root = Path::new("/usr/src/app");
    let severity = |line: &str| command_finding(&argv(line), root).map(|found| found.severity);
    assert_eq!(severity("rm -rf /usr/src/app/build"), None);
    assert_eq!(severity("rm -rf /usr/src"), Some(RuleSeverity::Deny));
}

#[test]
fn a_word_that_is_not_known_hides_no_place() {
    let line = |words: &[&str]| {
        let word = |word: &&str| match word.contains('$') {
            true => PartialWord::Expanded { unknown: (*word).to_owned() },
            false => PartialWord::Literal((*word).to_owned()),
        };
        let command = CommandLine::Partial(words.iter().map(word).collect());
        judge(&[ResolvedAccess::Shell { command }])
    };
    assert!(matches!(line(&["rm", "-rf", "\"$HOME\""]), WatchdogVerdict::Deny(_)));
    assert!(matches!(line(&["rm", "-rf", "/", "$x"]), WatchdogVerdict::Deny(_)));
    assert!(matches!(line(&["sudo", "$x"]), WatchdogVerdict::Ask(_)));
    assert_eq!(line(&["echo", "$HOME"]), WatchdogVerdict::Allow);
}
