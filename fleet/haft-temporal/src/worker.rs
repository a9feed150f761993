//! `haft-temporal worker`: takes runs from Temporal and drives them with the installed `haft`. One worker of the SDK polls each
//! queue: one for workflows, one for each workspace, and one for each set of labels.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use futures::future::try_join_all;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::activities::{PlacementActivities, RunActivities};
use crate::asks::AnswerActivities;
use crate::connection::ConnectionArgs;
use crate::placement::{Workspace, answers_queue, check_labels, queues_of_labels, workspace_queue};
use crate::workflow::HaftRun;

/// Default number of runs of one workspace at the same time on one worker.
///
/// Limit (fleet): further runs wait.
const RUNS_DEFAULT: u16 = 10;

/// Default time for current runs to end after SIGTERM, in seconds.
///
/// Limit (fleet): the rest is handed over.
const DRAIN_SECONDS_DEFAULT: u64 = 300;

/// Workspaces of one worker.
///
/// Limit (fleet): the worker does not start.
const ROOTS_MAX: usize = 64;

/// The longest time between two heartbeats of an activity that reach Temporal. A cancellation arrives with one.
const HEARTBEAT_THROTTLE: Duration = Duration::from_secs(10);

/// Slots for activities that only answer, and for workflows.
const SHORT_SLOTS: usize = 10;
const WORKFLOW_SLOTS: usize = 100;

/// The program that drives the runs.
const HAFT: &str = "haft";

/// Take runs from Temporal and drive them
///
/// The worker takes the runs of its workspaces, and runs that ask for its labels. It starts haft for each run, in the directory of
/// the workspace, with the settings that haft finds there and in the environment. HAFT_DB names the journal: all workers of a fleet
/// need one PostgreSQL database.
///
/// After SIGTERM or SIGINT, the worker takes no new runs and waits for the current ones. After --drain-seconds, or after a second
/// signal, it stops the rest between two calls, and another worker with the same workspace resumes them.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  HAFT_DB=postgres://haft@db/haft haft-temporal worker --root /srv/web --root /srv/api
  haft-temporal worker --root pod-3=/workspace --label repo=web --label arch=arm64")]
pub(crate) struct WorkerArgs {
    /// Workspace whose runs are taken, under its canonical path or another name (can be repeated)
    ///
    /// Workers that have the very same directory use the same name, and resume each other's runs. A directory that only has
    /// the same path elsewhere needs another name. Without one, the working directory.
    #[arg(long, value_name = "[NAME=]DIR")]
    root: Vec<String>,
    /// Label of this worker, which has one workspace then (can be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Runs of one workspace at the same time
    #[arg(long, value_name = "N", default_value_t = RUNS_DEFAULT, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,
    /// Seconds for current runs to end after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = DRAIN_SECONDS_DEFAULT, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    drain_seconds: u64,
    /// The program haft, unless it is beside this one or on PATH
    #[arg(long, value_name = "FILE")]
    haft: Option<PathBuf>,
}

