//! The matches of patterns, in both readings, and the refused texts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::{CommandLine, PartialWord, PatternVariables};

use super::{MatchWidth, PatternDomain, PatternFit, RulePattern, escape, escape_path};
use crate::access::{PathSubject, ResolvedAccess};

/// How an access should match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// In both readings.
    Yes,
    /// For deny and ask only.
    Wide,
    No,
}
use Match::{No, Wide, Yes};

/// A pattern, and how each subject should match it.
type Row<'a, S> = (&'a str, &'a [(S, Match)]);

fn variables() -> PatternVariables {
    PatternVariables {
        workspace: vec![PathBuf::from("/work"), PathBuf::from("/more [1]")],
        ad_hoc: Vec::new(),
        user_data: vec![PathBuf::from("/home/user/data")],
    }
}

/// A relative path lies beneath `/work`; an absolute one beneath it or outside.
fn path(text: &str) -> ResolvedAccess {
    let path = Path::new(text);
    let subject = match path.strip_prefix("/work") {
        Ok(relative) => PathSubject::in_root(Path::new("/work"), relative),
        Err(_) if path.is_relative() => PathSubject::in_root(Path::new("/work"), path),
        Err(_) => PathSubject::outside_roots(path),
    };
    ResolvedAccess::Read { path: subject }
}

fn command(argv: &[&str]) -> ResolvedAccess {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    ResolvedAccess::Shell { command: CommandLine::Argv(argv) }
}

fn host(text: &str) -> ResolvedAccess {
    ResolvedAccess::Net { host: text.to_owned() }
}

#[track_caller]
fn check(domain: PatternDomain, pattern: &str, access: &ResolvedAccess, expected: Match) {
    let compiled = RulePattern::compile(pattern, domain, &variables()).unwrap();
    let found = match (
        compiled.matches(access, MatchWidth::Narrow),
        compiled.matches(access, MatchWidth::Wide),
    ) {
        (true, true) => Yes,
        (false, true) => Wide,
        (false, false) => No,
        (true, false) => panic!("{pattern:?} matches {access} narrowly and not widely"),
    };
    assert_eq!(found, expected, "{pattern:?} against {access}");
}

#[test]
fn paths() {
    let rows: &[Row<&str>] = &[
        // Anything.
        ("*", &[("a", Yes), ("a/b", Yes), ("", Yes), ("/etc/passwd", Yes)]),
        ("**", &[("a/b", Yes), ("/etc/passwd", Yes)]),
        ("", &[("a/b", Yes), ("/etc/passwd", Yes)]),
        // Plain: the path and what lies beneath, at a boundary.
        ("src", &[("src", Yes), ("src/a/b", Yes), ("srcx", No), ("a/src", Wide), ("Src", No)]),
        ("src/a.rs", &[("src/a.rs", Yes), ("src/a.rsx", No), ("src", No), ("/src/a.rs", No)]),
        ("./src//a/", &[("src/a", Yes), ("src/a/b", Yes), ("src", No)]),
        (".", &[("", Yes), ("a/b", Yes), ("/etc", No)]),
        ("/etc", &[("/etc", Yes), ("/etc/passwd", Yes), ("/etcetera", No), ("etc", No)]),
        ("/", &[("/etc", Yes), ("a", Yes)]),
        ("/work/src", &[("src", Yes), ("src/a", Yes), ("tests", No)]),
        ("a b", &[("a b", Yes), ("a b/c", Yes), ("a", No)]),
        // Globs: the whole path, and for a deny also what lies beneath.
        ("*.rs", &[("a.rs", Yes), (".rs", Yes), ("src/a.rs", Wide), ("a.rs/b", Wide)]),
        ("src/*", &[("src/a", Yes), ("src/a/b", Wide), ("src", No)]),
        ("src/*/x", &[("src/a/x", Yes), ("src/x", No), ("src/a/b/x", No)]),
        ("src/?.rs", &[("src/a.rs", Yes), ("src/é.rs", Yes), ("src/ab.rs", No)]),
        ("src/[ab].rs", &[("src/a.rs", Yes), ("src/c.rs", No)]),
        ("**/*.py", &[("a.py", Yes), ("x/y/a.py", Yes), ("a.pyc", No), ("/etc/a.py", No)]),
        ("/**/*.py", &[("/etc/a.py", Yes), ("a.py", Yes)]),
        (
            "**/.env*",
            &[(".env", Yes), ("a/.env.local", Yes), ("a/.environment/x", Wide), ("env", No)],
        ),
        (
            "**/node_modules",
            &[("node_modules", Yes), ("a/node_modules", Yes), ("a/node_modules/b", Wide)],
        ),
        ("dir/**", &[("dir", Yes), ("dir/a/b", Yes), ("direct", No)]),
        ("a/**/b", &[("a/b", Yes), ("a/x/y/b", Yes), ("a/b/c", Wide), ("a/x", No)]),
        ("a/**/b/**/c", &[("a/b/c", Yes), ("a/b/x/b/c", Yes), ("a/c", No)]),
        // Sets of one spell out glob signs.
        ("app/[[]id]", &[("app/[id]", Yes), ("app/[id]/x", Yes), ("app/i", No)]),
        ("[~]", &[("~", Yes), ("~/x", Yes)]),
        // Variables.
        ("{workspace}", &[("", Yes), ("a/b", Yes), ("/etc", No), ("/more [1]/x", Yes)]),
        ("{workspace}/**", &[("", Yes), ("a/b", Yes), ("/workx", No), ("/more 1/x", No)]),
        ("{workspace}/src", &[("src/a", Yes), ("tests", No)]),
        ("{user-data}/*", &[("/home/user/data/x", Yes), ("/home/user/data/x/y", Wide), ("x", No)]),
        ("{ad-hoc}/**", &[("a", No), ("/etc", No)]),
    ];
    for (pattern, subjects) in rows {
        for (subject, expected) in *subjects {
            check(PatternDomain::Path, pattern, &path(subject), *expected);
        }
    }
}

