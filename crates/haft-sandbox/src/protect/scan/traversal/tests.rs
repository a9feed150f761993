//! Compares a scan with a simple walk, and with a scan without a cache while the tree changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::super::listing::ListedNames;
use super::super::{ScanCache, open_roots};
use super::{FollowsLink, ScanExcess, ScanLimits, ScanResult, ScanScope};
use crate::protect::ProtectedPaths;

/// Protected names, similar names, and names that lead to either.
const NAMES: &[&str] = &[
    ".git",
    ".GIT",
    "hooks",
    "config",
    ".vscode",
    ".envrc",
    "modules",
    "worktrees",
    "HEAD",
    "objects",
    "refs",
    "commondir",
    "src",
    "a",
];

#[derive(Debug, Clone)]
enum Step {
    Directory(Vec<usize>),
    File(Vec<usize>),
    Link(Vec<usize>, Vec<usize>),
    Rename(Vec<usize>, Vec<usize>),
    Remove(Vec<usize>),
}

fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let path = || proptest::collection::vec(0..NAMES.len(), 1..5);
    let step = prop_oneof![
        3 => path().prop_map(Step::Directory),
        3 => path().prop_map(Step::File),
        1 => (path(), path()).prop_map(|(at, to)| Step::Link(at, to)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => path().prop_map(Step::Remove),
    ];
    proptest::collection::vec(step, count)
}

fn path(root: &Path, names: &[usize]) -> PathBuf {
    names.iter().fold(root.to_path_buf(), |path, name| path.join(NAMES.get(*name).unwrap()))
}

/// Applies a step if it is possible; otherwise does nothing.
fn apply(root: &Path, step: &Step) {
    let with_parent = |path: &Path| fs::create_dir_all(path.parent().unwrap());
    let _ = match step {
        Step::Directory(at) => fs::create_dir_all(path(root, at)),
        Step::File(at) => {
            let at = path(root, at);
            with_parent(&at).and_then(|()| fs::write(at, "x"))
        }
        Step::Link(at, to) => {
            let at = path(root, at);
            with_parent(&at).and_then(|()| symlink(path(root, to), at))
        }
        Step::Rename(from, to) => {
            let to = path(root, to);
            with_parent(&to).and_then(|()| fs::rename(path(root, from), to))
        }
        Step::Remove(at) => fs::remove_dir_all(path(root, at)),
    };
}

/// Returns a cache whose scans of this root compare times, as a scan does beside another one.
fn unfollowed(root: &Path) -> ScanCache {
    let cache = ScanCache::default();
    let roots = open_roots(&[root.to_path_buf()], &[]).unwrap();
    assert!(roots.iter().all(|root| cache.shared.followed.take(root).is_some()));
    cache
}

fn found(cache: &ScanCache, root: &Path, follows: FollowsLink<'_>) -> Vec<(PathBuf, String)> {
    let roots = open_roots(&[root.to_path_buf()], &[]).unwrap();
    let names = ProtectedPaths::builtin();
    let listed = ListedNames::new(&names, None);
    let scope = ScanScope {
        roots: &roots,
        names: &names,
        rules: None,
        listed: &listed,
        cache,
        bounds: ScanLimits::DEFAULT,
        excess: ScanExcess::Refused,
    };
    let look = ScanResult::scan_roots(scope, follows);
    assert!(look.problem.is_none(), "{:?}", look.problem);
    let text = |pattern| names.text(pattern).to_owned();
    look.entries.iter().map(|entry| (entry.path.clone(), text(entry.pattern))).collect()
}

/// Returns every path that names alone protect, without repository shapes and links.
fn naive(names: &ProtectedPaths, root: &Path, directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if names.matching(entry.path().strip_prefix(root).unwrap()).is_some() {
            into.push(entry.path());
        }
        if entry.file_type().unwrap().is_dir() {
            naive(names, root, &entry.path(), into);
        }
    }
}

