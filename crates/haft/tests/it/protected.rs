//! Tests that file tools cannot change protected paths under any name, because other programs run or obey these files.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use haft_contract::{
    Access, Cx, FileChange, FsRequirement, Precondition, RequirementSet, Tool, ToolError,
};
use serde_json::json;

use crate::stage::{Setting, Stage, Text};

fn everywhere() -> RequirementSet {
    let fs = FsRequirement { read: vec!["**".to_owned()], write: vec!["**".to_owned()] };
    RequirementSet { fs, ..RequirementSet::default() }
}

/// Writes files at once, as far as the call may reach each.
fn write(cx: &Cx, paths: &str) -> Result<&'static str, ToolError> {
    let changes = paths.split(' ').map(|path| {
        let (path, _) = cx.fs().resolve(path)?;
        let (contents, precondition) = (b"new".to_vec(), Precondition::Any);
        Ok(FileChange::Write { path, contents, mode: None, precondition })
    });
    cx.fs().apply(changes.collect::<Result<_, ToolError>>()?)?;
    Ok("written")
}

/// A tool that writes the paths that it is given.
fn put() -> Tool {
    let declared = |input: &Text| input.text.split(' ').map(Access::write).collect();
    Tool::new("put")
        .requires(everywhere())
        .accesses(declared)
        .execute_blocking(|input: Text, cx: &Cx| write(cx, &input.text))
}

/// A tool that declares the first of two paths, and reaches for the second.
fn sly() -> Tool {
    let declared = |input: &Text| input.text.split(' ').take(1).map(Access::write).collect();
    Tool::new("sly").requires(everywhere()).accesses(declared).execute_blocking(
        |input: Text, cx: &Cx| write(cx, input.text.split(' ').nth(1).unwrap_or_default()),
    )
}

struct Workspace {
    stage: Stage,
    root: PathBuf,
}

impl Workspace {
    /// Makes a workspace with these files in it.
    async fn with(files: &[&str]) -> Self {
        let stage = Stage::new(Setting { tools: vec![put(), sly()], ..Setting::default() }).await;
        let root = stage.directory.path().join("root");
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "old").unwrap();
        }
        Self { stage, root }
    }

    fn link(&self, target: &str, name: &str) {
        symlink(target, self.root.join(name)).unwrap();
    }

    async fn check(&self, tool: &str, paths: &str, expect: Expect) {
        expect.assert_eq(&self.stage.call(tool, json!({"text": paths})).await.text());
    }

    async fn writes(&self, paths: &str) {
        assert_eq!(
            self.stage.call("put", json!({"text": paths})).await.text(),
            "written",
            "{paths}"
        );
    }

    /// Checks that a call is refused, and that none of its files is there as it would have it.
    async fn refuses(&self, paths: &str) {
        let envelope = self.stage.call("put", json!({"text": paths})).await;
        let code = envelope.code().map(|code| code.to_string());
        assert_eq!(code.as_deref(), Some("CAPABILITY_DENIED"), "{paths}: {}", envelope.text());
        for path in paths.split(' ') {
            let contents = std::fs::read_to_string(self.root.join(path)).unwrap_or_default();
            assert_ne!(contents, "new", "{paths}");
        }
    }
}

#[tokio::test]
async fn a_protected_name_that_is_a_link_is_protected_as_well() {
    let workspace = Workspace::with(&["conf/settings.json", "conf/other.json", "src/a"]).await;
    workspace.link("conf", ".claude");
    workspace.link("conf/other.json", ".mcp.json");
    workspace.link(".claude", "alias");
    workspace.link("../.claude/settings.json", "src/settings");
    let refused = expect![[
        r#".claude/settings.json is protected by ".claude/**", because others run or obey what it says: leave it, or tell the user what to change"#
    ]];
    workspace.check("put", ".claude/settings.json", refused).await;
    for path in [
        ".mcp.json",
        "src/../.claude/settings.json",
        "./.claude/../.claude/settings.json",
        ".claude/new/file",
        "alias/settings.json",
        "src/settings",
    ] {
        workspace.refuses(path).await;
    }
    let absolute = workspace.root.join(".claude/settings.json");
    workspace.refuses(&absolute.to_string_lossy()).await;
    workspace.writes(".claude/../src/a").await;
}

#[tokio::test]
async fn what_a_protected_name_leads_to_is_protected_as_well() {
    let workspace = Workspace::with(&[
        "conf/settings.json",
        "conf/other.json",
        "app/conf/a",
        ".config/keep",
        "tools/hook",
        ".git/HEAD",
        "around/a",
        "src/a",
    ])
    .await;
    for (target, name) in [
        ("conf", ".claude"),
        ("app/mcp.json", ".mcp.json"),
        ("conf", "app/.Cursor"),
        ("../gitconf", ".config/git"),
        ("../tools", ".git/hooks"),
        // They stand for all that is around them, and so for nothing.
        (".", ".vscode"),
        ("..", "around/.idea"),
        ("/etc", ".codex"),
        (".kiro", ".kiro"),
        ("src", "link"),
    ] {
        workspace.link(target, name);
    }
    let refused = expect![[
        r#""conf/settings.json" is protected by ".claude/**", because the link ".claude" leads to it and others run or obey what it says: leave it, or tell the user what to change"#
    ]];
    workspace.check("put", "conf/settings.json", refused).await;
    for path in [
        "conf/new/file",
        "app/mcp.json",
        "app/conf/b",
        "src/a conf/other.json",
        "gitconf/config",
        "tools/hook",
        "link/../conf/x",
    ] {
        workspace.refuses(path).await;
    }
    workspace.writes("app/other.json gitconfig conference src/a around/b").await;
}

