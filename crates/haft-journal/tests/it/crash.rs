//! Processes killed in the middle of their work: whatever they were told is recorded must be there afterwards. The
//! child is this very test, run again with a path in its environment.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use haft_contract::{AttemptAddress, Effect};
use haft_journal::{CallOrder, CallQuery, CallStatus, Journal, RunQuery, SqliteJournal};

use crate::fixture::{call, open, outcome, scope};

const PATH: &str = "HAFT_TEST_CRASH_PATH";
const LIFE: &str = "HAFT_TEST_CRASH_LIFE";
const TASKS: u32 = 4;
/// Processes that write at once.
const CHILDREN: usize = 2;
/// How many lines of each child are read before it is killed, one life after the other. The first ones are just
/// begun when they end.
const LINES: [usize; 8] = [1, 2, 5, 13, 40, 90, 200, 450];

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    if let Some(path) = std::env::var_os(PATH) {
        return write_for_ever(Path::new(&path), &std::env::var(LIFE).unwrap());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let mut acknowledged = Vec::new();
    for (life, lines_max) in LINES.into_iter().enumerate() {
        let children: Vec<Child> =
            (0..CHILDREN).map(|child| spawn(&path, &format!("{life}-{child}"))).collect();
        for child in children {
            acknowledged.extend(kill_after(child, lines_max));
        }
        check(&path, &acknowledged);
    }
    assert!(acknowledged.len() >= CHILDREN * LINES.iter().sum::<usize>());
}

fn spawn(path: &Path, life: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::nothing_that_was_acknowledged_is_lost", "--nocapture"])
        .env(PATH, path)
        .env(LIFE, life)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills the child after it has acknowledged so many changes and returns all that it acknowledged until it died.
fn kill_after(mut child: Child, lines_max: usize) -> Vec<String> {
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("ack ").map(str::to_owned));
    let mut acknowledged: Vec<String> = lines.by_ref().take(lines_max).collect();
    assert_eq!(acknowledged.len(), lines_max, "the child ended by itself");
    child.kill().unwrap();
    acknowledged.extend(lines);
    child.wait().unwrap();
    // The last line may have been cut by the kill, and says nothing then.
    acknowledged.retain(|line| line.ends_with('.'));
    acknowledged
}

/// Checks that every call that was acknowledged has come at least as far as was said.
fn check(path: &Path, acknowledged: &[String]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let journal = SqliteJournal::open(path).unwrap();
    let mut statuses = std::collections::HashMap::new();
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::default() };
    loop {
        let rows = runtime.block_on(journal.calls(query.clone())).unwrap();
        let Some(last) = rows.last() else { break };
        query.after_change = Some(last.change);
        for row in rows {
            let known = statuses.insert(row.id().to_string(), row.status);
            assert_eq!(known, None, "{} is there twice", row.id());
        }
    }
    runtime.block_on(give_up_the_dead(&journal));
    for line in acknowledged {
        let (call, said) = line.trim_end_matches('.').split_once(' ').unwrap();
        let status = statuses.get(call).unwrap_or_else(|| panic!("{call} is lost"));
        let is_as_said = status.as_str() == said || said == "intended";
        assert!(is_as_said, "{call} was said to be {said} and is {status}");
    }
}

/// Checks that the dead held their runs, and that after they were given up nothing is open and all is sound.
async fn give_up_the_dead(journal: &SqliteJournal) {
    let holders = journal.lease_holders().await.unwrap();
    assert_eq!(holders.len(), CHILDREN);
    for holder in holders {
        let given_up = journal.abandon_run(holder).await.unwrap();
        assert!(given_up.len() <= TASKS as usize, "a task had two calls open: {given_up:?}");
    }
    assert_eq!(journal.lease_holders().await.unwrap(), []);
    assert_eq!(journal.verify().await.unwrap(), []);
    let runs = journal.runs(RunQuery::default()).await.unwrap();
    assert!(runs.iter().all(|run| run.intended == 0));
}

/// The child: tasks that record calls of every kind and say so, each line only after the journal answered.
fn write_for_ever(path: &Path, life: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let journal = Arc::new(SqliteJournal::open(path).unwrap());
        let scope = scope(&format!("run-{life}"));
        open(&*journal, scope.run.as_str()).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for iteration in 0..TASKS {
            let scope = AttemptAddress { iteration, ..scope.clone() };
            tasks.spawn(write_calls(Arc::clone(&journal), scope));
        }
        // If the parent is gone, the task fails to write, and the panic that follows is the end.
        tasks.join_next().await.unwrap().unwrap();
    });
}

async fn write_calls(journal: Arc<SqliteJournal>, scope: AttemptAddress) {
    for seq in 1.. {
        let effect = [Effect::Once, Effect::Read, Effect::Idempotent][(seq % 3) as usize];
        let planned = call(&scope, seq, effect);
        let id = planned.id.to_string();
        if seq % 7 == 0 {
            journal.refuse(planned, outcome(CallStatus::Refused)).await.unwrap();
            acknowledge(&id, CallStatus::Refused);
            continue;
        }
        let intent = journal.intend(planned).await.unwrap();
        if effect != Effect::Read {
            acknowledge(&id, CallStatus::Intended);
        }
        journal.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap();
        acknowledge(&id, CallStatus::Succeeded);
    }
}

fn acknowledge(call: &str, status: CallStatus) {
    let line = format!("ack {call} {status}.\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}
