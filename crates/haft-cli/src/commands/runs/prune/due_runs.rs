//! Details of a run that would be removed: its size, how long it was quiet, and the bound that chose it. Nothing is chosen or
//! removed here.

use std::fmt;

use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, Retention, RunQuery};
use serde::Serialize;

use crate::commands::sessions::pages;
use crate::error::CommandError;
use crate::views::outcome::on_one_line;

/// A run that would go.
#[derive(Serialize)]
pub(super) struct DueRunReport {
    run: RunId,
    /// The title of the session, if the run is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    pub(super) calls: u64,
    bytes: u64,
    /// Time since its last call or message.
    quiet_ms: u64,
    because: ExceededRetention,
}

/// The bound that a run exceeds.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ExceededRetention {
    /// It was quiet for longer than runs are kept.
    Age,
    /// All runs together hold more than is kept.
    Bytes,
}

/// Returns the size of each of the runs, and why it would go.
pub(super) async fn describe_runs(
    journal: &dyn Journal,
    runs: &[RunId],
    retention: Retention,
) -> Result<Vec<DueRunReport>, CommandError> {
    let aged = match retention.before_ms {
        Some(_) => journal.due_runs(Retention { bytes_max: None, ..retention }).await?.runs,
        None => Vec::new(),
    };
    let mut due = Vec::with_capacity(runs.len());
    for id in runs {
        let query = RunQuery { run: Some(id.clone()), ..RunQuery::default() };
        for run in journal.runs(query).await? {
            let session = haft_app::records::find_run_session(journal, id).await?;
            let session = session.map(|of_run| of_run.session);
            let said_ms = session.as_ref().map(|session| session.updated_at_ms);
            let last_ms = run.last_call_at_ms.max(said_ms).unwrap_or(run.started_at_ms);
            // The size of the run, as the journal counts it.
            let mut bytes = 0;
            let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(id.clone()) };
            loop {
                let calls = journal.calls(query.clone()).await?;
                let Some(last) = calls.last() else { break };
                query.after_change = Some(last.change);
                let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
                let bytes_of = |call: &CallRow| {
                    let CallRow { input, accesses, details, envelope, .. } = call;
                    input.len() + accesses.len() + optional(details) + optional(envelope)
                };
                bytes += calls.iter().map(bytes_of).sum::<usize>();
            }
            if let Some(session) = &session {
                pages::for_each_message(journal, &session.id, true, |_, parts| {
                    let texts = parts.iter().flat_map(|part| {
                        [&part.text, &part.input_json, &part.output_json, &part.signatures_json]
                    });
                    bytes += texts.flatten().map(String::len).sum::<usize>();
                    Ok(())
                })
                .await?;
            }
            due.push(DueRunReport {
                run: id.clone(),
                calls: run.calls,
                bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
                title: session.and_then(|session| session.title),
                quiet_ms: SystemClock.now_ms().saturating_sub(last_ms),
                because: if aged.contains(id) {
                    ExceededRetention::Age
                } else {
                    ExceededRetention::Bytes
                },
            });
        }
    }
    Ok(due)
}

impl fmt::Display for DueRunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DueRunReport { run, title, calls, bytes, quiet_ms, because } = self;
        let why = match because {
            ExceededRetention::Age => "it is older than what is kept",
            ExceededRetention::Bytes => "all runs together hold more bytes than are kept",
        };
        let calls = super::counted(usize::try_from(*calls).unwrap_or(usize::MAX), "call");
        let title = title.as_deref().map(|title| format!(" ({})", on_one_line(title)));
        let title = title.unwrap_or_default();
        // The age is in the largest unit of which there is at least one.
        let units = [("d", haft_app::calendar::DAY_MS), ("h", 3_600_000), ("m", 60_000)];
        let unit = units.iter().find(|(_, unit_ms)| quiet_ms >= unit_ms);
        let (unit, unit_ms) = unit.copied().unwrap_or(("s", 1_000));
        let age = quiet_ms / unit_ms;
        write!(f, "{run}{title}: {calls}, {bytes} bytes, quiet for {age}{unit}: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_one_unit() {
        let check = |quiet_ms: u64, expect: &str| {
            let run = RunId::parse("r1").unwrap();
            let because = ExceededRetention::Age;
            let due = DueRunReport { run, title: None, calls: 1, bytes: 2, quiet_ms, because };
            let expect =
                format!("r1: 1 call, 2 bytes, quiet for {expect}: it is older than what is kept");
            assert_eq!(due.to_string(), expect);
        };
        check(0, "0s");
        check(59_999, "59s");
        check(60_000, "1m");
        check(7_200_000, "2h");
        check(40 * haft_app::calendar::DAY_MS, "40d");
    }
}
