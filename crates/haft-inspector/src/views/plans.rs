//! Plans: the runs that keep one, and the graph of a run with the state of each node.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use haft_app::records::{find_doubts, is_holder_dead};
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunRow};
use haft_plan::drive::{AGENT_NODE_TOOL, PLAN_TOOL, recorded_plan};
use haft_plan::{Plan, PlanGraph, PlanNodeMark};

use super::call_line::status;
use super::run_line::{RunLine, ShownRunState, state};
use super::run_search::RunFilter;
use super::runs::last_change;
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_run, run_url};
use crate::response::{self, PageResponse};
use crate::source::Source;
use crate::text::{on_one_line, pretty, shown, url_part};

#[derive(Template)]
#[template(path = "plans.html")]
struct PlansPage {
    sections: Sections,
    last_change: u64,
    runs: Vec<RunLine>,
    more: Option<String>,
}

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    sections: Sections,
    last_change: u64,
    run: RunLine,
    graph: String,
    nodes: Vec<NodeLine>,
    input: String,
}

/// A node of a plan, on one line.
struct NodeLine {
    id: usize,
    tool: String,
    purpose: String,
    depends_on: String,
    status: String,
    style: &'static str,
    url: Option<String>,
}

/// Shows the runs that keep a plan.
pub(crate) async fn list(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let mut page = PlansPage {
        sections: Sections(Section::Plans),
        last_change: 0,
        runs: Vec::new(),
        more: None,
    };
    if let Some(journal) = source.journal().await? {
        page.last_change = last_change(&*journal).await?;
        let filter = RunFilter { by: haft::PLAN_FRONT_END.to_owned(), ..RunFilter::default() };
        let before = request.query("before").map(parse_run).transpose()?;
        let found = filter.search(&*journal, before).await?;
        page.more = found.next.map(|next| format!("/plans?before={}", url_part(next.as_str())));
        let is_plan = |run: &RunRow| run.front_end == haft::PLAN_FRONT_END;
        let runs = found.found.iter().filter(|found| is_plan(&found.run));
        page.runs = runs
            .map(|found| {
                let url = format!("/plans/{}", url_part(found.run.id.as_str()));
                RunLine { url, ..RunLine::new(&found.run, found.doubts, None, None) }
            })
            .collect();
    }
    response::html(&page)
}

/// Shows the graph of a run.
pub(crate) async fn show(source: &Arc<Source>, run: &str) -> Result<PageResponse, PageError> {
    let (journal, run) = source.present_run(run).await?;
    let last_change = last_change(&*journal).await?;
    let recorded = recorded_plan(&*journal, &run.id).await.map_err(PageError::conflict)?;
    let Some((plan, input)) = recorded else {
        return Err(PageError::not_found(format!("Run {} keeps no plan.", run.id)));
    };
    let doubts = find_doubts(&*journal, &run).await?.len();
    let calls = latest_calls(&*journal, &run.id).await?;
    let is_running = state(&run, false) == ShownRunState::Running;
    let nodes = node_lines(&plan, &calls, is_running, is_holder_dead(&run));
    let marks: Vec<PlanNodeMark> = nodes
        .iter()
        .map(|node| PlanNodeMark {
            class: node.style,
            status: node.status.clone(),
            url: node.url.clone(),
        })
        .collect();
    let line = RunLine { url: run_url(&run.id), ..RunLine::new(&run, doubts, None, None) };
    response::html(&PlanPage {
        sections: Sections(Section::Plans),
        last_change,
        run: line,
        graph: PlanGraph::new(&plan).run_svg(&marks),
        nodes,
        input: input.map(|input| shown(&pretty(&input.to_string()))).unwrap_or_default(),
    })
}

/// Returns the latest call of each node, by the node's name.
async fn latest_calls(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<HashMap<String, CallRow>, PageError> {
    let mut latest: HashMap<String, CallRow> = HashMap::new();
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(run.clone()) };
    loop {
        let calls = journal.calls(query.clone()).await?;
        let Some(last) = calls.last() else { return Ok(latest) };
        query.after_change = Some(last.change);
        for call in calls.into_iter().filter(|call| call.tool != PLAN_TOOL) {
            // The calls of an agent are in its node, too. The call of the node itself comes first.
            let place = |call: &CallRow| {
                let is_of_node = call.tool == AGENT_NODE_TOOL;
                (call.scope.iteration, call.scope.attempt, is_of_node, call.seq)
            };
            match latest.get(&call.scope.node) {
                Some(known) if place(known) > place(&call) => {}
                _ => {
                    latest.insert(call.scope.node.clone(), call);
                }
            }
        }
    }
}

fn node_lines(
    plan: &Plan,
    calls: &HashMap<String, CallRow>,
    is_running: bool,
    owner_is_gone: bool,
) -> Vec<NodeLine> {
    let line = |node: &haft_plan::PlanNode| {
        let call = calls.get(&format!("n{}", node.id));
        let (status, style) = match call {
            Some(call) => status(call, owner_is_gone),
            None if is_running => ("waiting", "waiting"),
            None => ("not executed", "waiting"),
        };
        let above: Vec<String> = node.depends_on.iter().map(ToString::to_string).collect();
        NodeLine {
            id: node.id.index(),
            tool: on_one_line(&node.label()),
            purpose: on_one_line(node.purpose().unwrap_or_default()),
            depends_on: above.join(", "),
            status: match call.filter(|call| call.scope.attempt > 1) {
                Some(call) => format!("{status}, attempt {}", call.scope.attempt),
                None => status.to_owned(),
            },
            style,
            url: call.map(|call| call_url(&call.id())),
        }
    };
    plan.nodes.iter().map(line).collect()
}
