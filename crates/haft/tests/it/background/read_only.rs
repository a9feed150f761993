//! Programs of a front end's own, which belong to no call: that they read and do nothing else.

use expect_test::{Expect, expect};
use haft::{ConfineMode, ReadOnlyBackgroundProcesses, Sandbox, WorkspaceRoots};
use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, ProcessWriteAccess,
    ToolError, ToolId,
};
use haft_policy::RuleSet;
use haft_sandbox::Launcher;

use super::{ask, helper, request};

/// A root with a file in it, and something beside it.
fn place() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("root/sub")).unwrap();
    std::fs::write(directory.path().join("root/seen"), "contents").unwrap();
    std::fs::write(directory.path().join("beside"), "aside").unwrap();
    directory
}

fn residents(directory: &tempfile::TempDir, sandbox: Sandbox) -> ReadOnlyBackgroundProcesses {
    let roots = WorkspaceRoots::open(&directory.path().join("root"), &[]).unwrap();
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let launcher = Launcher::new(helper());
    let rules = (&ToolId::parse("python").unwrap(), &RuleSet::default());
    ReadOnlyBackgroundProcesses::new(launcher, sandbox, roots, environment, rules)
}

async fn answer(
    directory: &tempfile::TempDir,
    sandbox: Sandbox,
    request: BackgroundProcessRequest,
) -> String {
    let mut resident = match residents(directory, sandbox).start(request).await {
        Ok(resident) => resident,
        Err(err) => return format!("{}: {}", err.code, err.message),
    };
    answered(&mut *resident).await.unwrap_or_else(|err| err.message)
}

async fn answered(resident: &mut dyn BackgroundProcess) -> Result<String, ToolError> {
    let line = ask(resident, "go").await?;
    let ending = resident.wait_for_exit().await?;
    Ok(format!("{line} {ending:?}"))
}

async fn check(request: BackgroundProcessRequest, expect: &Expect) {
    expect.assert_eq(&answer(&place(), Sandbox::system(), request).await);
}

#[tokio::test]
async fn what_lies_in_the_root_is_read_and_not_changed() {
    let script = "read -r line <&3; touch new 2>/dev/null && echo changed >&3; echo \"$line $(cat seen)\" >&3";
    check(request(script), &expect!["go contents Exited(0)"]).await;
    let within = BackgroundProcessRequest {
        cwd: Some("sub".to_owned()),
        ..request("read -r line <&3; pwd | grep -o '[^/]*$' >&3")
    };
    check(within, &expect!["sub Exited(0)"]).await;
    let changing =
        BackgroundProcessRequest { writable: ProcessWriteAccess::Roots, ..request("true") };
    check(
        changing,
        &expect![
            "CAPABILITY_DENIED: the program is to change files, which only programs of calls do"
        ],
    )
    .await;
    let astray = BackgroundProcessRequest { cwd: Some("none".to_owned()), ..request("true") };
    check(astray, &expect![[r#"TOOL_PATH_INVALID: path "none" does not exist"#]]).await;
}

#[tokio::test]
async fn beside_the_roots_it_reads_what_it_is_given() {
    let directory = place();
    let script = "read -r line <&3; cat ../beside >&3 2>/dev/null || echo nothing >&3";
    let hidden = answer(&directory, Sandbox::system(), request(script)).await;
    assert_eq!(hidden, "nothing Exited(0)");
    let given = BackgroundProcessRequest {
        readable: vec![directory.path().join("beside")],
        ..request("read -r line <&3; echo $(cat ../beside) >&3")
    };
    assert_eq!(answer(&directory, Sandbox::system(), given).await, "aside Exited(0)");
}

#[tokio::test]
async fn unconfined_it_is_only_if_the_sandbox_says_so() {
    let directory = place();
    let sandbox = Sandbox { confine: ConfineMode::UnsafeNever, ..Sandbox::system() };
    let script = "read -r line <&3; echo $(cat ../beside) >&3";
    assert_eq!(answer(&directory, sandbox, request(script)).await, "aside Exited(0)");
}
