//! Protected names around a command: what has to be held before it, and what is undone after it. Commands are played by
//! the test itself where it matters only what they leave, and run by real git where it matters what git does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use haft_sandbox::{
    Holding, Means, Pin, PinKind, ProtectedNames, Remedy, Survey, SurveyCache, Undone, Worktree,
    worktree_directories,
};

/// A writable directory and a place outside of it.
struct Workspace {
    _directory: tempfile::TempDir,
    top: PathBuf,
    root: PathBuf,
    cache: SurveyCache,
}

impl Workspace {
    fn new() -> Workspace {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let root = top.join("root");
        fs::create_dir(&root).unwrap();
        Workspace { _directory: directory, top, root, cache: SurveyCache::default() }
    }

    /// A workspace with a repository that git made.
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

    /// Runs git as on a machine without any settings, and returns what it prints.
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

    /// Runs a script where the pins are mounted, and returns what it prints.
    fn run_with(&self, pins: &[Pin], script: &str) -> String {
        let mut mounts = String::new();
        for pin in pins {
            let path = pin.path.display();
            mounts += &format!("mount --bind {path} {path}\n");
            match pin.kind {
                PinKind::Anchor => {}
                PinKind::ReadOnly | PinKind::Hidden => {
                    mounts += &format!("mount -o remount,bind,ro {path}\n");
                }
            }
        }
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-e", "-c", &(mounts + script)])
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.top)
            .output()
            .expect("unshare is needed to try the mounts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn survey(&self, holding: Holding) -> Survey {
        self.survey_of(std::slice::from_ref(&self.root), holding)
    }

    fn survey_of(&self, roots: &[PathBuf], holding: Holding) -> Survey {
        let quarantine = Some(self.top.join("quarantine"));
        let means = Means { holding, hidden: Vec::new(), quarantine };
        Survey::take(&self.cache, roots, &ProtectedNames::builtin(), means).unwrap()
    }

    /// Prints what was undone, with paths from where the test put them.
    fn print(&self, undone: &[Undone]) -> String {
        let short =
            |path: &Path| path.strip_prefix(&self.top).unwrap_or(path).display().to_string();
        let line = |it: &Undone| {
            let how = match &it.how {
                Remedy::Quarantined(path) => format!("quarantined as {}", short(path)),
                Remedy::Restored => "restored".to_owned(),
                Remedy::Removed => "removed".to_owned(),
                Remedy::Failed(reason) => format!("failed: {reason}"),
            };
            format!("{} ({}): {how}\n", short(&it.path), it.pattern)
        };
        undone.iter().map(line).collect()
    }

