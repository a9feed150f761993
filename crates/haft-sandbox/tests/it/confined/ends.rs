//! The end of a confined command: its own exit, a kill by its caller, or the death of its owner. No
//! process is left.

use haft_sandbox::{ProcessExit, WaitError};
use rustix::process::{Pid, Signal, kill_process};

use crate::lifeline::children_of;
use crate::spawn::{Fixture, Token, eventually};

#[tokio::test]
async fn ends_are_reported() {
    let fixture = Fixture::new();
    let confinement = fixture.confinement();
    for (script, expected) in [
        ("exit 0", ProcessExit::Code(0)),
        ("exit 255", ProcessExit::Code(255)),
        ("kill -9 $$", ProcessExit::Signal(9)),
        ("kill -SEGV $$", ProcessExit::Signal(11)),
    ] {
        let (output, exit) = fixture.run_confined(&confinement, script).await;
        assert_eq!((output.as_str(), exit), ("", expected), "{script}");
    }
}

#[tokio::test]
async fn what_is_left_in_the_background_is_killed() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!(
        "sleep {token} & setsid -f sleep {token}; (trap '' TERM HUP; setsid -f sleep {token}) ; echo ready; exit 4"
    );
    let (output, exit) = fixture.run_confined(&fixture.confinement(), &script).await;
    assert_eq!((output.as_str(), exit), ("ready\n", ProcessExit::Code(4)));
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn killing_and_dropping_leave_nothing() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!("setsid -f sleep {token}; exec sleep {token}");
    let mut process = fixture.start_confined(&fixture.confinement(), &script).await;
    eventually("the command", || token.living() == 2).await;
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
    assert_eq!(token.living(), 0);

    let process = fixture.start_confined(&fixture.confinement(), &script).await;
    eventually("the command", || token.living() == 2).await;
    drop(process);
    eventually("the command's end", || token.living() == 0).await;
}

#[tokio::test]
async fn a_command_ends_with_its_supervisor() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!("setsid -f sleep {token}; exec sleep {token}");
    let mut process = fixture.start_confined(&fixture.confinement(), &script).await;
    eventually("the command", || token.living() == 2).await;
    let (_, supervisor) = helpers();
    kill_process(supervisor, Signal::KILL).unwrap();
    let error = process.control.wait().await.unwrap_err();
    assert!(matches!(error, WaitError::HelperDied { signal: Some(9) }), "{error:?}");
    eventually("the command's end", || token.living() == 0).await;
}

#[tokio::test]
async fn calls_go_on_when_their_zygote_dies_and_new_ones_get_another() {
    let fixture = Fixture::new();
    let confinement = fixture.confinement();
    let mut process =
        fixture.start_confined(&confinement, "echo ready; read -t 1000 < <(sleep 1000)").await;
    process.output.read(&mut [0; 100]).await.unwrap();
    let (zygote, _) = helpers();
    kill_process(zygote, Signal::KILL).unwrap();
    let (output, exit) = fixture.run_confined(&confinement, "echo again").await;
    assert_eq!((output.as_str(), exit), ("again\n", ProcessExit::Code(0)));
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
}

#[tokio::test]
async fn a_stopped_zygote_is_woken() {
    let fixture = Fixture::new();
    fixture.run("exit 0").await;
    let zygote = children_of(rustix::process::getpid());
    assert_eq!(zygote.len(), 1);
    kill_process(zygote[0], Signal::STOP).unwrap();
    let (output, _) = fixture.run_confined(&fixture.confinement(), "echo woken").await;
    assert_eq!(output, "woken\n");
}

#[tokio::test]
async fn the_zygote_ends_with_the_last_launcher() {
    let fixture = Fixture::new();
    let clone = fixture.launcher.clone();
    fixture.run("exit 0").await;
    let zygote = children_of(rustix::process::getpid());
    assert_eq!(zygote.len(), 1, "clones share it");
    drop(fixture);
    let command = Fixture::new();
    clone.spawn_unconfined(command.command("true")).await.unwrap().control.wait().await.unwrap();
    assert_eq!(children_of(rustix::process::getpid()), zygote);
    drop(clone);
    eventually("the zygote's end", || children_of(rustix::process::getpid()).is_empty()).await;
}

#[tokio::test]
async fn many_at_once() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..30 {
        let fixture = std::sync::Arc::clone(&fixture);
        runs.spawn(async move {
            let confinement = fixture.confinement();
            let script = format!("echo {number}; exit {number}");
            let (output, exit) = fixture.run_confined(&confinement, &script).await;
            assert_eq!((output, exit), (format!("{number}\n"), ProcessExit::Code(number)));
        });
    }
    assert_eq!(runs.join_all().await.len(), 30);
}

/// Returns the zygote of this process's only launcher, and its only supervisor with a call.
///
/// Every test is a separate process, so there are no others.
fn helpers() -> (Pid, Pid) {
    let zygote = children_of(rustix::process::getpid());
    assert_eq!(zygote.len(), 1);
    let mut supervisors = children_of(zygote[0]);
    supervisors.retain(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() == "haft-helper\n"
    });
    assert_eq!(supervisors.len(), 1);
    (zygote[0], supervisors[0])
}
