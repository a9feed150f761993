//! The runs that fit what a person searches for. The journal knows runs only by their time, so a search looks at one after
//! the other, up to a bound, and says where it stopped.

use haft_app::records::find_doubts;
use haft_contract::RunId;
use haft_journal::limits::QUERY_RUNS_MAX;
use haft_journal::{CallOrder, CallQuery, CallRow, Journal, RunQuery, RunRow, SessionRow};

use super::run_line::{ShownRunState, session_of, state};
use crate::limits::{
    CALLS_SEARCHED_MAX, RUN_CALLS_SEARCHED_MAX, RUNS_SEARCHED_MAX, RUNS_SHOWN_MAX,
};
use crate::page_error::PageError;
use crate::request::InspectorRequest;

/// The runs that a person searches for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFilter {
    pub(crate) state: Option<ShownRunState>,
    pub(crate) tool: String,
    pub(crate) by: String,
    pub(crate) root: String,
    pub(crate) text: String,
    /// A day, such as 2026-01-31.
    pub(crate) since: String,
    pub(crate) until: String,
}

/// A run that fits.
pub(crate) struct FoundRun {
    pub(crate) run: RunRow,
    pub(crate) doubts: usize,
    pub(crate) session: Option<SessionRow>,
    /// Its first call, which says what it is about.
    pub(crate) first: Option<CallRow>,
}

/// The runs that a search found.
#[derive(Default)]
pub(crate) struct RunPage {
    pub(crate) found: Vec<FoundRun>,
    /// The run after which to go on; nothing if all were looked at.
    pub(crate) next: Option<RunId>,
    /// Whether the search ended at its bound, and not because the page is full.
    pub(crate) is_cut: bool,
}

impl RunFilter {
    /// Returns what a request asks for.
    pub(crate) fn of(request: &InspectorRequest) -> Self {
        let text = |name: &str| request.query(name).unwrap_or_default().trim().to_owned();
        let word = text("state");
        Self {
            state: ShownRunState::ALL.into_iter().find(|state| state.word() == word),
            tool: text("tool"),
            by: text("by"),
            root: text("root"),
            text: text("text"),
            since: text("since"),
            until: text("until"),
        }
    }

    /// Returns whether every run fits.
    pub(crate) fn is_empty(&self) -> bool {
        let texts = [&self.tool, &self.by, &self.root, &self.text, &self.since, &self.until];
        self.state.is_none() && texts.iter().all(|text| text.is_empty())
    }

    /// Returns the next runs that fit, the newest first.
    pub(crate) async fn search(
        &self,
        journal: &dyn Journal,
        before: Option<RunId>,
    ) -> Result<RunPage, PageError> {
        let mut page = RunPage { next: before, ..RunPage::default() };
        let (mut runs_left, mut calls_left) = (RUNS_SEARCHED_MAX, CALLS_SEARCHED_MAX);
        // Without a filter, as many are asked for as are shown, and one more.
        let asked = if self.is_empty() { RUNS_SHOWN_MAX + 1 } else { RUNS_SHOWN_MAX * 4 };
        let limit = u32::try_from(asked).unwrap_or(QUERY_RUNS_MAX);
        loop {
            let query = RunQuery { before: page.next.clone(), limit, ..RunQuery::default() };
            let runs = journal.runs(query).await?;
            let is_last = runs.len() < asked;
            for run in runs {
                if page.found.len() == RUNS_SHOWN_MAX {
                    return Ok(page);
                }
                if runs_left == 0 || calls_left == 0 {
                    page.is_cut = true;
                    return Ok(page);
                }
                runs_left -= 1;
                page.next = Some(run.id.clone());
                page.found.extend(self.fitting(journal, run, &mut calls_left).await?);
            }
            if is_last {
                page.next = None;
                return Ok(page);
            }
        }
    }

    /// Returns the run if it fits.
    pub(crate) async fn fitting(
        &self,
        journal: &dyn Journal,
        run: RunRow,
        calls_left: &mut usize,
    ) -> Result<Option<FoundRun>, PageError> {
        let day = haft_app::calendar::rfc3339(run.started_at_ms);
        let day = day.get(..10).unwrap_or_default();
        let is_in_time = (self.since.is_empty() || day >= self.since.as_str())
            && (self.until.is_empty() || day <= self.until.as_str());
        if !is_in_time || !contains(&run.root, &self.root) {
            return Ok(None);
        }
        let session = session_of(journal, &run.id).await?;
        let agent = session.as_ref().map_or("", |session| session.agent.as_str());
        if !contains(agent, &self.by) && !contains(&run.front_end, &self.by) {
            return Ok(None);
        }
        let doubts = find_doubts(journal, &run).await?.len();
        if self.state.is_some_and(|wanted| wanted != state(&run, doubts > 0)) {
            return Ok(None);
        }
        if !self.tool.is_empty() {
            let tool = Some(self.tool.clone());
            let query = CallQuery { tool, limit: 1, ..CallQuery::of_run(run.id.clone()) };
            if journal.calls(query).await?.is_empty() {
                return Ok(None);
            }
        }
        let title = session.as_ref().and_then(|session| session.title.as_deref());
        let names = [run.id.as_str(), &run.root, &run.front_end, agent, title.unwrap_or_default()];
        if !names.iter().any(|name| contains(name, &self.text))
            && !self.is_in_inputs(journal, &run, calls_left).await?
        {
            return Ok(None);
        }
        let query = CallQuery { limit: 1, ..CallQuery::of_run(run.id.clone()) };
        let first = journal.calls(query).await?.pop();
        Ok(Some(FoundRun { run, doubts, session, first }))
    }

    async fn is_in_inputs(
        &self,
        journal: &dyn Journal,
        run: &RunRow,
        calls_left: &mut usize,
    ) -> Result<bool, PageError> {
        let left = u32::try_from(*calls_left).unwrap_or(u32::MAX);
        let query = CallQuery {
            limit: RUN_CALLS_SEARCHED_MAX.min(left),
            order: CallOrder::Latest,
            ..CallQuery::of_run(run.id.clone())
        };
        let calls = journal.calls(query).await?;
        *calls_left = calls_left.saturating_sub(calls.len());
        Ok(calls.iter().any(|call| contains(&call.input, &self.text)))
    }
}

/// Returns whether a text contains another, in any case of its letters.
fn contains(text: &str, wanted: &str) -> bool {
    wanted.is_empty() || text.to_lowercase().contains(&wanted.to_lowercase())
}
