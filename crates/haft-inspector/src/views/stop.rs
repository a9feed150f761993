//! Stopping a run: the page says which process ends, and which other runs stop with it. The process is asked to end, as by an
//! interrupt; it stops its calls and records their ends itself.

use std::sync::Arc;

use askama::Template;
use haft_app::process_identity::{ask_to_end, check_gone, is_this_process};
use haft_contract::RunId;
use haft_journal::{Journal, LeaseHolder, RunRow};

use super::run_line::{RunLine, session_of};
use crate::change::ShownChange;
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, run_url};
use crate::response::{self, PageResponse};
use crate::source::Source;
use crate::text::on_one_line;

#[derive(Template)]
#[template(path = "stop.html")]
struct StopPage {
    sections: Sections,
    run: RunLine,
    /// The process that would end.
    place: String,
    /// The path and the name of each other run that it works in.
    others: Vec<(String, String)>,
    /// Why the page cannot end it; empty if it can.
    hint: &'static str,
    nonce: String,
}

/// The process that works in a run.
struct HolderProcess {
    holder: LeaseHolder,
    /// All runs that it works in, in the order of their names.
    runs: Vec<RunId>,
}

/// Shows what a stop would end.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
    run: &str,
) -> Result<PageResponse, PageError> {
    let (journal, run) = source.present_run(run).await?;
    let process = HolderProcess::of(&run, &*journal).await?;
    let session = session_of(&*journal, &run.id).await?;
    let hint = process.hint();
    let others = process.runs.iter().filter(|other| **other != run.id);
    response::html(&StopPage {
        sections: Sections(Section::Runs),
        place: on_one_line(&process.holder.owner.location),
        others: others.map(|other| (run_url(other), other.to_string())).collect(),
        nonce: match hint {
            "" => process.stop_of(&run.id).offer(source, request)?,
            _ => String::new(),
        },
        hint,
        run: RunLine::new(&run, 0, session.as_ref(), None),
    })
}

/// Asks the process to end that the person saw.
pub(crate) async fn stop(
    source: &Arc<Source>,
    request: &InspectorRequest,
    run: &str,
) -> Result<PageResponse, PageError> {
    let (journal, run) = source.present_run(run).await?;
    let process = HolderProcess::of(&run, &*journal).await?;
    process.stop_of(&run.id).check(source, request)?;
    if !process.hint().is_empty() || !ask_to_end(&process.holder.owner) {
        return Err(PageError::conflict("this process cannot be ended from here"));
    }
    Ok(response::go_to(&run_url(&run.id)))
}

impl HolderProcess {
    async fn of(run: &RunRow, journal: &dyn Journal) -> Result<Self, PageError> {
        let holder = run.holder.clone().filter(|it| check_gone(&it.owner) != Some(true));
        let ended = || PageError::conflict("no process works in this run now");
        let holder = holder.ok_or_else(ended)?;
        let holders = journal.lease_holders().await?.into_iter();
        let held = holders.filter(|other| other.owner.id == holder.owner.id);
        let mut runs: Vec<RunId> = held.map(|other| other.run).collect();
        runs.sort();
        Ok(Self { holder, runs })
    }

    /// Returns why the page cannot end the process; an empty text if it can.
    fn hint(&self) -> &'static str {
        if is_this_process(&self.holder.owner) {
            "This inspector runs in the same process. Stop the work in its client."
        } else if check_gone(&self.holder.owner).is_none() {
            "The process cannot be seen from this machine. Stop the work in its client."
        } else {
            ""
        }
    }

    /// Returns the change that ends the process. It is about this process and all runs that it works in.
    fn stop_of(&self, run: &RunId) -> ShownChange {
        let shown = format!("{}\n{:?}", self.holder.owner.id, self.runs);
        ShownChange::new(format!("stop {run}"), &shown)
    }
}