    /// Takes a survey, lets `command` happen, and compares what is undone.
    fn check(&self, holding: Holding, command: impl FnOnce(), expect: Expect) {
        let survey = self.survey(holding);
        command();
        expect.assert_eq(&self.print(&survey.conclude()));
        assert_eq!(survey.conclude(), [], "what is in order stays as it is");
        assert_eq!(self.survey(holding).conclude(), [], "also for the next command");
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
        Holding::Pinning,
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
    let means = Means { holding: Holding::Pinning, hidden: Vec::new(), quarantine: None };
    let roots = std::slice::from_ref(&workspace.root);
    let survey = Survey::take(&workspace.cache, roots, &ProtectedNames::builtin(), means).unwrap();
    workspace.write(".claude/agents/x", "evil");
    assert_eq!(workspace.print(&survey.conclude()), "root/.claude (.claude/**): removed\n");
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
    // An empty repository cannot be a submodule, so that the one that is to be one gets something first.
    let prepared = || {
        workspace.git("init -q --bare -b main bare.git");
        workspace.git("push -q ./bare.git main");
        command();
    };
    workspace.check(Holding::Pinning, prepared, expect![[""]]);
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
        // Known by its shape alone.
        workspace.git("init -q --bare odd");
        workspace.git("-C odd config core.hooksPath evil");
        // Its configuration is to be found elsewhere.
        workspace.write("new/.git/commondir", "../../elsewhere\n");
        workspace.write("elsewhere/config", "[core]\n\tpager = evil\n");
        // Pointers to what was not judged.
        workspace.write("a/.git", "gitdir: /somewhere\n");
        workspace.write("b/.git", "gitdir: ../.git\n");
        workspace.git("config -f new/.git/config.worktree include.path evil");
    };
    workspace.check(
        Holding::Pinning,
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

/// A shape can be completed around a file that was there before and was nothing special.
#[test]
fn a_directory_that_becomes_a_repository_is_judged_then() {
    let workspace = Workspace::new();
    workspace.write("x/config", "[core]\n\tfsmonitor = evil\n");
    workspace.write("x/HEAD", "ref: refs/heads/main\n");
    fs::create_dir(workspace.root.join("x/objects")).unwrap();
    workspace.check(
        Holding::Pinning,
        || fs::create_dir(workspace.root.join("x/refs")).unwrap(),
        expect![[r#"
            root/x/config (.git/config): quarantined as quarantine/1/config
        "#]],
    );
}

/// Mounts move along with what is renamed around them. What then takes the place is new.
#[test]
fn a_repository_can_be_moved_and_nothing_harmful_takes_its_place() {
    let workspace = Workspace::new();
    workspace.git("init -q sub");
    workspace.git("-C sub config core.pager less");
    workspace.write("sub/.git/hooks/pre-commit", "mine");
    workspace.check(
        Holding::Pinning,
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

/// Somebody who is not the command may change what a mount held in the command's view.
#[test]
fn what_others_change_meanwhile_is_not_lost() {
    let workspace = Workspace::with_repository();
    workspace.git("config core.pager less");
    workspace.write(".envrc", "one");
    workspace.check(
        Holding::Pinning,
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
        Holding::Pinning,
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

/// What an own new link leads to is ordinary work.
#[test]
fn a_new_link_goes_and_what_it_leads_to_stays() {
    let workspace = Workspace::new();
    workspace.write("src/main.rs", "work");
    workspace.check(
        Holding::Pinning,
        || symlink("src", workspace.root.join(".vscode")).unwrap(),
        expect![[r#"
            root/.vscode (.vscode/**): quarantined as quarantine/1/.vscode
        "#]],
    );
    assert_eq!(workspace.read("src/main.rs").as_deref(), Some("work"));
}

/// Where nothing is mounted, everything that exists can be changed, and comes back.
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
        // The same content again is no change.
        fs::remove_file(workspace.root.join(".mcp.json")).unwrap();
        workspace.write(".mcp.json", "mine");
        fs::rename(workspace.root.join("sub"), workspace.root.join("moved")).unwrap();
        fs::remove_file(workspace.root.join(".claude")).unwrap();
        workspace.write("linked", "evil");
    };
    workspace.check(
        Holding::Comparing,
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
    workspace.survey(Holding::Comparing);
    workspace.write(".vscode/one", "x");
    let means = Means { holding: Holding::Comparing, hidden: Vec::new(), quarantine: None };
    let roots = std::slice::from_ref(&workspace.root);
    let error =
        Survey::take(&workspace.cache, roots, &ProtectedNames::builtin(), means).unwrap_err();
    assert!(
        error.to_string().starts_with("protected files hold more than 33554432 bytes"),
        "{error}"
    );
    // Mounts need no copies.
    workspace.survey(Holding::Pinning);
}

/// A mount holds one name of a file; whoever has another one can change it all the same.
#[test]
fn a_file_with_names_out_of_reach_is_compared() {
    let workspace = Workspace::new();
    workspace.write(".envrc", "mine");
    workspace.write(".vscode/tasks.json", "mine");
    for (name, other) in [(".envrc", "other-1"), (".vscode/tasks.json", "other-2")] {
        fs::hard_link(workspace.root.join(name), workspace.top.join(other)).unwrap();
    }
    workspace.check(
        Holding::Pinning,
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

/// Only one who is not root can be shut out; root passes this as well, for its own reasons.
#[test]
fn shutting_a_directory_hides_nothing() {
    let workspace = Workspace::new();
    workspace.check(
        Holding::Pinning,
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

/// What the pins are for: mounted by somebody, they hold against everything that the rest of the tests let happen.
#[test]
fn mounted_pins_hold_what_exists() {
    let workspace = Workspace::with_repository();
    workspace.git("init -q sub");
    workspace.write(".git/hooks/pre-commit", "mine");
    workspace.write(".vscode/tasks.json", "mine");
    workspace.write("scripts/run", "mine");
    symlink("../../scripts/run", workspace.root.join(".git/hooks/post-commit")).unwrap();
    fs::hard_link(workspace.root.join(".vscode/tasks.json"), workspace.root.join("tasks")).unwrap();
    let survey = workspace.survey(Holding::Pinning);
    let tried = workspace.run_with(survey.pins(), ATTEMPTS);
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
    .assert_eq(&workspace.print(&survey.conclude()));
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
        let expect = expect.map(|(common, own)| Worktree {
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
    // Who writes the pointer alone gets nothing: neither by naming a repository, nor somebody else's worktree, nor a
    // directory that only looks like one.
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

/// The repository of a linked worktree is a root of its own, protected by the names on its path or by its shape.
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
        let survey = workspace.survey_of(&roots, Holding::Pinning);
        let pins: Vec<&Path> = survey.pins().iter().map(|pin| pin.path.as_path()).collect();
        for pinned in [
            worktree.common_dir.join("config"),
            worktree.common_dir.join("hooks"),
            roots[0].join(".git"),
        ] {
            assert!(pins.contains(&pinned.as_path()), "{pinned:?} {pins:?}");
        }
        workspace.git(&format!("-C {tree} commit -q --allow-empty -m more"));
        workspace.write(&format!("{common}/config.worktree"), "[core]\n\tpager = evil\n");
        let undone = survey.conclude();
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
        let means = Means { holding: Holding::Pinning, hidden: Vec::new(), quarantine: None };
        let roots = std::slice::from_ref(&path);
        let error =
            Survey::take(&workspace.cache, roots, &ProtectedNames::builtin(), means).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot look for protected names at {path:?}: {expect}")
        );
    }
}
