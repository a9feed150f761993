//! The work of two processes while the power is on: calls of some size, one by one and several at a time, checkpoints, and
//! a run that changes hands. Each answer is noted in a file beside the journal.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{AttemptAddress, Effect};
use haft_journal::{
    CallQuery, CallStatus, CommitFuture, Journal, JournalError, MessageFinish, MessageId,
    PlannedCall, SessionDurability, SessionJournal, SessionRecord, SqliteJournal,
};
use rusqlite::Connection;

use crate::fixture::{brief_request, call, call_of, open, outcome, request, run, scope};
use crate::session_fixture::{
    answer, begin_session, message_id, record_all, session_id, text_part,
};

/// Lives of the journal; each one's end brings the log into the database.
pub(super) const LIVES: u32 = 2;
const CALLS_ONE_BY_ONE: u32 = 6;
/// Calls in flight at a time.
const LANES: u32 = 4;
/// Calls after which a lane should have lost its run long ago.
const LANE_CALLS_MAX: u32 = 1_000;
const SECOND: &str = "HAFT_TEST_POWER_SECOND_LIFE";

/// Where the journal is, and where it is said what it answered.
struct Place {
    journal: PathBuf,
    said: File,
}

impl Place {
    fn at(home: &Path) -> Self {
        let said = OpenOptions::new().append(true).create(true).open(home.join("said")).unwrap();
        Self { journal: home.join("state/journal.db"), said }
    }

    fn say(&self, call: &str, what: &str) {
        (&self.said).write_all(format!("{call} {what}").as_bytes()).unwrap();
    }
}

/// Either process.
pub(super) fn record(home: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let place = Place::at(home);
    if let Ok(life) = std::env::var(SECOND) {
        return runtime.block_on(interfere(&place, &life));
    }
    let place = Arc::new(place);
    for life in 0..LIVES {
        let journal = Arc::new(SqliteJournal::open(&place.journal).unwrap());
        runtime.block_on(async {
            one_by_one(&journal, &place, &format!("alone{life}")).await;
            speak_and_act(&journal, &place, u128::from(life) + 1).await;
            one_ahead_of_the_other(&journal, &place, &format!("ahead{life}")).await;
            let run_id = shared(&life.to_string());
            journal.open_run(run(&run_id), brief_request("first")).await.unwrap();
            let second = spawn_second(life);
            until_the_run_is_lost(&journal, &place, &run_id).await;
            assert!(second.wait_with_output().unwrap().status.success());
        });
    }
}

/// Returns the name of the run that is taken away.
fn shared(life: &str) -> String {
    format!("shared{life}")
}