#[test]
fn names_that_are_not_utf8_are_matched_byte_by_byte() {
    let odd = |bytes: &[u8]| {
        let relative = PathBuf::from(OsStr::from_bytes(bytes));
        ResolvedAccess::Write { path: PathSubject::in_root(Path::new("/work"), &relative) }
    };
    check(PatternDomain::Path, "secret", &odd(b"secret/\xff"), Yes);
    check(PatternDomain::Path, "secret/*", &odd(b"secret/\xff"), Yes);
    check(PatternDomain::Path, "**/*.key", &odd(b"\xfe/\xff.key"), Yes);
    check(PatternDomain::Path, "?", &odd(b"\xff"), Yes);
    check(PatternDomain::Path, "secret", &odd(b"secret\xff"), No);
    // The replacement character is an ordinary name, so an allow for it does not reach other names.
    check(PatternDomain::Path, "\u{fffd}", &odd(b"\xff"), No);
}

#[test]
fn commands() {
    let rows: &[Row<&[&str]>] = &[
        // Plain: the words and more words.
        (
            "git push",
            &[
                (&["git", "push"], Yes),
                (&["git", "push", "origin", "main"], Yes),
                (&["git", "pushx"], No),
                (&["git"], No),
                (&["git", "", "push"], Wide),
                (&["git push"], Wide),
                (&["git", "push origin"], Wide),
                (&["/usr/bin/git", "push"], Wide),
                (&["./git", "push"], Wide),
                (&["/usr/bin/git push"], Wide),
                (&["git", "-C", "x", "push"], Wide),
                (&["/usr/bin/git", "--no-pager", "push", "x"], Wide),
                (&["git", "-c", "push"], No),
                (&["git", "-C", "push", "log"], No),
                (&[], No),
            ],
        ),
        ("  git   push ", &[(&["git", "push"], Yes), (&["git", "push", "x"], Yes)]),
        ("/usr/bin/git push", &[(&["/usr/bin/git", "push"], Yes), (&["git", "push"], No)]),
        ("rm -rf /", &[(&["rm", "-rf", "/"], Yes), (&["rm", "-rf", "/home"], No)]),
        // Globs: the whole line.
        (
            "git status*",
            &[
                (&["git", "status"], Yes),
                (&["git", "status", "-s", "a/b c"], Yes),
                (&["git", "statusx"], Yes),
                (&["git", "status; rm"], Yes),
                (&["git status; rm"], Wide),
                (&["git status", "-s"], Wide),
                (&["/opt/git", "status"], Wide),
            ],
        ),
        (
            "git status *",
            &[
                (&["git", "status"], Yes),
                (&["git", "status", "-s"], Yes),
                (&["git", "statusx"], No),
            ],
        ),
        ("git * main", &[(&["git", "push", "origin", "main"], Yes), (&["git", "main"], No)]),
        ("cat ?", &[(&["cat", "a"], Yes), (&["cat", "a", "b"], No), (&["cat", " "], Yes)]),
        ("* --version", &[(&["git", "--version"], Yes), (&["/tmp/git", "--version"], Wide)]),
        (
            "./scripts/*",
            &[
                (&["./scripts/build", "-x"], Yes),
                (&["./scripts/../../evil"], Wide),
                (&["scripts/build"], No),
            ],
        ),
        ("*/git push", &[(&["/usr/bin/git", "push"], Yes), (&["git", "push"], No)]),
        // An argument that holds white space, spelled out.
        (
            "git commit -m a[ ]b",
            &[(&["git", "commit", "-m", "a b"], Yes), (&["git", "commit", "-m", "a", "b"], No)],
        ),
        (
            "echo a[!x]b",
            &[(&["echo", "a", "b"], No), (&["echo", "a-b"], Yes), (&["echo", "a b"], Yes)],
        ),
        ("*", &[(&["anything", "at all"], Yes), (&[], Yes)]),
        (" * ", &[(&["anything"], Yes)]),
    ];
    for (pattern, subjects) in rows {
        for (subject, expected) in *subjects {
            check(PatternDomain::Command, pattern, &command(subject), *expected);
        }
    }
}