#[tokio::test]
async fn protected_links_are_looked_for_in_a_bounded_number_of_directories() {
    let files: Vec<_> = (0..64).map(|index| format!(".vim/{index:02}/file")).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    let workspace = Workspace::with(&files).await;
    workspace.link("../../near", ".vim/62/link");
    workspace.link("../../far", ".vim/63/link");
    workspace.refuses("near/file").await;
    workspace.writes("far/file").await;
}

#[tokio::test]
async fn a_declared_place_is_not_written_by_its_protected_name() {
    let workspace = Workspace::with(&["conf/settings.json"]).await;
    workspace.link("conf", ".claude");
    let refused = expect![[
        r#".claude/settings.json is protected by ".claude/**", because others run or obey what it says: leave it, or tell the user what to change"#
    ]];
    workspace.check("sly", "conf/settings.json .claude/settings.json", refused).await;
    workspace.check("sly", "src/a src/a", expect!["written"]).await;
}

#[tokio::test]
async fn where_a_repository_keeps_its_hooks_is_protected() {
    let workspace = Workspace::with(&["tools/hooks/pre-push", "tools/other", "elsewhere/a"]).await;
    std::fs::create_dir(workspace.root.join(".git")).unwrap();
    let configuration = "[core]\n\thooksPath = tools/hooks\n\thooksPath = linked\n";
    std::fs::write(workspace.root.join(".git/config"), configuration).unwrap();
    workspace.link("elsewhere", "linked");
    let refused = expect![[
        r#"tools/hooks/pre-push is protected as by ".git/hooks/**", because the repository tells git with core.hooksPath to look for hooks there: leave it, or tell the user what to change"#
    ]];
    workspace.check("put", "tools/hooks/pre-push", refused).await;
    for path in ["tools/hooks/new/file", "TOOLS/Hooks/x", "linked/b", "elsewhere/b"] {
        workspace.refuses(path).await;
    }
    workspace.writes("tools/other tools/hooks2 src/tools/hooks/a").await;
}

#[tokio::test]
async fn what_git_obeys_is_protected_in_repositories_of_any_name() {
    let bare = ["bare/HEAD", "bare/config", "bare/objects/a", "bare/refs/b", "bare/hooks/sample"];
    let workspace = Workspace::with(&[&bare[..], &["half/HEAD", "half/refs/b"]].concat()).await;
    workspace.check("put", "bare/hooks/post-update", expect![[r#""bare/hooks/post-update" is protected as by ".git/hooks/**", because git takes "bare" for a repository and obeys what it says: leave it, or tell the user what to change"#]]).await;
    for path in [
        "bare/config",
        "bare/config.worktree",
        "bare/commondir",
        "bare/Config",
        "bare/hooks/deep/er",
        "bare/modules/m/config",
        "half/config",
        "half/hooks/post-update",
    ] {
        workspace.refuses(path).await;
    }
    // Git itself changes these files all the time. The other names have a meaning only inside repositories.
    workspace.writes("bare/HEAD bare/refs/b bare/refs/c bare/objects/d bare/description").await;
    workspace.writes("src/config src/hooks/useful src/commondir").await;
    workspace.writes("objects/x config hooks/run").await;
}

#[tokio::test]
async fn no_repository_is_made_around_what_git_would_obey() {
    let workspace = Workspace::with(&["a/config", "b/hooks/pre-push", "c/commondir"]).await;
    workspace.writes("a/HEAD a/objects/x").await;
    workspace.check("put", "a/refs/x", expect![[r#""a/refs/x" would make "a" a git repository, and git would obey the "config" that is in it: choose another place, or ask the user to make the repository"#]]).await;
    workspace.refuses("a/refs/heads/main").await;
    workspace.refuses("a/Refs/x").await;
    workspace.refuses("b/HEAD b/objects/x b/refs/x").await;
    workspace.refuses("c/HEAD").await;
    // All at once, in any order.
    workspace.refuses("d/HEAD d/config d/objects/x d/refs/x").await;
    workspace.refuses("d/config d/objects/x d/refs/x").await;
    workspace.refuses("d/commondir d/HEAD").await;
    workspace.refuses("HEAD objects/x refs/x hooks/pre-push").await;
    assert!(!workspace.root.join("d").exists());
    // One by one.
    workspace.writes("e/config").await;
    workspace.writes("e/refs/x").await;
    workspace.writes("e/HEAD").await;
    workspace.refuses("e/objects/x").await;
    // A repository that tells git nothing to run.
    workspace.writes("f/HEAD f/objects/x f/refs/x").await;
    workspace.refuses("f/config").await;
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_make_a_repository_together() {
    for _ in 0..20 {
        let workspace = Workspace::with(&["a/config", "a/HEAD"]).await;
        let call = |path: &str| workspace.stage.call("put", json!({"text": path}));
        tokio::join!(call("a/objects/x"), call("a/refs/x"));
        let has = |name: &str| workspace.root.join("a").join(name).exists();
        assert!(has("objects") != has("refs"));
    }
}
