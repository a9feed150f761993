//! Two real processes on one run, each with the runtime and the journal's file open: one has it, the other is told who; one that
//! is killed is followed by the other; one that only stood still while its time ran out changes nothing any more. The
//! other process is this very test, run again with a place in its environment.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use expect_test::expect;
use haft::{Call, ResumeMode, RunError};
use haft_contract::{Effect, ErrorCode, RunId, Tool, ToolError};
use haft_journal::{CallStatus, JournalError, LeaseOwner, SqliteJournal};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::json;

use crate::stage::{Setting, Stage, StoppedClock, Text};

const PLACE: &str = "HAFT_TEST_OWNER_PLACE";
/// The time without a renewal after which a lease ends.
const LATER_MS: u64 = haft::limits::LEASE_MS;

/// The other process, in the middle of an effect.
struct Other {
    child: Child,
    orders: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn begin(place: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::the_other_process", "--nocapture"])
            .env(PLACE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut other = Self { child, orders, told };
        assert_eq!(other.hear(), "begun milk");
        other
    }

    /// Returns the next thing that it says; what the test's harness says there is passed over.
    fn hear(&mut self) -> String {
        let mut lines = self.told.by_ref().map(Result::unwrap);
        lines.find_map(|line| Some(line.split_once("said: ")?.1.to_owned())).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops it, and waits until it stands still.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let child = Some(Pid::from_child(&self.child));
        let (_, status) = waitpid(child, WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
    }

    fn end_effect(&mut self) {
        writeln!(self.orders, "go on").unwrap();
    }

    /// Waits for its end; no further effect of it is waited for.
    fn end(mut self) {
        drop(self.orders);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Orders, in a ledger that no journal knows of, and ends when it is told to.
fn order(place: &Path, waits: Waits) -> Tool {
    let ledger = place.join("ledger");
    Tool::new("order").effect(Effect::Once).execute_blocking(move |input: Text, _| {
        let mut file = OpenOptions::new().append(true).create(true).open(&ledger).unwrap();
        writeln!(file, "{}", input.text).unwrap();
        if waits == Waits::ToBeTold {
            println!("said: begun {}", input.text);
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        Ok::<_, ToolError>(format!("ordered {}", input.text))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    ToBeTold,
    No,
}

fn setting(place: &Path, owner: &'static str, waits: Waits) -> Setting {
    Setting {
        tools: vec![order(place, waits)],
        journal: Arc::new(SqliteJournal::open(place.join("journal.db")).unwrap()),
        owner,
        root: Some(place.join("root")),
        ..Setting::default()
    }
}

/// Runs as the other process. Without a directory in the environment, does nothing.
#[tokio::test]
async fn the_other_process() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    // This check reports that the owner of the lease is alive.
    let is_gone = Arc::new(|_: &LeaseOwner| Some(false));
    let stage = Stage::new(Setting { is_gone, ..setting(&place, "other", Waits::ToBeTold) }).await;
    for text in ["milk", "tea"] {
        match stage.run.call(Call::new("order", json!({ "text": text }))).await {
            Ok(envelope) => println!("said: {}", envelope.text()),
            Err(err) => println!("said: Err: {err}"),
        }
    }
}

fn ledger(place: &Path) -> String {
    std::fs::read_to_string(place.join("ledger")).unwrap()
}

fn order_of(text: &str) -> Call {
    Call::new("order", json!({ "text": text }))
}

#[tokio::test]
async fn a_process_that_was_killed_is_followed_by_the_one_that_was_turned_away() {
    let place = tempfile::tempdir().unwrap();
    let mut other = Other::begin(place.path());
    let pid = other.child.id();
    let stage = Stage::new(Setting {
        is_gone: Arc::new(move |owner| {
            assert_eq!(owner.id, "other");
            Some(!Path::new(&format!("/proc/{pid}")).exists())
        }),
        ..setting(place.path(), "mine", Waits::No)
    })
    .await;

    let turned_away = stage.run.call(order_of("tea")).await.unwrap_err();
    expect![[r#"run r1 is held by test other until 1700000030000 at least: wait for it, end that process, or work in a run of another name"#]]
        .assert_eq(&turned_away.to_string());
    let RunError::Journal(JournalError::LeaseHeld { holder }) = turned_away else { panic!() };
    assert_eq!((holder.owner.id.as_str(), holder.fencing_token), ("other", 1));
    // Nor is a living process's run taken when everything is looked after.
    assert_eq!(stage.runtime.recover().await.unwrap(), haft::RunRecovery::default());
    assert_eq!(ledger(place.path()), "milk\n");

    other.child.kill().unwrap();
    other.child.wait().unwrap();
    let replay = stage.session.resume(RunId::parse("r1").unwrap(), ResumeMode::Replay);
    let in_doubt = replay.call(order_of("milk")).await.unwrap();
    assert_eq!(in_doubt.code(), Some(ErrorCode::InDoubt), "{}", in_doubt.text());
    assert_eq!(replay.call(order_of("tea")).await.unwrap().text(), "ordered tea");
    assert_eq!(ledger(place.path()), "milk\ntea\n");
    let rows = stage.rows().await;
    let statuses: Vec<CallStatus> = rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [CallStatus::Unknown, CallStatus::Succeeded]);
    assert_eq!(stage.runtime.journal().verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_process_that_stood_still_for_too_long_is_fenced_and_its_outcome_is_late() {
    let place = tempfile::tempdir().unwrap();
    let mut other = Other::begin(place.path());
    other.stop();
    // haft cannot check whether a process on another machine is alive, so the time of the lease decides.
    let early = Stage::new(setting(place.path(), "early", Waits::No)).await;
    let refused = early.run.call(order_of("tea")).await;
    assert!(
        matches!(refused, Err(RunError::Journal(JournalError::LeaseHeld { .. }))),
        "{refused:?}"
    );
    let clock = Arc::new(StoppedClock(LATER_MS));
    let later = Setting { clock, ..setting(place.path(), "later", Waits::No) };
    let stage = Stage::new(later).await;
    assert_eq!(stage.run.call(order_of("bread")).await.unwrap().text(), "ordered bread");

    other.signal(Signal::CONT);
    other.end_effect();
    expect![[r#"Err: run r1 was taken over while this process was not heard of (its fencing token 1 is over; test later has it now): nothing of the run was changed, and an outcome that came with it was kept as a late one; open the run again to go on"#]].assert_eq(&other.hear());
    expect!["Err: run r1 is held by test later until 1700000060000 at least: wait for it, end that process, or work in a run of another name"].assert_eq(&other.hear());
    other.end();

    assert_eq!(ledger(place.path()), "milk\nbread\n", "the call after it was not executed");
    let journal = stage.runtime.journal();
    let late = journal.late_outcomes(stage.run.id()).await.unwrap();
    let [late] = late.as_slice() else { panic!("{late:?}") };
    assert_eq!((late.call.seq, late.fencing_token, late.status), (1, 1, CallStatus::Succeeded));
    let rows = stage.rows().await;
    let seen: Vec<_> = rows.iter().map(|row| (row.status, row.envelope.is_some())).collect();
    assert_eq!(seen, [(CallStatus::Unknown, false), (CallStatus::Succeeded, true)]);
    assert_eq!(journal.verify().await.unwrap(), []);
}
