//! Follows a run on Temporal to its end, and the commands about runs that are there: `status`, `settle` and `cancel`. The state of a run is
//! read from the memo of its workflow, which needs no worker.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowDescribeOptions, WorkflowExecutionDescription,
    WorkflowExecutionStatus, WorkflowGetResultOptions, WorkflowHandle, WorkflowSignalOptions,
};
use temporalio_common::error::IncomingError;

use crate::connection::ConnectionArgs;
use crate::request::{
    DoubtfulCall, PendingAsk, RunAnswer, RunFailure, RunPhase, RunProgress, RunStatus, Settlement,
};
use crate::workflow::{HaftRun, STATUS_MEMO};

/// Time between two looks at a run.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Looks after which a settlement or an answer that no worker took is given up.
pub(crate) const ANSWER_POLLS_MAX: u32 = 130;

/// The exit status of a run that waits for a settlement, as in haft.
const STATUS_IN_DOUBT: u8 = 4;

/// A workflow of haft.
pub(crate) type RunHandle = WorkflowHandle<Client, HaftRun>;

/// How a run is followed.
#[derive(Args, Clone, Debug)]
pub(crate) struct FollowArgs {
    /// Print the name of the run and do not wait for it
    #[arg(long)]
    detach: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show how far a run has come
#[derive(Args)]
pub(crate) struct StatusArgs {
    /// The run
    run: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Settle a call in doubt, and resume its run
///
/// The verdict goes through Temporal to a worker that has the workspace. With access to the journal, haft runs settle and
/// haft resume RUN --on temporal do the same.
#[derive(Args)]
pub(crate) struct SettleArgs {
    /// The call: run/node/iteration/attempt/seq
    call: String,
    /// The verdict
    verdict: Verdict,
    /// The answer of a call that happened, as JSON
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

/// A person's finding about a call.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Verdict {
    /// It happened: a resume answers it from the record
    Happened,
    /// It did not happen: a resume executes it
    NotHappened,
    /// It may have happened, and a resume executes it all the same
    Retry,
}

/// Cancel a run
///
/// Running calls get 10 seconds to end. The record stays, so haft resume continues the run.
#[derive(Args)]
pub(crate) struct CancelArgs {
    /// The run
    run: String,
}

/// Returns the latest workflow of a run.
pub(crate) fn run_handle(client: &Client, run: &str) -> RunHandle {
    client.get_workflow_handle(run)
}

/// Returns the state of a run that its workflow noted.
pub(crate) fn status_memo(description: &WorkflowExecutionDescription) -> Option<RunStatus> {
    description.memo().get(STATUS_MEMO).ok().flatten()
}

/// Waits until a run has ended or waits for a settlement, and prints its output.
pub(crate) async fn follow(
    handle: &RunHandle,
    run: &str,
    args: &FollowArgs,
) -> anyhow::Result<ExitCode> {
    if args.detach {
        print_line(&if args.json { json!({"run": run}).to_string() } else { run.to_owned() });
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown = None;
    loop {
        let description = describe(handle, run).await?;
        if description.status() != WorkflowExecutionStatus::Running {
            return finish(handle, run, args).await;
        }
        let status = status_memo(&description).unwrap_or_default();
        if status.phase == RunPhase::InDoubt {
            print_doubts(run, &status, args.json);
            return Ok(ExitCode::from(STATUS_IN_DOUBT));
        }
        let line = progress_line(run, &status, &description);
        if !args.json && shown.as_ref() != Some(&line) {
            eprintln!("{line}");
            shown = Some(line);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Prints the result of a run that has ended.
async fn finish(handle: &RunHandle, run: &str, args: &FollowArgs) -> anyhow::Result<ExitCode> {
    let (kind, message, status) = match handle.get_result(WorkflowGetResultOptions::default()).await
    {
        Ok(answer) => {
            print_answer(&answer, args.json);
            return Ok(ExitCode::SUCCESS);
        }
        Err(WorkflowGetResultError::Cancelled { .. }) => {
            ("CANCELLED".to_owned(), format!("run {run} was cancelled"), 1)
        }
        Err(WorkflowGetResultError::Failed(err)) => match run_failure(&err) {
            Some(failure) => {
                let status = u8::try_from(failure.status).unwrap_or(1).max(1);
                (failure.kind, format!("run {run} failed: {}", failure.message), status)
            }
            None => ("FAILED".to_owned(), format!("run {run} failed: {err}"), 1),
        },
        Err(err) => return Err(err).context("the result of the run cannot be read"),
    };
    if args.json {
        print_line(
            &json!({"type": "failure", "status": kind.to_lowercase(), "message": message})
                .to_string(),
        );
    }
    eprintln!("error: {message}\n\nhint: haft-temporal resume {run}");
    Ok(ExitCode::from(status))
}

/// Runs `haft-temporal status`.
pub(crate) async fn status(
    args: StatusArgs,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let client = connection.connect().await?;
    let description = describe(&run_handle(&client, &args.run), &args.run).await?;
    let status = status_memo(&description).unwrap_or_default();
    let (progress, failure) = (progress_of(&description), last_failure(&description));
    if args.json {
        let workflow = format!("{:?}", description.status()).to_lowercase();
        print_line(
            &json!({
                "run": args.run, "workflow": workflow, "status": status, "progress": progress,
                "last_failure": failure,
            })
            .to_string(),
        );
        return Ok(ExitCode::SUCCESS);
    }
    print_line(&progress_line(&args.run, &status, &description));
    if status.phase == RunPhase::InDoubt {
        print_doubts(&args.run, &status, false);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `haft-temporal cancel`.
pub(crate) async fn cancel(
    args: CancelArgs,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let client = connection.connect().await?;
    let handle = run_handle(&client, &args.run);
    describe(&handle, &args.run).await?;
    handle.cancel(WorkflowCancelOptions::builder().reason("haft-temporal cancel").build()).await?;
    eprintln!("run {} is being cancelled: haft-temporal status {}", args.run, args.run);
    Ok(ExitCode::SUCCESS)
}

/// Runs `haft-temporal settle`.
pub(crate) async fn settle(
    args: SettleArgs,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    if let Some(result) = &args.result {
        serde_json::from_str::<Value>(result).context("--result is not JSON")?;
    }
    let run = args.call.split('/').next().unwrap_or_default().to_owned();
    let client = connection.connect().await?;
    let handle = run_handle(&client, &run);
    let before = status_memo(&describe(&handle, &run).await?).unwrap_or_default();
    ensure!(
        before.phase == RunPhase::InDoubt,
        "run {run} does not wait for a settlement: haft-temporal status {run}"
    );
    let verdict = args.verdict.to_possible_value().context("a verdict has a name")?;
    let verdict = verdict.get_name().to_owned();
    let settlement = Settlement { call: args.call, verdict, result: args.result };
    handle.signal(HaftRun::settle, settlement.clone(), WorkflowSignalOptions::default()).await?;
    for _ in 0..ANSWER_POLLS_MAX {
        let status = status_memo(&describe(&handle, &run).await?).unwrap_or_default();
        // Others may settle other calls at the same time.
        let news = status.settlements_made.saturating_sub(before.settlements_made);
        let skipped = status.settlements.len().saturating_sub(usize::try_from(news)?);
        let report = status.settlements.iter().skip(skipped).find(|it| it.settlement == settlement);
        match report.map(|report| &report.error) {
            Some(Some(error)) => bail!("the journal did not take the settlement: {error}"),
            Some(None) => {
                eprintln!("settled {}; run {run} goes on", settlement.call);
                return Ok(ExitCode::SUCCESS);
            }
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
    bail!(
        "no worker has taken the settlement yet; it waits in Temporal: haft-temporal status {run}"
    );
}

pub(crate) async fn describe(
    handle: &RunHandle,
    run: &str,
) -> anyhow::Result<WorkflowExecutionDescription> {
    let described = handle.describe(WorkflowDescribeOptions::default()).await;
    described.with_context(|| format!("Temporal has no run {run}, or does not answer"))
}

fn progress_of(description: &WorkflowExecutionDescription) -> Option<RunProgress> {
    let activity = description.raw().pending_activities.first()?;
    let payload = activity.heartbeat_details.as_ref()?.payloads.first()?;
    serde_json::from_slice(&payload.data).ok()
}

/// Returns what the last try of the activity failed with.
fn last_failure(description: &WorkflowExecutionDescription) -> Option<String> {
    let activity = description.raw().pending_activities.first()?;
    Some(activity.last_failure.as_ref()?.message.clone())
}

fn progress_line(
    run: &str,
    status: &RunStatus,
    description: &WorkflowExecutionDescription,
) -> String {
    let mut line = match status.phase {
        RunPhase::Placing => format!("run {run} waits for a worker with its labels"),
        RunPhase::Running => format!("run {run} waits for a worker"),
        RunPhase::InDoubt => format!("run {run} waits for a settlement"),
        RunPhase::Finished => format!("run {run} has finished"),
        RunPhase::Failed => format!("run {run} has failed"),
        RunPhase::Cancelled => format!("run {run} was cancelled"),
    };
    if status.phase == RunPhase::Running {
        if let Some(workspace) = &status.workspace {
            line.push_str(&format!(" with workspace {workspace}"));
        }
        if let Some(RunProgress { worker, nodes_ended, nodes: Some(nodes) }) =
            progress_of(description)
        {
            line = format!("run {run}: {nodes_ended} of {nodes} nodes have ended, on {worker}");
        }
        if let Some(PendingAsk { ask, tool, .. }) = status.asks.first() {
            let more = match status.asks.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            line.push_str(&format!(
                "; {tool} waits for an answer{more}: haft-temporal answer {run} {ask} allow|reject"
            ));
        }
        if let Some(failure) = last_failure(description) {
            line.push_str(&format!("; the last try ended with: {}", first_line(&failure)));
        }
    }
    line
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn run_failure(err: &IncomingError) -> Option<RunFailure> {
    match err {
        IncomingError::Application(failure) => failure.details().ok().flatten(),
        _ => None,
    }
}

fn print_answer(answer: &RunAnswer, as_json: bool) {
    if as_json {
        let answer = json!(answer);
        print_line(&json!({"event": "result", "answer": answer}).to_string());
        return;
    }
    match &answer.output {
        Some(Value::String(text)) => print_line(text),
        // Commands answer like this, and haft prints their text, too.
        Some(Value::Object(fields)) if fields.get("output").is_some_and(Value::is_string) => {
            print_line(fields.get("output").and_then(Value::as_str).unwrap_or_default().trim_end());
        }
        Some(output) => print_line(&format!("{output:#}")),
        None => {
            eprintln!("the output is too long for Temporal: haft resume {} prints it", answer.run)
        }
    }
    eprintln!(
        "run {} finished: {} of {} nodes succeeded",
        answer.run, answer.nodes_succeeded, answer.nodes
    );
}

fn print_doubts(run: &str, status: &RunStatus, as_json: bool) {
    if as_json {
        let message = format!("run {run} waits for a settlement");
        print_line(
            &json!({"type": "failure", "status": "in_doubt", "message": message, "doubts": status.doubts})
                .to_string(),
        );
    }
    eprintln!(
        "error: run {run} waits for a settlement: it is not known whether these calls happened"
    );
    for DoubtfulCall { call, text } in &status.doubts {
        eprintln!("  {}", first_line(text));
        if let Some(call) = call {
            eprintln!("\nhint: haft-temporal settle {call} happened|not-happened|retry");
        }
    }
}

/// Prints a line of data. A reader that has seen enough is no error.
pub(crate) fn print_line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
