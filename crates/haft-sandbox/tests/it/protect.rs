//! Protected paths around a command: the mounts before it, and the reverted changes after it. The
//! test itself plays the command if only the result matters; real git runs if git's behaviour
//! matters.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use haft_sandbox::{
    LinkedWorktree, OBEYED_NAMES, ProtectedPathScan, ProtectedPaths, ProtectionMode,
    ProtectiveMount, ProtectiveMountKind, RevertResult, RevertedChange, RuledPaths, ScanCache,
    ScanOptions, worktree_directories,
};

/// A writable directory and a place outside of it.
struct Workspace {
    _directory: tempfile::TempDir,
    top: PathBuf,
    root: PathBuf,
    cache: ScanCache,
}

impl Workspace {
    fn new() -> Workspace {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let root = top.join("root");
        fs::create_dir(&root).unwrap();
        Workspace { _directory: directory, top, root, cache: ScanCache::default() }
    }

    /// Creates a workspace with a repository that git created.
    fn with_repository() -> Workspace {
        let workspace = Workspace::new();
        workspace.git("init -q -b main .");
        workspace.write("file", "one\n");
        workspace.git("add file");
        workspace.git("commit -q -m first");
        workspace
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Runs git without any settings, and returns its output.
    fn git(&self, line: &str) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
            .args(line.split(' '))
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.top)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a script with the mounts in place, and returns its output.
    fn run_with(&self, mounts: &[ProtectiveMount], script: &str) -> String {
        let mut mount_script = String::new();
        for mount in mounts {
            let path = mount.path.display();
            mount_script += &format!("mount --bind {path} {path}\n");
            match mount.kind {
                ProtectiveMountKind::Anchor => {}
                ProtectiveMountKind::ReadOnly | ProtectiveMountKind::Hidden => {
                    mount_script += &format!("mount -o remount,bind,ro {path}\n");
                }
            }
        }
        let output = Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "sh",
                "-e",
                "-c",
                &(mount_script + script),
            ])
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.top)
            .output()
            .expect("unshare is needed to try the mounts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn scan(&self, mode: ProtectionMode) -> ProtectedPathScan {
        self.scan_roots(std::slice::from_ref(&self.root), mode)
    }

    fn scan_roots(&self, roots: &[PathBuf], mode: ProtectionMode) -> ProtectedPathScan {
        let quarantine = Some(self.top.join("quarantine"));
        let means =
            ScanOptions { mode, hidden: Vec::new(), quarantine, ruled: RuledPaths::default() };
        ProtectedPathScan::scan_directories(&self.cache, roots, &ProtectedPaths::builtin(), means)
            .unwrap()
    }

    /// Prints the reverted changes, with paths relative to the test's directories.
    fn print(&self, undone: &[RevertedChange]) -> String {
        let short =
            |path: &Path| path.strip_prefix(&self.top).unwrap_or(path).display().to_string();
        let line = |it: &RevertedChange| {
            let how = match &it.result {
                RevertResult::Quarantined(path) => format!("quarantined as {}", short(path)),
                RevertResult::Restored => "restored".to_owned(),
                RevertResult::Removed => "removed".to_owned(),
                RevertResult::Failed(reason) => format!("failed: {reason}"),
            };
            format!("{} ({}): {how}\n", short(&it.path), it.pattern)
        };
        undone.iter().map(line).collect()
    }

    /// Scans, runs `command`, and compares the reverted changes.
    fn check(&self, mode: ProtectionMode, command: impl FnOnce(), expect: Expect) {
        let scan = self.scan(mode);
        command();
        expect.assert_eq(&self.print(&scan.reconcile()));
        assert_eq!(scan.reconcile(), [], "what is in order stays as it is");
        assert_eq!(self.scan(mode).reconcile(), [], "also for the next command");
    }
}

