//! Tests the files that processes of a subagent's calls see and change. The kernel enforces the restrictions, whatever
//! the command line says.

use std::os::unix::fs::symlink;

use haft::{ConfineMode, Connection, Restrictions, Sandbox};
use haft_contract::{
    Access, BackgroundProcess, BackgroundProcessRequest, CommandLine, Cx, ProcessEnding,
    ProcessWriteAccess, ShellRequest, ShellRequirement, Tool, ToolError,
};
use haft_policy::RuleAction;

use super::{call, files, message_of, requirement_restrictions, rule_restrictions};
use crate::background::{ask, helper, request};
use crate::stage::{Setting, Stage, Text};

fn command_restrictions(read: &[&str], write: &[&str]) -> Restrictions {
    let mut requires = files(read, write);
    requires.shell = vec![ShellRequirement { cmd: "*".to_owned(), args: None }];
    requirement_restrictions(requires)
}

/// Runs a script, in a directory if one is named before it, as in `docs: ls`, and answers with what it printed.
fn sh() -> Tool {
    let mut requires = files(&["{workspace}/**"], &["{workspace}/**"]);
    requires.shell = vec![ShellRequirement { cmd: "sh".to_owned(), args: None }];
    Tool::new("sh")
        .requires(requires)
        .accesses(|_: &Text| {
            vec![Access::Shell { command: CommandLine::Argv(vec!["sh".to_owned()]) }]
        })
        .execute_with(|input: Text, cx: Cx| async move {
            let (cwd, script) = match input.text.split_once(": ") {
                Some((cwd, script)) => (Some(cwd.to_owned()), script.to_owned()),
                None => (None, input.text),
            };
            let args = vec!["-c".to_owned(), script];
            let request = ShellRequest { program: "sh".to_owned(), args, cwd };
            let outcome = cx.shell().run(request).await?;
            let failed = if outcome.ending == ProcessEnding::Exited(0) { "" } else { "failed" };
            Ok::<_, ToolError>(format!("{}{failed}", outcome.output.head))
        })
}

/// Runs a script as a program that outlives the call, and answers with the line that it says.
fn background_tool(writable: ProcessWriteAccess) -> Tool {
    Tool::new("resident")
        .requires(files(&["{workspace}/**"], &["{workspace}/**"]))
        .accesses(|_: &Text| vec![Access::write("docs")])
        .execute_with(move |input: Text, cx: Cx| {
            let writable = writable.clone();
            async move {
                let request = BackgroundProcessRequest { writable, ..request(&input.text) };
                let mut resident: Box<dyn BackgroundProcess> =
                    cx.background_processes().start(request).await?;
                ask(&mut *resident, "go").await
            }
        })
}

fn restrictions_tool() -> Tool {
    Tool::new("narrowing").execute_with(|_: Text, cx: Cx| async move {
        Ok::<_, ToolError>(cx.restrictions().to_owned())
    })
}

async fn stage(tools: Vec<Tool>) -> Stage {
    stage_with(Setting { tools, ..Setting::default() }).await
}

async fn stage_with(setting: Setting) -> Stage {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    super::stage(Setting { helper: helper(), environment, ..setting }).await
}

async fn check(session: &Connection, script: &str, expected: &str) {
    assert_eq!(call(session, "sh", script).await.text(), expected, "{script}");
}

#[tokio::test]
async fn commands_of_one_who_only_reads_change_nothing() {
    let stage = stage(vec![sh()]).await;
    let reads = stage.session.restrict(command_restrictions(&["{workspace}/**"], &[])).unwrap();
    let denied =
        stage.session.restrict(rule_restrictions(&[("fs.write", "*", RuleAction::Deny)])).unwrap();
    let beneath = reads.restrict(command_restrictions(&["**"], &["**"])).unwrap();
    for session in [&reads, &denied, &beneath] {
        check(session, "cat src/b", "src/b").await;
        check(session, "(echo x > src/b) 2>/dev/null || printf no", "no").await;
        check(session, "rm -f src/b 2>/dev/null || printf no", "no").await;
        check(session, "echo x > /tmp/own && cat /tmp/own", "x\n").await;
    }
    check(&stage.session, "echo x > src/b && cat src/b", "x\n").await;
}

