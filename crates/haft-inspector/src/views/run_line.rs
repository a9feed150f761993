//! A run on one line.

use haft_app::calendar::rfc3339;
use haft_app::records::{find_run_session, input_summary, is_holder_dead};
use haft_contract::RunId;
use haft_journal::{CallRow, Journal, RunRow, SessionRow};

use crate::page_error::PageError;
use crate::request::run_url;
use crate::text::{counted, duration, on_one_line};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownRunState {
    /// A process works in it.
    Running,
    /// A person has to settle a call.
    InDoubt,
    /// The process that worked in it is gone.
    Interrupted,
    /// It is over, and a call failed or was refused.
    Failed,
    /// It is over.
    Ended,
}

impl ShownRunState {
    pub(crate) const ALL: [Self; 5] =
        [Self::Running, Self::InDoubt, Self::Interrupted, Self::Failed, Self::Ended];

    /// Returns the word in a URL, and in the name of a style.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::InDoubt => "in-doubt",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }

    /// Returns the words that a person reads.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::InDoubt => "in doubt",
            Self::Interrupted => "interrupted",
            Self::Failed => "with failures",
            Self::Ended => "ended",
        }
    }
}

/// A run on one line.
pub(crate) struct RunLine {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) state: ShownRunState,
    /// The title of its session, else its first call; empty if it has neither.
    pub(crate) title: String,
    /// The agent or the front end that works in it.
    pub(crate) by: String,
    pub(crate) root: String,
    pub(crate) started: String,
    pub(crate) lasted: String,
    pub(crate) calls: String,
    /// The counts that a person should see: failed, refused, open and in doubt.
    pub(crate) counts: Vec<String>,
}

impl RunLine {
    /// Returns the line of a run, with the number of its calls in doubt.
    pub(crate) fn new(
        run: &RunRow,
        doubts: usize,
        session: Option<&SessionRow>,
        first: Option<&CallRow>,
    ) -> Self {
        let doubts = u64::try_from(doubts).unwrap_or(u64::MAX);
        let count = |count: u64, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let counts = [
            count(doubts, "in doubt"),
            count(run.failed, "failed"),
            count(run.refused, "refused"),
            count(run.intended, "open"),
        ];
        let agent = session.map(|session| session.agent.as_str());
        let title = session.and_then(|session| session.title.clone());
        let title = title.or_else(|| {
            let first = first?;
            Some(format!("{} {}", first.tool, input_summary(&first.input)))
        });
        let lasted = run.last_call_at_ms.unwrap_or(run.started_at_ms);
        Self {
            id: run.id.to_string(),
            url: run_url(&run.id),
            state: state(run, doubts > 0),
            title: on_one_line(&title.unwrap_or_default()),
            by: on_one_line(agent.unwrap_or(&run.front_end)),
            root: on_one_line(&run.root),
            started: rfc3339(run.started_at_ms),
            lasted: duration(lasted.saturating_sub(run.started_at_ms)),
            calls: counted(run.calls, "call", "calls"),
            counts: counts.into_iter().flatten().collect(),
        }
    }
}

/// Returns how a run stands.
pub(crate) fn state(run: &RunRow, has_doubts: bool) -> ShownRunState {
    match &run.holder {
        _ if has_doubts => ShownRunState::InDoubt,
        Some(_) if is_holder_dead(run) => ShownRunState::Interrupted,
        Some(_) => ShownRunState::Running,
        None if run.failed + run.refused > 0 => ShownRunState::Failed,
        None => ShownRunState::Ended,
    }
}

/// Returns the session of an agent that a run is, if it is one.
pub(crate) async fn session_of(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<SessionRow>, PageError> {
    Ok(find_run_session(journal, run).await?.map(|found| found.session))
}
