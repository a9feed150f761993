//! A process that drives the plan of a world until it is done, or killed. It says on its standard output which nodes have
//! ended, one line each, and only after that. What is in doubt it settles as a person would: by looking into the ledger.

use std::sync::Arc;

use haft::{
    Limits, OnRepeat, Registry, Roots, Runtime, RuntimeParts, Sandbox, SessionOptions, SystemClock,
};
use haft_contract::{CallId, Envelope, Metadata, RequirementSet, RunId, Variables};
use haft_faults::crash::{Failure, ready, say};
use haft_journal::{
    CallQuery, Journal, Owner, RunQuery, SettledBy, Settlement, SqliteJournal, Verdict,
};
use haft_plan::drive::{Driven, Ending, Event, Options, Start, drive, recorded};
use haft_plan::{Catalogue, Input, check_text};
use haft_policy::{Action, NetworkGuard, Rule, RuleScope};
use haft_sandbox::Launcher;
use serde_json::{Value, json};

use crate::script::{World, answer, plan, tools};

const RUN: &str = "crashed";

/// Drives the plan of a world to its end.
pub(crate) async fn work(world: World, life: u64) -> Result<(), Failure> {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
    let runtime = runtime(&world, &journal, life)?;
    runtime.recover().await?;
    ready()?;
    loop {
        let driven = drive_once(&runtime, &journal, life).await?;
        match driven.trace.ending {
            Ending::Finished => {
                runtime.shut_down().await;
                std::fs::write(world.trace(), driven.trace.to_json().to_string())?;
                return Ok(());
            }
            Ending::InDoubt => settle(&world, &journal, &driven).await?,
            ending => return Err(format!("the plan {ending}").into()),
        }
    }
}

async fn drive_once(
    runtime: &Runtime,
    journal: &Arc<dyn Journal>,
    life: u64,
) -> Result<Driven, Failure> {
    let run = RunId::parse(RUN)?;
    // A run that was begun is gone on with from the journal alone; one that was killed before its plan was kept has no
    // plan yet.
    let kept = recorded(&**journal, &run).await?.map(|(plan, _)| json!(plan));
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    let is_begun = !journal.runs(query).await?.is_empty();
    let start = if is_begun { Start::Resume } else { Start::New };
    let catalogue = Catalogue::new(runtime.registry().contracts().cloned());
    let text = kept.unwrap_or_else(plan).to_string();
    let plan = check_text(&text, &catalogue, Input::Absent).map_err(|err| format!("{err:?}"))?;
    let session = runtime.session(SessionOptions::headless(format!("life{life}"), "crash"))?;
    let heard = |event: &Event| {
        if let Event::NodeFinished { node, status, replayed, .. } = event {
            let how = if *replayed { "recalled" } else { "made" };
            // A driver that does not listen any longer has killed this process.
            let _ = say(&format!("{how} {node} {}", status.as_str()));
        }
    };
    let options = Options { start, events: Arc::new(heard), ..Options::new(run) };
    Ok(drive(&session, journal, &plan, options).await?)
}

fn runtime(world: &World, journal: &Arc<dyn Journal>, life: u64) -> Result<Runtime, Failure> {
    let roots = Roots::open(&world.0, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(tools(world))?,
        journal: Arc::clone(journal),
        variables: Variables { workspace: roots.paths(), ..Variables::default() },
        roots,
        requires: RequirementSet::default(),
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", Action::Allow))],
        limits: Limits::default(),
        allow_network: false,
        network_guard: NetworkGuard::default(),
        project_rules: None,
        watchdogs: Vec::new(),
        launcher: Launcher::new(std::env::current_exe()?),
        networking: haft::Networking::default(),
        sandbox: Sandbox::system(),
        environment: Vec::new(),
        sidecars: world.0.join("sidecars"),
        clock: Arc::new(SystemClock),
        owner: Owner { id: life.to_string(), place: format!("life {life}") },
        // There is one process at a time, and the driver starts none before the one before is gone.
        is_gone: Arc::new(move |owner: &Owner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        snapshots: None,
        on_repeat: OnRepeat::default(),
        settings: "{}".to_owned(),
    })?)
}

/// Says of each call in doubt whether it happened, which the ledger knows.
async fn settle(world: &World, journal: &Arc<dyn Journal>, driven: &Driven) -> Result<(), Failure> {
    let ledger = std::fs::read_to_string(world.ledger()).unwrap_or_default();
    let run = RunId::parse(RUN)?;
    for doubt in &driven.doubts {
        let node = format!("n{}", doubt.node);
        let query = CallQuery { node: Some(node.clone()), ..CallQuery::of_run(run.clone()) };
        let rows = journal.calls(query).await?;
        let row = rows.iter().max_by_key(|row| row.seq).ok_or("a doubt without a row")?;
        let input: Value = serde_json::from_str(&row.input)?;
        let number =
            input.get("number").and_then(Value::as_u64).ok_or("an input without number")?;
        let happened = ledger.lines().any(|line| line.split(' ').next() == Some(node.as_str()));
        let metadata = Metadata::default();
        let (verdict, envelope) = if happened {
            (Verdict::Happened, Envelope::Output { data: answer(number), metadata })
        } else {
            let error_text = "it did not happen".to_owned();
            (Verdict::NotHappened, Envelope::Error { error_text, metadata })
        };
        let call = CallId { scope: row.scope.clone(), seq: row.seq };
        if doubt.call.as_deref() != Some(call.to_string().as_str()) {
            return Err(format!("the doubt is of {:?}, the row of {call}", doubt.call).into());
        }
        let by = SettledBy::Operator;
        journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms: 1 }).await?;
        say(&format!("settled {} {happened}", doubt.node))?;
    }
    Ok(())
}
