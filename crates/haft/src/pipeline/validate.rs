//! The tool exists and the input satisfies its schema.

use std::sync::Arc;

use haft_contract::{Contract, ErrorCode, Tool};

use super::arrive::{Arrived, Entry};
use super::panic::contained;
use super::refusal::Stop;
use crate::call::Call;
use crate::catalog::Offer;
use crate::registry::Registered;
use crate::run::RunState;

/// A call of an existing tool with an input that its schema accepts.
pub(super) struct Valid {
    call: Call,
    offer: Arc<Offer>,
    registered: Arc<Registered>,
    entry: Entry,
    retry_warning: Option<String>,
}

pub(super) fn validate(arrived: Arrived, run: &RunState) -> Result<Valid, Stop> {
    let offer = Arc::clone(arrived.offer());
    let (call, found, suggestions, entry) = arrived.into_parts();
    let Some(registered) = found else {
        let message = unknown_tool(&call.tool, &suggestions);
        return Err(Stop::refused(entry, ErrorCode::ToolNotFound, message));
    };
    if !run.session.keeps(registered.contract()) {
        let message = format!(
            "tool {} is none of this agent's: do with those that are listed, or say what is missing",
            entry.tool()
        );
        return Err(Stop::refused(entry, ErrorCode::ToolNotFound, message));
    }
    if run.session.keeps_back(&offer.registry, registered.contract()) {
        let message = format!(
            "tool {} cannot be called yet, because there are too many tools to list: find it with tool_search first",
            entry.tool()
        );
        return Err(Stop::refused(entry, ErrorCode::ToolNotFound, message));
    }
    let violations = match registered.schema() {
        Ok(schema) => schema.message(&call.input),
        Err(err) => {
            let message = format!(
                "the schema of tool {} is not valid and must be mended: {err}",
                entry.tool()
            );
            return Err(Stop::refused(entry, ErrorCode::ToolBadOutput, message));
        }
    };
    match violations.or_else(|| untakeable(&registered, &call)) {
        None => {
            let retry_warning = entry.repeat_warning();
            Ok(Valid { call, offer, registered, entry, retry_warning })
        }
        Some(violations) => {
            let short = format!("invalid input for {}", entry.tool());
            let message = format!("{short}: {violations}");
            // A violation quotes what it found, which may be a body in the wrong place.
            let recorded = (!registered.contract().digested.is_empty()).then_some(short);
            Err(Stop::refused(entry, ErrorCode::InvalidInput, message).recorded_as(recorded))
        }
    }
}

/// Says why the tool's code cannot take an input that its schema accepts.
fn untakeable(registered: &Registered, call: &Call) -> Option<String> {
    match contained(|| registered.tool().parse(&call.input)) {
        Ok(parsed) => parsed.err().map(|err| err.message),
        Err(panic) => Some(format!("reading it panicked: {panic}")),
    }
}

fn unknown_tool(name: &str, suggestions: &[String]) -> String {
    match suggestions {
        [] => format!("no tool is called {name:?}: list the tools to see what there is"),
        names => format!("no tool is called {name:?}: did you mean {}?", names.join(" or ")),
    }
}

impl Valid {
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    pub(super) fn tool(&self) -> &Tool {
        self.registered.tool()
    }

    /// Returns the tools there were when the call came.
    pub(super) fn offer(&self) -> &Offer {
        &self.offer
    }

    pub(super) fn contract(&self) -> &Contract {
        self.registered.contract()
    }

    /// Says that the driver hears how a recorded call ended, or that it is executed again.
    pub(super) fn heard(&mut self, seq: u32) {
        self.entry.heard(seq);
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Has the answer say what earlier attempts did, beside what it says already.
    pub(super) fn warn(&mut self, warning: String) {
        self.retry_warning = Some(match self.retry_warning.take() {
            Some(before) => format!("{before}. {warning}"),
            None => warning,
        });
    }

    pub(super) fn retry_warning(&self) -> Option<&str> {
        self.retry_warning.as_deref()
    }

    pub(super) fn into_entry(self) -> Entry {
        self.entry
    }
}
