//! The state that a server reports about itself: its work, whether it has loaded the project, and
//! diagnostics. Every part is limited, and excess data is dropped. Nothing is decided here.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::limits::{DIAGNOSED_FILES_MAX, DIAGNOSTICS_MAX, WORK_MAX};
use crate::wire::text_of;

/// Part of the tokens with which rust-analyzer announces compiler checks of the project.
const CHECK_TOKEN: &str = "flycheck";

/// Complaints of rust-analyzer if it could not load the standard library or the project itself.
const UNREAD_PROJECT_MESSAGES: &[&str] =
    &["can't load standard library", "Failed to load", "Failed to discover"];
/// Its complaint without network access. Only the dependencies of the standard library are missing,
/// which do not matter.
const HARMLESS_MESSAGE: &str = "Failed to read Cargo metadata with dependencies for sysroot";

/// The observed state of a server.
#[derive(Debug, Default)]
pub(crate) struct LanguageServerState {
    /// Increases with every notification.
    pub(crate) serial: u64,
    /// Its current work, by token.
    work: BTreeMap<String, AnnouncedWork>,
    /// The number of compiler checks of the project that it has started.
    pub(crate) checks_started: u64,
    /// Its reported status.
    pub(crate) status: Option<RustAnalyzerStatus>,
    /// Diagnostics by file URI.
    diagnostics: HashMap<String, PublishedDiagnostics>,
    /// How it ended.
    pub(crate) end: Option<LanguageServerEnd>,
}

/// How a server ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LanguageServerEnd {
    /// It was idle for too long.
    Idle,
    /// Another reason, as text.
    Failed(String),
}

/// Announced work that has not ended.
#[derive(Debug, Default)]
struct AnnouncedWork {
    title: String,
    message: String,
    percentage: Option<u64>,
}

/// The status that rust-analyzer reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct RustAnalyzerStatus {
    /// Whether it has loaded the project, and no pending work would change its answers.
    pub(crate) is_quiescent: bool,
    /// Its complaint about the project, if any.
    complaint: Option<String>,
}

/// The diagnostics of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishedDiagnostics {
    /// The serial of the server state when they arrived.
    pub(crate) serial: u64,
    /// The diagnostics in the protocol's format.
    pub(crate) items: Vec<Value>,
}

impl LanguageServerState {
    /// Applies a notification.
    pub(crate) fn apply_notification(&mut self, method: &str, params: &Value) {
        self.serial += 1;
        match method {
            "$/progress" => {
                let Some(token) = params.get("token") else { return };
                let token = token.as_str().map_or_else(|| token.to_string(), str::to_owned);
                let value = params.get("value").unwrap_or(&Value::Null);
                match text_of(value, "kind") {
                    Some("begin") if self.work.len() < WORK_MAX => {
                        self.checks_started += u64::from(token.contains(CHECK_TOKEN));
                        let title = text_of(value, "title").unwrap_or_default().to_owned();
                        let work = self.work.entry(token).or_default();
                        *work = AnnouncedWork { title, ..AnnouncedWork::default() };
                        work.update_progress(value);
                    }
                    Some("report") => {
                        if let Some(work) = self.work.get_mut(&token) {
                            work.update_progress(value);
                        }
                    }
                    Some("end") => {
                        self.work.remove(&token);
                    }
                    Some(_) | None => {}
                }
            }
            "textDocument/publishDiagnostics" => {
                let Some(uri) = text_of(params, "uri") else { return };
                let items = params.get("diagnostics").and_then(Value::as_array);
                let items = items.into_iter().flatten().take(DIAGNOSTICS_MAX).cloned().collect();
                let is_new = !self.diagnostics.contains_key(uri);
                if is_new && self.diagnostics.len() >= DIAGNOSED_FILES_MAX {
                    let oldest = self.diagnostics.iter().min_by_key(|(_, sent)| sent.serial);
                    if let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) {
                        self.diagnostics.remove(&oldest);
                    }
                }
                let published = PublishedDiagnostics { serial: self.serial, items };
                self.diagnostics.insert(uri.to_owned(), published);
            }
            "experimental/serverStatus" => {
                let message = text_of(params, "message").unwrap_or("it does not say why");
                let is_well = text_of(params, "health").is_none_or(|health| health == "ok")
                    || message.starts_with(HARMLESS_MESSAGE);
                self.status = Some(RustAnalyzerStatus {
                    is_quiescent: params.get("quiescent").and_then(Value::as_bool).unwrap_or(true),
                    complaint: (!is_well).then(|| message.to_owned()),
                });
            }
            _ => {}
        }
    }

    /// Returns the diagnostics that the server published for a file, if any.
    pub(crate) fn published_diagnostics(&self, uri: &str) -> Option<&PublishedDiagnostics> {
        self.diagnostics.get(uri)
    }

    /// Returns the serial at which the server last published diagnostics for a file, if it did.
    pub(crate) fn serial_of(&self, uri: &str) -> Option<u64> {
        self.published_diagnostics(uri).map(|published| published.serial)
    }

    /// Returns whether the server has announced work that has not ended.
    pub(crate) fn is_working(&self) -> bool {
        !self.work.is_empty()
    }

    /// Returns whether the compiler is checking the project.
    pub(crate) fn is_checking(&self) -> bool {
        self.work.keys().any(|token| token.contains(CHECK_TOKEN))
    }

    /// Returns the server's complaint about the project, if there is one.
    pub(crate) fn complaint(&self) -> Option<&str> {
        self.status.as_ref()?.complaint.as_deref()
    }

    /// Returns whether the server complains that it could not load the project's sources.
    pub(crate) fn has_unread_project(&self) -> bool {
        self.complaint()
            .is_some_and(|said| UNREAD_PROJECT_MESSAGES.iter().any(|word| said.contains(word)))
    }

    /// Returns the server's current work, as text.
    pub(crate) fn work_text(&self) -> Option<String> {
        let furthest = self.work.values().max_by_key(|work| work.percentage)?;
        let AnnouncedWork { title, message, percentage } = furthest;
        let percentage = percentage.map(|percent| format!("{percent} %"));
        let parts = [Some(title.clone()), Some(message.clone()), percentage];
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        Some(parts.join(", "))
    }
}

