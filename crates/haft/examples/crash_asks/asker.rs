//! The process that asks: the runtime with the journal, and a driver that starts over after each death. It settles calls in
//! doubt by the truth.

use std::sync::Arc;

use haft::{
    Call, ConnectionOptions, Registry, ResumeMode, Run, Runtime, RuntimeParts, SystemClock,
    WaitingAsker, WorkspaceRoots,
};
use haft_contract::{
    Access, CallAddress, Effect, Envelope, EnvelopeMetadata, ErrorCode, RequirementSet, RunId,
    Tool, ToolError,
};
use haft_journal::{
    CallQuery, Journal, LeaseOwner, SettledBy, Settlement, SettlementVerdict, SqliteJournal,
};
use serde_json::json;

use crate::CrashFailure;
use crate::world::{CALLS, RUN, World};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    text: String,
}

/// Makes the calls of a world.
pub(crate) fn run(args: &[String]) -> Result<(), CrashFailure> {
    let [_, directory, life, _] = args else { return Err("expected a world and a life".into()) };
    let (world, life) = (World::at(directory.as_ref()), life.parse()?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(work(&world, life))
}

async fn work(world: &World, life: u64) -> Result<(), CrashFailure> {
    std::fs::create_dir_all(world.workspace())?;
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
    let roots = WorkspaceRoots::open(&world.workspace(), &[])?;
    let owner = LeaseOwner { id: life.to_string(), location: format!("life {life}") };
    let runtime = Runtime::new(RuntimeParts {
        registry: Registry::new(vec![order(world)])?,
        // The driver starts no process before the one before is gone.
        is_gone: Arc::new(move |owner: &LeaseOwner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        ..RuntimeParts::new(
            Arc::clone(&journal),
            roots,
            world.directory().join("sidecars"),
            Arc::new(SystemClock),
            owner,
        )
    })?;
    runtime.recover().await?;
    let options = ConnectionOptions {
        asker: Arc::new(WaitingAsker),
        ..ConnectionOptions::headless(format!("life{life}"), "crash")
    };
    let connection = runtime.open_connection(options)?;
    let run = RunId::parse(RUN)?;
    // Processes are killed more often than a run is resumed without progress.
    let _ = journal.count_progress(&run).await;
    let run = connection.resume(run, ResumeMode::Replay);
    for number in 0..CALLS {
        let envelope = answered(&run, &*journal, world, number).await?;
        let code = envelope.code().map_or("OK", |code| code.as_str());
        World::append(&world.answered(), &format!("{number} {code}"))?;
    }
    runtime.shut_down().await;
    Ok(())
}

fn order(world: &World) -> Tool {
    let ledger = world.ledger();
    Tool::new("order")
        .effect(Effect::Once)
        .requires(RequirementSet {
            capabilities: vec!["shop".to_owned()],
            ..RequirementSet::default()
        })
        .accesses(|_: &Order| vec![Access::Named { name: "shop".to_owned() }])
        .execute_with(move |input: Order, cx| {
            let (ledger, line) =
                (ledger.clone(), format!("{} {}", cx.idempotency_key(), input.text));
            async move {
                World::append(&ledger, &line)
                    .map_err(|err| ToolError::new(ErrorCode::ToolFailed, err.to_string()))?;
                Ok::<_, ToolError>(line)
            }
        })
}

/// Makes a call until it is not in doubt any more.
async fn answered(
    run: &Run,
    journal: &dyn Journal,
    world: &World,
    number: usize,
) -> Result<Envelope, CrashFailure> {
    loop {
        let call = Call {
            driver_call_id: Some(format!("call {number}")),
            ..Call::new("order", json!({"text": format!("item{number}")}))
        };
        let envelope = run.call(call).await?;
        if envelope.code() != Some(ErrorCode::InDoubt) {
            return Ok(envelope);
        }
        let named = envelope.metadata().call_id.clone().unwrap_or_default();
        let rows = journal.calls(CallQuery::default()).await?;
        let row = rows.into_iter().find(|row| row.id().to_string() == named);
        let row = row.ok_or("a call in doubt is not in the journal")?;
        let key = haft_contract::CallKey::of_first_call(
            &row.scope,
            "order",
            &format!(r#"{{"text":"item{number}"}}"#),
        );
        let key = key.idempotency_key();
        let happened = World::lines(&world.ledger())?.iter().any(|line| line.starts_with(&key));
        settle(journal, row.id(), happened).await?;
        World::append(&world.answered(), &format!("{number} IN_DOUBT"))?;
    }
}

async fn settle(
    journal: &dyn Journal,
    call: CallAddress,
    happened: bool,
) -> Result<(), CrashFailure> {
    let verdict = match happened {
        true => SettlementVerdict::Happened,
        false => SettlementVerdict::NotHappened,
    };
    let metadata =
        EnvelopeMetadata { call_id: Some(call.to_string()), ..EnvelopeMetadata::default() };
    let envelope = Envelope::Output { data: json!("looked up"), metadata };
    let by = SettledBy::Operator;
    journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms: 1 }).await?;
    Ok(())
}
