//! A journal in a store that is written outside of haft: it records a run with one call, opens the file again and shows what is
//! there. Argument: the file.

mod store;

use std::path::Path;

use haft_contract::{
    AttemptAddress, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, RunId,
};
use haft_journal::{
    CallQuery, CallStatus, Journal, JournalMachine, LeaseOwner, LeaseRequest, NewRun, Outcome,
    PlannedCall,
};
use store::LinesStore;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("expected a FILE")?;
    let journal = JournalMachine::over(LinesStore::open(Path::new(&path))?);
    let run = NewRun {
        id: RunId::parse("r1")?,
        front_end: "example".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1_000,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    };
    let scope = AttemptAddress::first_of_run(run.id.clone());
    let owner = LeaseOwner { id: "4f1c".to_owned(), location: "this process".to_owned() };
    let request = LeaseRequest { owner, now_ms: 1_000, lasts_ms: 30_000 };
    let lease = journal.open_run(run, request).await?;
    let seq = journal.attempt_state(&scope).await?.last_seq + 1;
    let key = CallKey::of_first_call(&scope, "write", "{}");
    let call = PlannedCall {
        id: CallAddress { scope, seq },
        fencing_token: lease.fencing_token,
        tool: "write".to_owned(),
        effect: Effect::Once,
        first_key: key,
        call_key: key,
        input: "{}".to_owned(),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 1_001,
        announces_effects: false,
    };
    let intent = journal.intend(call).await?;
    let envelope = Envelope::Output { data: "ok".into(), metadata: EnvelopeMetadata::default() };
    let outcome = Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: 1_004 };
    journal.settle(intent, outcome).await?;
    journal.close_run(lease).await?;
    drop(journal);

    let journal = JournalMachine::over(LinesStore::open(Path::new(&path))?);
    for row in journal.calls(CallQuery::default()).await? {
        println!("{} {} {}", row.id(), row.tool, row.status);
    }
    Ok(())
}
