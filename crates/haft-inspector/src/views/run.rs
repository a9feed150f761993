//! One run: what it is, and its calls in the order of time or as a tree of its attempts.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use haft_app::calendar::rfc3339;
use haft_app::records::{
    RunSession, UndoReference, UndoneCalls, find_doubts, find_run_session, find_undo_references,
    is_holder_dead,
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
use crate::request::{InspectorRequest, call_url, run_url};
use crate::response::{self, PageResponse};
use crate::source::Source;
use crate::text::{on_one_line, pretty, shown as shown_text, url_part};

#[derive(Template)]
#[template(path = "run.html")]
struct RunDetailsPage {
    sections: Sections,
    last_change: u64,
    run: RunLine,
    version: String,
    settings: String,
    /// The process that works in the run.
    holder: Option<ShownHolder>,
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
    window: TimeWindow,
    /// Where the next calls are.
    more: Option<String>,
}

/// The process that holds a run, as the page shows it.
struct ShownHolder {
    place: String,
    is_gone: bool,
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
    let shown = ShownRun::find(source, run).await?;
    let ShownRun { journal, run, .. } = &shown;
    let session = shown.session();
    let last_change = last_change(&**journal).await?;
    let doubts = find_doubts(&**journal, run).await?;
    let undone = find_undo_references(&**journal, run, shown.found.as_ref()).await?;
    let filter = CallFilter::of(request);
    let may_be_tree = run.calls <= TREE_CALLS_MAX;
    let is_tree = may_be_tree && request.query("view") == Some("tree");
    let rows = if is_tree { shown.tree(&filter).await? } else { shown.page(request).await? };
    let names = doubts.iter().map(|call| (call_url(&call.id()), on_one_line(&call.tool)));
    let first = CallQuery { limit: 1, ..CallQuery::of_run(run.id.clone()) };
    let first = journal.calls(first).await?.pop();
    let line = RunLine::new(run, doubts.len(), session, first.as_ref());
    response::html(&RunDetailsPage {
        sections: Sections(Section::Runs),
        last_change,
        version: on_one_line(&run.version),
        settings: if run.settings == "{}" {
            String::new()
        } else {
            shown_text(&pretty(&run.settings))
        },
        holder: run.holder.as_ref().map(|holder| ShownHolder {
            place: on_one_line(&holder.owner.location),
            is_gone: is_holder_dead(run),
        }),
        session: session.map(|it| format!("/sessions/{}", url_part(it.id.as_str()))),
        plan: shown.keeps_plan().await?.then(|| format!("/plans/{}", url_part(run.id.as_str()))),
        doubts: names.collect(),
        undone: undone.iter().map(undone_text).collect(),
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
    response::html(&ShownRun::find(source, run).await?.page(request).await?)
}

/// A run, and what its views need.
struct ShownRun<'a> {
    source: &'a Source,
    journal: Arc<dyn Journal>,
    run: RunRow,
    /// The session that the run is.
    found: Option<RunSession>,
}

impl<'a> ShownRun<'a> {
    async fn find(source: &'a Source, run: &str) -> Result<Self, PageError> {
        let (journal, run) = source.present_run(run).await?;
        let found = find_run_session(&*journal, &run.id).await?;
        Ok(Self { source, journal, run, found })
    }

    fn session(&self) -> Option<&SessionRow> {
        self.found.as_ref().map(|found| &found.session)
    }

    async fn keeps_plan(&self) -> Result<bool, PageError> {
        let plan = CallQuery {
            tool: Some(PLAN_TOOL.to_owned()),
            node: Some(PLAN_TOOL.to_owned()),
            limit: 1,
            ..CallQuery::of_run(self.run.id.clone())
        };
        Ok(!self.journal.calls(plan).await?.is_empty())
    }

    /// Returns the calls of the run after a change, in the order of time.
    async fn page(&self, request: &InspectorRequest) -> Result<CallRows, PageError> {
        let filter = CallFilter::of(request);
        let is_latest = request.query("end").is_some();
        let query = CallQuery {
            after_change: request.number("after")?,
            order: if is_latest { CallOrder::Latest } else { CallOrder::Change },
            ..filter.query(&self.run.id)
        };
        let mut calls = self.journal.calls(query).await?;
        let is_full = calls.len() >= usize::try_from(CALLS_SHOWN_MAX).unwrap_or(usize::MAX);
        let last = calls.iter().map(|call| call.change).max().filter(|_| is_full && !is_latest);
        let more = last.map(|last| {
            let query = request.query_without(&["after", "view", "end"]);
            let separator = if query.is_empty() { "" } else { "&" };
            format!("{}/calls?{query}{separator}after={last}", run_url(&self.run.id))
        });
        calls.sort_by_key(|call| (call.started_at_ms, call.change));
        Ok(CallRows { more, ..self.lines(&calls, false).await? })
    }

    /// Returns the calls of the run in the order of their addresses, with a heading for each attempt.
    async fn tree(&self, filter: &CallFilter) -> Result<CallRows, PageError> {
        let limit = u32::try_from(TREE_CALLS_MAX).unwrap_or(u32::MAX);
        let query = CallQuery { order: CallOrder::Address, limit, ..filter.query(&self.run.id) };
        let mut calls = self.journal.calls(query).await?;
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
        self.lines(&calls, true).await
    }

    async fn lines(&self, calls: &[CallRow], shows_attempts: bool) -> Result<CallRows, PageError> {
        let subagents = match self.session() {
            Some(session) => {
                let parent = Some(session.id.clone());
                let query = SessionQuery { parent, with_opaque: true, ..SessionQuery::default() };
                self.journal.sessions(query).await?
            }
            None => Vec::new(),
        };
        let begun =
            subagents.iter().filter_map(|it| Some((it.parent_tool_call_id.as_deref()?, it)));
        let cx = CallLineContext {
            run_started_ms: self.run.started_at_ms,
            now_ms: self.source.host.now_ms(),
            owner_is_gone: is_holder_dead(&self.run),
            subagents: begun.collect(),
        };
        let calls = CallLine::all(calls, &cx, shows_attempts);
        Ok(CallRows { window: TimeWindow::of(&calls), calls, more: None })
    }
}

/// Returns the words for calls that were undone.
fn undone_text(undone: &UndoReference) -> String {
    let at = rfc3339(undone.at_ms);
    let by = on_one_line(&undone.by);
    match undone.undone_calls() {
        UndoneCalls::All => format!("All of it was undone at {at}, by call {by}."),
        UndoneCalls::One(call) => format!("Call {call} was undone at {at}, by call {by}."),
        UndoneCalls::After(call) => {
            format!("What came after call {call} was undone at {at}, by call {by}.")
        }
    }
}

/// Returns the words for a call, for the title of its page.
pub(crate) fn call_name(call: &CallAddress) -> String {
    on_one_line(&call.to_string())
}