/// Runs the command until a signal ends it.
pub(crate) async fn run(
    args: WorkerArgs,
    task_queue: &str,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let roots = if args.root.is_empty() { vec![".".to_owned()] } else { args.root.clone() };
    ensure!(
        roots.len() <= ROOTS_MAX,
        "{} roots were given, and at most {ROOTS_MAX} can be",
        roots.len()
    );
    let workspaces: Vec<Workspace> =
        roots.iter().map(|text| Workspace::parse(text)).collect::<anyhow::Result<_>>()?;
    let labels = check_labels(&args.label)?;
    ensure!(
        labels.is_empty() || workspaces.len() == 1,
        "a worker with labels has one workspace: start a worker for each"
    );
    let haft = match args.haft {
        Some(haft) => haft,
        None => std::env::current_exe()
            .map(|program| program.with_file_name(HAFT))
            .ok()
            .filter(|path| path.is_file())
            .unwrap_or_else(|| PathBuf::from(HAFT)),
    };
    check_haft(&haft).await?;
    if !std::env::var("HAFT_DB").is_ok_and(|url| url.starts_with("postgres")) {
        eprintln!(
            "note: HAFT_DB names no PostgreSQL database, so only workers of this machine can resume these runs"
        );
    }

    let client = connection.connect().await?;
    let worker = client.connection().identity().to_owned();
    let runtime = Runtime::from_current_tokio(Default::default())?;
    let (give_up, handover) = watch::channel(false);
    let mut workers = vec![
        Worker::new(&runtime, client.clone(), workflow_options(task_queue)?)
            .with_context(|| format!("no worker can poll {task_queue}"))?,
    ];
    for workspace in workspaces {
        let queue = workspace_queue(task_queue, &workspace.name);
        println!("worker {worker} takes the runs of workspace {}", workspace.name);
        if !labels.is_empty() {
            for queue in queues_of_labels(task_queue, &labels) {
                let activities = PlacementActivities { workspace: workspace.name.clone() };
                let options = WorkerOptions::new(queue)
                    .tuner(slots(SHORT_SLOTS))
                    .register_activities(activities)
                    .build();
                workers.push(Worker::new(&runtime, client.clone(), options)?);
            }
        }
        let activities = RunActivities {
            haft: haft.clone(),
            workspace,
            worker: worker.clone(),
            handover: handover.clone(),
        };
        let answers = WorkerOptions::new(answers_queue(task_queue, &activities.workspace.name))
            .tuner(slots(SHORT_SLOTS))
            .register_activities(AnswerActivities { commands: activities.ask_commands() })
            .build();
        workers.push(Worker::new(&runtime, client.clone(), answers)?);
        let options = WorkerOptions::new(queue)
            .tuner(slots(args.runs.into()))
            .max_heartbeat_throttle_interval(HEARTBEAT_THROTTLE)
            .default_heartbeat_throttle_interval(HEARTBEAT_THROTTLE)
            .register_activities(activities)
            .build();
        workers.push(Worker::new(&runtime, client.clone(), options)?);
    }
    drive(workers, give_up, Duration::from_secs(args.drain_seconds)).await?;
    println!("worker {worker} has ended");
    Ok(ExitCode::SUCCESS)
}

/// Checks that haft starts, before a run is taken that would fail without it.
async fn check_haft(haft: &Path) -> anyhow::Result<()> {
    let started = tokio::process::Command::new(haft).arg("--version").output().await;
    let output = started.with_context(|| {
        format!("the program {} does not start: name it with --haft FILE", haft.display())
    })?;
    if !output.status.success() {
        bail!("{} --version failed: name another program with --haft FILE", haft.display());
    }
    Ok(())
}

fn workflow_options(task_queue: &str) -> anyhow::Result<WorkerOptions> {
    let options = WorkerOptions::new(task_queue).tuner(slots(SHORT_SLOTS));
    Ok(options.register_workflow::<HaftRun>()?.build())
}

/// Returns the numbers of tasks that a worker of the SDK has at the same time.
fn slots(activities: usize) -> TunerHolder {
    TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(WORKFLOW_SLOTS))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(activities))
        .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .build()
}

/// Runs the workers of the SDK until all have ended. The first signal ends the taking of runs, and the second one the runs.
async fn drive(
    mut workers: Vec<Worker>,
    give_up: watch::Sender<bool>,
    drain: Duration,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let shutdowns: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let draining = async {
        next(&mut terminate, &mut interrupt).await;
        println!(
            "the worker drains: it takes no more runs, and waits {} s for the current ones",
            drain.as_secs()
        );
        for shutdown in &shutdowns {
            shutdown();
        }
        tokio::select! {
            () = tokio::time::sleep(drain) => {}
            () = next(&mut terminate, &mut interrupt) => {}
        }
        println!("the worker hands over what still runs");
        // Without receivers, nothing runs any more.
        let _ = give_up.send(true);
        std::future::pending::<()>().await;
    };
    let running = try_join_all(workers.iter_mut().map(Worker::run));
    tokio::select! {
        ended = running => {
            ended.context("the worker failed")?;
        }
        () = draining => {}
    }
    Ok(())
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
