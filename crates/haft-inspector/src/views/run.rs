//! One run: what it is, and its calls in the order of time or as a tree of its attempts.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use haft_app::calendar::rfc3339;
use haft_app::records::{
    UndoneCalls, find_doubts, find_run_session, find_undo_references, is_holder_dead,
};
use haft_contract::{CallAddress, RunId};
use haft_journal::{
    CallOrder, CallQuery, CallRow, CallStatus, Journal, RunRow, SessionQuery, SessionRow,
};
use haft_plan::drive::PLAN_TOOL;

use super::call_line::{CallLine, CallLineContext, TimeWindow};
use super::run_line::RunLine;
use super::runs::last_change;
use crate::limits::{CALLS_SHOWN_MAX, TREE_CALLS_MAX};
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_run, run_url};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::{on_one_line, pretty, shown, url_part};

#[derive(Template)]
#[template(path = "run.html")]
struct RunDetailsPage {
    sections: Sections,
    last_change: u64,
    run: RunLine,
    version: String,
    settings: String,
    holder: String,
    /// The process that works in the run, and where the run can be stopped; empty without one.
    stopping: String,
    /// The path of the session that it is.
    session: Option<String>,
    /// The path of its plan, if it keeps one.
    plan: Option<String>,
    doubts: Vec<(String, String)>,
    undone: Vec<String>,
    filter: CallFilter,
    is_tree: bool,
    may_be_tree: bool,
    rows: CallRows,
}

/// Some of the calls of a run, also alone.
#[derive(Template)]
#[template(path = "call_rows.html")]
struct CallRows {
    calls: Vec<CallLine>,
    /// The time that the bars are in.
    window: String,
    /// Where the next calls are.
    more: Option<String>,
}

/// The calls that a person wants to see.
#[derive(Clone, Debug, Default)]
struct CallFilter {
    status: String,
    tool: String,
}

/// The statuses that a person can choose.
const STATUSES: [(&str, CallStatus); 5] = [
    ("done", CallStatus::Succeeded),
    ("failed", CallStatus::Failed),
    ("refused", CallStatus::Refused),
    ("running", CallStatus::Intended),
    ("unknown", CallStatus::Unknown),
];

impl CallFilter {
    fn of(request: &InspectorRequest) -> Self {
        let text = |name: &str| request.query(name).unwrap_or_default().trim().to_owned();
        Self { status: text("status"), tool: text("tool") }
    }

    fn query(&self, run: &RunId) -> CallQuery {
        let status = STATUSES.iter().find(|(word, _)| *word == self.status);
        CallQuery {
            tool: Some(self.tool.clone()).filter(|tool| !tool.is_empty()),
            statuses: status.map(|(_, status)| *status).into_iter().collect(),
            limit: CALLS_SHOWN_MAX,
            order: CallOrder::Change,
            ..CallQuery::of_run(run.clone())
        }
    }

    fn words() -> impl Iterator<Item = &'static str> {
        STATUSES.iter().map(|(word, _)| *word)
    }
}

/// Shows a run.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
    run: &str,
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let run = find_run(&*journal, &parse_run(run)?).await?;
    let last_change = last_change(&*journal).await?;
    let found = find_run_session(&*journal, &run.id).await?;
    let doubts = find_doubts(&*journal, &run).await?;
    let undone = find_undo_references(&*journal, &run, found.as_ref()).await?;
    let session = found.map(|found| found.session);
    let filter = CallFilter::of(request);
    let may_be_tree = run.calls <= TREE_CALLS_MAX;
    let is_tree = may_be_tree && request.query("view") == Some("tree");
    let rows = if is_tree {
        tree(source, &*journal, &run, session.as_ref(), &filter).await?
    } else {
        page(source, &*journal, &run, session.as_ref(), request).await?
    };
    let plan = CallQuery {
        tool: Some(PLAN_TOOL.to_owned()),
        node: Some(PLAN_TOOL.to_owned()),
        limit: 1,
        ..CallQuery::of_run(run.id.clone())
    };
    let plan = journal.calls(plan).await?;
    let names = doubts.iter().map(|call| (call_url(&call.id()), on_one_line(&call.tool)));
    let first = CallQuery { limit: 1, ..CallQuery::of_run(run.id.clone()) };
    let first = journal.calls(first).await?.pop();
    let line = RunLine::new(&run, doubts.len(), session.as_ref(), first.as_ref());
    let holder = run.holder.as_ref().map(|holder| on_one_line(&holder.owner.location));
    let is_alive = run.holder.is_some() && !is_holder_dead(&run);
    response::html(&RunDetailsPage {
        sections: Sections(Section::Runs),
        last_change,
        version: on_one_line(&run.version),
        settings: if run.settings == "{}" { String::new() } else { shown(&pretty(&run.settings)) },
        stopping: match &holder {
            Some(holder) if is_alive => format!(
                "A process works in this run: {holder}. The inspector does not stop runs: stop the work in its client, or end that \
                 process."
            ),
            _ => String::new(),
        },
        holder: holder.unwrap_or_default(),
        session: session.as_ref().map(|it| format!("/sessions/{}", url_part(it.id.as_str()))),
        plan: (!plan.is_empty()).then(|| format!("/plans/{}", url_part(run.id.as_str()))),
        doubts: names.collect(),
        undone: undone
            .iter()
            .map(|undone| {
                let at = rfc3339(undone.at_ms);
                let by = on_one_line(&undone.by);
                match undone.undone_calls() {
                    UndoneCalls::All => format!("All of it was undone at {at}, by call {by}."),
                    UndoneCalls::One(call) => {
                        format!("Call {call} was undone at {at}, by call {by}.")
                    }
                    UndoneCalls::After(call) => {
                        format!("What came after call {call} was undone at {at}, by call {by}.")
                    }
                }
            })
            .collect(),
        filter,
        is_tree,
        may_be_tree,
        rows,
        run: line,
    })
}

