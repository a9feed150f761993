//! The entries `[[notify]]`: programs and webhooks of the user that learn of asks, of calls in doubt and of the ends of runs. How a
//! notification is worded and delivered is decided elsewhere.

use std::path::Path;

use haft::Webhook;
use serde::Deserialize;

use super::problem::out_of_bounds;

/// Time for one try to deliver a notification, in milliseconds, unless the settings say otherwise.
///
/// Limit (settings): the try has failed.
pub const NOTIFY_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// Longest time for one try to deliver a notification, in milliseconds.
///
/// Limit (settings): the manifest is refused.
pub(crate) const NOTIFY_TIMEOUT_MS_MAX: u64 = 60_000;
/// Programs and webhooks that are notified.
///
/// Limit (settings): the manifest is refused.
pub const NOTIFY_MAX: usize = 16;

/// The kinds of events that lead to a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyEvent {
    /// A call waits for an answer.
    Ask,
    /// A process gave a run back.
    End,
    /// A person has to say whether calls happened.
    InDoubt,
}

/// The shape of what a webhook is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    /// All facts as a JSON object.
    #[default]
    Json,
    /// `{"text": …}`, as Slack and compatible servers take it.
    Slack,
    /// The text alone, with its title and its link as headers of ntfy.
    Ntfy,
}

/// A program or a webhook that is notified.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyEntry {
    /// The events. All unless named.
    #[serde(default = "all_events")]
    pub on: Vec<NotifyEvent>,
    /// The program and its arguments. It gets the notification as JSON on its standard input.
    #[serde(default)]
    pub program: Vec<String>,
    /// The address that is posted to.
    pub url: Option<String>,
    /// The shape of the post.
    pub format: Option<WebhookFormat>,
    /// The variable that holds the token of the webhook.
    pub token_variable: Option<String>,
    /// Time for one try.
    #[serde(default = "timeout_default")]
    pub timeout_ms: u64,
    /// Whether the notification carries contents: input, accesses, reasons and the root.
    #[serde(default)]
    pub contents: bool,
}

impl NotifyEntry {
    /// Returns what is wrong with the entry.
    pub(super) fn problem(&self) -> Option<String> {
        let wrong = |message: &str| Some(message.to_owned());
        match (&self.url, self.program.as_slice()) {
            (None, []) => return wrong("expected program or url, found neither"),
            (Some(_), [_, ..]) => return wrong("expected program or url, found both"),
            (Some(url), []) => {
                if let Err(problem) = Webhook::origin_of(url) {
                    return Some(format!("url: {problem}"));
                }
            }
            (None, [name, ..]) if name.is_empty() => {
                return wrong("program: expected the program and its arguments, found none");
            }
            (None, words) if words.iter().any(|word| word.contains('\0')) => {
                return wrong("program: expected words without NUL, which no argument can hold");
            }
            (None, _) if self.format.is_some() => {
                return wrong("format: a program always gets JSON; remove the key or name a url");
            }
            (None, _) if self.token_variable.is_some() => {
                return wrong(
                    "token_variable: only a url has a token; remove the key or name a url",
                );
            }
            (None, _) => {}
        }
        if self.on.is_empty() {
            return wrong("on: expected at least one of ask, end, in_doubt");
        }
        if self.token_variable.as_deref() == Some("") {
            return wrong("token_variable: expected the name of a variable, found none");
        }
        let bounds = 1..=NOTIFY_TIMEOUT_MS_MAX;
        out_of_bounds("timeout_ms", Some(self.timeout_ms), bounds, "milliseconds")
            .map(|(_, message)| message)
    }

    /// Returns the entry with a program that is named by a path found from `directory`. A bare name is looked up in
    /// PATH.
    pub fn resolve_paths(mut self, directory: &Path) -> Self {
        if let Some(program) = self.program.first_mut().filter(|program| program.contains('/')) {
            *program = directory.join(&*program).to_string_lossy().into_owned();
        }
        self
    }

    /// Returns the target as a person knows it. The rest of an address may be a secret.
    pub fn target(&self) -> String {
        match &self.url {
            Some(url) => Webhook::origin_of(url).unwrap_or_default(),
            None => self.program.first().cloned().unwrap_or_default(),
        }
    }

    /// Returns the entry in words for the user who is asked to trust it.
    pub(crate) fn summary(&self) -> String {
        let target = match &self.url {
            Some(_) => format!("url {:?}", self.target()),
            None => format!("program {:?}", self.program),
        };
        let contents = if self.contents { ", with contents" } else { "" };
        format!("notify = [{target}{contents}]")
    }
}

/// Returns the events of an entry that names none.
fn all_events() -> Vec<NotifyEvent> {
    vec![NotifyEvent::Ask, NotifyEvent::End, NotifyEvent::InDoubt]
}

/// Returns the time limit of an entry that names none, in milliseconds.
fn timeout_default() -> u64 {
    NOTIFY_TIMEOUT_MS_DEFAULT
}