/// Returns whether a directory on the way could be taken for a repository. In one, its shape
/// protects more, and branch names protect less.
fn passes_repository(root: &Path, path: &Path) -> bool {
    let has = |directory: &Path, name: &str| directory.join(name).symlink_metadata().is_ok();
    path.ancestors().take_while(|directory| directory.starts_with(root)).any(|directory| {
        has(directory, "HEAD")
            && (has(directory, "commondir") || has(directory, "objects") && has(directory, "refs"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_look_finds_what_a_plain_walk_finds(steps in steps(1..24)) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        steps.iter().for_each(|step| apply(&root, step));
        let mut expected = Vec::new();
        naive(&ProtectedPaths::builtin(), &root, &root, &mut expected);
        expected.sort();
        let mut paths: Vec<PathBuf> =
            found(&ScanCache::default(), &root, &|_| false).into_iter().map(|(path, _)| path).collect();
        expected.retain(|path| !passes_repository(&root, path));
        paths.retain(|path| !passes_repository(&root, path));
        prop_assert_eq!(paths, expected);
    }

    /// The steps happen within one tick of the clock, where a cache could be wrong.
    #[test]
    fn a_cache_changes_no_answer(steps in steps(1..24)) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let caches = [ScanCache::default(), unfollowed(&root)];
        for step in &steps {
            apply(&root, step);
            let expected = found(&ScanCache::default(), &root, &|_| true);
            for cache in &caches {
                prop_assert_eq!(&found(cache, &root, &|_| true), &expected);
            }
        }
    }
}

/// Directories whose times lie in the past are trusted, so the cache answers here.
#[test]
fn a_settled_directory_is_read_once_and_again_when_it_changes() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("sub/.git/hooks")).unwrap();
    let cache = unfollowed(&root);
    let names = ListedNames::new(&ProtectedPaths::builtin(), None);
    let remembered =
        |cache: &ScanCache| cache.read().get(&names).map_or(0, |directories| directories.len());
    // No sleep is needed for the clock to advance: a scan does not remember a directory that
    // changed too recently.
    while remembered(&cache) < 3 {
        found(&cache, &root, &|_| true);
    }
    let before = found(&cache, &root, &|_| true);
    assert_eq!(before.len(), 2);
    fs::write(root.join("sub/.git/hooks/pre-commit"), "x").unwrap();
    fs::write(root.join("sub/.envrc"), "x").unwrap();
    let after = found(&cache, &root, &|_| true);
    assert_eq!(after.len(), 4);
    fs::rename(root.join("sub"), root.join("other")).unwrap();
    let moved = found(&cache, &root, &|_| true);
    assert!(moved.len() == 4 && moved.iter().all(|(path, _)| path.starts_with(root.join("other"))));
}

#[test]
fn other_names_have_a_memory_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join("secret"), "x").unwrap();
    let cache = unfollowed(&root);
    let roots = open_roots(std::slice::from_ref(&root), &[]).unwrap();
    let count = |names: &ProtectedPaths| {
        let listed = ListedNames::new(names, None);
        let scope = ScanScope {
            roots: &roots,
            names,
            rules: None,
            listed: &listed,
            cache: &cache,
            bounds: ScanLimits::DEFAULT,
            excess: ScanExcess::Refused,
        };
        ScanResult::scan_roots(scope, &|_| true).entries.len()
    };
    let builtin = ProtectedPaths::builtin();
    while cache.read().get(&ListedNames::new(&builtin, None)).is_none() {
        assert_eq!(count(&builtin), 0);
    }
    assert_eq!(count(&ProtectedPaths::builtin().with_patterns(["secret"]).unwrap()), 1);
}