/// Returns further calls of a run, or those that changed.
pub(crate) async fn calls(
    source: &Arc<Source>,
    request: &InspectorRequest,
    run: &str,
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let run = find_run(&*journal, &parse_run(run)?).await?;
    let session = find_run_session(&*journal, &run.id).await?.map(|found| found.session);
    response::html(&page(source, &*journal, &run, session.as_ref(), request).await?)
}

/// Returns the calls of a run after a change, in the order of time.
async fn page(
    source: &Source,
    journal: &dyn Journal,
    run: &RunRow,
    session: Option<&SessionRow>,
    request: &InspectorRequest,
) -> Result<CallRows, PageError> {
    let filter = CallFilter::of(request);
    let is_latest = request.query("end").is_some();
    let query = CallQuery {
        after_change: request.number("after")?,
        order: if is_latest { CallOrder::Latest } else { CallOrder::Change },
        ..filter.query(&run.id)
    };
    let mut calls = journal.calls(query).await?;
    let is_full = calls.len() >= usize::try_from(CALLS_SHOWN_MAX).unwrap_or(usize::MAX);
    let last = calls.iter().map(|call| call.change).max().filter(|_| is_full && !is_latest);
    let more = last.map(|last| {
        let query = request.query_without(&["after", "view", "end"]);
        let separator = if query.is_empty() { "" } else { "&" };
        format!("{}/calls?{query}{separator}after={last}", run_url(&run.id))
    });
    calls.sort_by_key(|call| (call.started_at_ms, call.change));
    lines(source, journal, (run, session), &calls, false)
        .await
        .map(|rows| CallRows { more, ..rows })
}

/// Returns the calls of a run in the order of their addresses, with a heading for each attempt.
async fn tree(
    source: &Source,
    journal: &dyn Journal,
    run: &RunRow,
    session: Option<&SessionRow>,
    filter: &CallFilter,
) -> Result<CallRows, PageError> {
    let limit = u32::try_from(TREE_CALLS_MAX).unwrap_or(u32::MAX);
    let query = CallQuery { order: CallOrder::Address, limit, ..filter.query(&run.id) };
    let mut calls = journal.calls(query).await?;
    // Nodes are numbers behind a letter, and come in the order in which they began.
    let mut begun: HashMap<String, u64> = HashMap::new();
    for call in &calls {
        let known = begun.entry(call.scope.node.clone()).or_insert(call.started_at_ms);
        *known = (*known).min(call.started_at_ms);
    }
    calls.sort_by_key(|call| {
        let scope = &call.scope;
        let begun = begun.get(&scope.node).copied();
        (begun, scope.node.clone(), scope.iteration, scope.attempt, call.seq)
    });
    lines(source, journal, (run, session), &calls, true).await
}

async fn lines(
    source: &Source,
    journal: &dyn Journal,
    (run, session): (&RunRow, Option<&SessionRow>),
    calls: &[CallRow],
    shows_attempts: bool,
) -> Result<CallRows, PageError> {
    let subagents = match session {
        Some(session) => {
            let parent = Some(session.id.clone());
            let query = SessionQuery { parent, with_opaque: true, ..SessionQuery::default() };
            journal.sessions(query).await?
        }
        None => Vec::new(),
    };
    let begun = subagents.iter().filter_map(|it| Some((it.parent_tool_call_id.as_deref()?, it)));
    let now_ms = source.host.now_ms();
    let cx = CallLineContext {
        window: TimeWindow::of(calls, now_ms),
        now_ms,
        owner_is_gone: is_holder_dead(run),
        subagents: begun.collect(),
    };
    let lines = CallLine::all(calls, &cx, shows_attempts);
    Ok(CallRows { calls: lines, window: cx.window.text(), more: None })
}

/// Returns the words for a call, for the title of its page.
pub(crate) fn call_name(call: &CallAddress) -> String {
    on_one_line(&call.to_string())
}
