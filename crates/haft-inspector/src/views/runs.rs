//! The list of runs, the newest first, with filters. While the page is open, it shows changed runs anew.

use std::sync::Arc;

use askama::Template;
use haft_journal::{CallOrder, CallQuery, Journal};

use super::run_line::{RunLine, ShownRunState};
use super::run_search::{RunFilter, RunPage};
use crate::limits::{CALLS_SEARCHED_MAX, RUNS_SHOWN_MAX};
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, parse_run};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::on_one_line;

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    sections: Sections,
    /// The last change of the journal that the page shows.
    last_change: u64,
    filter: RunFilter,
    /// The states that can be chosen: word, name, and whether it is chosen.
    states: Vec<(&'static str, &'static str, bool)>,
    rows: RunRows,
    /// The journal, in words.
    journal: String,
}

/// The rows of the list, also alone.
#[derive(Template)]
#[template(path = "run_rows.html")]
struct RunRows {
    runs: Vec<RunLine>,
    /// Where further runs are, and what the link to them says.
    more: Option<(String, &'static str)>,
}

/// Shows the list, or the part of it that a page asks for.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let filter = RunFilter::of(request);
    let journal = source.journal().await?;
    if let (Some(only), Some(journal)) = (request.query("only"), journal.as_deref()) {
        return response::html(&changed_rows(&filter, only, journal).await?);
    }
    let last_change = match journal.as_deref() {
        Some(journal) => last_change(journal).await?,
        None => 0,
    };
    let before = request.query("before").map(parse_run).transpose()?;
    let is_part = request.query("part").is_some();
    let page = match journal.as_deref() {
        Some(journal) => filter.search(journal, before).await?,
        None => RunPage::default(),
    };
    let rows = rows(&page, request);
    if is_part {
        return response::html(&rows);
    }
    response::html(&RunsPage {
        sections: Sections(Section::Runs),
        last_change,
        states: ShownRunState::ALL
            .map(|it| (it.word(), it.name(), filter.state == Some(it)))
            .to_vec(),
        filter,
        rows,
        journal: on_one_line(&source.settings.durability.journal.to_string()),
    })
}

fn rows(page: &RunPage, request: &InspectorRequest) -> RunRows {
    let runs = page.found.iter().map(|found| {
        RunLine::new(&found.run, found.doubts, found.session.as_ref(), found.first.as_ref())
    });
    let more = page.next.as_ref().map(|next| {
        let query = request.query_without(&["before", "part", "only"]);
        let separator = if query.is_empty() { "" } else { "&" };
        let words = if page.is_cut { "Search further back" } else { "Show older runs" };
        (format!("/runs?{query}{separator}before={}", crate::text::url_part(next.as_str())), words)
    });
    RunRows { runs: runs.collect(), more }
}

/// Returns the rows of runs that changed. A run that does not fit the filter any more has none.
async fn changed_rows(
    filter: &RunFilter,
    only: &str,
    journal: &dyn Journal,
) -> Result<RunRows, PageError> {
    let mut runs = Vec::new();
    let mut calls_left = CALLS_SEARCHED_MAX;
    for name in only.split(',').take(RUNS_SHOWN_MAX) {
        let run = find_run(journal, &parse_run(name)?).await?;
        if let Some(found) = filter.fitting(journal, run, &mut calls_left).await? {
            runs.push(RunLine::new(
                &found.run,
                found.doubts,
                found.session.as_ref(),
                found.first.as_ref(),
            ));
        }
    }
    // The newest comes first, as in the list.
    runs.sort_by(|one, other| other.started.cmp(&one.started));
    Ok(RunRows { runs, more: None })
}

/// Returns the number of the last change in a journal.
pub(crate) async fn last_change(journal: &dyn Journal) -> Result<u64, PageError> {
    let query = CallQuery { limit: 1, order: CallOrder::Latest, ..CallQuery::default() };
    Ok(journal.calls(query).await?.first().map_or(0, |call| call.change))
}