/// Scans with small limits and returns the number of entries and the problem.
fn bounded(root: &Path, bounds: ScanLimits) -> (usize, Option<String>) {
    let roots = open_roots(&[root.to_path_buf()], &[]).unwrap();
    let (names, cache) = (ProtectedPaths::builtin(), ScanCache::default());
    let (listed, cache) = (ListedNames::new(&names, None), &cache);
    let scope = ScanScope {
        roots: &roots,
        names: &names,
        rules: None,
        listed: &listed,
        cache,
        bounds,
        excess: ScanExcess::Refused,
    };
    let mut look = ScanResult::scan_roots(scope, &|_| true);
    let problem = look.problem.take().map(|problem| problem.to_string());
    let root = root.display().to_string();
    (look.entries.len(), problem.map(|problem| problem.replace(&root, "ROOT")))
}

#[test]
fn what_is_too_much_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b/.idea")).unwrap();
    fs::write(root.join("a/b/.idea/x"), "").unwrap();
    fs::write(root.join(".envrc"), "").unwrap();
    let exact = ScanLimits { directories_max: 4, depth_max: 3, entries_max: 3 };
    assert_eq!(bounded(&root, exact), (3, None));
    let check = |bounds: ScanLimits, found: usize, expect: Expect| {
        let (entries, problem) = bounded(&root, bounds);
        expect.assert_eq(&problem.unwrap());
        assert_eq!(entries, found);
    };
    check(
        ScanLimits { directories_max: 3, ..exact },
        2,
        expect![[
            r#""ROOT" holds more than 3 directories, so protected names in it cannot be found; use a smaller directory as the root"#
        ]],
    );
    // Only the directory that is too deep is skipped.
    check(
        ScanLimits { depth_max: 2, ..exact },
        2,
        expect![[
            r#""ROOT/a/b/.idea" is nested more than 2 directories deep, so protected names in it cannot be found; remove it or move it up"#
        ]],
    );
    check(
        ScanLimits { entries_max: 2, ..exact },
        2,
        expect![[
            r#"more than 2 files lie under protected names, the latest found at "ROOT/a/b/.idea/x"; take the pattern that matches it out of the protected names, or use a smaller directory as the root"#
        ]],
    );
}

/// The nearest entries are found, whatever else exists.
#[test]
fn no_flood_hides_what_is_near() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for number in 0..50 {
        fs::create_dir_all(root.join(format!("flood/{number}"))).unwrap();
        fs::create_dir_all(root.join(format!("{number}"))).unwrap();
    }
    fs::create_dir_all(root.join(".git/hooks/sub")).unwrap();
    fs::write(root.join(".git/hooks/sub/x"), "").unwrap();
    let bounds = ScanLimits { directories_max: 10, ..ScanLimits::DEFAULT };
    let (entries, problem) = bounded(&root, bounds);
    assert!(entries == 4 && problem.is_some(), "{entries} {problem:?}");
}

/// A scan passes over directories in which the scan before found nothing, until something changes in one of them.
#[test]
fn quiet_directories_are_passed_over_until_a_name_in_them_changes() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("src/a/b")).unwrap();
    fs::create_dir_all(root.join("other/.git")).unwrap();
    let cache = ScanCache::default();
    let names = ListedNames::new(&ProtectedPaths::builtin(), None);
    let quiet = || {
        let roots = open_roots(std::slice::from_ref(&root), &[]).unwrap();
        let followed = cache.shared.followed.take(&roots[0]).unwrap();
        let counts = [c"", c"src", c"src/a/b", c"other"]
            .map(|path| followed.quiet_directories(&names, path));
        cache.shared.followed.put_back(followed);
        counts
    };
    for _ in 0..2 {
        assert_eq!(found(&cache, &root, &|_| true).len(), 1);
        assert_eq!(quiet(), [None, Some(3), Some(1), None]);
    }
    fs::write(root.join("src/a/b/.envrc"), "x").unwrap();
    assert_eq!(found(&cache, &root, &|_| true).len(), 2);
    assert_eq!(quiet(), [None; 4]);
    fs::remove_file(root.join("src/a/b/.envrc")).unwrap();
    assert_eq!(found(&cache, &root, &|_| true).len(), 1);
    assert_eq!(quiet(), [None, Some(3), Some(1), None]);
}
