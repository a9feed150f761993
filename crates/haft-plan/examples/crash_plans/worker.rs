//! A process that drives the plan of a world until it is done, or killed. It says on its standard output which nodes have
//! ended, one line each, and only after that. It settles a call in doubt as a person would: by looking into the ledger. Its
//! questions are answered by another process, which it starts anew when that dies.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use haft::{
    ConnectionOptions, PLAN_FRONT_END, Registry, Runtime, RuntimeParts, SystemClock, WaitingAsker,
    WorkspaceRoots,
};
use haft_contract::{CallAddress, Envelope, EnvelopeMetadata, RunId};
use haft_faults::SeededRandom;
use haft_faults::crash::{CrashTestError, print_line, report_ready};
use haft_journal::{
    CallQuery, Journal, LeaseOwner, RunQuery, SettledBy, Settlement, SettlementVerdict,
    SqliteJournal,
};
use haft_plan::drive::{
    DangerousToolAsker, PlanEnding, PlanEvent, PlanRunOptions, PlanRunResult, RunStartMode,
    recorded_plan, run_plan,
};
use haft_plan::{PlanInput, PlanToolCatalogue, check_text};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use serde_json::{Value, json};

use crate::answerer;
use crate::script::{World, answer, plan, tools};

const RUN: &str = "crashed";

/// Drives the plan of a world to its end.
pub(crate) async fn work(world: World, life: u64) -> Result<(), CrashTestError> {
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(world.journal())?);
    let runtime = runtime(&world, &journal, life)?;
    runtime.recover().await?;
    let of_answerers = world.0.clone();
    std::thread::spawn(move || start_answerers(&of_answerers, life));
    report_ready()?;
    loop {
        let driven = drive_once(&runtime, &journal, life).await?;
        match driven.trace.ending {
            PlanEnding::Finished => {
                runtime.shut_down().await;
                std::fs::write(world.trace(), driven.trace.to_json().to_string())?;
                return Ok(());
            }
            PlanEnding::InDoubt => settle(&world, &journal, &driven).await?,
            ending => return Err(format!("the plan {ending}").into()),
        }
    }
}

/// Starts processes that answer, one after the other: each dies soon.
fn start_answerers(world: &Path, life: u64) -> std::io::Result<()> {
    let mut random = SeededRandom::from_seeds(life, u64::from(std::process::id()));
    loop {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(answerer::ROLE)
            .arg(world)
            .arg(random.number().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        // This end of the pipe is open as long as this process lives.
        let _pipe = child.stdin.take();
        // A process that fails says why, and what it did not answer waits for the next one.
        child.wait()?;
    }
}

async fn drive_once(
    runtime: &Runtime,
    journal: &Arc<dyn Journal>,
    life: u64,
) -> Result<PlanRunResult, CrashTestError> {
    let run = RunId::parse(RUN)?;
    // A begun run is resumed from the journal alone. A run that was killed before its plan was kept has no plan yet.
    let kept = recorded_plan(&**journal, &run).await?.map(|(plan, _)| json!(plan));
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    let is_begun = !journal.runs(query).await?.is_empty();
    let start = if is_begun { RunStartMode::Resume } else { RunStartMode::New };
    let catalogue = PlanToolCatalogue::new(runtime.registry().contracts().cloned());
    let text = kept.unwrap_or_else(plan).to_string();
    let plan =
        check_text(&text, &catalogue, PlanInput::Absent).map_err(|err| format!("{err:?}"))?;
    let session = runtime.open_connection(ConnectionOptions {
        asker: Arc::new(WaitingAsker),
        ..ConnectionOptions::headless(format!("life{life}"), PLAN_FRONT_END)
    })?;
    let heard = |event: &PlanEvent| {
        if let PlanEvent::NodeFinished { node, status, replayed, .. } = event {
            let how = if *replayed { "recalled" } else { "made" };
            // A driver that does not listen any longer has killed this process.
            let _ = print_line(&format!("{how} {node} {}", status.as_str()));
        }
    };
    let asking = DangerousToolAsker {
        asker: Arc::new(WaitingAsker),
        session: RUN.to_owned(),
        root: runtime.roots().workspace().to_owned(),
    };
    let options = PlanRunOptions {
        start,
        events: Arc::new(heard),
        asking: Some(asking),
        ..PlanRunOptions::new(run)
    };
    Ok(run_plan(&session, journal, &plan, options).await?)
}

fn runtime(
    world: &World,
    journal: &Arc<dyn Journal>,
    life: u64,
) -> Result<Runtime, CrashTestError> {
    let roots = WorkspaceRoots::open(&world.0, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(tools(world))?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        launcher: Launcher::new(std::env::current_exe()?),
        // There is one process at a time, and the driver starts none before the one before is gone.
        is_gone: Arc::new(move |owner: &LeaseOwner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        ..RuntimeParts::new(
            Arc::clone(journal),
            roots,
            world.0.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: life.to_string(), location: format!("life {life}") },
        )
    })?)
}

/// Says of each call in doubt whether it happened, which the ledger knows.
async fn settle(
    world: &World,
    journal: &Arc<dyn Journal>,
    driven: &PlanRunResult,
) -> Result<(), CrashTestError> {
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
        let metadata = EnvelopeMetadata::default();
        let (verdict, envelope) = if happened {
            (SettlementVerdict::Happened, Envelope::Output { data: answer(number), metadata })
        } else {
            let error_text = "it did not happen".to_owned();
            (SettlementVerdict::NotHappened, Envelope::Error { error_text, metadata })
        };
        let call = CallAddress { scope: row.scope.clone(), seq: row.seq };
        if doubt.call.as_deref() != Some(call.to_string().as_str()) {
            return Err(format!("the doubt is of {:?}, the row of {call}", doubt.call).into());
        }
        let by = SettledBy::Operator;
        journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms: 1 }).await?;
        print_line(&format!("settled {} {happened}", doubt.node))?;
    }
    Ok(())
}
