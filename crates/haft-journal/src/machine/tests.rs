//! Changes between two steps of the machine, which no caller can cause.

use haft_contract::{
    AttemptAddress, BoxFuture, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, RunId,
};

use super::retention::{self, Candidate, Removal};
use super::*;
use crate::memory::MemoryStore;
use crate::store::{ReadOperation, StoreFailure, WriteOperation};
use crate::{CallStatus, LeaseOwner, MemoryJournal, SettledBy, SettlementVerdict};

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

/// Applies every write twice, as a store does that lost its connection and did not see that its commit took place.
#[derive(Debug)]
struct ForgetfulStore(MemoryStore);

struct Twice(Box<dyn WriteOperation>);

impl WriteOperation for Twice {
    fn durability(&self) -> Durability {
        self.0.durability()
    }

    fn needs(&self) -> Vec<RowNeed> {
        self.0.needs()
    }

    fn apply(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreFailure> {
        self.0.apply(transaction)?;
        self.0.apply(transaction)
    }

    fn finish(self: Box<Self>, committed: Result<(), JournalError>) {
        self.0.finish(committed);
    }
}

impl Store for ForgetfulStore {
    fn location(&self) -> &Path {
        self.0.location()
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        self.0.write(Box::new(Twice(operation)))
    }

    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        self.0.read(operation)
    }
}

fn planned(seq: u32, effect: Effect) -> PlannedCall {
    let scope = AttemptAddress::first_of_run(RunId::parse("r").unwrap());
    let key = CallKey::of_first_call(&scope, "tool", &format!("{{\"n\":{seq}}}"));
    PlannedCall {
        id: CallAddress { scope, seq },
        fencing_token: 1,
        tool: "tool".to_owned(),
        effect,
        first_key: key,
        call_key: key,
        input: format!("{{\"n\":{seq}}}"),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: u64::from(seq),
        announces_effects: false,
    }
}

fn ended(status: CallStatus) -> Outcome {
    let data = serde_json::json!("ok");
    let envelope = Envelope::Output { data, metadata: EnvelopeMetadata::default() };
    Outcome { status, envelope, finished_at_ms: 9 }
}

#[tokio::test]
async fn a_record_that_is_applied_again_knows_its_own_row() {
    let journal = JournalMachine::over(ForgetfulStore(MemoryStore::default()));
    let lease = journal.open_run(run("r"), request()).await.unwrap();
    for (seq, effect) in [(1, Effect::Read), (2, Effect::Idempotent), (3, Effect::Once)] {
        let intent = journal.intend(planned(seq, effect)).await.unwrap();
        journal.settle(intent, ended(CallStatus::Succeeded)).await.unwrap();
    }
    journal.refuse(planned(4, Effect::Once), ended(CallStatus::Refused)).await.unwrap();
    let open = journal.intend(planned(5, Effect::Once)).await.unwrap();
    journal.amend(&open, "{}".to_owned()).await.unwrap();
    drop(open);
    journal.close_run(lease).await.unwrap();
    let settlement = Settlement {
        call: planned(5, Effect::Once).id,
        verdict: SettlementVerdict::Happened,
        by: SettledBy::Operator,
        envelope: ended(CallStatus::Succeeded).envelope,
        settled_at_ms: 10,
    };
    journal.resolve(settlement).await.unwrap();
    let rows = journal.calls(CallQuery::default()).await.unwrap();
    let statuses: Vec<CallStatus> = rows.iter().map(|row| row.status).collect();
    let done = CallStatus::Succeeded;
    assert_eq!(statuses, [done, done, done, CallStatus::Refused, done]);
    // Another record of the same number is a conflict all the same.
    journal.open_run(run("r"), request()).await.unwrap();
    let other = PlannedCall { fencing_token: 2, ..planned(2, Effect::Once) };
    let conflict = journal.intend(other).await;
    assert!(matches!(conflict, Err(JournalError::Conflict { .. })), "{conflict:?}");
}

/// Keeps what each write must survive.
#[derive(Debug, Default)]
struct WatchedStore {
    store: MemoryStore,
    seen: std::sync::Mutex<Vec<Durability>>,
}

impl Store for WatchedStore {
    fn location(&self) -> &Path {
        self.store.location()
    }

    fn write(&self, operation: Box<dyn WriteOperation>) -> BoxFuture<'_, ()> {
        self.seen.lock().unwrap().push(operation.durability());
        self.store.write(operation)
    }

    fn read(&self, operation: Box<dyn ReadOperation>) -> BoxFuture<'_, ()> {
        self.store.read(operation)
    }
}

#[tokio::test]
async fn an_intent_is_durable_before_its_first_effect() {
    let check = async |call: PlannedCall, announces: bool, expect: &[Durability]| {
        let journal = JournalMachine::over(WatchedStore::default());
        journal.open_run(run("r"), request()).await.unwrap();
        journal.store.seen.lock().unwrap().clear();
        let intent = journal.intend(call).await.unwrap();
        if announces {
            journal.amend(&intent, "{}".to_owned()).await.unwrap();
        }
        journal.settle(intent, ended(CallStatus::Succeeded)).await.unwrap();
        assert_eq!(*journal.store.seen.lock().unwrap(), expect);
    };
    let (process, power) = (Durability::Process, Durability::Power);
    let announced = || PlannedCall { announces_effects: true, ..planned(1, Effect::Once) };
    check(planned(1, Effect::Read), false, &[process]).await;
    check(planned(1, Effect::Once), false, &[power, power]).await;
    check(announced(), true, &[process, power, power]).await;
    check(announced(), false, &[process, power]).await;
}