impl AnnouncedWork {
    fn update_progress(&mut self, value: &Value) {
        if let Some(message) = text_of(value, "message") {
            message.clone_into(&mut self.message);
        }
        let percentage = value.get("percentage").and_then(Value::as_u64);
        self.percentage = percentage.or(self.percentage);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn progress(state: &mut LanguageServerState, token: &Value, value: &Value) {
        state.apply_notification("$/progress", &json!({ "token": token, "value": value }));
    }

    #[test]
    fn work_begins_goes_on_and_ends() {
        let mut state = LanguageServerState::default();
        let begin = json!({ "kind": "begin", "title": "Indexing", "percentage": 0 });
        progress(&mut state, &json!("a"), &begin);
        progress(&mut state, &json!(7), &json!({ "kind": "begin", "title": "Fetching" }));
        let report = json!({ "kind": "report", "message": "3/9 (core)", "percentage": 33 });
        progress(&mut state, &json!("a"), &report);
        progress(&mut state, &json!("unknown"), &report);
        assert_eq!(state.work_text().as_deref(), Some("Indexing, 3/9 (core), 33 %"));
        progress(&mut state, &json!("a"), &json!({ "kind": "end" }));
        assert_eq!(state.work_text().as_deref(), Some("Fetching"));
        progress(&mut state, &json!(7), &json!({ "kind": "end" }));
        assert!(!state.is_working());
    }

    #[test]
    fn what_a_server_says_has_bounds() {
        let mut state = LanguageServerState::default();
        for token in 0..=WORK_MAX {
            progress(&mut state, &json!(token), &json!({ "kind": "begin", "title": "t" }));
        }
        assert_eq!(state.work.len(), WORK_MAX);
        for file in 0..=DIAGNOSED_FILES_MAX {
            let items = vec![json!({}); if file == 0 { 1 } else { DIAGNOSTICS_MAX + 1 }];
            let params = json!({ "uri": format!("file:///{file}"), "diagnostics": items });
            // One of many is long enough.
            if file < 2 || items.len() == 1 {
                state.apply_notification("textDocument/publishDiagnostics", &params);
            } else {
                let params = json!({ "uri": format!("file:///{file}"), "diagnostics": [] });
                state.apply_notification("textDocument/publishDiagnostics", &params);
            }
        }
        assert!(state.published_diagnostics("file:///0").is_none(), "the oldest went");
        assert_eq!(state.published_diagnostics("file:///1").unwrap().items.len(), DIAGNOSTICS_MAX);
        assert_eq!(state.diagnostics.len(), DIAGNOSED_FILES_MAX);
    }

    #[test]
    fn states_and_checks_are_kept() {
        let mut state = LanguageServerState::default();
        let params = json!({ "health": "error", "quiescent": true, "message": "no project" });
        state.apply_notification("experimental/serverStatus", &params);
        let status = state.status.clone().unwrap();
        assert!(status.is_quiescent);
        assert_eq!(state.complaint(), Some("no project"));
        assert!(!state.has_unread_project());
        let unread = format!("{HARMLESS_MESSAGE} of x");
        let params = json!({ "health": "warning", "quiescent": true, "message": unread });
        state.apply_notification("experimental/serverStatus", &params);
        assert_eq!(state.complaint(), None);
        let params = json!({ "health": "warning", "message": "x: can't load standard library" });
        state.apply_notification("experimental/serverStatus", &params);
        assert!(state.has_unread_project());
        progress(&mut state, &json!("rust-analyzer/flycheck/0"), &json!({ "kind": "begin" }));
        assert!(state.is_checking());
        assert_eq!(state.checks_started, 1);
    }
}
