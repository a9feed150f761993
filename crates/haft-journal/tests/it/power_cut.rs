//! The power goes: what was not synced is gone, in part or whole, and what was acknowledged is there. A process that makes
//! calls, one by one and several at a time, is run under strace, which writes down every change of a file; beside it a
//! second one writes, begins the log anew, and takes the run away. For syncs and acknowledgements, and the moments around
//! them, files are laid out as a disk could hold them then, and opened. Both processes are this very test, run again with
//! a path in its environment.

mod calls;
mod disk;
mod trace;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use haft_contract::RunId;
use haft_journal::{
    CallQuery, Journal, MessageId, MessageQuery, SessionId, SessionJournal, SessionQuery,
    SqliteJournal,
};

use crate::fixture::{request, run};
use disk::{Disk, Loss, Random};
use trace::Change;

const PATH: &str = "HAFT_TEST_POWER_PATH";
/// Layouts in which chance decides about each sector, at each moment looked at.
const CHANCES: u64 = 3;
/// Of how many moments one is looked at, but for acknowledgements.
const MOMENTS_EACH: u64 = 5;
/// How often the processes are watched until all that is hard to survive has happened.
const TRIES_MAX: u32 = 10;
/// How long each sync of the journal's own takes at least, in microseconds, so that others commit, and look, meanwhile.
const SYNC_US: u32 = 3_000;

#[test]
fn what_was_acknowledged_survives_a_power_cut_at_any_moment() {
    if let Some(path) = std::env::var_os(PATH) {
        return calls::record(Path::new(&path));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut tries = 0;
    let (home, changes) = loop {
        tries += 1;
        // The journal's own directory is new, too, and its name can be lost.
        let home = directory.path().join(format!("home{tries}"));
        std::fs::create_dir(&home).unwrap();
        let changes = observe(&home, &directory.path().join("trace"));
        match check_that_all_of_it_happened(&changes) {
            Ok(()) => break (home, changes),
            // Chance decides how far the two processes were when one took the run of the other.
            Err(missing) => assert!(tries < TRIES_MAX, "{missing}, in each of {tries} tries"),
        }
    };

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut disk = Disk::new(&home);
    let mut said = Vec::new();
    let mut layouts = 0;
    for (number, change) in changes.iter().enumerate() {
        disk.apply(change);
        if let Change::Said { line } = change {
            said.push(line.clone());
        }
        for loss in losses(number as u64, change) {
            let place = tempfile::tempdir().unwrap();
            disk.lay_out(place.path(), &loss);
            let at = format!("after change {number}, {change:?}, losing {loss:?}");
            runtime.block_on(check(&place.path().join("state/journal.db"), &said, &at));
            layouts += 1;
        }
    }
    assert!(layouts > 500, "{layouts} layouts");
}

/// Returns what is lost at a moment, in each layout. Where something was just acknowledged, everything that can be lost
/// is, each time; between two syncs only more can be lost of the same.
fn losses(number: u64, change: &Change) -> Vec<Loss> {
    if Random::new(number).below(MOMENTS_EACH) == 0 {
        let chances = (0..CHANCES).map(|chance| Loss::Some(number * CHANCES + chance));
        return [Loss::All, Loss::None].into_iter().chain(chances).collect();
    }
    match change {
        Change::Said { .. } => vec![Loss::All],
        Change::Create { .. }
        | Change::MakeDirectory { .. }
        | Change::Write { .. }
        | Change::Truncate { .. }
        | Change::SyncBegin { .. }
        | Change::Sync { .. }
        | Change::Remove { .. } => Vec::new(),
    }
}

/// Checks that what is hard to survive is among what was observed. The error says what is missing.
fn check_that_all_of_it_happened(changes: &[Change]) -> Result<(), String> {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "db-wal");
    let mut syncing = HashSet::new();
    let (mut written_during_syncs, mut logs_begun) = (0, 0);
    for change in changes {
        match change {
            Change::SyncBegin { process, path } if is_log(path) => {
                syncing.insert(*process);
            }
            Change::Sync { process, .. } => {
                syncing.remove(process);
            }
            Change::Write { path, offset, .. } if is_log(path) => {
                written_during_syncs += usize::from(!syncing.is_empty());
                logs_begun += usize::from(*offset == 0);
            }
            Change::Create { .. }
            | Change::MakeDirectory { .. }
            | Change::Write { .. }
            | Change::Truncate { .. }
            | Change::SyncBegin { .. }
            | Change::Remove { .. }
            | Change::Said { .. } => {}
        }
    }
    if written_during_syncs <= 20 {
        return Err(format!("{written_during_syncs} writes while the disk was at work"));
    }
    // One begins with the journal, and one after each checkpoint. A short log is kept from one life to the next.
    if logs_begun <= 2 * calls::LIVES as usize {
        return Err(format!("{logs_begun} logs"));
    }
    let said = |what: &str| {
        let is_so = |it: &&Change| matches!(it, Change::Said { line } if line.ends_with(what));
        changes.iter().filter(is_so).count()
    };
    let (succeeded, given_up) = (said(" succeeded"), said(" unknown"));
    match succeeded > 16 && given_up > 0 {
        true => Ok(()),
        false => Err(format!("{succeeded} succeeded, {given_up} given up")),
    }
}

