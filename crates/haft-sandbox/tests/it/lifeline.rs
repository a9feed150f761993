//! The launcher's side ends: dropped, its runtime shut down, or its process killed. The command
//! ends with it.

use std::path::Path;
use std::process::Stdio;

use haft_sandbox::ProcessExit;
use rustix::process::{Pid, Signal, kill_process};

use crate::spawn::{Fixture, Token, eventually};

/// Set in a copy of this program that will be killed; its value is the token to sleep for.
const DOOMED: &str = "HAFT_SANDBOX_TEST_DOOMED";

fn family(token: &Token) -> String {
    format!("echo $PPID; sleep {token} & setsid -f sleep {token}; exec sleep {token}")
}

async fn first_line(process: &mut haft_sandbox::SandboxProcess) -> String {
    let mut buffer = [0; 100];
    let count = process.output.read(&mut buffer).await.unwrap();
    String::from_utf8_lossy(&buffer[..count]).trim().to_owned()
}

fn is_gone(pid: &str) -> bool {
    !Path::new("/proc").join(pid).exists()
}

#[tokio::test]
async fn dropping_leaves_no_process() {
    let fixture = Fixture::new();
    let token = Token::new();
    let mut process = fixture.start(&family(&token)).await;
    let helper = first_line(&mut process).await;
    eventually("the family", || token.living() == 3).await;
    drop(process);
    eventually("the family's end", || token.living() == 0).await;
    // The helper is collected too, not left as a zombie.
    eventually("the helper's end", || is_gone(&helper)).await;
}

#[tokio::test]
async fn dropping_the_control_alone_ends_the_output() {
    let fixture = Fixture::new();
    let token = Token::new();
    let mut process = fixture.start(&family(&token)).await;
    first_line(&mut process).await;
    let (mut output, control) = (process.output, process.control);
    drop(control);
    assert_eq!(output.read(&mut [0; 100]).await.unwrap(), 0);
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn dropping_a_stopped_helper_leaves_no_process() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!("echo $PPID; kill -STOP $PPID; exec sleep {token}");
    let mut process = fixture.start(&script).await;
    let helper = first_line(&mut process).await;
    eventually("the command", || token.living() == 1).await;
    drop(process);
    eventually("the command's end", || token.living() == 0).await;
    eventually("the helper's end", || is_gone(&helper)).await;
}

#[tokio::test]
async fn dropping_a_start_leaves_no_process() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = family(&token);
    for polls in 0..40 {
        let mut start = Box::pin(fixture.start(&script));
        for _ in 0..polls {
            tokio::select! {
                biased;
                _ = &mut start => break,
                () = tokio::task::yield_now() => {}
            }
        }
    }
    eventually("the families' end", || token.living() == 0).await;
}

#[test]
fn the_end_of_a_runtime_leaves_no_process() {
    let token = Token::new();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fixture = Fixture::new();
    let first = runtime();
    let _task = first.spawn({
        let command = fixture.command("bash").args(["-c", &family(&token)]);
        let launcher = fixture.launcher.clone();
        async move {
            let mut process = launcher.spawn_unconfined(command).await.unwrap();
            process.control.wait().await
        }
    });
    first.block_on(eventually("the family", || token.living() == 3));
    drop(first);
    runtime().block_on(eventually("the family's end", || token.living() == 0));
}

/// Runs a command of `count` processes until this process is killed from outside or, in a manual
/// run, until it kills the command.
async fn live(script: fn(&Token) -> String, count: usize) {
    let fixture = Fixture::new();
    let doom = std::env::var(DOOMED).ok();
    let token = doom.as_deref().map_or_else(Token::new, Token::from);
    let mut process = fixture.start(&script(&token)).await;
    eventually("the command", || token.living() == count).await;
    if doom.is_none() {
        process.control.kill();
    }
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
}

/// Starts a copy of this program that runs one of the tests below until it is killed.
fn start_doomed(test: &str, token: &Token) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DOOMED, token.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_family_lives_while_its_launcher_does() {
    live(family, 3).await;
}

#[tokio::test]
async fn a_killed_launcher_leaves_no_process() {
    let token = Token::new();
    let mut doomed = start_doomed("lifeline::a_family_lives_while_its_launcher_does", &token);
    eventually("the family", || token.living() == 3).await;
    doomed.kill().unwrap();
    doomed.wait().unwrap();
    eventually("the family's end", || token.living() == 0).await;
}

fn loner(token: &Token) -> String {
    format!("exec sleep {token}")
}

#[tokio::test]
async fn a_loner_lives_while_its_launcher_does() {
    live(loner, 1).await;
}

#[tokio::test]
async fn a_command_ends_with_its_helper_even_if_the_launcher_cannot_act() {
    let token = Token::new();
    let mut doomed = start_doomed("lifeline::a_loner_lives_while_its_launcher_does", &token);
    eventually("the command", || token.living() == 1).await;
    let launcher = Pid::from_child(&doomed);
    let zygote = children_of(launcher);
    assert_eq!(zygote.len(), 1);
    let supervisor = children_of(zygote[0]);
    assert_eq!(supervisor.len(), 1);
    // Launcher and zygote are stopped before the supervisor is killed, so that only the kernel can
    // end the command.
    kill_process(launcher, Signal::STOP).unwrap();
    kill_process(zygote[0], Signal::STOP).unwrap();
    kill_process(supervisor[0], Signal::KILL).unwrap();
    eventually("the command's end", || token.living() == 0).await;
    doomed.kill().unwrap();
    doomed.wait().unwrap();
    kill_process(zygote[0], Signal::CONT).unwrap();
    eventually("the zygote's end", || is_gone(&zygote[0].to_string())).await;
}

pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let parent = format!("PPid:\t{}", parent.as_raw_pid());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_child = |entry: &std::fs::DirEntry| {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line == parent)
    };
    let pid = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.filter(is_child).filter_map(pid).filter_map(Pid::from_raw).collect()
}
