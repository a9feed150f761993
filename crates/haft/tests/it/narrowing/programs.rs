//! What processes of a subagent's calls see and change: the kernel holds them to what is left, whatever their words say.

use std::os::unix::fs::symlink;

use haft::{Confine, Narrowing, Sandbox, Session};
use haft_contract::{
    Access, Command, Cx, Ending, Resident, ResidentRequest, ShellRequest, ShellRequirement, Tool,
    ToolError, Writable,
};
use haft_policy::Action;

use super::{call, files, requiring, ruled, said};
use crate::residents::{ask, helper, request};
use crate::stage::{Setting, Stage, Text};

fn of_commands(read: &[&str], write: &[&str]) -> Narrowing {
    let mut requires = files(read, write);
    requires.shell = vec![ShellRequirement { cmd: "*".to_owned(), args: None }];
    requiring(requires)
}

/// Runs a script, in a directory if one is named before it, as in `docs: ls`, and answers with what it printed.
fn sh() -> Tool {
    let mut requires = files(&["{workspace}/**"], &["{workspace}/**"]);
    requires.shell = vec![ShellRequirement { cmd: "sh".to_owned(), args: None }];
    Tool::new("sh")
        .requires(requires)
        .accesses(|_: &Text| vec![Access::Shell { command: Command::Argv(vec!["sh".to_owned()]) }])
        .execute_with(|input: Text, cx: Cx| async move {
            let (cwd, script) = match input.text.split_once(": ") {
                Some((cwd, script)) => (Some(cwd.to_owned()), script.to_owned()),
                None => (None, input.text),
            };
            let args = vec!["-c".to_owned(), script];
            let request = ShellRequest { program: "sh".to_owned(), args, cwd };
            let outcome = cx.shell().run(request).await?;
            let failed = if outcome.ending == Ending::Exited(0) { "" } else { "failed" };
            Ok::<_, ToolError>(format!("{}{failed}", outcome.output.head))
        })
}

/// Runs a script as a program that outlives the call, and answers with the line that it says.
fn resident(writable: Writable) -> Tool {
    Tool::new("resident")
        .requires(files(&["{workspace}/**"], &["{workspace}/**"]))
        .accesses(|_: &Text| vec![Access::write("docs")])
        .execute_with(move |input: Text, cx: Cx| {
            let writable = writable.clone();
            async move {
                let request = ResidentRequest { writable, ..request(&input.text) };
                let mut resident: Box<dyn Resident> = cx.residents().start(request).await?;
                ask(&mut *resident, "go").await
            }
        })
}

fn narrowing() -> Tool {
    Tool::new("narrowing").execute_with(|_: Text, cx: Cx| async move {
        Ok::<_, ToolError>(cx.narrowing().to_owned())
    })
}

async fn stage(tools: Vec<Tool>) -> Stage {
    stage_with(Setting { tools, ..Setting::default() }).await
}

async fn stage_with(setting: Setting) -> Stage {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    super::stage(Setting { helper: helper(), environment, ..setting }).await
}

async fn check(session: &Session, script: &str, expected: &str) {
    assert_eq!(call(session, "sh", script).await.text(), expected, "{script}");
}