/// Starts the second process, and returns when it has opened the journal.
fn spawn_second(life: u32) -> Child {
    let mut second = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("power_cut::what_was_acknowledged_survives_a_power_cut_at_any_moment")
        .env(SECOND, life.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(second.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"), "the second process did not open the journal");
    second
}

async fn one_by_one(journal: &SqliteJournal, place: &Place, run: &str) {
    open(journal, run).await.unwrap();
    for seq in 1..=CALLS_ONE_BY_ONE {
        let effect = if seq % 3 == 0 { Effect::Idempotent } else { Effect::Once };
        let input = format!("{{\"content\":\"{}\"}}", "x".repeat(seq as usize * 900));
        let planned = match seq % 2 {
            0 => call(&scope(run), seq, effect),
            _ => call_of(&scope(run), seq, ("write", effect), &input),
        };
        let id = planned.id.to_string();
        let intent = journal.intend(planned).await.unwrap();
        place.say(&id, "intended");
        if seq % 4 == 0 {
            journal.amend(&intent, "{\"files\":[]}".to_owned()).await.unwrap();
        }
        let status = if seq % 5 == 0 { CallStatus::Failed } else { CallStatus::Succeeded };
        journal.settle(intent, outcome(status)).await.unwrap();
        place.say(&id, status.as_str());
    }
}

/// Records what an agent says before each of its calls. If the intent of a call is there, so are the words before it,
/// although no caller waited for them.
async fn speak_and_act(journal: &SqliteJournal, place: &Place, session: u128) {
    let lease = begin_session(journal, session).await.unwrap();
    let scope = scope(session_id(session).as_str());
    let words = |number: u128| {
        let message = answer(session, number, Some(MessageFinish::ToolCalls));
        let part = text_part(session, number, number, &"so ".repeat(700));
        vec![SessionRecord::Message(message), SessionRecord::Part(part)]
    };
    for seq in 1..=CALLS_ONE_BY_ONE {
        let message = said_before(session, seq);
        record_all(journal, &lease, words(message.bits())).await.unwrap();
        let planned = call(&scope, seq, Effect::Once);
        let id = planned.id.to_string();
        let intent = journal.intend(planned).await.unwrap();
        place.say(&id, "intended");
        place.say(message.as_str(), "said");
        journal.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap();
        place.say(&id, "succeeded");
    }
    let last = said_before(session, CALLS_ONE_BY_ONE + 1);
    journal.record_session(&lease, words(last.bits()), SessionDurability::Durable).await.unwrap();
    place.say(last.as_str(), "said");
}

/// Returns the message that is said before a call of a session.
pub(super) fn said_before(session: u128, seq: u32) -> MessageId {
    message_id(session * 1_000 + u128::from(seq))
}

/// Makes each call while the one before is still being settled: an intent is there only with all outcomes before it.
async fn one_ahead_of_the_other(journal: &SqliteJournal, place: &Place, run: &str) {
    open(journal, run).await.unwrap();
    let mut ahead: Vec<(String, CommitFuture)> = Vec::new();
    for seq in 1..=CALLS_ONE_BY_ONE {
        let planned = call(&scope(run), seq, Effect::Once);
        let id = planned.id.to_string();
        let intent = journal.intend(planned).await.unwrap();
        place.say(&id, "intended");
        if let Some((before, _)) = ahead.last() {
            place.say(before, "succeeded");
        }
        let settled = journal.settle_ahead(intent, outcome(CallStatus::Succeeded)).await.unwrap();
        ahead.push((id, settled));
    }
    for (id, settled) in ahead {
        settled.await.unwrap();
        place.say(&id, "succeeded");
    }
}

async fn until_the_run_is_lost(journal: &Arc<SqliteJournal>, place: &Arc<Place>, run: &str) {
    let mut lanes = tokio::task::JoinSet::new();
    for iteration in 0..LANES {
        let scope = AttemptAddress { iteration, ..scope(run) };
        lanes.spawn(lane(Arc::clone(journal), Arc::clone(place), scope));
    }
    while let Some(lane) = lanes.join_next().await {
        lane.unwrap();
    }
}

/// Makes calls until another owner has the run.
async fn lane(journal: Arc<SqliteJournal>, place: Arc<Place>, scope: AttemptAddress) {
    for seq in 1..=LANE_CALLS_MAX {
        let planned = call(&scope, seq, Effect::Once);
        let id = planned.id.to_string();
        let intent = match journal.intend(planned).await {
            Ok(intent) => intent,
            Err(JournalError::Fenced { .. }) => return,
            Err(other) => panic!("{other}"),
        };
        place.say(&id, "intended");
        match journal.settle(intent, outcome(CallStatus::Succeeded)).await {
            Ok(()) => place.say(&id, "succeeded"),
            Err(JournalError::Fenced { .. }) => return place.say(&id, "late"),
            Err(other) => panic!("{other}"),
        }
    }
    panic!("nobody took the run");
}

/// The second process: it writes in between, begins the log anew, and takes the first one's run. It notes the rows
/// that it finds there at once, as an answer from them would.
async fn interfere(place: &Place, life: &str) {
    let journal = SqliteJournal::open(&place.journal).unwrap();
    println!("\nready");
    let own = format!("second{life}");
    open(&journal, &own).await.unwrap();
    for (seq, kind) in (1..).zip(["RESTART", "TRUNCATE"]) {
        succeed(&journal, place, call(&scope(&own), seq, Effect::Once)).await;
        checkpoint(&place.journal, kind);
    }
    let taken = shared(life);
    let lease = journal.open_run(run(&taken), request("second")).await.unwrap();
    let of_taken = CallQuery { run: Some(run(&taken).id), ..CallQuery::default() };
    for row in journal.calls(of_taken).await.unwrap() {
        place.say(&row.id().to_string(), row.status.as_str());
    }
    let scope = AttemptAddress { iteration: LANES, ..scope(&taken) };
    let next = PlannedCall { fencing_token: lease.fencing_token, ..call(&scope, 1, Effect::Once) };
    succeed(&journal, place, next).await;
}

async fn succeed(journal: &SqliteJournal, place: &Place, planned: PlannedCall) {
    let id = planned.id.to_string();
    let intent = journal.intend(planned).await.unwrap();
    place.say(&id, "intended");
    journal.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap();
    place.say(&id, "succeeded");
}

/// Brings the log into the database. The next writer begins it anew.
fn checkpoint(journal: &Path, kind: &str) {
    let db = Connection::open(journal).unwrap();
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    let text = format!("PRAGMA wal_checkpoint({kind})");
    let was_busy: bool = db.query_row(&text, [], |row| row.get(0)).unwrap();
    assert!(!was_busy, "the log was not brought into the database");
}
