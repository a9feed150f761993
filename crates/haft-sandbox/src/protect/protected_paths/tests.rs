//! Protected paths as tables, and properties that hold for every name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::ProtectedPaths;
use crate::protect::error::ProtectedPathError;

/// Prints each path with the pattern that protects it.
fn check(names: &ProtectedPaths, paths: &[&str], expect: Expect) {
    let lines: Vec<String> = paths
        .iter()
        .map(|path| {
            let answer = names.matching(Path::new(path)).unwrap_or("-");
            format!("{} {answer}\n", path.escape_default())
        })
        .collect();
    expect.assert_eq(&lines.concat());
}

#[test]
fn what_programs_run_by_themselves_is_protected_at_any_depth() {
    check(
        &ProtectedPaths::builtin(),
        &[
            ".git/hooks/pre-commit",
            ".git/hooks",
            "a/b/.git/hooks/x/y",
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            ".git",
            "sub/.git",
            ".git/index",
            ".git/config.lock",
            ".git/refs/heads/config",
            ".git/modules/a/modules/b/config",
            ".git/modules/a/hooks/post-checkout",
            ".git/worktrees/w/config.worktree",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/index",
            "x.git/config",
            ".bashrc",
            "home/.zshrc",
            ".config/fish/config.fish",
            ".config/other",
            ".vscode/tasks.json",
            ".idea",
            ".mcp.json",
            ".claude/settings.json",
            "deep/down/.envrc",
            "haft.toml",
            "haft.toml.orig",
            "src/main.rs",
            "",
        ],
        expect![[r#"
            .git/hooks/pre-commit .git/hooks/**
            .git/hooks .git/hooks/**
            a/b/.git/hooks/x/y .git/hooks/**
            .git/config .git/config
            .git/config.worktree .git/config.worktree
            .git/commondir .git/commondir
            .git .git/.
            sub/.git .git/.
            .git/index -
            .git/config.lock -
            .git/refs/heads/config -
            .git/modules/a/modules/b/config .git/modules/**/config
            .git/modules/a/hooks/post-checkout .git/modules/**/hooks/**
            .git/worktrees/w/config.worktree .git/worktrees/*/config.worktree
            .git/worktrees/w/commondir .git/worktrees/*/commondir
            .git/worktrees/w/index -
            x.git/config -
            .bashrc .bashrc
            home/.zshrc .zshrc
            .config/fish/config.fish .config/fish/**
            .config/other -
            .vscode/tasks.json .vscode/**
            .idea .idea/**
            .mcp.json .mcp.json
            .claude/settings.json .claude/**
            deep/down/.envrc .envrc
            haft.toml haft.toml
            haft.toml.orig -
            src/main.rs -
             -
        "#]],
    );
}

#[test]
fn letter_case_and_unicode_make_no_difference() {
    check(
        &ProtectedPaths::new([".git/hooks", ".mcp.json", "straße/σχέδιο", "ﬁle"]).unwrap(),
        &[
            ".GIT/Hooks/x",
            ".g\u{200c}it/hooks",
            "\u{feff}.mcp.json",
            ".mcp.json\u{200d}",
            ".\u{ad}mcp.json",
            // Full width, then the long s and the Kelvin sign.
            ".ｇｉｔ/ｈｏｏｋｓ",
            ".git/hoo\u{212a}\u{17f}",
            "STRASSE/ΣΧΈΔΙΟ",
            "strasse/σχε\u{301}διο",
            "straße/σχέδις",
            "FILE",
            ".git /hooks",
            ".git./hooks",
        ],
        expect![[r#"
            .GIT/Hooks/x .git/hooks
            .g\u{200c}it/hooks .git/hooks
            \u{feff}.mcp.json .mcp.json
            .mcp.json\u{200d} .mcp.json
            .\u{ad}mcp.json .mcp.json
            .\u{ff47}\u{ff49}\u{ff54}/\u{ff48}\u{ff4f}\u{ff4f}\u{ff4b}\u{ff53} .git/hooks
            .git/hoo\u{212a}\u{17f} .git/hooks
            STRASSE/\u{3a3}\u{3a7}\u{388}\u{394}\u{399}\u{39f} straße/σχέδιο
            strasse/\u{3c3}\u{3c7}\u{3b5}\u{301}\u{3b4}\u{3b9}\u{3bf} straße/σχέδιο
            stra\u{df}e/\u{3c3}\u{3c7}\u{3ad}\u{3b4}\u{3b9}\u{3c2} -
            FILE ﬁle
            .git /hooks -
            .git./hooks -
        "#]],
    );
}

#[test]
fn stars_stand_for_parts_of_names_and_for_names() {
    let patterns = ["a*c/x", "**/key*.*pem", "one/**/two/three", "top/."];
    check(
        &ProtectedPaths::new(patterns).unwrap(),
        &[
            "ac/x",
            "abbc/x",
            "abd/x",
            "ab/c/x",
            "q/key.pem",
            "key-1.old.pem",
            "key",
            "one/two/three",
            "one/a/b/two/three/c",
            "one/two/a/three",
            "one/two/two/three",
            "top",
            "top/beneath",
            "a/top",
        ],
        expect![[r#"
            ac/x a*c/x
            abbc/x a*c/x
            abd/x -
            ab/c/x -
            q/key.pem **/key*.*pem
            key-1.old.pem **/key*.*pem
            key -
            one/two/three one/**/two/three
            one/a/b/two/three/c one/**/two/three
            one/two/a/three -
            one/two/two/three one/**/two/three
            top top/.
            top/beneath -
            a/top top/.
        "#]],
    );
}

#[test]
fn a_run_can_begin_in_the_path_of_the_root_and_not_end_in_it() {
    let names = ProtectedPaths::builtin();
    let check = |root: &str, relative: &str, expect: Option<&str>| {
        assert_eq!(
            names.matching_beneath(root.as_ref(), relative.as_ref()),
            expect,
            "{root} {relative}"
        );
    };
    check("/srv/app/.git", "hooks/pre-commit", Some(".git/hooks/**"));
    check("/srv/app/.git", "config", Some(".git/config"));
    check("/srv/app/.git", "index", None);
    check("/home/me/.claude/worktrees/x", "src/main.rs", None);
    check("/home/me/.claude/worktrees/x", ".claude/x", Some(".claude/**"));
    check("/srv/app/.git/modules/m", "config", Some(".git/modules/**/config"));
}

#[test]
fn directories_that_may_hold_protected_names_are_known() {
    let names = ProtectedPaths::builtin();
    let check = |path: &str, expect: Option<&str>| {
        assert_eq!(names.guards_ancestor(path.as_ref()), expect, "{path}");
    };
    check(".git/modules", Some(".git/modules/**/hooks/**"));
    check("a/.config", Some(".config/git/**"));
    check("src", None);
    // Protected as a whole, so no entry can be unprotected.
    check(".vscode", None);
}

#[test]
fn sets_grow_and_shrink() {
    let names = ProtectedPaths::new([".envrc", "a/**"]).unwrap();
    let grown = names.clone().with_patterns(["A", "b"]).unwrap();
    assert_eq!(grown.patterns().collect::<Vec<_>>(), [".envrc", "a/**", "b"]);
    let shrunk = grown.without_patterns(["a", "b/**"]).unwrap();
    assert_eq!(shrunk.patterns().collect::<Vec<_>>(), [".envrc"]);
    assert!(!shrunk.is_empty() && ProtectedPaths::empty().is_empty());
}

#[test]
fn what_is_no_pattern_is_refused() {
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&ProtectedPaths::new([pattern]).unwrap_err().to_string());
    };
    check(
        "",
        expect![[
            r#"protected name "" contains no name; write one such as ".envrc" or "deploy/**""#
        ]],
    );
    check(
        "**",
        expect![[
            r#"protected name "**" contains no name; write one such as ".envrc" or "deploy/**""#
        ]],
    );
    check(
        "\u{200d}",
        expect![[
            r#"protected name "\u{200d}" contains no name; write one such as ".envrc" or "deploy/**""#
        ]],
    );
    check(
        "/etc/x",
        expect![[
            r#"protected name "/etc/x" has the component ""; write names separated by single slashes, which match at any depth"#
        ]],
    );
    check(
        "a/../b",
        expect![[
            r#"protected name "a/../b" has the component ".."; write names separated by single slashes, which match at any depth"#
        ]],
    );
    check(
        "*/x",
        expect![[
            r#"protected name "*/x" begins with a component that matches every name; begin with a name of which at least one character is fixed"#
        ]],
    );
    check(
        "a**b",
        expect![[
            r#"protected name "a**b" has ** inside of a name; let it stand alone between slashes"#
        ]],
    );
    let unknown = ProtectedPaths::new(["x"]).unwrap().without_patterns(["y"]).unwrap_err();
    expect![[r#""y" is not among the protected names, so it cannot be removed; they are: x"#]]
        .assert_eq(&unknown.to_string());
}

#[test]
fn patterns_have_a_length_that_is_the_last_one_possible() {
    let of = |count: usize| vec!["a"; count].join("/");
    assert!(ProtectedPaths::new([of(32)]).is_ok());
    let error = ProtectedPaths::new([of(33)]).unwrap_err();
    assert_eq!(error, ProtectedPathError::TooLong { pattern: of(33), found: 33, max: 32 });
}

#[test]
fn names_that_are_no_text_are_compared_as_bytes() {
    let names = ProtectedPaths::new(["key*"]).unwrap();
    assert_eq!(names.matching(Path::new(OsStr::from_bytes(b"KEY\xff"))), Some("key*"));
    assert_eq!(names.matching(Path::new(OsStr::from_bytes(b"\xffkey"))), None);
}

proptest! {
    /// A path stays protected if its case changes, invisible characters are inserted or it gets
    /// longer.
    #[test]
    fn no_spelling_escapes(
        pattern in proptest::sample::select(vec![".git/hooks/pre-commit", ".mcp.json", ".vscode/tasks.json", ".envrc"]),
        upper in proptest::collection::vec(any::<bool>(), 24),
        unseen in proptest::collection::vec(proptest::option::of(
            proptest::sample::select(vec!['\u{200c}', '\u{200d}', '\u{feff}', '\u{ad}', '\u{fe0f}'])), 24),
        above in proptest::collection::vec("[a-z]{1,4}", 0..4),
    ) {
        let mut spelled = String::new();
        for ((character, upper), unseen) in pattern.chars().zip(upper).zip(unseen) {
            spelled.push(if upper { character.to_ascii_uppercase() } else { character });
            spelled.extend(unseen);
        }
        let path: PathBuf = above.iter().map(String::as_str).chain([spelled.as_str()]).collect();
        let names = ProtectedPaths::builtin();
        prop_assert!(names.matching(&path).is_some(), "{path:?}");
    }

    /// Folding twice has the same result as folding once.
    #[test]
    fn folding_twice_changes_nothing(name in any::<String>()) {
        use crate::protect::fold::fold;
        let once = fold(name.as_bytes());
        prop_assert_eq!(fold(&once), once);
    }
}

#[test]
fn names_are_of_concern_until_no_run_goes_on() {
    let names = ProtectedPaths::builtin();
    let check = |root: &str, relative: &str, expect: bool| {
        assert_eq!(names.concerns(root.as_ref(), relative.as_ref()), expect, "{root} {relative}");
    };
    for relative in
        [".claude", "a/.CLAUDE/b", ".git", ".git/hooks/x", ".git/modules/a/b", "a/.config/git"]
    {
        check("/srv", relative, true);
    }
    for relative in ["", "src", ".git/objects", ".config/other", "claude"] {
        check("/srv", relative, false);
    }
    let spelled_from_the_top = ProtectedPaths::new(["srv/app/tools/hooks"]).unwrap();
    for (relative, expect) in
        [("tools/hooks/x", true), ("tools", false), ("src/tools/hooks/x", false)]
    {
        let found = spelled_from_the_top.matching_beneath("/srv/app".as_ref(), relative.as_ref());
        assert_eq!(found.is_some(), expect, "{relative}");
    }
    check("/srv/.config", "git", true);
    check("/srv/.config", "", true);
}
