//! A program or a webhook that is notified: its delivery with a bounded number of tries. A failure is reported once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft::{OperatorProgram, Webhook};
use haft_sandbox::proxy::UpstreamProxy;
use serde_json::json;
use tokio::time::sleep;

use super::message::NotifyMessage;
use crate::host::AppHost;
use crate::journal_location::JournalLocation;
use crate::manifest::{NotifyEntry, NotifyEvent, WebhookFormat};
use crate::mcp_servers::networking;
use crate::operator_programs::OperatorPrograms;
use crate::running_inspector::RunningInspector;

/// Tries to deliver one notification to a webhook. A program is started once.
///
/// Limit (settings): the notification is dropped, and a warning says so once.
const NOTIFY_TRIES_MAX: u32 = 4;
/// Pause after the first try, in milliseconds. Each further pause is twice as long.
const NOTIFY_PAUSE_MS: u64 = 1_000;
/// Variables by which a program reaches the desktop of the user.
const DESKTOP_VARIABLES: [&str; 4] =
    ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

/// A program or a webhook that is notified.
pub(super) struct NotifyTarget {
    events: Vec<NotifyEvent>,
    with_contents: bool,
    timeout_ms: u64,
    /// The target in a message for a person.
    name: String,
    receiver: NotifyReceiver,
    /// Whether a failure was reported.
    has_failed: AtomicBool,
}

enum NotifyReceiver {
    Program(OperatorProgram),
    Webhook(Box<Webhook>, WebhookFormat),
}

impl NotifyTarget {
    /// Returns the target of an entry, or why it cannot be used.
    pub(super) fn new(
        entry: &NotifyEntry,
        programs: &OperatorPrograms<'_>,
        proxy: Option<&UpstreamProxy>,
        host: &AppHost,
    ) -> Result<Self, String> {
        let name = entry.target();
        let receiver = match &entry.url {
            None => {
                let program = programs.find(&entry.program, entry.timeout_ms);
                let mut program = program.map_err(|err| err.message)?;
                let of_desktop = DESKTOP_VARIABLES.iter();
                program.environment.extend(
                    of_desktop
                        .filter_map(|name| Some(((*name).into(), host.variable_if_set(name)?))),
                );
                NotifyReceiver::Program(program)
            }
            Some(url) => {
                let unusable = |why: String| format!("{name} is not notified: {why}");
                let authorization = match &entry.token_variable {
                    None => None,
                    Some(variable) => {
                        let token = host.variable_text(variable).filter(|token| !token.is_empty());
                        let token = token.ok_or_else(|| {
                            unusable(format!(
                                "its token is to be in {variable}, which is not set: export {variable}=…"
                            ))
                        })?;
                        Some(format!("Bearer {}", token.trim()))
                    }
                };
                let headers: Vec<(&str, &str)> =
                    authorization.iter().map(|value| ("authorization", value.as_str())).collect();
                let webhook = Webhook::new(url, &headers, networking(host), proxy.cloned());
                let format = entry.format.unwrap_or_default();
                NotifyReceiver::Webhook(Box::new(webhook.map_err(unusable)?), format)
            }
        };
        Ok(Self {
            events: entry.on.clone(),
            with_contents: entry.contents,
            timeout_ms: entry.timeout_ms,
            name,
            receiver,
            has_failed: AtomicBool::new(false),
        })
    }

    /// Returns whether the target is notified of such events.
    pub(super) fn wants(&self, event: NotifyEvent) -> bool {
        self.events.contains(&event)
    }

    /// Delivers a message, with a link for this target alone.
    pub(super) async fn deliver(
        &self,
        message: NotifyMessage,
        journal: &JournalLocation,
        host: &AppHost,
    ) {
        let inspector = RunningInspector::find(host, journal);
        let link = inspector.and_then(|inspector| inspector.link_to(&message.page).ok());
        let command = host.words_of(&message.step);
        let further = link.as_deref().or(command.as_deref());
        let text = message.text(self.with_contents, further);
        let ways = (link.as_deref(), command.as_deref());
        let delivered = match &self.receiver {
            NotifyReceiver::Program(program) => {
                let told = message.json(self.with_contents, ways, &text).to_string();
                program.run(&told).await.map(drop).map_err(|err| err.to_string())
            }
            NotifyReceiver::Webhook(webhook, format) => {
                self.post(webhook, *format, (&message, &text, ways)).await
            }
        };
        if let Err(why) = delivered {
            self.report_failure(&why, host);
        }
    }

    /// Posts a message until it is accepted, or cannot be.
    async fn post(
        &self,
        webhook: &Webhook,
        format: WebhookFormat,
        (message, text, ways): (&NotifyMessage, &str, (Option<&str>, Option<&str>)),
    ) -> Result<(), String> {
        let json_type = ("content-type", "application/json");
        let (headers, body) = match format {
            WebhookFormat::Json => {
                (vec![json_type], message.json(self.with_contents, ways, text).to_string())
            }
            WebhookFormat::Slack => {
                let text = format!("{}\n{text}", message.title);
                (vec![json_type], json!({ "text": slack_text(&text) }).to_string())
            }
            WebhookFormat::Ntfy => {
                let click = ways.0.map(|link| ("click", link));
                let title = [("title", message.title.as_str())];
                (title.into_iter().chain(click).collect(), text.to_owned())
            }
        };
        let mut tries = 1;
        loop {
            let Err(err) = webhook.post(&headers, &body, self.timeout_ms).await else {
                return Ok(());
            };
            if !err.is_temporary() || tries == NOTIFY_TRIES_MAX {
                return Err(err.to_string());
            }
            sleep(Duration::from_millis(NOTIFY_PAUSE_MS << (tries - 1))).await;
            tries += 1;
        }
    }

    /// Reports that a notification did not arrive: the first time to the person, and then to the log.
    pub(super) fn report_failure(&self, why: &str, host: &AppHost) {
        let name = &self.name;
        if self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::debug!("{name} was not notified: {why}");
        } else {
            host.warn(format!("{name} was not notified: {why}"));
        }
    }
}

/// Returns a text that Slack shows as it is: these characters begin links and mentions there.
fn slack_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_model_mentions_no_person_in_slack() {
        assert_eq!(slack_text("<!channel> a&b"), "&lt;!channel&gt; a&amp;b");
    }
}
