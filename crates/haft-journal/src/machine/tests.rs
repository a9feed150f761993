//! Changes between two steps of the machine, which no caller can cause.

use haft_contract::RunId;

use super::retention::{self, Candidate, Removal};
use super::*;
use crate::{LeaseOwner, MemoryJournal};

fn run(id: &str) -> NewRun {
    NewRun {
        id: RunId::parse(id).unwrap(),
        front_end: "cli".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    }
}

fn request() -> LeaseRequest {
    let owner = LeaseOwner { id: "one".to_owned(), location: "process one".to_owned() };
    LeaseRequest { owner, now_ms: 1, lasts_ms: 60_000 }
}

async fn candidate(journal: &MemoryJournal) -> Candidate {
    let everything =
        Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    let found = journal.read(move |reader| retention::candidates(reader, everything)).await;
    found.unwrap().going.remove(0)
}

async fn remove(journal: &MemoryJournal, candidate: &Candidate) -> Removal {
    let candidate = candidate.clone();
    let remove = move |writing: &mut Writing<'_>| retention::remove(writing.tx, &candidate);
    journal.write(Durability::Process, remove).await.unwrap()
}

#[tokio::test]
async fn a_run_that_is_used_again_is_not_removed() {
    let journal = MemoryJournal::new();
    let lease = journal.open_run(run("r"), request()).await.unwrap();
    journal.close_run(lease.clone()).await.unwrap();
    let seen = candidate(&journal).await;
    let again = journal.open_run(run("r"), request()).await.unwrap();
    assert_eq!(remove(&journal, &seen).await, Removal::Kept);
    journal.close_run(again.clone()).await.unwrap();
    assert_eq!(remove(&journal, &seen).await, Removal::Kept);
    assert!(again.fencing_token > lease.fencing_token);
    let seen = candidate(&journal).await;
    assert_eq!(remove(&journal, &seen).await, Removal::Done(0));
    // A run that is gone already counts as removed.
    assert_eq!(remove(&journal, &seen).await, Removal::Done(0));
}
