use haft_contract::{PatternVariables, RequirementSet, ToolId};

use super::*;
use crate::access::ResolvedAccess;
use crate::capability::Capabilities;
use crate::rule::{Conditions, Rule};
use crate::rule_set::RuleSet;

const ROOT: &str = "/work/app";

/// Compiles lines such as `manifest deny fs.read .env`.
fn compiled(lines: &[&str]) -> RuleSet {
    let rules = lines.iter().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [scope, action, permission, pattern] = words[..] else { panic!("{line}") };
        let scope = match scope {
            "preset" => RuleScope::Preset,
            "manifest" => RuleScope::Manifest,
            "agent" => RuleScope::Agent,
            "project" => RuleScope::Project,
            "session" => RuleScope::Session,
            other => panic!("{other}"),
        };
        let action = match action {
            "allow" => RuleAction::Allow,
            "ask" => RuleAction::Ask,
            "deny" => RuleAction::Deny,
            other => panic!("{other}"),
        };
        (scope, Rule::new(permission, pattern, action))
    });
    let variables =
        PatternVariables { workspace: vec![ROOT.into()], ..PatternVariables::default() };
    RuleSet::compile(rules, &variables, Conditions::default()).unwrap()
}

fn grant(lines: &[&str]) -> Grant {
    let none = Capabilities::compile(&RequirementSet::default(), &PatternVariables::default());
    Grant::of_call(&ToolId::parse("bash").unwrap(), &none.unwrap(), &compiled(lines))
}

fn subject(relative: &str) -> PathSubject {
    PathSubject::in_root(Path::new(ROOT), Path::new(relative))
}

/// Says of each path what is kept from a process: `r` reading, `w` changing.
fn check(lines: &[&str], expect: &[(&str, &str)]) {
    let denials = grant(lines).path_denials();
    for (path, kept) in expect {
        let path = subject(path);
        let mut found = String::new();
        found.extend(denials.denies_read(&path).then_some('r'));
        found.extend(denials.denies_write(&path).then_some('w'));
        assert_eq!(found, *kept, "{path} under {lines:?}");
    }
    assert_eq!(denials.is_empty(), expect.iter().all(|(_, kept)| kept.is_empty()), "{lines:?}");
}

const PRESET: &str = "preset allow fs.read {workspace}/**";

#[test]
fn a_deny_on_a_path_is_kept_from_processes() {
    check(
        &[PRESET, "manifest deny fs.read .env", "manifest deny fs.write Cargo.lock"],
        &[
            (".env", "r"),
            ("deep/down/.env", "r"),
            (".env/below", "r"),
            (".env.example", ""),
            ("Cargo.lock", "w"),
            ("src/main.rs", ""),
            ("", ""),
        ],
    );
    check(
        &[PRESET, "manifest deny * *.pem", "project deny fs.* vault/**"],
        &[("a/b.pem", "rw"), ("vault", "rw"), ("vault/a/b", "rw"), ("a/b.pub", "")],
    );
}

#[test]
fn an_exception_stays_open_by_the_order_of_rules() {
    check(
        &[
            PRESET,
            "manifest deny fs.read secrets/**",
            "manifest allow fs.read secrets/public.txt",
            "session allow fs.read secrets/key",
        ],
        &[
            ("secrets", "r"),
            ("secrets/key", "r"),
            ("secrets/public.txt", ""),
            ("secrets/sub/public.txt", "r"),
        ],
    );
}

#[test]
fn what_is_allowed_to_a_tool_as_a_whole_lifts_no_deny_on_a_path() {
    check(
        &["manifest allow bash *", "project deny fs.read .env", "session allow * *"],
        &[(".env", "r"), ("src", "")],
    );
}

#[test]
fn a_rule_about_every_path_counts_if_it_names_files() {
    check(
        &["manifest deny fs.write *", "manifest allow fs.write out/**"],
        &[("", "w"), ("src", "w"), ("out", ""), ("out/a", "")],
    );
    check(&["manifest deny * *", "manifest allow bash ls*"], &[("", ""), ("src", "")]);
    check(&["manifest ask fs.read *", "manifest ask * *"], &[("", ""), ("src", "")]);
    // The order of rules puts the rule for the tool first.
    let lines = ["preset deny fs.write *", "session allow bash *"];
    let denials = grant(&lines).path_denials();
    assert!(!denials.denies_write(&subject("src")));
    check(&["preset deny fs.write *"], &[("src", "w")]);
}

#[test]
fn what_asks_is_kept_until_it_was_answered() {
    let lines = [PRESET, "manifest ask fs.read notes/**", "manifest deny fs.read notes/x/**"];
    check(&lines, &[("notes", "r"), ("notes/a", "r"), ("notes/x/a", "r"), ("src", "")]);
    let answered = grant(&lines).with_allowed(&[ResolvedAccess::Read { path: subject("notes") }]);
    let denials = answered.path_denials();
    let denied = ["notes", "notes/a", "notes/x/a"].map(|it| denials.denies_read(&subject(it)));
    assert_eq!(denied, [false, false, true]);
}

