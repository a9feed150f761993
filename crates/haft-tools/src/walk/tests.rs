use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_contract::{Cx, ErrorCode, FilePath, ToolError};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::ignore_rules::IGNORE_FILE_BYTES_MAX;
use super::listing::{WalkDirectory, WalkDirectoryEntry};
use super::queue::{DirectoryVisit, ENTRIES_MAX, WalkQueue};
use super::*;
use crate::testing::{WatchedFs, cx, cx_over, tree};

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn walk(cx: &Cx, path: &str, selector: &EntrySelector, count: usize) -> WalkListing {
    let (base, _) = cx.fs().resolve(path).unwrap();
    DirectoryWalk { cx, base: &base, selector, threads: threads(count) }.run().unwrap()
}

fn listed(root: &Path, path: &str) -> String {
    let listing = walk(&cx(root), path, &EntrySelector::all_files(), 2);
    assert!(listing.is_complete());
    listing.displays().collect::<Vec<_>>().join(" ")
}

/// Lists below `path` and compares; `what` is repeated in the text so that a failure names its case.
fn check_rules(what: &str, files: &[(&str, &str)], path: &str, expect: Expect) {
    let root = tree(files);
    expect.assert_eq(&format!("{what}: {}", listed(root.path(), path)));
}

#[test]
fn rules_match_as_git_has_them() {
    check_rules(
        ".gitignore counts outside a repository too",
        &[(".gitignore", "a\n"), (".ignore", "b\n"), ("a", ""), ("b", ""), ("c", "")],
        ".",
        expect![".gitignore counts outside a repository too: c"],
    );
    check_rules(
        "inside one it does, at any depth",
        &[(".git/", ""), (".gitignore", "a\n"), ("a", ""), ("d/a", ""), ("d/b", "")],
        ".",
        expect!["inside one it does, at any depth: d/b"],
    );
    check_rules(
        "a slash in front or within anchors a rule",
        &[
            (".git/", ""),
            (".gitignore", "/a\nd/b\n"),
            ("a", ""),
            ("b", ""),
            ("d/a", ""),
            ("d/b", ""),
            ("e/d/b", ""),
        ],
        ".",
        expect!["a slash in front or within anchors a rule: b d/a e/d/b"],
    );
    check_rules(
        "a slash at the end is for directories",
        &[(".git/", ""), (".gitignore", "a/\n"), ("a", ""), ("d/a/x", ""), ("d/b", "")],
        ".",
        expect!["a slash at the end is for directories: a d/b"],
    );
    check_rules(
        "the last rule that matches decides",
        &[
            (".git/", ""),
            (".gitignore", "*.log\n!keep.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("d/keep.log", ""),
        ],
        ".",
        expect!["the last rule that matches decides: d/keep.log keep.log"],
    );
    check_rules(
        "nothing comes back from an ignored directory",
        &[(".git/", ""), (".gitignore", "d/\n!d/keep\n"), ("d/keep", ""), ("e", "")],
        ".",
        expect!["nothing comes back from an ignored directory: e"],
    );
}

#[test]
fn nearer_and_stronger_ignore_files_decide() {
    check_rules(
        "the nearer file decides",
        &[
            (".git/", ""),
            (".gitignore", "*.log\n"),
            ("d/.gitignore", "!*.log\n"),
            ("a.log", ""),
            ("d/a.log", ""),
            ("d/e/a.log", ""),
        ],
        ".",
        expect!["the nearer file decides: d/a.log d/e/a.log"],
    );
    check_rules(
        ".ignore goes before a nearer .gitignore",
        &[(".git/", ""), (".ignore", "!*.log\n"), ("d/.gitignore", "*.log\n"), ("d/a.log", "")],
        ".",
        expect![".ignore goes before a nearer .gitignore: d/a.log"],
    );
    check_rules(
        "the exclude file counts, after .gitignore",
        &[
            (".git/info/exclude", "a\nb\n"),
            (".gitignore", "!b\n"),
            ("a", ""),
            ("b", ""),
            ("d/a", ""),
        ],
        ".",
        expect!["the exclude file counts, after .gitignore: b"],
    );
}

#[test]
fn rules_reach_from_above_but_not_into_other_repositories() {
    check_rules(
        "rules above the base hold",
        &[
            (".git/", ""),
            (".gitignore", "/d/a\n*.log\n"),
            ("d/a", ""),
            ("d/b", ""),
            ("d/c.log", ""),
        ],
        "d",
        expect!["rules above the base hold: d/b"],
    );
    check_rules(
        "an ignored base is listed all the same",
        &[(".git/", ""), (".gitignore", "target\n*.o\n"), ("target/a", ""), ("target/b.o", "")],
        "target",
        expect!["an ignored base is listed all the same: target/a"],
    );
    check_rules(
        "no .gitignore reaches into an inner repository",
        &[
            (".git/", ""),
            (".gitignore", "a\n"),
            ("d/.git/", ""),
            ("d/a", ""),
            ("d/e/a", ""),
            ("a", ""),
        ],
        ".",
        expect!["no .gitignore reaches into an inner repository: d/a d/e/a"],
    );
    check_rules(
        "a worktree's .git is a file",
        &[(".git", "gitdir: elsewhere\n"), (".gitignore", "a\n"), ("a", ""), ("b", "")],
        ".",
        expect!["a worktree's .git is a file: b"],
    );
    check_rules(
        "a .jj directory makes a repository too",
        &[(".gitignore", "a\n"), ("d/.jj/", ""), ("d/a", ""), ("d/b", "")],
        ".",
        expect!["a .jj directory makes a repository too: d/a d/b"],
    );
}

#[test]
fn hidden_entries_and_odd_rules_do_no_harm() {
    check_rules(
        "hidden entries are passed over unless a rule keeps them",
        &[
            (".git/config", ""),
            (".gitignore", "!.kept\n!.git\n"),
            (".a", ""),
            (".d/a", ""),
            (".kept", ""),
            ("b", ""),
        ],
        ".",
        expect!["hidden entries are passed over unless a rule keeps them: .kept b"],
    );
    check_rules(
        "a rule that is not valid, a mark at the beginning and CRLF do no harm",
        &[
            (".git/", ""),
            (".gitignore", "\u{feff}a\r\n[z-a]\r\n# c\r\nb\r\n"),
            ("a", ""),
            ("b", ""),
            ("c", ""),
        ],
        ".",
        expect!["a rule that is not valid, a mark at the beginning and CRLF do no harm: c"],
    );
}

#[test]
fn an_ignore_file_is_read_up_to_its_bound() {
    let bound = usize::try_from(IGNORE_FILE_BYTES_MAX).unwrap();
    let rules = |before: usize| format!("{}\na\n", "#".repeat(before));
    let check = |before: usize, expect: Expect| {
        let root = tree(&[(".ignore", &rules(before)), ("a", "")]);
        expect.assert_eq(&listed(root.path(), "."));
    };
    check(bound - 2, expect![""]);
    check(bound - 1, expect!["a"]);
}

#[test]
fn only_regular_files_are_listed_and_symlinks_are_not_followed() {
    let root = tree(&[("d/a", ""), ("b", "")]);
    std::os::unix::fs::symlink("d", root.path().join("to_directory")).unwrap();
    std::os::unix::fs::symlink("b", root.path().join("to_file")).unwrap();
    std::os::unix::fs::symlink(".", root.path().join("d/loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    expect!["b d/a"].assert_eq(&listed(root.path(), "."));
}

#[test]
fn paths_are_ordered_by_their_bytes() {
    let names = ["a/x", "a-b/x", "a.rs", "a/b/x", "a0", "B", "ab/x", "a/b.rs", "a/b-c", "\u{e4}"];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "")).collect();
    let root = tree(&files);
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    assert_eq!(listed(root.path(), "."), sorted.join(" "));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let names: Vec<String> =
        (0..400).map(|n| format!("d{}/e{}/f{}/{n}.rs", n % 7, n % 5, n % 3)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let root = tree(&files);
    let displays = |count| -> Vec<String> {
        walk(&cx(root.path()), ".", &EntrySelector::all_files(), count).displays().collect()
    };
    assert_eq!(displays(1).len(), 400);
    assert_eq!(displays(1), displays(2));
    assert_eq!(displays(1), displays(4));
}

#[test]
fn a_directory_that_cannot_be_read_is_passed_over_but_not_the_base() {
    let root = tree(&[("closed/a", ""), ("open/b", ""), ("c", "")]);
    let fs = WatchedFs::new(root.path(), |path: &FilePath| match path.display() {
        "closed" => Err(ToolError::new(ErrorCode::PathInvalid, "closed")),
        _ => Ok(()),
    });
    let cx = cx_over(root.path(), Arc::new(fs), CancellationToken::new());
    let selector = EntrySelector::all_files();
    let listing = walk(&cx, ".", &selector, 2);
    expect!["c open/b"].assert_eq(&listing.displays().collect::<Vec<_>>().join(" "));

    let (base, _) = cx.fs().resolve("closed").unwrap();
    let refused =
        DirectoryWalk { cx: &cx, base: &base, selector: &selector, threads: threads(2) }.run();
    assert_eq!(refused.unwrap_err().message, "closed");
}

#[test]
fn a_cancelled_walk_ends_and_says_so() {
    let root = tree(&[("a", ""), ("d/b", ""), ("d/e/c", "")]);
    let cancellation = CancellationToken::new();
    let token = cancellation.clone();
    let fs = WatchedFs::new(root.path(), move |path: &FilePath| {
        if path.display() == "d" {
            token.cancel();
        }
        Ok(())
    });
    let cx = cx_over(root.path(), Arc::new(fs), cancellation);
    let listing = walk(&cx, ".", &EntrySelector::all_files(), 2);
    assert!(!listing.is_complete());
    expect!["a d/b"].assert_eq(&listing.displays().collect::<Vec<_>>().join(" "));
}

#[test]
fn a_panic_on_one_thread_ends_the_walk() {
    let root = tree(&[("a/x", ""), ("b/x", ""), ("c/x", "")]);
    let fs = WatchedFs::new(root.path(), |path: &FilePath| {
        assert_ne!(path.display(), "b", "this directory makes the test's file system panic");
        Ok(())
    });
    let cx = cx_over(root.path(), Arc::new(fs), CancellationToken::new());
    let run = std::panic::AssertUnwindSafe(|| walk(&cx, ".", &EntrySelector::all_files(), 4));
    assert!(std::panic::catch_unwind(run).is_err());
}

#[test]
fn a_search_uses_a_bounded_number_of_threads() {
    assert!((1..=THREADS_MAX).contains(&threads_available().get()));
}

#[test]
fn a_walk_keeps_so_many_entries_and_no_more() {
    let listing = |count: usize| {
        let child = || WalkDirectoryEntry {
            name: "".into(),
            is_directory: false,
            is_selected: true,
            job: None,
        };
        let children = std::iter::repeat_with(child).take(count).collect();
        let directory = FilePath::new(0, "".into(), ".".to_owned());
        {
            let node = WalkDirectory { directory, children };
            WalkQueue::new(DirectoryVisit { node, jobs: Vec::new(), too_deep: 0, passed_over: 0 })
                .into_listing()
        }
    };
    assert!(listing(ENTRIES_MAX).is_complete());
    assert!(!listing(ENTRIES_MAX + 1).is_complete());
}

#[test]
fn filters_narrow_what_is_listed() {
    let root = tree(&[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/c.ts", ""),
        ("src/deep/d.rs", ""),
        ("lib/src/e.rs", ""),
        (".hidden/f.rs", ""),
        ("node_modules/g.rs", ""),
        ("src/.env", ""),
    ]);
    let check = |filter: &str, expect: Expect| {
        let cx = cx(root.path());
        let text = match WalkGlob::parse_filter(filter) {
            Ok(selector) => walk(&cx, ".", &selector, 2).displays().collect::<Vec<_>>().join(" "),
            Err(err) => format!("{}: {}", err.code, err.message),
        };
        expect.assert_eq(&text);
    };
    check("*.ts", expect!["src/c.ts"]);
    check(
        "*.{ts,rs}",
        expect!["a.rs lib/src/e.rs node_modules/g.rs src/b.rs src/c.ts src/deep/d.rs"],
    );
    check("./*.rs", expect!["a.rs"]);
    check("src/*.rs", expect!["src/b.rs"]);
    check("src/**/*.rs", expect!["src/b.rs src/deep/d.rs"]);
    check("src/", expect!["src/b.rs src/c.ts src/deep/d.rs"]);
    check("**/src/*.rs", expect!["lib/src/e.rs src/b.rs"]);
    check("!*.rs", expect!["src/c.ts"]);
    check("!node_modules", expect!["a.rs lib/src/e.rs src/b.rs src/c.ts src/deep/d.rs"]);
    check("!node_modules/", expect!["a.rs lib/src/e.rs src/b.rs src/c.ts src/deep/d.rs"]);
    check("!**/src/**", expect!["a.rs node_modules/g.rs"]);
    check("!src/*.rs", expect!["a.rs lib/src/e.rs node_modules/g.rs src/c.ts src/deep/d.rs"]);
    check(".env", expect!["src/.env"]);
    check(
        "/src/*.rs",
        expect![[
            r#"INVALID_INPUT: "/src/*.rs" is not a usable glob: it must lie below `path`; name the directory in `path` instead"#
        ]],
    );
    check(
        "../*.rs",
        expect![[
            r#"INVALID_INPUT: "../*.rs" is not a usable glob: it must lie below `path`; name the directory in `path` instead"#
        ]],
    );
    check(
        "!",
        expect![[
            r#"INVALID_INPUT: "!" is not a usable glob: it names no file; use `**` for every file"#
        ]],
    );
}

/// Rules of a kind that the naive matcher below knows.
fn rule() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c.log", "*.log", "d"]);
    let forms = prop::sample::select(vec!["{}", "/{}", "{}/", "!{}", "!/{}", "a/{}", "!{}/"]);
    (forms, name).prop_map(|(form, name)| form.replace("{}", name))
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c.log", "d.log", "d", ".h"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

/// The verdict of one ignore file, rule by rule.
fn naive_verdict(rules: &[String], path: &str, is_directory: bool) -> Option<bool> {
    let matches = |rule: &str| {
        let (rule, for_directories) =
            rule.strip_suffix('/').map_or((rule, false), |rule| (rule, true));
        let anchored = rule.contains('/');
        let rule = rule.strip_prefix('/').unwrap_or(rule);
        let subject = if anchored { path } else { path.rsplit('/').next().unwrap() };
        let equal = match rule.split_once('*') {
            Some((before, after)) => subject
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|rest| !rest.contains('/')),
            None => subject == rule,
        };
        equal && (is_directory || !for_directories)
    };
    let decide = |rule: &String| match rule.strip_prefix('!') {
        Some(kept) => matches(kept).then_some(false),
        None => matches(rule).then_some(true),
    };
    rules.iter().rev().find_map(decide)
}

/// Lists by recursion over the real directory, asking every ignore file about every entry.
fn naive_list(root: &Path, at: &str, files: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(at)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
        let is_directory = entry.file_type().unwrap().is_dir();
        let mut verdict = None;
        let mut above = path.as_str();
        while verdict.is_none() && !above.is_empty() {
            above = above.rsplit_once('/').map_or("", |(above, _)| above);
            let text = fs::read_to_string(root.join(above).join(".gitignore")).unwrap_or_default();
            let rules: Vec<String> = text.lines().map(str::to_owned).collect();
            let below = path.strip_prefix(above).unwrap().trim_start_matches('/');
            verdict = naive_verdict(&rules, below, is_directory);
        }
        let shown = name != ".git" && verdict.map_or(!name.starts_with('.'), |ignored| !ignored);
        match (shown, is_directory) {
            (true, true) => naive_list(root, &path, files),
            (true, false) => drop(files.insert(path)),
            (false, _) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_walk_agrees_with_a_naive_one(
        paths in prop::collection::vec(path(), 1..16),
        ignores in prop::collection::vec(("(|a|a/b|d)", prop::collection::vec(rule(), 1..4)), 0..4),
        count in 1_usize..4,
    ) {
        let root = tree(&[(".git/", "")]);
        for path in &paths {
            // A path below another that is already a file cannot be made, nor need be.
            let path = root.path().join(path);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(path, "");
        }
        for (at, rules) in &ignores {
            let _ = fs::write(root.path().join(at).join(".gitignore"), rules.join("\n"));
        }
        let mut expected = BTreeSet::new();
        naive_list(root.path(), "", &mut expected);
        let listing = walk(&cx(root.path()), ".", &EntrySelector::all_files(), count);
        let found: Vec<String> = listing.displays().collect();
        prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}
