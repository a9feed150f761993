//! A call on one line, with its bar in the waterfall of its run. The bar shows the waits of the call apart from its work.

use std::collections::HashMap;

use haft_app::calendar::rfc3339;
use haft_app::records::{input_summary, is_in_doubt};
use haft_contract::{CallWaits, Effect, Envelope};
use haft_journal::{CallRow, CallStatus, SessionRow};

use crate::request::call_url;
use crate::text::{duration, on_one_line, url_part};

/// The least wait that a line names, in milliseconds.
const SHOWN_WAIT_MS: u64 = 1_000;

/// The facts that the lines of a run's calls have in common.
pub(crate) struct CallLineContext<'a> {
    pub(crate) run_started_ms: u64,
    pub(crate) now_ms: u64,
    pub(crate) owner_is_gone: bool,
    /// The sessions of subagents, by the call that began them.
    pub(crate) subagents: HashMap<&'a str, &'a SessionRow>,
}

/// The time that a waterfall shows, in milliseconds since the run began. The page widens it when further calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeWindow {
    pub(crate) from_ms: u64,
    pub(crate) lasts_ms: u64,
}

/// A part of a call's bar.
pub(crate) struct BarSegment {
    /// The name of its style, which is also its name in the legend.
    pub(crate) style: &'static str,
    /// In milliseconds since the run began.
    pub(crate) from_ms: u64,
    pub(crate) lasts_ms: u64,
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
    /// The waits that a person should see at once.
    pub(crate) waits: String,
    /// All waits, in words.
    pub(crate) all_waits: String,
    /// The bar, in its parts.
    pub(crate) bar: Vec<BarSegment>,
    /// The path and the name of the session that the call began.
    pub(crate) subagent: Option<(String, String)>,
}

impl TimeWindow {
    /// Returns the window in which all these calls are.
    pub(crate) fn of(calls: &[CallLine]) -> Self {
        let segments = || calls.iter().flat_map(|call| &call.bar);
        let from_ms = segments().map(|part| part.from_ms).min().unwrap_or(0);
        let to_ms = segments().map(|part| part.from_ms + part.lasts_ms).max().unwrap_or(0);
        Self { from_ms, lasts_ms: to_ms.saturating_sub(from_ms).max(1) }
    }

    /// Returns its length in words.
    pub(crate) fn text(self) -> String {
        duration(self.lasts_ms)
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
        let lasts_ms = end_ms.saturating_sub(call.started_at_ms);
        let envelope = call.parsed_envelope().ok().flatten();
        let code = envelope.as_ref().and_then(Envelope::code);
        let waits = envelope.as_ref().and_then(|it| it.metadata().waits).unwrap_or_default();
        let from_ms = call.started_at_ms.saturating_sub(cx.run_started_ms);
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
            took: duration(lasts_ms),
            waits: waits_text(&waits, SHOWN_WAIT_MS),
            all_waits: waits_text(&waits, 1),
            bar: bar(&waits, from_ms, lasts_ms),
            subagent: subagent.map(|session| {
                let id = session.id.to_string();
                (format!("/sessions/{}", url_part(&id)), id)
            }),
        }
    }
}

/// Returns the waits of a call of at least this length, in words.
pub(crate) fn waits_text(waits: &CallWaits, ms_min: u64) -> String {
    let long = waits.named().into_iter().filter(|(_, wait_ms)| *wait_ms >= ms_min);
    let words: Vec<_> =
        long.map(|(name, wait_ms)| format!("{name} {}", duration(wait_ms))).collect();
    words.join(", ")
}

/// Returns the bar of a call: its waits in their order, and then the work of the tool.
fn bar(waits: &CallWaits, from_ms: u64, lasts_ms: u64) -> Vec<BarSegment> {
    let end_ms = from_ms + lasts_ms;
    let mut at_ms = from_ms;
    let mut parts = Vec::new();
    for (style, wait_ms) in waits.named() {
        let lasts_ms = wait_ms.min(end_ms - at_ms);
        if lasts_ms > 0 {
            parts.push(BarSegment { style, from_ms: at_ms, lasts_ms });
            at_ms += lasts_ms;
        }
    }
    // A bar of no width would not be drawn.
    parts.push(BarSegment { style: "work", from_ms: at_ms, lasts_ms: (end_ms - at_ms).max(1) });
    parts
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_waits_before_the_work() {
        let check = |waits: CallWaits, lasts_ms, expect: &[(&str, u64, u64)]| {
            let bar = bar(&waits, 100, lasts_ms);
            let parts: Vec<_> = bar.iter().map(|it| (it.style, it.from_ms, it.lasts_ms)).collect();
            assert_eq!(parts, expect);
        };
        check(CallWaits::default(), 7, &[("work", 100, 7)]);
        let waits = CallWaits { asked_ms: 4_000, sandbox_ms: 12, ..CallWaits::default() };
        check(waits, 5_000, &[("asked", 100, 4_000), ("sandbox", 4_100, 12), ("work", 4_112, 988)]);
        // A journal may come from elsewhere.
        check(waits, 3_000, &[("asked", 100, 3_000), ("work", 3_100, 1)]);
        assert_eq!(waits_text(&waits, 1), "asked 4.0 s, sandbox 12 ms");
        assert_eq!(waits_text(&waits, SHOWN_WAIT_MS), "asked 4.0 s");
    }
}