#[test]
fn a_last_dollar_sign_ends_a_command() {
    let rows: &[Row<&[&str]>] = &[
        (
            "git push $",
            &[
                (&["git", "push"], Yes),
                (&["git", "push", "origin"], No),
                (&["git", "push", "$"], No),
                (&["/usr/bin/git", "push"], Wide),
            ],
        ),
        ("git * $", &[(&["git", "a", "b"], Yes), (&["git"], Yes), (&["gitx"], No)]),
        ("echo [$]", &[(&["echo", "$"], Yes), (&["echo", "$", "x"], Yes), (&["echo"], No)]),
        ("echo $HOME$", &[(&["echo", "$HOME$", "x"], Yes), (&["echo", "$HOME"], No)]),
        ("$", &[(&["$"], Yes), (&["ls"], No)]),
    ];
    for (pattern, subjects) in rows {
        for (subject, expected) in *subjects {
            check(PatternDomain::Command, pattern, &command(subject), *expected);
        }
    }
}

#[test]
fn an_argument_with_a_nul_matches_no_allow() {
    check(PatternDomain::Command, "git status", &command(&["git\0status"]), Wide);
    check(PatternDomain::Command, "git status", &command(&["git", "status\0x"]), Wide);
}

#[test]
fn a_command_that_is_not_known_matches_only_what_matches_anything() {
    let unknown =
        ResolvedAccess::Shell { command: CommandLine::Unknown("git push | cat".to_owned()) };
    check(PatternDomain::Command, "*", &unknown, Yes);
    check(PatternDomain::Command, " * ", &unknown, Yes);
    check(PatternDomain::Command, "git*", &unknown, No);
    check(PatternDomain::Command, "git push | cat", &unknown, No);
}

#[test]
fn hosts() {
    let rows: &[Row<&str>] = &[
        (
            "example.com",
            &[
                ("example.com", Yes),
                ("EXAMPLE.com.", Yes),
                ("example.com:443", Yes),
                ("a.example.com", No),
                ("example.com.evil.org", No),
            ],
        ),
        (
            "*.example.com",
            &[
                ("a.example.com", Yes),
                ("a.b.example.com:8080", Yes),
                ("example.com", No),
                ("evilexample.com", No),
                (".example.com", No),
            ],
        ),
        ("Example.COM:443", &[("example.com", Yes)]),
        (
            "10.1.0.0/16",
            &[("10.1.2.3", Yes), ("10.2.0.1", No), ("::ffff:10.1.2.3", Yes), ("db.example", No)],
        ),
        ("fd00::/8", &[("fd12::1", Yes), ("fe80::1", No), ("10.1.2.3", No)]),
        ("*", &[("anything", Yes)]),
        ("::1", &[("[::1]:80", Yes), ("::1", Yes), ("::11", No)]),
        ("10.0.0.1", &[("10.0.0.1", Yes), ("10.0.0.12", No)]),
    ];
    for (pattern, subjects) in rows {
        for (subject, expected) in *subjects {
            check(PatternDomain::Host, pattern, &host(subject), *expected);
        }
    }
}

