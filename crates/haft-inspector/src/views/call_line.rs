//! A call on one line, with its bar in the waterfall of its run.

use std::collections::HashMap;

use haft_app::calendar::rfc3339;
use haft_app::records::{input_summary, is_in_doubt};
use haft_contract::Effect;
use haft_journal::{CallRow, CallStatus, SessionRow};

use crate::request::call_url;
use crate::text::{duration, on_one_line, url_part};

/// Parts of a waterfall's width.
const WIDTH: u64 = 1_000;
/// Least width of a bar.
const BAR_WIDTH_MIN: u64 = 4;

/// The time that a waterfall shows, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeWindow {
    pub(crate) from_ms: u64,
    pub(crate) to_ms: u64,
}

/// The facts that the lines of a run's calls have in common.
pub(crate) struct CallLineContext<'a> {
    pub(crate) window: TimeWindow,
    pub(crate) now_ms: u64,
    pub(crate) owner_is_gone: bool,
    /// The sessions of subagents, by the call that began them.
    pub(crate) subagents: HashMap<&'a str, &'a SessionRow>,
}

/// A call on one line.
pub(crate) struct CallLine {
    /// The name of the call without its run.
    pub(crate) name: String,
    pub(crate) url: String,
    /// The heading of the attempt that begins with this call; empty if the call before is of the same attempt.
    pub(crate) heading: String,
    pub(crate) tool: String,
    pub(crate) summary: String,
    pub(crate) status: &'static str,
    pub(crate) style: &'static str,
    pub(crate) code: String,
    pub(crate) started: String,
    pub(crate) took: String,
    pub(crate) bar_from: u64,
    pub(crate) bar_width: u64,
    /// The path and the name of the session that the call began.
    pub(crate) subagent: Option<(String, String)>,
}

impl TimeWindow {
    /// Returns the window in which all these calls are.
    pub(crate) fn of(calls: &[CallRow], now_ms: u64) -> Self {
        let from_ms = calls.iter().map(|call| call.started_at_ms).min().unwrap_or(0);
        let end = |call: &CallRow| match call.status {
            CallStatus::Intended => now_ms,
            _ => call.finished_at_ms.unwrap_or(call.started_at_ms),
        };
        let to_ms = calls.iter().map(end).max().unwrap_or(0);
        Self { from_ms, to_ms: to_ms.max(from_ms + 1) }
    }

    /// Returns the window in words.
    pub(crate) fn text(self) -> String {
        duration(self.to_ms - self.from_ms)
    }

    fn place(self, at_ms: u64) -> u64 {
        let at = at_ms.clamp(self.from_ms, self.to_ms) - self.from_ms;
        at.saturating_mul(WIDTH) / (self.to_ms - self.from_ms).max(1)
    }
}

impl CallLine {
    /// Returns the lines of calls in their order.
    pub(crate) fn all(
        calls: &[CallRow],
        cx: &CallLineContext<'_>,
        shows_attempts: bool,
    ) -> Vec<Self> {
        let mut before = None;
        let line = |call: &CallRow| {
            let is_new = shows_attempts && before.as_ref() != Some(&call.scope);
            before = Some(call.scope.clone());
            Self::new(call, cx, is_new)
        };
        calls.iter().map(line).collect()
    }

    fn new(call: &CallRow, cx: &CallLineContext<'_>, begins_attempt: bool) -> Self {
        let scope = &call.scope;
        let heading = begins_attempt.then(|| {
            let repeat = (scope.iteration > 0).then(|| format!(" · iteration {}", scope.iteration));
            let retry = (scope.attempt > 1).then(|| format!(" · attempt {}", scope.attempt));
            let node = on_one_line(&scope.node);
            format!("{node}{}{}", repeat.unwrap_or_default(), retry.unwrap_or_default())
        });
        let (status, style) = status(call, cx.owner_is_gone);
        let is_open = call.status == CallStatus::Intended && !cx.owner_is_gone;
        let end_ms =
            call.finished_at_ms.unwrap_or(if is_open { cx.now_ms } else { call.started_at_ms });
        let bar_from = cx.window.place(call.started_at_ms).min(WIDTH - BAR_WIDTH_MIN);
        let bar_width = cx.window.place(end_ms).saturating_sub(bar_from).max(BAR_WIDTH_MIN);
        let code = call.parsed_envelope().ok().flatten().and_then(|envelope| envelope.code());
        let subagent = call.driver_call_id.as_deref().and_then(|id| cx.subagents.get(id));
        Self {
            name: format!(
                "{}/{}/{}/{}",
                on_one_line(&scope.node),
                scope.iteration,
                scope.attempt,
                call.seq
            ),
            url: call_url(&call.id()),
            heading: heading.unwrap_or_default(),
            tool: on_one_line(&call.tool),
            summary: on_one_line(&input_summary(&call.input)),
            status,
            style,
            code: code.map_or_else(String::new, |code| code.to_string()),
            started: rfc3339(call.started_at_ms),
            took: duration(end_ms.saturating_sub(call.started_at_ms)),
            bar_from,
            bar_width,
            subagent: subagent.map(|session| {
                let id = session.id.to_string();
                (format!("/sessions/{}", url_part(&id)), id)
            }),
        }
    }
}

/// Returns the status of a call in words, and the name of its style.
pub(crate) fn status(call: &CallRow, owner_is_gone: bool) -> (&'static str, &'static str) {
    match call.status {
        _ if is_in_doubt(call, owner_is_gone) => ("in doubt", "in-doubt"),
        CallStatus::Succeeded => ("done", "succeeded"),
        CallStatus::Failed => ("failed", "failed"),
        CallStatus::Refused => ("refused", "refused"),
        CallStatus::Unknown if call.effect == Effect::Once => ("to be repeated", "in-doubt"),
        CallStatus::Unknown => ("end not recorded", "unknown"),
        CallStatus::Intended if owner_is_gone => ("end not recorded", "unknown"),
        CallStatus::Intended => ("running", "running"),
    }
}