#[test]
fn what_is_new_is_undone_wherever_it_is() {
    let workspace = Workspace::with_repository();
    let command = || {
        workspace.write(".git/hooks/pre-commit", "evil");
        workspace.write("a/b/.git/hooks/post-checkout", "evil");
        workspace.write("a/.VSCode/tasks.json", "{}");
        workspace.write(".mcp.json", "{}");
        workspace.write("a/.en\u{200c}vrc", "evil");
        workspace.write("a/kept", "work");
        symlink("kept", workspace.root.join("a/.bashrc")).unwrap();
    };
    fs::remove_dir_all(workspace.root.join(".git/hooks")).unwrap();
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        command,
        expect![[r#"
            root/.git/hooks/pre-commit (.git/hooks/**): quarantined as quarantine/1/pre-commit
            root/.mcp.json (.mcp.json): quarantined as quarantine/2/.mcp.json
            root/a/.VSCode (.vscode/**): quarantined as quarantine/3/.VSCode
            root/a/.bashrc (.bashrc): quarantined as quarantine/4/.bashrc
            root/a/.en‌vrc (.envrc): quarantined as quarantine/5/.en‌vrc
            root/a/b/.git/hooks/post-checkout (.git/hooks/**): quarantined as quarantine/6/post-checkout
        "#]],
    );
    assert_eq!(workspace.read("a/kept").as_deref(), Some("work"));
    assert_eq!(
        fs::read_to_string(workspace.top.join("quarantine/3/.VSCode/tasks.json")).unwrap(),
        "{}"
    );
    assert!(fs::read_link(workspace.top.join("quarantine/4/.bashrc")).is_ok());
}

#[test]
fn without_a_quarantine_what_is_new_is_removed() {
    let workspace = Workspace::new();
    let means = ScanOptions {
        mode: ProtectionMode::ReadOnlyMounts,
        hidden: Vec::new(),
        quarantine: None,
        ruled: RuledPaths::default(),
    };
    let roots = std::slice::from_ref(&workspace.root);
    let scan = ProtectedPathScan::scan_directories(
        &workspace.cache,
        roots,
        &ProtectedPaths::builtin(),
        means,
    )
    .unwrap();
    workspace.write(".claude/agents/x", "evil");
    assert_eq!(workspace.print(&scan.reconcile()), "root/.claude (.claude/**): removed\n");
    assert!(!workspace.root.join(".claude").exists());
}

#[test]
fn what_git_makes_itself_stays() {
    let workspace = Workspace::with_repository();
    let command = || {
        workspace.git("init -q new");
        workspace.git("init -q --bare empty.git");
        workspace.git("clone -q . clone");
        workspace.git("clone -q --bare . mirror.git");
        workspace.git("worktree add -q linked");
        workspace.git("-C clone submodule --quiet add ../new/../bare.git sub");
        workspace.git("-C clone switch -q -c topic");
        workspace.write("file", "two\n");
        workspace.git("commit -q -a -m second");
        workspace.git("-C linked commit -q --allow-empty -m third");
    };
    // An empty repository cannot be a submodule, so this one gets a commit first.
    let prepared = || {
        workspace.git("init -q --bare -b main bare.git");
        workspace.git("push -q ./bare.git main");
        command();
    };
    workspace.check(ProtectionMode::ReadOnlyMounts, prepared, expect![[""]]);
    assert_eq!(workspace.git("-C linked log -1 --format=%s"), "third\n");
    assert_eq!(workspace.git("-C clone/sub log -1 --format=%s"), "first\n");
    assert_eq!(
        workspace.git("status --porcelain"),
        "?? bare.git/\n?? clone/\n?? empty.git/\n?? linked/\n?? mirror.git/\n?? new/\n"
    );
}

#[test]
fn a_new_repository_that_runs_something_does_not() {
    let workspace = Workspace::with_repository();
    let command = || {
        workspace.git("init -q new");
        workspace.git("-C new config core.fsmonitor ./evil");
        workspace.write("new/.git/hooks/pre-commit", "evil");
        // Recognised only by its shape.
        workspace.git("init -q --bare odd");
        workspace.git("-C odd config core.hooksPath evil");
        // Its configuration is in another place.
        workspace.write("new/.git/commondir", "../../elsewhere\n");
        workspace.write("elsewhere/config", "[core]\n\tpager = evil\n");
        // Pointers to repositories that were not judged.
        workspace.write("a/.git", "gitdir: /somewhere\n");
        workspace.write("b/.git", "gitdir: ../.git\n");
        workspace.git("config -f new/.git/config.worktree include.path evil");
    };
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        command,
        expect![[r#"
            root/a/.git (.git/.): quarantined as quarantine/1/.git
            root/new/.git/commondir (.git/commondir): quarantined as quarantine/2/commondir
            root/new/.git/config (.git/config): quarantined as quarantine/3/config
            root/new/.git/config.worktree (.git/config.worktree): quarantined as quarantine/4/config.worktree
            root/new/.git/hooks/pre-commit (.git/hooks/**): quarantined as quarantine/5/pre-commit
            root/odd/config (.git/config): quarantined as quarantine/6/config
        "#]],
    );
    assert!(workspace.root.join("new/.git/hooks/pre-commit.sample").exists());
}

/// A repository shape can be completed around an existing file that was not protected before.
#[test]
fn a_directory_that_becomes_a_repository_is_judged_then() {
    let workspace = Workspace::new();
    workspace.write("x/config", "[core]\n\tfsmonitor = evil\n");
    workspace.write("x/HEAD", "ref: refs/heads/main\n");
    fs::create_dir(workspace.root.join("x/objects")).unwrap();
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || fs::create_dir(workspace.root.join("x/refs")).unwrap(),
        expect![[r#"
            root/x/config (.git/config): quarantined as quarantine/1/config
        "#]],
    );
}

/// A mount moves when a directory around it is renamed. A file that then takes the old place is
/// new.
#[test]
fn a_repository_can_be_moved_and_nothing_harmful_takes_its_place() {
    let workspace = Workspace::new();
    workspace.git("init -q sub");
    workspace.git("-C sub config core.pager less");
    workspace.write("sub/.git/hooks/pre-commit", "mine");
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || {
            fs::rename(workspace.root.join("sub"), workspace.root.join("moved")).unwrap();
            workspace.write("sub/.git/config", "[core]\n\tpager = evil\n");
            workspace.write("sub/.git/hooks/pre-commit", "evil");
        },
        expect![[r#"
            root/sub/.git/config (.git/config): quarantined as quarantine/1/config
            root/sub/.git/hooks/pre-commit (.git/hooks/**): quarantined as quarantine/2/pre-commit
        "#]],
    );
    assert_eq!(workspace.read("moved/.git/hooks/pre-commit").as_deref(), Some("mine"));
    assert!(workspace.read("moved/.git/config").unwrap().contains("less"));
}

/// A process other than the command may change a file that a mount protects in the command's view.
#[test]
fn what_others_change_meanwhile_is_not_lost() {
    let workspace = Workspace::with_repository();
    workspace.git("config core.pager less");
    workspace.write(".envrc", "one");
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || {
            workspace.git("remote add origin https://example.org/a.git");
            workspace.write(".envrc", "two");
        },
        expect![[""]],
    );
    assert!(workspace.read(".git/config").unwrap().contains("example.org"));
    assert_eq!(workspace.read(".envrc").as_deref(), Some("two"));
}

#[test]
fn links_that_were_replaced_come_back() {
    let workspace = Workspace::with_repository();
    fs::remove_dir_all(workspace.root.join(".git/hooks")).unwrap();
    symlink("../scripts", workspace.root.join(".git/hooks")).unwrap();
    symlink("gone", workspace.root.join(".envrc")).unwrap();
    symlink("absent", workspace.root.join(".idea")).unwrap();
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || {
            fs::remove_file(workspace.root.join(".git/hooks")).unwrap();
            workspace.write(".git/hooks/pre-commit", "evil");
            fs::remove_file(workspace.root.join(".envrc")).unwrap();
            workspace.write("absent/workspace.xml", "evil");
        },
        expect![[r#"
            root/.git/hooks (.git/hooks/**): quarantined as quarantine/1/hooks
            root/.git/hooks (.git/hooks/**): restored
            root/absent (.idea/**): quarantined as quarantine/2/absent
            root/.envrc (.envrc): restored
        "#]],
    );
}

/// The target of a new link of the command is ordinary work.
#[test]
fn a_new_link_goes_and_what_it_leads_to_stays() {
    let workspace = Workspace::new();
    workspace.write("src/main.rs", "work");
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || symlink("src", workspace.root.join(".vscode")).unwrap(),
        expect![[r#"
            root/.vscode (.vscode/**): quarantined as quarantine/1/.vscode
        "#]],
    );
    assert_eq!(workspace.read("src/main.rs").as_deref(), Some("work"));
}

/// Without mounts, every existing file can be changed, and is restored.
#[test]
fn without_mounts_everything_is_put_back() {
    let workspace = Workspace::with_repository();
    fs::remove_dir_all(workspace.root.join(".git/hooks")).unwrap();
    workspace.write(".git/hooks/pre-commit", "mine");
    workspace.write(".vscode/tasks.json", "mine");
    workspace.write(".vscode/sub/deep.json", "mine");
    workspace.write(".envrc", "mine");
    workspace.write(".mcp.json", "mine");
    workspace.write("sub/.idea/x", "mine");
    symlink("x", workspace.root.join(".claude")).unwrap();
    workspace.write("linked", "mine");
    fs::hard_link(workspace.root.join("linked"), workspace.root.join("haft.toml")).unwrap();
    let hook = workspace.root.join(".git/hooks/pre-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    let before = (workspace.read(".git/config"), workspace.read(".mcp.json"));
    let command = || {
        workspace.git("config core.fsmonitor evil");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(workspace.root.join(".vscode")).unwrap();
        workspace.write(".vscode", "a file");
        workspace.write(".envrc", "evil");
        // Writing the same content again is not a change.
        fs::remove_file(workspace.root.join(".mcp.json")).unwrap();
        workspace.write(".mcp.json", "mine");
        fs::rename(workspace.root.join("sub"), workspace.root.join("moved")).unwrap();
        fs::remove_file(workspace.root.join(".claude")).unwrap();
        workspace.write("linked", "evil");
    };
    workspace.check(
        ProtectionMode::Copies,
        command,
        expect![[r#"
            root/.envrc (.envrc): quarantined as quarantine/1/.envrc
            root/.envrc (.envrc): restored
            root/.git/config (.git/config): quarantined as quarantine/2/config
            root/.git/config (.git/config): restored
            root/.git/hooks/pre-commit (.git/hooks/**): quarantined as quarantine/3/pre-commit
            root/.git/hooks/pre-commit (.git/hooks/**): restored
            root/.vscode (.vscode/**): quarantined as quarantine/4/.vscode
            root/haft.toml (haft.toml): quarantined as quarantine/5/haft.toml
            root/haft.toml (haft.toml): restored
            root/.claude (.claude/**): restored
            root/.vscode/sub/deep.json (.vscode/**): restored
            root/.vscode/tasks.json (.vscode/**): restored
        "#]],
    );
    assert_eq!((workspace.read(".git/config"), workspace.read(".mcp.json")), before);
    assert_eq!(workspace.read("haft.toml").as_deref(), Some("mine"));
    assert_eq!(workspace.read(".vscode/tasks.json").as_deref(), Some("mine"));
    assert_eq!(workspace.read("moved/.idea/x").as_deref(), Some("mine"));
    assert!(!workspace.root.join("sub").exists());
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn copies_are_kept_up_to_their_bound() {
    let workspace = Workspace::new();
    let bytes_max = 32 * 1024 * 1024;
    workspace.write(".idea/large", "");
    let file = fs::OpenOptions::new().write(true).open(workspace.root.join(".idea/large")).unwrap();
    file.set_len(bytes_max).unwrap();
    workspace.scan(ProtectionMode::Copies);
    workspace.write(".vscode/one", "x");
    let means = ScanOptions {
        mode: ProtectionMode::Copies,
        hidden: Vec::new(),
        quarantine: None,
        ruled: RuledPaths::default(),
    };
    let roots = std::slice::from_ref(&workspace.root);
    let error = ProtectedPathScan::scan_directories(
        &workspace.cache,
        roots,
        &ProtectedPaths::builtin(),
        means,
    )
    .unwrap_err();
    assert!(
        error.to_string().starts_with("protected files hold more than 33554432 bytes"),
        "{error}"
    );
    // With mounts, no copies are needed.
    workspace.scan(ProtectionMode::ReadOnlyMounts);
}

/// A mount protects one name of a file; the file can still be changed through another name.
#[test]
fn a_file_with_names_out_of_reach_is_compared() {
    let workspace = Workspace::new();
    workspace.write(".envrc", "mine");
    workspace.write(".vscode/tasks.json", "mine");
    for (name, other) in [(".envrc", "other-1"), (".vscode/tasks.json", "other-2")] {
        fs::hard_link(workspace.root.join(name), workspace.top.join(other)).unwrap();
    }
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || {
            fs::write(workspace.top.join("other-1"), "evil").unwrap();
            fs::write(workspace.top.join("other-2"), "evil").unwrap();
        },
        expect![[r#"
            root/.envrc (.envrc): quarantined as quarantine/1/.envrc
            root/.envrc (.envrc): restored
            root/.vscode/tasks.json (.vscode/**): quarantined as quarantine/2/tasks.json
            root/.vscode/tasks.json (.vscode/**): restored
        "#]],
    );
}

/// Only a user other than root can be locked out; root passes this test too, because no lock
/// applies to it.
#[test]
fn shutting_a_directory_hides_nothing() {
    let workspace = Workspace::new();
    workspace.check(
        ProtectionMode::ReadOnlyMounts,
        || {
            workspace.write("shut/.git/hooks/pre-commit", "evil");
            for path in ["shut/.git/hooks", "shut"] {
                let path = workspace.root.join(path);
                fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
            }
        },
        expect![[r#"
            root/shut/.git/hooks/pre-commit (.git/hooks/**): quarantined as quarantine/1/pre-commit
        "#]],
    );
    let mode = fs::metadata(workspace.root.join("shut")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0, "and is left as it was found");
    fs::set_permissions(workspace.root.join("shut"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(workspace.root.join("shut/.git/hooks"), fs::Permissions::from_mode(0o755))
        .unwrap();
}

const ATTEMPTS: &str = r#"
        try() { sh -c "$1" 2>/dev/null && echo "done: $1" || echo "held: $1"; }
        try 'echo evil > .git/config'
        try 'git config core.pager evil'
        try 'rm -f .git/config'
        try 'echo evil > new && mv -f new .git/config'
        try 'ln .git/config copy'
        try 'mv .git moved'
        try 'rm -rf .git/hooks'
        try 'echo evil > .git/hooks/pre-commit'
        try 'echo evil > .git/hooks/new'
        try 'mv .git/hooks .git/moved'
        try 'mv .vscode moved'
        try 'echo evil > .vscode/new'
        try 'echo evil > scripts/run'
        try 'echo evil > tasks'
        try 'mv sub/.git sub/moved'
        try 'mv sub moved && echo evil > moved/.git/config'
        try 'echo two > file && git -c user.name=A -c user.email=a@b commit -q -n -a -m second'
        try 'mkdir -p sub/.git && echo evil > sub/.git/config'
"#;

/// The purpose of the mounts: once mounted, they prevent every change that the other tests make.
#[test]
fn mounted_pins_hold_what_exists() {
    let workspace = Workspace::with_repository();
    workspace.git("init -q sub");
    workspace.write(".git/hooks/pre-commit", "mine");
    workspace.write(".vscode/tasks.json", "mine");
    workspace.write("scripts/run", "mine");
    symlink("../../scripts/run", workspace.root.join(".git/hooks/post-commit")).unwrap();
    fs::hard_link(workspace.root.join(".vscode/tasks.json"), workspace.root.join("tasks")).unwrap();
    let scan = workspace.scan(ProtectionMode::ReadOnlyMounts);
    let tried = workspace.run_with(scan.protective_mounts(), ATTEMPTS);
    expect![[r#"
        held: echo evil > .git/config
        held: git config core.pager evil
        held: rm -f .git/config
        held: echo evil > new && mv -f new .git/config
        held: ln .git/config copy
        held: mv .git moved
        held: rm -rf .git/hooks
        held: echo evil > .git/hooks/pre-commit
        held: echo evil > .git/hooks/new
        held: mv .git/hooks .git/moved
        held: mv .vscode moved
        held: echo evil > .vscode/new
        held: echo evil > scripts/run
        held: echo evil > tasks
        held: mv sub/.git sub/moved
        held: mv sub moved && echo evil > moved/.git/config
        done: echo two > file && git -c user.name=A -c user.email=a@b commit -q -n -a -m second
        done: mkdir -p sub/.git && echo evil > sub/.git/config
    "#]]
    .assert_eq(&tried);
    expect![[r#"
        root/sub/.git/config (.git/config): quarantined as quarantine/1/config
    "#]]
    .assert_eq(&workspace.print(&scan.reconcile()));
    assert!(!workspace.read("moved/.git/config").unwrap().contains("evil"));
}

#[test]
fn a_linked_worktree_is_one_only_if_its_repository_says_so() {
    let workspace = Workspace::with_repository();
    let root = &workspace.root;
    workspace.git("worktree add -q linked");
    workspace.git("clone -q --bare . bare.git");
    workspace.git("-C bare.git worktree add -q ../of-bare");
    workspace.git("init -q apart --separate-git-dir elsewhere");
    let check = |path: &str, expect: Option<(&str, &str)>| {
        let found = worktree_directories(&root.join(path)).unwrap();
        let expect = expect.map(|(common, own)| LinkedWorktree {
            common_dir: root.join(common),
            git_dir: root.join(own),
        });
        assert_eq!(found, expect, "{path}");
    };
    check("linked", Some((".git", ".git/worktrees/linked")));
    check("of-bare", Some(("bare.git", "bare.git/worktrees/of-bare")));
    check(".", None);
    check("apart", None);
    check("missing", None);
    // Writing only the pointer gains nothing: neither naming a repository, nor another worktree,
    // nor a directory that only looks like one.
    for (name, pointer) in [
        ("false-1", "../.git"),
        ("false-2", "../.git/worktrees/linked"),
        ("false-3", "../made-up/worktrees/x"),
    ] {
        workspace.write(&format!("{name}/.git"), &format!("gitdir: {pointer}\n"));
    }
    workspace.write("made-up/worktrees/x/commondir", "../..\n");
    let answer = root.join("false-3/.git").display().to_string();
    workspace.write("made-up/worktrees/x/gitdir", &answer);
    for name in ["false-1", "false-2", "false-3"] {
        check(name, None);
    }
    symlink(root.join("linked/.git"), root.join("apart/link")).unwrap();
    fs::remove_file(root.join("apart/.git")).unwrap();
    fs::rename(root.join("apart/link"), root.join("apart/.git")).unwrap();
    check("apart", None);
}

/// The repository of a linked worktree is a separate root, protected by the names on its path or by
/// its shape.
#[test]
fn a_linked_worktree_can_commit_and_not_change_its_repository() {
    let workspace = Workspace::with_repository();
    workspace.git("clone -q --bare . bare.git");
    workspace.git("-C bare.git worktree add -q ../of-bare");
    workspace.git("worktree add -q linked");
    for (tree, common) in [("linked", ".git"), ("of-bare", "bare.git")] {
        let worktree = worktree_directories(&workspace.root.join(tree)).unwrap().unwrap();
        assert_eq!(worktree.common_dir, workspace.root.join(common));
        let roots = [workspace.root.join(tree), worktree.common_dir.clone()];
        let scan = workspace.scan_roots(&roots, ProtectionMode::ReadOnlyMounts);
        let mounts: Vec<&Path> =
            scan.protective_mounts().iter().map(|mount| mount.path.as_path()).collect();
        for pinned in [
            worktree.common_dir.join("config"),
            worktree.common_dir.join("hooks"),
            roots[0].join(".git"),
        ] {
            assert!(mounts.contains(&pinned.as_path()), "{pinned:?} {mounts:?}");
        }
        workspace.git(&format!("-C {tree} commit -q --allow-empty -m more"));
        workspace.write(&format!("{common}/config.worktree"), "[core]\n\tpager = evil\n");
        let undone = scan.reconcile();
        assert_eq!(undone.len(), 1, "{undone:?}");
    }
}

#[test]
fn a_root_that_is_missing_or_a_file_is_refused() {
    let workspace = Workspace::new();
    workspace.write("file", "x");
    for (path, expect) in
        [("missing", "No such file or directory (os error 2)"), ("file", "not a directory")]
    {
        let path = workspace.root.join(path);
        let means = ScanOptions {
            mode: ProtectionMode::ReadOnlyMounts,
            hidden: Vec::new(),
            quarantine: None,
            ruled: RuledPaths::default(),
        };
        let roots = std::slice::from_ref(&path);
        let error = ProtectedPathScan::scan_directories(
            &workspace.cache,
            roots,
            &ProtectedPaths::builtin(),
            means,
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot scan for protected names at {path:?}: {expect}")
        );
    }
}

/// Every name of the table, planted at some depth.
#[test]
fn no_name_that_programs_obey_can_be_planted() {
    for mode in [ProtectionMode::ReadOnlyMounts, ProtectionMode::Copies] {
        let workspace = Workspace::new();
        let patterns = OBEYED_NAMES.iter().flat_map(|names| names.patterns);
        let planted: Vec<PathBuf> = patterns
            .filter(|pattern| !pattern.ends_with("/."))
            .enumerate()
            .map(|(number, pattern)| {
                let name = pattern.replace("**", "x").replace('*', "x");
                workspace.root.join(format!("{number}/deep")).join(name)
            })
            .collect();
        let scan = workspace.scan(mode);
        for path in &planted {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "path = \"/tmp/evil\"").unwrap();
        }
        let undone = scan.reconcile();
        assert!(undone.iter().all(|it| matches!(it.result, RevertResult::Quarantined(_))));
        let left: Vec<&PathBuf> = planted.iter().filter(|path| path.exists()).collect();
        assert!(left.is_empty(), "{mode:?}: {left:?}");
    }
}

#[test]
fn a_new_toolchain_file_that_names_no_directory_stays() {
    let workspace = Workspace::new();
    let scan = workspace.scan(ProtectionMode::ReadOnlyMounts);
    workspace.write("a/rust-toolchain.toml", "[toolchain]\nchannel = \"1.90\"\n");
    workspace.write("b/rust-toolchain", "stable\n");
    workspace.write("c/rust-toolchain.toml", "[toolchain]\npath = \"tools\"\n");
    workspace.write("d/rust-toolchain.toml", "[toolchain]\n\"p\\u0061th\" = \"tools\"\n");
    workspace.write("e/rust-toolchain", "/tmp/evil\n");
    assert_eq!(scan.reconcile().len(), 3);
    let is_there = |path: &str| workspace.read(path).is_some();
    assert!(is_there("a/rust-toolchain.toml") && is_there("b/rust-toolchain"));
    assert!(!is_there("c/rust-toolchain.toml") && !is_there("d/rust-toolchain.toml"));
    assert!(!is_there("e/rust-toolchain"));
}
