//! `haft-temporal asks` and `haft-temporal answer`: the calls of a run that wait for a person, as a query of its workflow, and an answer
//! as a signal to it.

use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use temporalio_client::{WorkflowQueryOptions, WorkflowSignalOptions};

use crate::connection::ConnectionArgs;
use crate::follow::{
    ANSWER_POLLS_MAX, POLL_INTERVAL, RunHandle, describe, print_line, run_handle, status_memo,
};
use crate::request::{AskReply, AskVerdict, PendingAsk};
use crate::workflow::HaftRun;

/// List the calls of a run that wait for a person
///
/// Contents of files are not in Temporal. With access to the journal, haft asks show ASK shows them.
#[derive(Args)]
pub(crate) struct AsksArgs {
    /// The run
    run: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Answer a call that waits for a person
///
/// The answer goes through Temporal to a worker that has the workspace. The first valid answer counts, from here, haft asks or the
/// inspector. It is bound to what the ask shows.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft-temporal answer r1 ask_7f3c9a01be42 allow
  haft-temporal answer r1 ask_7f3c9a01be42 reject --words 'use cargo nextest instead'")]
pub(crate) struct AnswerArgs {
    /// The run
    run: String,
    /// The ask, as haft-temporal asks lists it
    ask: String,
    /// The answer
    verdict: AskVerdict,
    /// Words for the model
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
}

/// Runs `haft-temporal asks`.
pub(crate) async fn asks(args: AsksArgs, connection: &ConnectionArgs) -> anyhow::Result<ExitCode> {
    let client = connection.connect().await?;
    let asks = query_asks(&run_handle(&client, &args.run), &args.run).await?;
    if args.json {
        print_line(&serde_json::to_string(&asks)?);
        return Ok(ExitCode::SUCCESS);
    }
    if asks.is_empty() {
        eprintln!("no call of run {} waits for an answer", args.run);
    }
    for PendingAsk { ask, call, tool, summary, .. } in &asks {
        // A model may have written it: JSON escapes control characters.
        print_line(&format!("{ask}  call {call} of {tool}\n  {summary}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `haft-temporal answer`.
pub(crate) async fn answer(
    args: AnswerArgs,
    connection: &ConnectionArgs,
) -> anyhow::Result<ExitCode> {
    let AnswerArgs { run, ask, verdict, words } = args;
    let client = connection.connect().await?;
    let handle = run_handle(&client, &run);
    let pending = query_asks(&handle, &run).await?.into_iter().find(|pending| pending.ask == ask);
    let shown_sha256 = pending
        .with_context(|| {
            format!("run {run} has no ask {ask} that waits: haft-temporal asks {run}")
        })?
        .shown_sha256;
    let before = status_memo(&describe(&handle, &run).await?).unwrap_or_default();
    let by = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let reply = AskReply { ask, verdict, shown_sha256, words, by };
    handle.signal(HaftRun::answer, reply.clone(), WorkflowSignalOptions::default()).await?;
    for _ in 0..ANSWER_POLLS_MAX {
        let status = status_memo(&describe(&handle, &run).await?).unwrap_or_default();
        // Others may answer at the same time.
        let news = status.replies_made.saturating_sub(before.replies_made);
        let skipped = status.replies.len().saturating_sub(usize::try_from(news)?);
        let report = status.replies.iter().skip(skipped).find(|report| report.reply == reply);
        match report.map(|report| &report.error) {
            Some(Some(error)) => bail!("the answer does not count: {error}"),
            Some(None) => {
                eprintln!("answered {}; run {run} goes on", reply.ask);
                return Ok(ExitCode::SUCCESS);
            }
            None => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
    bail!("no worker has taken the answer yet: haft-temporal asks {run}");
}

/// Returns the calls of a run that wait for a person. A worker must be there to answer.
async fn query_asks(handle: &RunHandle, run: &str) -> anyhow::Result<Vec<PendingAsk>> {
    ensure!(!run.is_empty(), "the name of the run is empty");
    let options = WorkflowQueryOptions::default();
    handle.query(HaftRun::asks, (), options).await.with_context(|| {
        format!(
            "the asks of run {run} cannot be read: no worker answers, or Temporal has no such run"
        )
    })
}