#[tokio::test]
async fn commands_of_one_who_only_reads_change_nothing() {
    let stage = stage(vec![sh()]).await;
    let reads = stage.session.narrowed(of_commands(&["{workspace}/**"], &[])).unwrap();
    let denied = stage.session.narrowed(ruled(&[("fs.write", "*", Action::Deny)])).unwrap();
    let beneath = reads.narrowed(of_commands(&["**"], &["**"])).unwrap();
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
    let within =
        stage.session.narrowed(of_commands(&["docs/**", "c"], &["docs/secret/**"])).unwrap();
    check(&within, "docs: cat a secret/key", "docs/adocs/secret/key").await;
    check(&within, "docs: cat ../src/b 2>/dev/null || printf no", "no").await;
    check(&within, "docs: ls .. | tr '\\n' ' '", "docs ").await;
    check(&within, "docs: (echo x > a) 2>/dev/null || printf no", "no").await;
    check(&within, "docs: echo x > secret/new && cat secret/new", "x\n").await;
    let elsewhere = call(&within, "sh", "true").await;
    assert_eq!(elsewhere.code().map(|code| code.as_str()), Some("CAPABILITY_DENIED"));
    assert!(elsewhere.text().contains("start in one of"), "{}", elsewhere.text());
    assert_eq!(said(&within, "sh", "src: true").await, "CAPABILITY_DENIED");

    // Files of one kind are no directories, and a process cannot be held to them.
    let some = stage.session.narrowed(of_commands(&["**/*.rs"], &[])).unwrap();
    assert!(call(&some, "sh", "true").await.text().contains("no directory of the workspace"));
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_not_followed() {
    let stage = stage(vec![sh()]).await;
    let root = stage.directory.path().join("root");
    symlink("src", root.join("alias")).unwrap();
    let within = stage.session.narrowed(of_commands(&["docs/**", "alias/**"], &[])).unwrap();
    check(&within, "docs: ls .. | tr '\\n' ' '", "docs ").await;
    assert_eq!(said(&within, "sh", "alias: true").await, "CAPABILITY_DENIED");
}

#[tokio::test]
async fn a_directory_that_is_left_holds_no_more_than_the_root_did() {
    let stage = stage(vec![sh()]).await;
    let root = stage.directory.path().join("root");
    for directory in [".git/hooks", "docs/hooks"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    // A linked worktree that somebody made up, so that a repository elsewhere could be changed.
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
    let within = stage.session.narrowed(of_commands(left, left)).unwrap();
    let hooks =
        stage.session.narrowed(of_commands(&["**"], &["docs/hooks/**", ".git/hooks"])).unwrap();
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
    // The directory of a repository is what nobody changes as a whole.
    assert!(!root.join(".git/new").exists());
    for kept in ["docs/hooks/evil", "docs/hooks/new", ".git/hooks/evil"] {
        assert!(!root.join(kept).exists(), "{kept}");
    }
    assert!(root.join("docs/hooks").is_dir() && root.join(".git/hooks").is_dir());
}

#[tokio::test]
async fn programs_that_outlive_calls_are_held_like_commands() {
    let script = "read -r go <&3; cat src/b >&3 2>/dev/null || printf no >&3; echo >&3";
    let reading = stage(vec![resident(Writable::Nothing)]).await;
    assert_eq!(said(&reading.session, "resident", script).await, "src/b");
    let within = reading.session.narrowed(requiring(files(&["docs/**"], &["docs/**"]))).unwrap();
    // It would start in a root that it does not see.
    assert_eq!(said(&within, "resident", script).await, "CAPABILITY_DENIED");

    let writing = stage(vec![resident(Writable::Beneath(vec!["docs".to_owned()]))]).await;
    let script = "read -r go <&3; echo x > docs/new && echo done >&3";
    assert_eq!(said(&writing.session, "resident", script).await, "done");
    let deny = ruled(&[("fs.write", "docs/secret/**", Action::Deny)]);
    let narrowed = writing.session.narrowed(deny).unwrap();
    assert_eq!(said(&narrowed, "resident", script).await, "CAPABILITY_DENIED");
    // What can be changed is read as well, so being allowed to change it is not enough.
    let blind = requiring(files(&["src/**"], &["**"]));
    let blind = writing.session.narrowed(blind).unwrap();
    assert_eq!(said(&blind, "resident", script).await, "CAPABILITY_DENIED");
}

#[tokio::test]
async fn the_ordinary_network_is_for_those_who_are_kept_from_no_host() {
    let setting = Setting { tools: vec![sh()], allow_network: true, ..Setting::default() };
    let stage = stage_with(setting).await;
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let network = async |session: &Session| {
        call(session, "sh", "readlink /proc/self/ns/net").await.text().trim().to_owned()
    };
    let own = own.to_string_lossy();
    assert_eq!(network(&stage.session).await, own);
    let deny = |permission| ruled(&[(permission, "example.com", Action::Deny)]);
    assert_eq!(network(&stage.session.narrowed(deny("fs.read")).unwrap()).await, own);
    for narrowing in [deny("net.fetch"), of_commands(&["**"], &["**"])] {
        let apart = network(&stage.session.narrowed(narrowing).unwrap()).await;
        assert!(apart.starts_with("net:[") && apart != own, "{apart}");
    }
}

#[tokio::test]
async fn where_nothing_is_held_one_who_is_held_to_less_runs_no_command() {
    let sandbox = Sandbox { confine: Confine::UnsafeNever, ..Sandbox::system() };
    let stage = stage_with(Setting { tools: vec![sh()], sandbox, ..Setting::default() }).await;
    check(&stage.session, "cat src/b", "src/b").await;
    let alike = stage.session.narrowed(ruled(&[("sh", "rm *", Action::Deny)])).unwrap();
    check(&alike, "cat src/b", "src/b").await;
    let reads = stage.session.narrowed(of_commands(&["**"], &[])).unwrap();
    let offline = stage.session.narrowed(ruled(&[("net.fetch", "*", Action::Deny)])).unwrap();
    for session in [&reads, &offline] {
        assert_eq!(said(session, "sh", "cat src/b").await, "SANDBOX_UNAVAILABLE");
    }
}

#[tokio::test]
async fn a_call_says_to_programs_that_outlive_it_how_it_is_narrowed() {
    let stage = stage(vec![narrowing()]).await;
    let reads = || requiring(files(&["**"], &[]));
    let (one, other) =
        (stage.session.narrowed(reads()).unwrap(), stage.session.narrowed(reads()).unwrap());
    let beneath = one.narrowed(ruled(&[("fs.read", "c", Action::Deny)])).unwrap();
    assert_eq!(said(&stage.session, "narrowing", "x").await, "");
    let key = said(&one, "narrowing", "x").await;
    assert_eq!(said(&other, "narrowing", "x").await, key);
    assert!(!key.is_empty() && said(&beneath, "narrowing", "x").await != key);
}
