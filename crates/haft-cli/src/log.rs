//! Warnings of the libraries on standard error, in the form of haft's own warnings. A repeated warning is printed once.
//! Events below a warning are not printed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use haft::{Clock as _, SystemClock};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::views::output;

/// Time after which haft prints a repeated warning again, in milliseconds. It counts from the last time that the warning
/// came up. A retry that fails every few seconds is therefore reported once.
pub(crate) const WARNING_AGAIN_MS: u64 = 60_000;

/// Sends warnings of the libraries to standard error. The SDKs of MCP and ACP are off: they warn of faults of clients and
/// servers, which the clients see in their answers. haft itself reports those that concern the user.
pub(crate) fn to_stderr() {
    let targets = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("rmcp", LevelFilter::OFF)
        .with_target("agent_client_protocol", LevelFilter::OFF);
    let warnings = Warnings::default().with_filter(targets);
    // Only a second subscriber in one process could fail, and this is the first.
    let _ = tracing_subscriber::registry().with(warnings).try_init();
}

/// When each warning came up last, in milliseconds since 1970. Any thread may warn; the lock is held for a look-up.
#[derive(Default)]
struct Warnings(Mutex<HashMap<String, u64>>);

/// Notes that a warning came up, and returns whether to print it.
fn is_new(times_ms: &mut HashMap<String, u64>, text: &str, now_ms: u64) -> bool {
    // Old entries go, so that the map stays small.
    times_ms.retain(|_, at_ms| now_ms.saturating_sub(*at_ms) < WARNING_AGAIN_MS);
    times_ms.insert(text.to_owned(), now_ms).is_none()
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = EventText::default();
        event.record(&mut words);
        let text = words.text();
        let mut times_ms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_new(&mut times_ms, &text, SystemClock.now_ms()) {
            output::print_warning(&text, None);
        }
    }
}

/// The parts of an event: its message, the reason and the fields.
#[derive(Default)]
struct EventText {
    message: String,
    why: Option<String>,
    about: Vec<String>,
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.note(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field.name(), value.to_owned());
    }
}

impl EventText {
    fn note(&mut self, name: &str, value: String) {
        match name {
            "message" => self.message = value,
            "err" => self.why = Some(value),
            name => self.about.push(format!("{name} {value}")),
        }
    }

    fn text(&self) -> String {
        let about = match self.about.as_slice() {
            [] => String::new(),
            about => format!(" ({})", about.join(", ")),
        };
        let why = self.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        format!("{}{about}{why}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_failing_is_said_once() {
        let mut times_ms = HashMap::new();
        let mut check = |text: &str, now_ms: u64, expect: bool| {
            assert_eq!(is_new(&mut times_ms, text, now_ms), expect);
        };
        check("a", 0, true);
        check("a", 40_000, false);
        check("b", 40_000, true);
        // It is counted from when it came up last, not from when it was said.
        check("a", 99_999, false);
        check("a", 99_999 + WARNING_AGAIN_MS, true);
    }

    #[test]
    fn warnings_have_the_form_of_all_others() {
        let mut words = EventText::default();
        words.note("run", "nightly".to_owned());
        words.note("err", "no answer".to_owned());
        words.note("message", "the run could not be held for longer".to_owned());
        assert_eq!(words.text(), "the run could not be held for longer (run nightly): no answer");
        let alone = EventText { message: "it is so".to_owned(), ..EventText::default() };
        assert_eq!(alone.text(), "it is so");
    }
}