/// Runs the child under strace, and returns what it did to files beneath `home`, in order.
fn observe(home: &Path, output: &Path) -> Vec<Change> {
    let status = Command::new("strace")
        .args(["-f", "-y", "-xx", "-qq", "-s", "10000000", "-e", trace::CALLS, "-e", "signal=none"])
        .args(["-e", &format!("inject=fdatasync:delay_enter={SYNC_US}")])
        .arg("-o")
        .arg(output)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "power_cut::what_was_acknowledged_survives_a_power_cut_at_any_moment"])
        .env(PATH, home)
        .output();
    let child =
        status.expect("strace is needed to see what reaches the disk; install the package strace");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    trace::read(&std::fs::read_to_string(output).unwrap(), home)
}

/// Checks that a journal opens, is sound, and holds what was said of it.
async fn check(path: &Path, said: &[String], at: &str) {
    let journal = match SqliteJournal::open(path) {
        Ok(journal) => journal,
        Err(err) => panic!("{at}: {err}"),
    };
    let all = journal.calls(CallQuery::default()).await.unwrap_or_else(|err| panic!("{at}: {err}"));
    let rows: HashMap<String, &str> =
        all.iter().map(|row| (row.id().to_string(), row.status.as_str())).collect();
    let messages = messages(&journal).await;
    for row in &all {
        let Ok(session) = SessionId::parse(row.scope.run.as_str()) else { continue };
        let message = calls::said_before(session.bits(), row.seq);
        assert!(messages.contains(message.as_str()), "{at}: nobody asked for {}", row.id());
    }
    for line in said {
        let (call, said) = line.split_once(' ').unwrap();
        if call.starts_with(MessageId::PREFIX) {
            assert!(messages.contains(call), "{at}: {call} is lost");
            continue;
        }
        let status = rows.get(call).unwrap_or_else(|| panic!("{at}: {call} is lost"));
        match said {
            "intended" => {}
            "late" => assert!(has_come_late(&journal, call).await, "{at}: {call} is lost"),
            _ => assert_eq!(*status, said, "{at}: {call} was said to be something else"),
        }
    }
    assert_eq!(journal.verify().await.unwrap(), [], "{at}");
    // It goes on from there.
    journal
        .open_run(run("next"), request("next"))
        .await
        .unwrap_or_else(|err| panic!("{at}: {err}"));
}

async fn has_come_late(journal: &SqliteJournal, call: &str) -> bool {
    let (run, _) = call.split_once('/').unwrap();
    let late = journal.late_outcomes(&RunId::parse(run).unwrap()).await.unwrap();
    late.iter().any(|outcome| outcome.call.to_string() == call)
}

/// Returns the messages that are there.
async fn messages(journal: &SqliteJournal) -> HashSet<String> {
    let mut messages = HashSet::new();
    for session in journal.sessions(SessionQuery::default()).await.unwrap() {
        let found = journal.session_messages(&session.id, MessageQuery::default()).await.unwrap();
        // A message and its part were brought together.
        assert!(found.iter().all(|(_, parts)| parts.len() == 1), "a message without its part");
        messages.extend(found.into_iter().map(|(message, _)| message.id.to_string()));
    }
    messages
}
