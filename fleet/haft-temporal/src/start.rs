//! `haft-temporal run`, `resume` and `agent`: start the workflow of a run, or join the one that is there, and follow it to its end.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
    WorkflowStartOptions,
};
use temporalio_common::MemoValues;

use crate::connection::ConnectionArgs;
use crate::follow::{FollowArgs, follow, run_handle, status_memo};
use crate::placement::{check_labels, check_workspace};
use crate::request::{REQUEST_BYTES_MAX, RunOptions, RunPlacement, RunRequest, RunWork};
use crate::workflow::HaftRun;

/// The memo with the digest of the plan and its input. A second start of the run must have the same.
const DIGEST_MEMO: &str = "haft_plan_sha256";

/// Default time without a heartbeat of a worker, in seconds.
///
/// Limit (fleet): another worker resumes the run.
const HEARTBEAT_SECONDS_DEFAULT: u64 = 30;

/// Longest time of a task for an agent, in seconds. It is the longest timeout of a node of a plan.
///
/// Limit (fleet): the run fails.
const AGENT_SECONDS_MAX: u64 = 3_600;

/// The agent that gets a task, unless the command names another one.
const AGENT_DEFAULT: &str = "build";

/// Where and how a run executes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Run")]
pub(crate) struct StartArgs {
    /// Directory of the workspace: its canonical path is the workspace's name; the working directory unless given
    #[arg(long, value_name = "DIR", conflicts_with_all = ["workspace", "label"])]
    root: Option<PathBuf>,
    /// Name of the workspace, if workers gave it another one than its path
    #[arg(long, value_name = "NAME", conflicts_with = "label")]
    workspace: Option<String>,
    /// Label that the worker must have (can be repeated). Its workspace is then the run's
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Allow every call of a tool in this run (can be repeated)
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// Allow every dangerous tool that the plan calls
    #[arg(long)]
    allow_dangerous: bool,
    /// Nodes that run at the same time
    #[arg(long, value_name = "N")]
    parallel: Option<u32>,
    /// Model that agents ask, instead of that of the worker's settings
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Seconds without a sign of life of the worker after which another one takes over
    #[arg(long, value_name = "SECONDS", default_value_t = HEARTBEAT_SECONDS_DEFAULT, value_parser = clap::value_parser!(u64).range(2..=3600))]
    heartbeat_seconds: u64,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
}

/// Run a plan on the workers of Temporal
///
/// The run is a workflow, and its name is the workflow's id. A second start with the same name joins it. The plan and its input lie
/// in Temporal's history.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// The plan, or - for standard input
    file: PathBuf,
    /// Input of the plan: JSON, or @FILE to read it from a file
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Name of the run; a new one unless given
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    start: StartArgs,
}

/// Resume a run that was stopped, failed, or waits for a settlement
///
/// A run that waits goes on. For any other run, a new workflow starts. haft recalls finished calls and repeats none of them.
#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// The run
    run: String,
    /// Retry nodes that failed for good
    #[arg(long)]
    retry_failed: bool,
    /// Go on although the processes that resumed the run before got no further
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    start: StartArgs,
}

/// Give an agent a task on the workers of Temporal
///
/// The task is a plan of one node for the agent. It is resumed like any plan, and its answer is the output.
#[derive(Args)]
pub(crate) struct AgentArgs {
    /// The task, or - for standard input
    prompt: String,
    /// Agent that gets the task
    #[arg(long, value_name = "NAME", default_value = AGENT_DEFAULT)]
    agent: String,
    /// Name of the run; a new one unless given
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    start: StartArgs,
}

/// Runs `haft-temporal run`.
pub(crate) async fn run(
    args: RunArgs,
    queue: &str,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let plan = match args.file.to_str() {
        Some("-") => read_standard_input()?,
        _ => std::fs::read_to_string(&args.file)
            .with_context(|| format!("the plan {} cannot be read", args.file.display()))?,
    };
    serde_json::from_str::<Value>(&plan).context("the plan is not JSON")?;
    let input = match args.input.as_deref().map(|text| (text, text.strip_prefix('@'))) {
        None => None,
        Some((_, Some(file))) => Some(
            std::fs::read_to_string(file)
                .with_context(|| format!("the input {file} cannot be read"))?,
        ),
        Some((text, None)) => Some(text.to_owned()),
    };
    if let Some(input) = &input {
        serde_json::from_str::<Value>(input).context("the input is not JSON")?;
    }
    begin(RunWork::Plan { plan, input }, args.run, &args.start, queue, connection).await
}

/// Runs `haft-temporal agent`.
pub(crate) async fn agent(
    args: AgentArgs,
    queue: &str,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let prompt = if args.prompt == "-" { read_standard_input()? } else { args.prompt };
    let node = json!({"id": 0, "agent": args.agent, "prompt": prompt, "depends_on": [], "timeout": AGENT_SECONDS_MAX});
    let plan = json!({"nodes": [node], "final_output_node": 0}).to_string();
    begin(RunWork::Plan { plan, input: None }, args.run, &args.start, queue, connection).await
}

