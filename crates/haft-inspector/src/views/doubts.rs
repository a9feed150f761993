//! The calls in doubt, with what is known of each, and the three verdicts. A verdict is about the row that the person saw.

use std::sync::Arc;

use askama::Template;
use haft_app::calendar::rfc3339;
use haft_app::records::{SettleError, find_doubts, input_summary, settle_call};
use haft_contract::CallAddress;
use haft_journal::{CallQuery, CallRow, Journal, RunQuery, SettlementVerdict};

use super::call_text::{CallText, TextPiece};
use super::runs::last_change;
use crate::change::ShownChange;
use crate::limits::{DOUBTS_SHOWN_MAX, RUNS_SEARCHED_MAX};
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_call, parse_run, run_url};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::{on_one_line, pretty, shown};

#[derive(Template)]
#[template(path = "doubts.html")]
struct DoubtsPage {
    sections: Sections,
    last_change: u64,
    doubts: Vec<DoubtCard>,
    /// How many there are beyond those.
    unlisted: usize,
    is_cut: bool,
}

/// A call in doubt, as a person sees it.
struct DoubtCard {
    /// The name of its place on the page.
    anchor: String,
    name: String,
    url: String,
    run: String,
    run_url: String,
    tool: String,
    /// The input on one line.
    summary: String,
    began: String,
    key: String,
    input: TextPiece,
    details: String,
    nonce: String,
}

/// Shows the calls in doubt.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let journal = source.journal().await?;
    let mut page = DoubtsPage {
        sections: Sections(Section::Doubts),
        last_change: 0,
        doubts: Vec::new(),
        unlisted: 0,
        is_cut: false,
    };
    let Some(journal) = journal.as_deref() else { return response::html(&page) };
    page.last_change = last_change(journal).await?;
    let (calls, is_cut) = match (request.query("call"), request.query("run")) {
        (Some(call), _) => {
            let call = parse_name(call)?;
            let run = find_run(journal, &call.scope.run).await?;
            let mut calls = find_doubts(journal, &run).await?;
            calls.retain(|row| row.id() == call);
            (calls, false)
        }
        (None, Some(run)) => {
            (find_doubts(journal, &find_run(journal, &parse_run(run)?).await?).await?, false)
        }
        (None, None) => all(journal).await?,
    };
    page.is_cut = is_cut;
    page.unlisted = calls.len().saturating_sub(DOUBTS_SHOWN_MAX);
    for call in calls.iter().take(DOUBTS_SHOWN_MAX) {
        page.doubts.push(card(source, request, call)?);
    }
    response::html(&page)
}

/// Records a verdict.
pub(crate) async fn settle(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let call = parse_name(request.form("call").unwrap_or_default())?;
    let verdict = request.form("verdict").and_then(SettlementVerdict::parse);
    let expected = || PageError::bad_request("verdict: expected happened, not_happened or retry");
    let verdict = verdict.ok_or_else(expected)?;
    let result =
        match (request.form("result"), verdict) {
            (Some(text), SettlementVerdict::Happened) => {
                let result = serde_json::from_str(text);
                Some(result.map_err(|err| {
                    PageError::bad_request(format!("The answer is not JSON: {err}"))
                })?)
            }
            _ => None,
        };
    let journal = source.present_journal().await?;
    let row = journal.calls(CallQuery::of_call(call.clone())).await?.pop();
    let row = row.ok_or_else(|| PageError::not_found(format!("There is no call {call}.")))?;
    offer_of(&row).check(source, request)?;
    settle_call(&*journal, &call, verdict, result).await.map_err(|err| match err {
        SettleError::NeedsResult { .. } => {
            PageError::bad_request(format!("{err}: write what that was into the answer, as JSON"))
        }
        SettleError::StillHeld { .. } => PageError::conflict(err),
        SettleError::Journal(err) => err.into(),
        err => PageError::failed(err),
    })?;
    Ok(response::go_to(&call_url(&call)))
}

/// Returns the calls in doubt of all runs, the newest runs first, and whether older runs were not looked at.
async fn all(journal: &dyn Journal) -> Result<(Vec<CallRow>, bool), PageError> {
    let mut doubts = Vec::new();
    let mut query = RunQuery::default();
    let mut looked_at = 0;
    loop {
        let runs = journal.runs(query.clone()).await?;
        let Some(last) = runs.last() else { return Ok((doubts, false)) };
        query.before = Some(last.id.clone());
        looked_at += runs.len();
        for run in &runs {
            doubts.extend(find_doubts(journal, run).await?);
        }
        if looked_at >= RUNS_SEARCHED_MAX {
            return Ok((doubts, true));
        }
    }
}

/// Returns the change that the card of a call offers.
fn offer_of(call: &CallRow) -> ShownChange {
    let shown = serde_json::to_string(call).unwrap_or_default();
    ShownChange::new(format!("settle {}", call.id()), &shown)
}

fn card(
    source: &Source,
    request: &InspectorRequest,
    call: &CallRow,
) -> Result<DoubtCard, PageError> {
    let id = call.id();
    Ok(DoubtCard {
        anchor: format!("doubt-{}", call.change),
        name: on_one_line(&id.to_string()),
        url: call_url(&id),
        run: id.scope.run.to_string(),
        run_url: run_url(&id.scope.run),
        tool: on_one_line(&call.tool),
        summary: on_one_line(&input_summary(&call.input)),
        began: rfc3339(call.started_at_ms),
        key: call.idempotency_key().unwrap_or_default(),
        input: CallText::Input.piece(call, 0, &source.host)?,
        details: call.details.as_deref().map(|it| shown(&pretty(it))).unwrap_or_default(),
        nonce: offer_of(call).offer(source, request)?,
    })
}

fn parse_name(name: &str) -> Result<CallAddress, PageError> {
    let parts: Vec<String> = name.split('/').map(str::to_owned).collect();
    parse_call(&parts)
}
