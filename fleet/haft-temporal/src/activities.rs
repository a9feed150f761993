//! The activities: to begin or resume a run, to settle a call, and to choose a worker by its labels. Each starts the installed
//! `haft`, whose pipeline is the only way to an effect. Temporal may execute an activity again at any time: haft recalls finished
//! work, and a call whose outcome is unknown stays in doubt.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::watch;

use crate::asks::{AskCommands, AskWatch};
use crate::child::HaftCommand;
use crate::ending::{HaftOutput, IN_DOUBT, RunEnding};
use crate::placement::Workspace;
use crate::request::{
    RunAnswer, RunFailure, RunProgress, RunRequest, RunWork, Settlement, SettlementReport,
};

/// Time between two heartbeats, before the SDK spaces them out.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The type of the failure of a run that a drained worker gave up.
const HANDED_OVER: &str = "HANDED_OVER";

/// Time until a run is resumed that a drained worker gave up.
const HANDOVER_DELAY: Duration = Duration::from_secs(1);

/// The activities of one workspace on one worker.
pub(crate) struct RunActivities {
    /// The program haft.
    pub(crate) haft: PathBuf,
    /// The workspace.
    pub(crate) workspace: Workspace,
    /// The name of the worker.
    pub(crate) worker: String,
    /// Whether the worker gives up what it still runs.
    pub(crate) handover: watch::Receiver<bool>,
}

#[activities]
impl RunActivities {
    /// Begins a run, or resumes it if the journal has it.
    #[activity]
    pub(crate) async fn run_or_resume(
        self: Arc<Self>,
        cx: ActivityContext,
        request: RunRequest,
    ) -> Result<RunAnswer, ActivityError> {
        let progress =
            Mutex::new(RunProgress { worker: self.worker.clone(), ..RunProgress::default() });
        let asks = AskWatch::default();
        let work = self.drive(&cx, &request, (&progress, &asks));
        let beat = async {
            let mut ticks = tokio::time::interval(HEARTBEAT_INTERVAL);
            loop {
                ticks.tick().await;
                let details = progress.lock().map(|progress| progress.clone()).unwrap_or_default();
                // Details that cannot be sent are no reason to stop the run.
                let _ = cx.record_heartbeat(details).await;
            }
        };
        let commands = self.ask_commands();
        let tell_asks = async {
            match cx.workflow_handle() {
                Some(workflow) => {
                    // An activity that died may have told of asks that are withdrawn now.
                    let told = (cx.info().attempt == 1).then(Vec::new);
                    asks.tell(&commands, &workflow, told).await;
                }
                None => std::future::pending().await,
            }
        };
        let output = tokio::select! {
            output = work => output?,
            () = beat => return Err(ActivityError::cancelled()),
            () = tell_asks => return Err(ActivityError::cancelled()),
        };
        match output.ending(&request.run, &self.workspace.name, &self.worker) {
            RunEnding::Finished(answer) => Ok(answer),
            RunEnding::Failed(failure) => Err(failed(failure, None)),
            RunEnding::TryAgain { failure, delay } => Err(failed(failure, Some(delay))),
            RunEnding::Stopped if cx.is_cancelled() => Err(ActivityError::cancelled()),
            RunEnding::Stopped => {
                let failure = RunFailure {
                    kind: HANDED_OVER.to_owned(),
                    status: 1,
                    message: format!("worker {} was drained", self.worker),
                    doubts: Vec::new(),
                };
                Err(failed(failure, Some(HANDOVER_DELAY)))
            }
        }
    }

    /// Settles a call in doubt. A settlement that the journal refuses is no failure of the activity.
    #[activity]
    pub(crate) async fn settle(
        self: Arc<Self>,
        _cx: ActivityContext,
        settlement: Settlement,
    ) -> Result<SettlementReport, ActivityError> {
        let mut args = vec!["runs", "settle", "--json"];
        if settlement.result.is_some() {
            args.extend(["--result", "-"]);
        }
        args.extend(["--", &settlement.call, &settlement.verdict]);
        let args = args.into_iter().map(OsString::from).collect();
        let command = self.command(args, settlement.result.clone());
        let output = command.run(|_| {}, std::future::pending()).await?;
        match output.ending("", &self.workspace.name, &self.worker) {
            RunEnding::Finished(_) => Ok(SettlementReport { settlement, error: None }),
            RunEnding::TryAgain { failure, delay } => Err(failed(failure, Some(delay))),
            RunEnding::Failed(failure) => {
                Ok(SettlementReport { settlement, error: Some(failure.message) })
            }
            RunEnding::Stopped => {
                Ok(SettlementReport { settlement, error: Some("stopped".to_owned()) })
            }
        }
    }
}

/// The activity of a worker with labels.
pub(crate) struct PlacementActivities {
    /// The name of the worker's workspace.
    pub(crate) workspace: String,
}

#[activities]
impl PlacementActivities {
    /// Returns the workspace of the worker that takes the run.
    #[activity]
    pub(crate) async fn place(
        self: Arc<Self>,
        _cx: ActivityContext,
        _run: String,
    ) -> Result<String, ActivityError> {
        Ok(self.workspace.clone())
    }
}