/// Starts the workflow of a plan, or joins the one of that name if it has the same plan.
async fn begin(
    work: RunWork,
    run: Option<String>,
    args: &StartArgs,
    queue: &str,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let digest = digest_of(&work)?;
    let request = request(run.map_or_else(new_run, Ok)?, work, args, placement(args)?);
    let client = connection.connect().await?;
    let mut memo = MemoValues::new();
    memo.insert(DIGEST_MEMO, digest.clone());
    let options = WorkflowStartOptions::new(queue, &request.run)
        .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
        .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
        .memo(memo)
        .static_summary(format!("haft run {}", request.run))
        .build();
    let run = request.run.clone();
    let handle = match client.start_workflow(HaftRun::run, request, options).await {
        Ok(_) | Err(WorkflowStartError::AlreadyStarted { .. }) => run_handle(&client, &run),
        Err(err) => return Err(err).context("Temporal did not start the run"),
    };
    let description = handle.describe(WorkflowDescribeOptions::default()).await?;
    let begun: Option<String> = description.memo().get(DIGEST_MEMO)?;
    if begun.is_some_and(|begun| begun != digest) {
        bail!("run {run} was begun with another plan or input: choose another name with --run");
    }
    follow(&handle, &run, &args.follow).await
}

/// Runs `haft-temporal resume`.
pub(crate) async fn resume(
    args: ResumeArgs,
    queue: &str,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let client = connection.connect().await?;
    let placement = match &args.start {
        StartArgs { root: None, workspace: None, label, .. } if label.is_empty() => {
            earlier_placement(&client, &args.run, &args.start).await?
        }
        start => placement(start)?,
    };
    let work = RunWork::Resume { retry_failed: args.retry_failed, anyway: args.anyway };
    let request = request(args.run, work, &args.start, placement);
    let run = request.run.clone();
    let options = WorkflowStartOptions::new(queue, &run)
        .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
        .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
        .static_summary(format!("haft run {run}, resumed"))
        .build();
    client
        .signal_with_start_workflow(
            HaftRun::run,
            request,
            HaftRun::resume,
            "resume".to_owned(),
            options,
        )
        .await
        .context("Temporal did not resume the run")?;
    follow(&run_handle(&client, &run), &run, &args.start.follow).await
}

/// Returns the workspace that an earlier workflow of the run had, or that of the working directory.
async fn earlier_placement(
    client: &Client,
    run: &str,
    args: &StartArgs,
) -> anyhow::Result<RunPlacement> {
    let workspace = match run_handle(client, run).describe(WorkflowDescribeOptions::default()).await
    {
        Ok(description) => status_memo(&description).and_then(|status| status.workspace),
        // Temporal forgets a workflow after its retention.
        Err(_) => None,
    };
    workspace.map_or_else(|| placement(args), |name| Ok(RunPlacement::Workspace(name)))
}

fn placement(args: &StartArgs) -> anyhow::Result<RunPlacement> {
    if !args.label.is_empty() {
        return Ok(RunPlacement::Labels(check_labels(&args.label)?));
    }
    if let Some(name) = &args.workspace {
        check_workspace(name)?;
        return Ok(RunPlacement::Workspace(name.clone()));
    }
    let root = args.root.as_deref().unwrap_or(Path::new("."));
    // The directory may be on the worker's machine only.
    let canonical = root.canonicalize().ok();
    let path = canonical.as_deref().unwrap_or(root);
    ensure!(
        path.is_absolute(),
        "the root {} is not here: name it by its whole path",
        root.display()
    );
    let name = path.to_str().context("the path of the root is not UTF-8: use --workspace")?;
    check_workspace(name)?;
    Ok(RunPlacement::Workspace(name.to_owned()))
}

fn request(run: String, work: RunWork, args: &StartArgs, placement: RunPlacement) -> RunRequest {
    let options = RunOptions {
        allow: args.allow.clone(),
        allow_dangerous: args.allow_dangerous,
        parallel: args.parallel,
        model: args.model.clone(),
    };
    RunRequest { run, work, placement, options, heartbeat_seconds: args.heartbeat_seconds }
}

/// Returns the digest of a plan and its input, which must fit into Temporal's history.
fn digest_of(work: &RunWork) -> anyhow::Result<String> {
    let text = serde_json::to_string(work)?;
    ensure!(
        text.len() <= REQUEST_BYTES_MAX,
        "the plan and its input have {} bytes, and Temporal takes at most {REQUEST_BYTES_MAX}: let nodes read long texts from files",
        text.len()
    );
    let digest = Sha256::digest(text.as_bytes());
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read_standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    let limit = REQUEST_BYTES_MAX as u64 + 1;
    std::io::stdin()
        .take(limit)
        .read_to_string(&mut text)
        .context("standard input cannot be read")?;
    Ok(text)
}

/// Returns a name for a new run. Later names sort behind earlier ones.
fn new_run() -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let mut random = [0_u8; 8];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(format!("run-{now:x}-{:016x}", u64::from_be_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_must_fit_into_the_history() {
        let work = |length: usize| RunWork::Plan { plan: "x".repeat(length), input: None };
        let frame = serde_json::to_string(&work(0)).unwrap().len();
        assert!(digest_of(&work(REQUEST_BYTES_MAX - frame)).is_ok());
        assert!(digest_of(&work(REQUEST_BYTES_MAX - frame + 1)).is_err());
        assert_ne!(digest_of(&work(1)).unwrap(), digest_of(&work(2)).unwrap());
    }
}