#[test]
fn without_a_domain_a_pattern_is_tried_on_whatever_there_is() {
    check(PatternDomain::Any, "src/**", &path("src/a"), Yes);
    check(PatternDomain::Any, "src/**", &host("src"), No);
    check(PatternDomain::Any, "example.com", &host("example.com"), Yes);
    check(PatternDomain::Any, "git push", &command(&["git", "push", "x"]), Yes);
    check(
        PatternDomain::Any,
        "calendar.*",
        &ResolvedAccess::Named { name: "calendar.read".to_owned() },
        Yes,
    );
    check(PatternDomain::Path, "git", &command(&["git"]), No);
    check(PatternDomain::Command, "src", &path("src"), No);
    check(PatternDomain::Command, "example.com", &host("example.com"), No);
}

#[test]
fn refused_texts_say_what_to_write_instead() {
    check_fault(
        PatternDomain::Path,
        "~/.ssh/**",
        expect![[
            r#"pattern "~/.ssh/**" cannot be used: ~ is not expanded: write an absolute path, or [~] for a name that begins so"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "a/../b",
        expect![[
            r#"pattern "a/../b" cannot be used: paths are resolved before they are judged, so .. never matches: write the path itself"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "a/[.]./b",
        expect![[
            r#"pattern "a/[.]./b" cannot be used: paths are resolved before they are judged, so .. never matches: write the path itself"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "**.py",
        expect![[
            r#"pattern "**.py" cannot be used: ** stands alone between slashes: write **/*.rs for all files of that kind"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "*.{rs,toml}",
        expect![[
            r#"pattern "*.{rs,toml}" cannot be used: braces list no alternatives: write one rule for each, or [{] for a brace"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "a\\*",
        expect![[
            r#"pattern "a\\*" cannot be used: a backslash escapes nothing: write [*] for a star and [\] for a backslash"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "a[bc",
        expect![[r#"pattern "a[bc" cannot be used: a [ is not closed: write [[] for a bracket"#]],
    );
    check_fault(
        PatternDomain::Path,
        "[z-a]",
        expect![[r#"pattern "[z-a]" cannot be used: the range z-a is empty"#]],
    );
    check_fault(
        PatternDomain::Path,
        "a\0",
        expect![[
            r#"pattern "a\0" cannot be used: it holds a NUL, which no path and no argument can"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "  ",
        expect![[r#"pattern "  " cannot be used: it is blank: write * for anything"#]],
    );
    check_fault(
        PatternDomain::Path,
        "{work}/**",
        expect![[
            r#"pattern "{work}/**" cannot be used: unknown variable {work}: expected {workspace}, {ad-hoc} or {user-data}"#
        ]],
    );
    check_fault(
        PatternDomain::Path,
        "{workspace}src",
        expect![[
            r#"pattern "{workspace}src" cannot be used: after a variable comes / or nothing"#
        ]],
    );
    check_fault(
        PatternDomain::Command,
        "  ",
        expect![[r#"pattern "  " cannot be used: it is blank: write * for anything"#]],
    );
    check_fault(
        PatternDomain::Host,
        "https://example.com/",
        expect![[
            r#"pattern "https://example.com/" cannot be used: expected a host such as example.com, *.example.com for all below it, a range such as 10.0.0.0/8, or *"#
        ]],
    );
    check_fault(
        PatternDomain::Host,
        "api-*.example.com",
        expect![[
            r#"pattern "api-*.example.com" cannot be used: expected a host such as example.com, *.example.com for all below it, a range such as 10.0.0.0/8, or *"#
        ]],
    );
    check_fault(
        PatternDomain::Any,
        "rm ../x/../y",
        expect![[
            r#"pattern "rm ../x/../y" cannot be used: paths are resolved before they are judged, so .. never matches: write the path itself"#
        ]],
    );
}

#[track_caller]
fn check_fault(domain: PatternDomain, pattern: &str, expected: Expect) {
    let err = RulePattern::compile(pattern, domain, &variables()).unwrap_err();
    expected.assert_eq(&err.to_string());
}

#[test]
fn a_variable_stands_for_absolute_paths_only() {
    for value in ["relative", "/a/../b"] {
        let variables = PatternVariables {
            workspace: vec![PathBuf::from(value)],
            ..PatternVariables::default()
        };
        let err =
            RulePattern::compile("{workspace}/**", PatternDomain::Path, &variables).unwrap_err();
        assert!(err.to_string().contains("expected an absolute path"), "{err}");
    }
}

#[test]
fn escaped_texts_match_themselves() {
    let odd = "a b*c?[d]\\{e,f}~\t!-^]";
    check(PatternDomain::Command, &escape(odd), &command(&[odd]), Yes);
    check(PatternDomain::Path, &escape_path(Path::new(odd)), &path(odd), Yes);
    check(PatternDomain::Path, &escape_path(Path::new("/etc/a b")), &path("/etc/a b"), Yes);
    check(PatternDomain::Path, &escape_path(Path::new("")), &path(""), Yes);
    assert_eq!(escape_path(Path::new(OsStr::from_bytes(b"a b/\xff*"))), "a b/?[*]");
}

/// Words of a command; one that begins with a dollar sign or holds a star is not known.
fn partial(line: &str) -> ResolvedAccess {
    let word = |word: &str| match word.starts_with('$') || word.contains('*') {
        true => PartialWord::Expanded { unknown: word.to_owned() },
        false => PartialWord::Literal(word.to_owned()),
    };
    let command = CommandLine::Partial(line.split(' ').map(word).collect());
    ResolvedAccess::Shell { command }
}

#[test]
fn a_word_that_is_not_known_matters_where_the_pattern_names_one() {
    let check = |pattern: &str, line: &str, expected: PatternFit| {
        let compiled = RulePattern::compile(pattern, PatternDomain::Command, &variables()).unwrap();
        let access = partial(line);
        let found = compiled.fit(access.subject(), MatchWidth::Wide);
        // How many bytes are spelled out is tested with whole commands.
        let found = if found == PatternFit::No || found == PatternFit::Possible {
            found
        } else {
            PatternFit::Yes(0)
        };
        assert_eq!(found, expected, "{pattern:?} against {line:?}");
        assert_eq!(compiled.fit(access.subject(), MatchWidth::Narrow), PatternFit::No);
    };
    let (yes, possible, no) = (PatternFit::Yes(0), PatternFit::Possible, PatternFit::No);
    // The program is known and is another one, or its subcommand is.
    for line in
        ["echo $HOME", "ls *.rs", "git commit -m $msg", "git log $x push", "git -C $d status"]
    {
        check("git push", line, no);
    }
    // The unknown word stands where the pattern names one.
    for line in ["git $x", "git $x origin", "git -p $x", "git -C $d $x", "/usr/bin/git $x"] {
        check("git push", line, possible);
    }
    // The words that the pattern names are known.
    for line in [
        "git push $remote",
        "git -C $d push",
        "git push --force $x",
        "git-push $x",
        "/bin/git push *",
    ] {
        check("git push", line, yes);
    }
    check("git push --force", "git push $x", possible);
    check("git push --force", "git push origin $x", no);
    check("git push* ", "git push $x", yes);
    check("git push*", "git $x", possible);
    check("* --force", "git push $x", possible);
    check("rm", "rm $x", yes);
    check("rm *", "rm $x", yes);
    check("rm -r build $", "rm -r $x", possible);
    check("rm -r build $", "rm -r build", yes);
    check("rm -r build $", "rm -r build $x", possible);
    check("rm ?", "rm $x", possible);
    check("rm [ab]*c", "rm $x", possible);
    check("npm publish", "npm run $x", no);
    check("npm publish", "npm --tag $x publish", yes);
}