/// The progress and the asks, as the activity learns them from the events of haft.
type RunWatch<'a> = (&'a Mutex<RunProgress>, &'a AskWatch);

impl RunActivities {
    /// Returns how haft is started to look at asks in the workspace.
    pub(crate) fn ask_commands(&self) -> AskCommands {
        AskCommands { haft: self.haft.clone(), root: self.workspace.root.clone() }
    }

    /// Starts haft, a second time if the journal does not have the run.
    async fn drive(
        &self,
        cx: &ActivityContext,
        request: &RunRequest,
        watched: RunWatch<'_>,
    ) -> Result<HaftOutput, ActivityError> {
        let resumed = self.follow(cx, self.resume_command(request), watched).await?;
        let RunWork::Plan { plan, input } = &request.work else { return Ok(resumed) };
        if !resumed.has_no_plan() || resumed.was_stopped {
            return Ok(resumed);
        }
        let mut args: Vec<OsString> =
            vec!["run".into(), "--run".into(), request.run.clone().into()];
        if let Some(input) = input {
            args.extend(["--input".into(), input.into()]);
        }
        args.extend(options(request));
        args.extend(["--".into(), "-".into()]);
        self.follow(cx, self.command(args, Some(plan.clone())), watched).await
    }

    fn resume_command(&self, request: &RunRequest) -> HaftCommand {
        let mut args: Vec<OsString> = vec!["resume".into()];
        if let RunWork::Resume { retry_failed, anyway } = request.work {
            args.extend(retry_failed.then(|| "--retry-failed".into()));
            args.extend(anyway.then(|| "--anyway".into()));
        }
        args.extend(options(request));
        args.extend(["--".into(), request.run.clone().into()]);
        self.command(args, None)
    }

    fn command(&self, args: Vec<OsString>, input: Option<String>) -> HaftCommand {
        let (program, root) = (self.haft.clone(), self.workspace.root.clone());
        HaftCommand { program, root, args, input }
    }

    async fn follow(
        &self,
        cx: &ActivityContext,
        command: HaftCommand,
        watched: RunWatch<'_>,
    ) -> Result<HaftOutput, ActivityError> {
        let mut handover = self.handover.clone();
        let stop = async {
            tokio::select! {
                () = cx.cancelled() => {}
                changed = handover.wait_for(|given_up| *given_up) => {
                    // Without its sender, the worker is about to end.
                    let _ = changed;
                }
            }
        };
        let (progress, asks) = watched;
        let on_event = |event: &serde_json::Value| {
            asks.note(event);
            let Ok(mut progress) = progress.lock() else { return };
            match event.get("event").and_then(serde_json::Value::as_str) {
                Some("plan_started") => {
                    progress.nodes_ended = 0;
                    progress.nodes = event.get("nodes").and_then(serde_json::Value::as_u64);
                }
                Some("node_finished") => progress.nodes_ended += 1,
                _ => {}
            }
        };
        Ok(command.run(on_event, stop).await?)
    }
}

/// Returns the options of haft that a request may set.
fn options(request: &RunRequest) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["--json".into()];
    for tool in &request.options.allow {
        args.push(format!("--allow={tool}").into());
    }
    args.extend(request.options.allow_dangerous.then(|| "--allow-dangerous".into()));
    args.extend(request.options.parallel.map(|number| format!("--parallel={number}").into()));
    args.extend(request.options.model.as_ref().map(|model| format!("--model={model}").into()));
    args
}

/// Returns a failure of an activity, which Temporal tries again only after a given delay.
pub(crate) fn failed(failure: RunFailure, again: Option<Duration>) -> ActivityError {
    let benign = failure.kind == IN_DOUBT || failure.kind == HANDED_OVER;
    let category = match benign {
        true => temporalio_sdk::error::ApplicationErrorCategory::Benign,
        false => temporalio_sdk::error::ApplicationErrorCategory::Unspecified,
    };
    let source = anyhow::anyhow!("{}", failure.message);
    ActivityError::application(
        ApplicationFailure::builder(source)
            .type_name(failure.kind.clone())
            .non_retryable(again.is_none())
            .maybe_next_retry_delay(again)
            .category(category)
            .details(failure)
            .build(),
    )
}

#[cfg(test)]
mod tests {
    use crate::request::{RunOptions, RunPlacement};

    use super::*;

    #[test]
    fn a_request_sets_the_options_of_haft_that_it_may() {
        let mut request = RunRequest {
            run: "r".to_owned(),
            work: RunWork::Resume { retry_failed: true, anyway: false },
            placement: RunPlacement::Workspace("w".to_owned()),
            options: RunOptions::default(),
            heartbeat_seconds: 30,
        };
        assert_eq!(options(&request), ["--json"]);
        request.options = RunOptions {
            allow: vec!["--unsafe-no-sandbox".to_owned(), "bash".to_owned()],
            allow_dangerous: true,
            parallel: Some(4),
            model: Some("openai/x".to_owned()),
        };
        // A value is part of its word, so it is never read as an option.
        let expect = [
            "--json",
            "--allow=--unsafe-no-sandbox",
            "--allow=bash",
            "--allow-dangerous",
            "--parallel=4",
            "--model=openai/x",
        ];
        assert_eq!(options(&request), expect);
    }
}
