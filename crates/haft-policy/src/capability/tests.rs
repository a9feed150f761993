//! The accesses inside of requirements, and the texts of refusals.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{
    ArgPattern, CommandLine, FsRequirement, NetRequirement, PatternVariables, RequirementSet,
    ShellRequirement,
};

use super::Capabilities;
use crate::access::{PathSubject, ResolvedAccess};

fn variables() -> PatternVariables {
    PatternVariables {
        workspace: vec![PathBuf::from("/work"), PathBuf::from("/more")],
        ..PatternVariables::default()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn requires_paths(read: &[&str], write: &[&str]) -> RequirementSet {
    let fs = FsRequirement { read: texts(read), write: texts(write) };
    RequirementSet { fs, ..RequirementSet::default() }
}

fn requires_hosts(hosts: &[&str]) -> RequirementSet {
    RequirementSet { net: NetRequirement { hosts: texts(hosts) }, ..RequirementSet::default() }
}

fn requires_shell(shell: &[(&str, Option<Vec<ArgPattern>>)]) -> RequirementSet {
    let requirement = |(cmd, args): &(&str, Option<Vec<ArgPattern>>)| ShellRequirement {
        cmd: (*cmd).to_owned(),
        args: args.clone(),
    };
    RequirementSet { shell: shell.iter().map(requirement).collect(), ..RequirementSet::default() }
}

fn inside(relative: &str) -> PathSubject {
    PathSubject::in_root(Path::new("/work"), Path::new(relative))
}

fn read(path: PathSubject) -> ResolvedAccess {
    ResolvedAccess::Read { path }
}

fn write(path: PathSubject) -> ResolvedAccess {
    ResolvedAccess::Write { path }
}

fn run(argv: &[&str]) -> ResolvedAccess {
    ResolvedAccess::Shell { command: CommandLine::Argv(texts(argv)) }
}

#[track_caller]
fn check(requires: &RequirementSet, access: &ResolvedAccess, expected: Expect) {
    let capabilities = Capabilities::compile(requires, &variables()).unwrap();
    let found =
        capabilities.check(access).map_or_else(|err| err.to_string(), |()| "inside".to_owned());
    expected.assert_eq(&found);
}

#[test]
fn paths_lie_inside_the_patterns_of_their_capability() {
    let requires = requires_paths(&["{workspace}/**"], &["src/**", "/tmp/out"]);
    check(&requires, &read(inside("a/b")), expect!["inside"]);
    check(&requires, &read(inside("")), expect!["inside"]);
    check(&requires, &read(PathSubject::outside_roots("/more/x")), expect!["inside"]);
    check(
        &requires,
        &read(PathSubject::outside_roots("/etc/passwd")),
        expect![[
            r#"fs.read of "/etc/passwd" is outside fs.read ["{workspace}/**"]; stay inside, or grant more under requires"#
        ]],
    );
    check(&requires, &write(inside("src/a")), expect!["inside"]);
    check(&requires, &write(PathSubject::outside_roots("/tmp/out/x")), expect!["inside"]);
    check(
        &requires,
        &write(inside("docs/a")),
        expect![[
            r#"fs.write of "docs/a" is outside fs.write ["src/**", "/tmp/out"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &RequirementSet::default(),
        &read(inside("a")),
        expect![[
            r#"fs.read of "a" is outside fs.read []; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn a_star_alone_is_the_workspace_and_not_the_whole_file_system() {
    for star in ["*", "**"] {
        let requires = requires_paths(&[star], &[]);
        check(&requires, &read(inside("a/b")), expect!["inside"]);
        let capabilities = Capabilities::compile(&requires, &variables()).unwrap();
        assert!(capabilities.check(&read(PathSubject::outside_roots("/etc/passwd"))).is_err());
    }
}

#[test]
fn a_requirement_is_read_narrowly() {
    let requires = requires_paths(&["src/*"], &[]);
    check(&requires, &read(inside("src/a")), expect!["inside"]);
    check(
        &requires,
        &read(inside("src/a/b")),
        expect![[
            r#"fs.read of "src/a/b" is outside fs.read ["src/*"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn an_unresolved_path_is_never_inside() {
    let requires = requires_paths(&["{workspace}/**", "/**"], &[]);
    check(
        &requires,
        &read(inside("a/../../etc")),
        expect![[
            r#"fs.read of "a/../../etc" is outside fs.read ["{workspace}/**", "/**"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &requires,
        &read(PathSubject::outside_roots("/work/../etc")),
        expect![[
            r#"fs.read of "/work/../etc" is outside fs.read ["{workspace}/**", "/**"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn an_empty_variable_is_an_empty_scope_and_an_unknown_one_an_error() {
    let requires = requires_paths(&["{workspace}/**", "{ad-hoc}/**"], &[]);
    let nothing = Capabilities::compile(&requires, &PatternVariables::default()).unwrap();
    assert!(nothing.check(&read(inside("a"))).is_err());
    let err = |requires: &RequirementSet| {
        Capabilities::compile(requires, &variables()).unwrap_err().to_string()
    };
    expect![[r#"pattern "{worksapce}/**" cannot be used: unknown variable {worksapce}; did you mean {workspace}?"#]].assert_eq(&err(&requires_paths(&[], &["{worksapce}/**"])));
    expect![[r#"pattern "{host}" cannot be used: hosts take no variables, and it begins with {host}: write the host itself"#]].assert_eq(&err(&requires_hosts(&["{host}"])));
    expect![[r#"pattern "" cannot be used: it is blank: write * for anything"#]]
        .assert_eq(&err(&requires_paths(&[""], &[])));
    expect![[r#"pattern "~/x" cannot be used: ~ is not expanded: write an absolute path, or [~] for a name that begins so"#]].assert_eq(&err(&requires_paths(&["~/x"], &[])));
}

#[test]
fn hosts() {
    let requires = requires_hosts(&["example.com", "*.example.org"]);
    let net = |host: &str| ResolvedAccess::Net { host: host.to_owned() };
    check(&requires, &net("Example.com:443"), expect!["inside"]);
    check(&requires, &net("a.example.org."), expect!["inside"]);
    check(
        &requires,
        &net("example.org"),
        expect![[
            r#"net.fetch of "example.org" is outside net.fetch ["example.com", "*.example.org"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn commands_are_granted_by_bare_name_and_argument_by_argument() {
    let prefix = |prefix: &str| ArgPattern::Prefix { prefix: prefix.to_owned() };
    let args = vec![
        ArgPattern::Exact("log".to_owned()),
        prefix("--max="),
        ArgPattern::Wildcard { wildcard: true },
    ];
    let requires = requires_shell(&[("ls", None), ("git", Some(args)), ("true", Some(Vec::new()))]);
    check(&requires, &run(&["ls", "-l", "/"]), expect!["inside"]);
    check(
        &requires,
        &run(&["/tmp/ls"]),
        expect![[
            r#"shell.run of "/tmp/ls" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(&requires, &run(&["git", "log", "--max=3", "HEAD"]), expect!["inside"]);
    check(
        &requires,
        &run(&["git", "log", "--max=3"]),
        expect![[
            r#"shell.run of "git log --max=3" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &requires,
        &run(&["git", "log", "--max=3", "HEAD", "x"]),
        expect![[
            r#"shell.run of "git log --max=3 HEAD x" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &requires,
        &run(&["git", "log", "-n3", "HEAD"]),
        expect![[
            r#"shell.run of "git log -n3 HEAD" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(&requires, &run(&["true"]), expect!["inside"]);
    check(
        &requires,
        &run(&["true", "x"]),
        expect![[
            r#"shell.run of "true x" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &requires,
        &run(&[]),
        expect![[
            r#"shell.run of "" is outside shell.run ["ls", "git log --max=* *", "true without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn a_command_that_is_not_known_needs_any_command() {
    let unknown = ResolvedAccess::Shell { command: CommandLine::Unknown("ls | wc".to_owned()) };
    check(
        &requires_shell(&[("ls", None), ("wc", None)]),
        &unknown,
        expect![[
            r#"shell.run of "ls | wc" is outside shell.run ["ls", "wc"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        &requires_shell(&[("*", Some(Vec::new()))]),
        &unknown,
        expect![[
            r#"shell.run of "ls | wc" is outside shell.run ["* without arguments"]; stay inside, or grant more under requires"#
        ]],
    );
    check(&requires_shell(&[("*", None)]), &unknown, expect!["inside"]);
    check(&requires_shell(&[("*", None)]), &run(&["/tmp/x", "y"]), expect!["inside"]);
}

#[test]
fn a_wildcard_that_is_false_matches_nothing() {
    let args = vec![ArgPattern::Wildcard { wildcard: false }];
    check(
        &requires_shell(&[("ls", Some(args))]),
        &run(&["ls", "x"]),
        expect![[
            r#"shell.run of "ls x" is outside shell.run ["ls *"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn named_capabilities() {
    let requires =
        RequirementSet { capabilities: texts(&["calendar"]), ..RequirementSet::default() };
    let named = |name: &str| ResolvedAccess::Named { name: name.to_owned() };
    check(&requires, &named("calendar"), expect!["inside"]);
    check(
        &requires,
        &named("mail"),
        expect![[
            r#"use of "mail" is outside capabilities ["calendar"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn what_lies_within_a_bound_lies_within_both() {
    let compile =
        |read: &[&str]| Capabilities::compile(&requires_paths(read, &[]), &variables()).unwrap();
    let left = compile(&["{workspace}/**"])
        .restricted_to(&compile(&["src/**"]))
        .restricted_to(&compile(&["**/*.rs"]));
    let check = |path: &str, expected: Expect| {
        let checked = left.check(&read(inside(path)));
        expected.assert_eq(&checked.map_or_else(|err| err.to_string(), |()| "inside".to_owned()));
    };
    check("src/a.rs", expect!["inside"]);
    check(
        "a.rs",
        expect![[
            r#"fs.read of "a.rs" is outside fs.read ["src/**"]; stay inside, or grant more under requires"#
        ]],
    );
    check(
        "src/a",
        expect![[
            r#"fs.read of "src/a" is outside fs.read ["**/*.rs"]; stay inside, or grant more under requires"#
        ]],
    );
}

#[test]
fn whole_directories_are_those_that_every_bound_leaves_whole() {
    let roots = variables().workspace;
    let compile = |(read, write): (&[&str], &[&str])| {
        Capabilities::compile(&requires_paths(read, write), &variables()).unwrap()
    };
    let check = |own, bound, readable: &[&str], writable: &[&str]| {
        let trees = compile(own).restricted_to(&compile(bound)).contained_directories(&roots);
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!((trees.readable, trees.writable), (paths(readable), paths(writable)));
    };
    const ALL: &[&str] = &["{workspace}/**"];
    check((ALL, ALL), (ALL, ALL), &[], &["/more", "/work"]);
    check((ALL, ALL), (ALL, &[]), &["/more", "/work"], &[]);
    check((ALL, ALL), (&["**"], &["/work/src"]), &["/more", "/work"], &["/work/src"]);
    check(
        (ALL, ALL),
        (&["/work/docs/**", "/work/docs/a/**", "**/*.rs", "/etc/**"], ALL),
        &[],
        &["/work/docs"],
    );
    check((&["src/**"], &["src/**"]), (&["/work/src/gen"], ALL), &[], &["/work/src/gen"]);
    // A path that can be changed is read as well, so both must allow it.
    check((ALL, ALL), (&["docs"], ALL), &[], &["/more/docs", "/work/docs"]);
    check((&["/work/a"], ALL), (&["/work/b"], ALL), &[], &[]);
    check((ALL, ALL), (&["src/*", "s*/**"], &[]), &[], &[]);
}