#[tokio::test]
async fn commands_see_the_directories_that_are_left_and_start_in_them() {
    let stage = stage(vec![sh()]).await;
    let within = stage
        .session
        .restrict(command_restrictions(&["docs/**", "c"], &["docs/secret/**"]))
        .unwrap();
    check(&within, "docs: cat a secret/key", "docs/adocs/secret/key").await;
    check(&within, "docs: cat ../src/b 2>/dev/null || printf no", "no").await;
    check(&within, "docs: ls .. | tr '\\n' ' '", "docs ").await;
    check(&within, "docs: (echo x > a) 2>/dev/null || printf no", "no").await;
    check(&within, "docs: echo x > secret/new && cat secret/new", "x\n").await;
    let elsewhere = call(&within, "sh", "true").await;
    assert_eq!(elsewhere.code().map(|code| code.as_str()), Some("CAPABILITY_DENIED"));
    assert!(elsewhere.text().contains("start in one of"), "{}", elsewhere.text());
    assert_eq!(message_of(&within, "sh", "src: true").await, "CAPABILITY_DENIED");

    // Files of one kind are no directories, and a process cannot be held to them.
    let some = stage.session.restrict(command_restrictions(&["**/*.rs"], &[])).unwrap();
    assert!(call(&some, "sh", "true").await.text().contains("no directory of the workspace"));
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_not_followed() {
    let stage = stage(vec![sh()]).await;
    let root = stage.directory.path().join("root");
    symlink("src", root.join("alias")).unwrap();
    let within =
        stage.session.restrict(command_restrictions(&["docs/**", "alias/**"], &[])).unwrap();
    check(&within, "docs: ls .. | tr '\\n' ' '", "docs ").await;
    assert_eq!(message_of(&within, "sh", "alias: true").await, "CAPABILITY_DENIED");
}

#[tokio::test]
async fn a_directory_that_is_left_holds_no_more_than_the_root_did() {
    let stage = stage(vec![sh()]).await;
    let root = stage.directory.path().join("root");
    for directory in [".git/hooks", "docs/hooks"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    // A forged linked worktree, which could let a command change a repository elsewhere.
    let elsewhere = stage.directory.path().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("worktrees/docs")).unwrap();
    let real = elsewhere.canonicalize().unwrap();
    std::fs::write(root.join("docs/.git"), format!("gitdir: {}/worktrees/docs\n", real.display()))
        .unwrap();
    for (name, text) in [
        ("commondir", "../..\n".to_owned()),
        ("gitdir", format!("{}/docs/.git\n", root.canonicalize().unwrap().display())),
    ] {
        std::fs::write(elsewhere.join("worktrees/docs").join(name), text).unwrap();
    }
    std::fs::write(root.join(".git/config"), "[core]\n\thooksPath = docs/hooks\n").unwrap();
    let left = &["docs/**", "docs/hooks/**", ".git/**", ".git/hooks/**"];
    let within = stage.session.restrict(command_restrictions(left, left)).unwrap();
    let hooks = stage
        .session
        .restrict(command_restrictions(&["**"], &["docs/hooks/**", ".git/hooks"]))
        .unwrap();
    for directory in ["docs", ".git", "docs/hooks"] {
        let script = format!("{directory}: echo x > $PWD/new 2>/dev/null; true");
        call(&within, "sh", &script).await;
    }
    for (session, start) in [(&stage.session, "."), (&within, "docs"), (&hooks, ".")] {
        let root = root.canonicalize().unwrap();
        let root = root.display();
        let script = format!(
            "{start}: for hook in docs/hooks .git/hooks; do echo x > {root}/$hook/evil; done 2>/dev/null; true"
        );
        call(session, "sh", &script).await;
        call(session, "sh", &format!("{start}: rm -rf {root}/.git/hooks {root}/docs/hooks 2>/dev/null; mkdir -p {root}/docs/hooks && echo x > {root}/docs/hooks/evil; true")).await;
    }
    let script = format!("docs: echo x > {}/new 2>/dev/null; true", real.display());
    call(&within, "sh", &script).await;
    assert!(!elsewhere.join("new").exists());
    assert!(root.join("docs/new").exists());
    // No call may change the directory of a repository as a whole.
    assert!(!root.join(".git/new").exists());
    for kept in ["docs/hooks/evil", "docs/hooks/new", ".git/hooks/evil"] {
        assert!(!root.join(kept).exists(), "{kept}");
    }
    assert!(root.join("docs/hooks").is_dir() && root.join(".git/hooks").is_dir());
}

#[tokio::test]
async fn programs_that_outlive_calls_are_held_like_commands() {
    let script = "read -r go <&3; cat src/b >&3 2>/dev/null || printf no >&3; echo >&3";
    let reading = stage(vec![background_tool(ProcessWriteAccess::Nothing)]).await;
    assert_eq!(message_of(&reading.session, "resident", script).await, "src/b");
    let within = reading
        .session
        .restrict(requirement_restrictions(files(&["docs/**"], &["docs/**"])))
        .unwrap();
    // It would start in a root that it does not see.
    assert_eq!(message_of(&within, "resident", script).await, "CAPABILITY_DENIED");

    let writing =
        stage(vec![background_tool(ProcessWriteAccess::Directories(vec!["docs".to_owned()]))])
            .await;
    let script = "read -r go <&3; echo x > docs/new && echo done >&3";
    assert_eq!(message_of(&writing.session, "resident", script).await, "done");
    let deny = rule_restrictions(&[("fs.write", "docs/secret/**", RuleAction::Deny)]);
    let narrowed = writing.session.restrict(deny).unwrap();
    assert_eq!(message_of(&narrowed, "resident", script).await, "CAPABILITY_DENIED");
    // A writable path is readable too, so permission to write is not enough.
    let blind = requirement_restrictions(files(&["src/**"], &["**"]));
    let blind = writing.session.restrict(blind).unwrap();
    assert_eq!(message_of(&blind, "resident", script).await, "CAPABILITY_DENIED");
}

#[tokio::test]
async fn the_ordinary_network_is_for_those_who_are_kept_from_no_host() {
    let setting = Setting { tools: vec![sh()], allow_network: true, ..Setting::default() };
    let stage = stage_with(setting).await;
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let network = async |session: &Connection| {
        call(session, "sh", "readlink /proc/self/ns/net").await.text().trim().to_owned()
    };
    let own = own.to_string_lossy();
    assert_eq!(network(&stage.session).await, own);
    let deny = |permission| rule_restrictions(&[(permission, "example.com", RuleAction::Deny)]);
    assert_eq!(network(&stage.session.restrict(deny("fs.read")).unwrap()).await, own);
    for narrowing in [deny("net.fetch"), command_restrictions(&["**"], &["**"])] {
        let apart = network(&stage.session.restrict(narrowing).unwrap()).await;
        assert!(apart.starts_with("net:[") && apart != own, "{apart}");
    }
}

#[tokio::test]
async fn where_nothing_is_held_one_who_is_held_to_less_runs_no_command() {
    let sandbox = Sandbox { confine: ConfineMode::UnsafeNever, ..Sandbox::system() };
    let stage = stage_with(Setting { tools: vec![sh()], sandbox, ..Setting::default() }).await;
    check(&stage.session, "cat src/b", "src/b").await;
    let alike =
        stage.session.restrict(rule_restrictions(&[("sh", "rm *", RuleAction::Deny)])).unwrap();
    check(&alike, "cat src/b", "src/b").await;
    let reads = stage.session.restrict(command_restrictions(&["**"], &[])).unwrap();
    let offline =
        stage.session.restrict(rule_restrictions(&[("net.fetch", "*", RuleAction::Deny)])).unwrap();
    for session in [&reads, &offline] {
        assert_eq!(message_of(session, "sh", "cat src/b").await, "SANDBOX_UNAVAILABLE");
    }
}

#[tokio::test]
async fn a_call_says_to_programs_that_outlive_it_how_it_is_narrowed() {
    let stage = stage(vec![restrictions_tool()]).await;
    let reads = || requirement_restrictions(files(&["**"], &[]));
    let (one, other) =
        (stage.session.restrict(reads()).unwrap(), stage.session.restrict(reads()).unwrap());
    let beneath = one.restrict(rule_restrictions(&[("fs.read", "c", RuleAction::Deny)])).unwrap();
    assert_eq!(message_of(&stage.session, "narrowing", "x").await, "");
    let key = message_of(&one, "narrowing", "x").await;
    assert_eq!(message_of(&other, "narrowing", "x").await, key);
    assert!(!key.is_empty() && message_of(&beneath, "narrowing", "x").await != key);
}

/// The kernel holds denies on paths, not only on whole directories: those of all levels together.
#[tokio::test]
async fn processes_are_kept_from_what_any_level_denies() {
    let tools = vec![sh(), background_tool(ProcessWriteAccess::Nothing)];
    let stage = stage(tools).await;
    let parent = rule_restrictions(&[("fs.read", "docs/secret/**", RuleAction::Deny)]);
    let parent = stage.session.restrict(parent).unwrap();
    let child = rule_restrictions(&[
        ("fs.write", "src/**", RuleAction::Deny),
        ("fs.read", "docs/secret/**", RuleAction::Allow),
    ]);
    let child = parent.restrict(child).unwrap();
    check(&stage.session, "cat docs/secret/key", "docs/secret/key").await;
    for session in [&parent, &child] {
        check(session, "cat docs/a", "docs/a").await;
        check(session, "cat docs/secret/key 2>/dev/null || printf no", "no").await;
        let script =
            "read -r go <&3; cat docs/secret/key >&3 2>/dev/null || printf no >&3; echo >&3";
        assert_eq!(message_of(session, "resident", script).await, "no");
    }
    check(&parent, "echo x > src/b && cat src/b", "x\n").await;
    check(&child, "(echo y > src/b) 2>/dev/null || cat src/b", "x\n").await;
    check(&child, "echo x > docs/new && cat docs/new", "x\n").await;
}
