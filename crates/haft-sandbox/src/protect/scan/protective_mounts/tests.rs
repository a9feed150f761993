//! The mounts that are chosen for different trees.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};

use super::super::report::{ProtectionMode, ScanOptions};
use super::super::{ProtectedPathScan, ScanCache};
use crate::protect::{ProtectedPaths, RuledPaths};

/// Creates a tree of files (`a/b`), directories (`a/`), links (`a -> b`) and other names (`a = b`),
/// and prints its mounts.
fn check(tree: &[&str], mode: ProtectionMode, expect: Expect) {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let root = top.join("root");
    fs::create_dir(&root).unwrap();
    for line in tree {
        make(&root, line);
    }
    let means = ScanOptions {
        mode,
        hidden: vec![top.join("hidden")],
        quarantine: None,
        ruled: RuledPaths::default(),
    };
    let roots = [root.clone(), root.join("sub")];
    let roots: Vec<_> = roots.into_iter().filter(|root| root.exists()).collect();
    let scan = ProtectedPathScan::scan_directories(
        &ScanCache::default(),
        &roots,
        &ProtectedPaths::builtin(),
        means,
    )
    .unwrap();
    let line = |mount: &super::ProtectiveMount| {
        format!("{:?} {}\n", mount.kind, mount.path.strip_prefix(&root).unwrap().display())
    };
    expect.assert_eq(&scan.protective_mounts().iter().map(line).collect::<String>());
}

fn make(root: &Path, line: &str) {
    let with_parent = |name: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    if let Some((name, target)) = line.split_once(" -> ") {
        symlink(target, with_parent(name)).unwrap();
    } else if let Some((name, other)) = line.split_once(" = ") {
        fs::hard_link(root.join(other), with_parent(name)).unwrap();
    } else if line.ends_with('/') {
        fs::create_dir_all(root.join(line)).unwrap();
    } else {
        fs::write(with_parent(line), "x").unwrap();
    }
}

#[test]
fn a_repository_needs_three() {
    check(
        &[
            ".git/config",
            ".git/hooks/a",
            ".git/hooks/b",
            ".git/HEAD",
            ".git/refs/heads/config",
            "src/config",
        ],
        ProtectionMode::ReadOnlyMounts,
        expect![[r#"
            Anchor .git
            ReadOnly .git/config
            ReadOnly .git/hooks
        "#]],
    );
}

#[test]
fn repositories_are_known_by_name_or_shape_at_any_depth() {
    check(
        &[
            "sub/.git/config",
            "bare/HEAD",
            "bare/objects/",
            "bare/refs/heads/hooks",
            "bare/config",
            "bare/hooks/",
            ".git/HEAD",
            ".git/objects/",
            ".git/refs/",
            ".git/modules/m/HEAD",
            ".git/modules/m/objects/",
            ".git/modules/m/refs/heads/config",
            ".git/modules/m/config",
            ".git/worktrees/w/HEAD",
            ".git/worktrees/w/commondir",
            "linked/.git",
        ],
        ProtectionMode::ReadOnlyMounts,
        expect![[r#"
            Anchor .git
            Anchor .git/modules/m
            ReadOnly .git/modules/m/config
            Anchor .git/worktrees/w
            ReadOnly .git/worktrees/w/commondir
            Anchor bare
            ReadOnly bare/config
            ReadOnly bare/hooks
            ReadOnly linked/.git
            Anchor sub/.git
            ReadOnly sub/.git/config
        "#]],
    );
}

#[test]
fn what_links_lead_to_is_held_and_never_a_directory_around_them() {
    check(
        &[
            ".git/hooks -> ../scripts",
            "scripts/pre-commit",
            ".vscode/settings.json -> ../shared/settings",
            "shared/settings",
            ".claude -> .",
            ".envrc -> /etc/hostname",
            ".idea -> missing",
        ],
        ProtectionMode::ReadOnlyMounts,
        expect![[r#"
            Anchor .git
            ReadOnly .vscode
            ReadOnly scripts
            ReadOnly shared/settings
        "#]],
    );
}

#[test]
fn other_names_of_what_is_protected_or_hidden_are_held() {
    let tree = &[
        ".envrc",
        "src/copy = .envrc",
        ".vscode/tasks.json",
        "tasks = .vscode/tasks.json",
        ".idea/x",
        ".vscode/x = .idea/x",
        "../hidden/key",
        "seen/key = ../hidden/key",
    ];
    check(
        tree,
        ProtectionMode::ReadOnlyMounts,
        expect![[r#"
            ReadOnly .envrc
            ReadOnly .idea
            ReadOnly .vscode
            Hidden seen/key
            ReadOnly src/copy
            ReadOnly tasks
        "#]],
    );
    check(
        tree,
        ProtectionMode::Copies,
        expect![[r#"
            Hidden seen/key
        "#]],
    );
}
