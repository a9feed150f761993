//! The power goes: what was not synced is gone, in part or whole, and what was acknowledged is there. A process that makes
//! calls is run under strace, which writes down every change of a file; for every sync, and the moments around it, files
//! are laid out as a disk could hold them then, and opened. The child is this very test, run again with a path in its
//! environment.

mod disk;
mod trace;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use haft_contract::Effect;
use haft_journal::{CallQuery, Journal, SqliteJournal, Status};

use crate::fixture::{call, call_of, claim, open, outcome, run, scope};
use disk::{Disk, Loss, Random};
use trace::Change;

const PATH: &str = "HAFT_TEST_POWER_PATH";
/// Lives of the child's journal; each one's end brings the log into the database.
const LIVES: u32 = 3;
const CALLS_OF_LIFE: u32 = 8;
/// Layouts in which chance decides about each sector, at each moment looked at.
const CHANCES: u64 = 3;

#[test]
fn what_was_acknowledged_survives_a_power_cut_at_any_moment() {
    if let Some(path) = std::env::var_os(PATH) {
        return record_calls(Path::new(&path));
    }
    let directory = tempfile::tempdir().unwrap();
    // The journal's own directory is new, too, and its name can be lost.
    let home = directory.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let changes = observe(&home, &directory.path().join("trace"));
    let acknowledgements = changes.iter().filter(|it| matches!(it, Change::Said { .. })).count();
    let syncs = changes.iter().filter(|change| matches!(change, Change::Sync { .. })).count();
    assert_eq!(acknowledgements as u32, LIVES * CALLS_OF_LIFE * 2);
    assert!(syncs > acknowledgements, "{syncs} syncs");

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut disk = Disk::new(&home);
    let mut said = Vec::new();
    let mut layouts = 0;
    for (number, change) in changes.iter().enumerate() {
        disk.apply(change);
        if let Change::Said { line } = change {
            said.push(line.clone());
        }
        if !is_of_interest(&changes, number) {
            continue;
        }
        let chances = (0..CHANCES).map(|chance| Loss::Some(number as u64 * CHANCES + chance));
        for loss in [Loss::All, Loss::None].into_iter().chain(chances) {
            let place = tempfile::tempdir().unwrap();
            disk.lay_out(place.path(), &loss);
            let at = format!("after change {number}, {change:?}, losing {loss:?}");
            runtime.block_on(check(&place.path().join("state/journal.db"), &said, &at));
            layouts += 1;
        }
    }
    assert!(layouts > 500, "{layouts} layouts");
}

/// The moments before and after syncs and acknowledgements; between them only more can be lost of the same.
fn is_of_interest(changes: &[Change], number: usize) -> bool {
    let is_boundary =
        |number: usize| changes.get(number).is_none_or(|it| !matches!(it, Change::Write { .. }));
    is_boundary(number) || is_boundary(number + 1) || Random::new(number as u64).below(8) == 0
}

/// Runs the child under strace, and returns what it did to files beneath `home`, in order.
fn observe(home: &Path, output: &Path) -> Vec<Change> {
    let status = Command::new("strace")
        .args(["-f", "-y", "-xx", "-qq", "-s", "10000000", "-e", trace::CALLS, "-e", "signal=none"])
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
    let rows =
        journal.calls(CallQuery::default()).await.unwrap_or_else(|err| panic!("{at}: {err}"));
    for line in said {
        let (call, status) = line.split_once(' ').unwrap();
        let row = rows.iter().find(|row| row.id().to_string() == call);
        let row = row.unwrap_or_else(|| panic!("{at}: {call} is lost"));
        let is_as_said = status == "intended" || row.status.as_str() == status;
        assert!(is_as_said, "{at}: {call} was said to be {status} and is {}", row.status);
    }
    assert_eq!(journal.verify().await.unwrap(), [], "{at}");
    // It goes on from there.
    journal.open_run(run("next"), claim("next")).await.unwrap_or_else(|err| panic!("{at}: {err}"));
}

/// The child: a journal that is opened and closed, and calls of some size in between. What was recorded is said by
/// writing to a file beside it.
fn record_calls(home: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut said = std::fs::File::create(home.join("said")).unwrap();
    let mut say = |line: String| said.write_all(line.as_bytes()).unwrap();
    for life in 0..LIVES {
        let journal = SqliteJournal::open(home.join("state/journal.db")).unwrap();
        runtime.block_on(async {
            let name = format!("run{life}");
            open(&journal, &name).await;
            for seq in 1..=CALLS_OF_LIFE {
                let effect = if seq % 3 == 0 { Effect::Idempotent } else { Effect::Once };
                let input = format!("{{\"content\":\"{}\"}}", "x".repeat(seq as usize * 900));
                let planned = match seq % 2 {
                    0 => call(&scope(&name), seq, effect),
                    _ => call_of(&scope(&name), seq, ("write", effect), &input),
                };
                let id = planned.id.to_string();
                let intent = journal.intend(planned).await.unwrap();
                say(format!("{id} intended"));
                if seq % 4 == 0 {
                    journal.amend(&intent, "{\"files\":[]}".to_owned()).await.unwrap();
                }
                let status = if seq % 5 == 0 { Status::Failed } else { Status::Succeeded };
                journal.settle(intent, outcome(status)).await.unwrap();
                say(format!("{id} {status}"));
            }
        });
    }
}