#[test]
fn a_restriction_keeps_more_back_and_lifts_nothing() {
    let none = Capabilities::compile(&RequirementSet::default(), &PatternVariables::default());
    let rules = compiled(&[PRESET, "manifest deny fs.read .env"]);
    let agent = compiled(&["agent deny fs.read docs/**", "agent allow fs.read .env"]);
    let rules = rules.restricted_by(&agent);
    let grant = Grant::of_call(&ToolId::parse("bash").unwrap(), &none.unwrap(), &rules);
    let denials = grant.path_denials();
    let denied = [".env", "docs/a", "src"].map(|it| denials.denies_read(&subject(it)));
    assert_eq!(denied, [true, true, false]);
    assert_eq!(denials.read_rule(&subject("docs/a")).unwrap().scope, RuleScope::Agent);
}

/// A path of a name that no rule speaks of is kept as its directory is.
#[test]
fn names_decide_which_paths_are_looked_at() {
    let sets: &[&[&str]] = &[
        &["manifest deny fs.read .env"],
        &["manifest deny fs.read secrets/**", "manifest allow fs.read secrets/a/b"],
        &["manifest deny fs.read secrets/*", "manifest allow fs.read secrets/a"],
        &["manifest deny fs.read **/a/*.key", "manifest deny fs.write b"],
        &["manifest deny fs.write *", "manifest allow fs.write b/**"],
        &["manifest deny fs.read [ab]/c", "manifest allow fs.read a/c/b"],
        &["manifest deny fs.read /work/app/a/**", "manifest deny * **/b/**"],
        &["manifest deny fs.read ./**", "manifest allow fs.read {workspace}/a/*"],
    ];
    let names = ["a", "b", "c", "secrets", ".env", "x.key"];
    let mut paths = vec![String::new()];
    for depth in 0..3 {
        let above: Vec<String> =
            paths.iter().filter(|it| it.matches('/').count() == depth).cloned().collect();
        for path in above {
            paths.extend(names.iter().map(|name| format!("{path}/{name}")));
        }
    }
    for lines in sets {
        let denials = grant(lines).path_denials();
        for path in &paths {
            let path = path.trim_start_matches('/');
            let directory = subject(path);
            // A name that no rule has.
            let beneath = subject(&format!("{path}/\u{1}no name"));
            for name in names {
                let entry = subject(format!("{path}/{name}").trim_start_matches('/'));
                let is_looked_at =
                    denials.may_concern(name.as_bytes()) || denials.picks_all_in(&directory);
                if !is_looked_at {
                    assert_eq!(
                        (denials.denies_read(&entry), denials.denies_write(&entry)),
                        (denials.denies_read(&beneath), denials.denies_write(&beneath)),
                        "{entry} under {lines:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_place_outside_the_roots_is_named_by_itself() {
    let lines = [
        "manifest deny fs.read /opt/company/**",
        "manifest deny fs.read /opt/*.key",
        "manifest deny fs.read /work/app/x",
        "manifest deny fs.read /work/**",
        "manifest deny fs.read /usr/share/x",
        "manifest allow fs.read /usr/share/x",
    ];
    let outside = grant(&lines).path_denials().outside(&[ROOT.into()]);
    assert_eq!(outside, [PathBuf::from("/opt/company"), "/usr/share/x".into()]);
}

#[test]
fn it_is_known_which_rules_the_kernel_holds() {
    let rules = compiled(&[
        PRESET,
        "manifest deny fs.read .env",
        "manifest deny fs.write *",
        "manifest deny read secrets",
        "manifest deny * *",
        "manifest deny fs.read /opt/*.key",
        "manifest deny fs.read /opt/company",
        "manifest ask fs.read notes/**",
        "manifest ask fs.read *",
        "manifest deny bash rm*",
    ]);
    let held = held_rules(&rules, &[ROOT.into()]);
    let held: Vec<_> = held.iter().map(|it| (it.rule.rule.to_string(), it.not_held)).collect();
    let expect = [
        ("deny fs.read \".env\"", None),
        ("deny fs.write \"*\"", None),
        ("deny read \"secrets\"", Some(NotHeldReason::OneTool)),
        ("deny * \"*\"", Some(NotHeldReason::EveryCall)),
        ("deny fs.read \"/opt/*.key\"", Some(NotHeldReason::OutsideWorkspace)),
        ("deny fs.read \"/opt/company\"", None),
        ("ask fs.read \"notes/**\"", None),
    ];
    assert_eq!(held, expect.map(|(rule, not_held)| (rule.to_owned(), not_held)));
}
