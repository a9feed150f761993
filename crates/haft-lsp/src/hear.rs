//! What a server says of itself: what it is working on, whether it has read the project, what is wrong with files. All of
//! it is bounded, and what does not fit is dropped. Nothing is decided here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::limits::{DIAGNOSED_FILES_MAX, DIAGNOSTICS_MAX, WORK_MAX};
use crate::wire::text_of;

/// Part of the tokens under which rust-analyzer announces that the compiler checks the project.
const CHECK_TOKEN: &str = "flycheck";

/// What rust-analyzer complains of when it could not read the standard library, or the project itself.
const UNREAD: &[&str] = &["can't load standard library", "Failed to load", "Failed to discover"];
/// What it complains of without a network: it does not look into what the standard library is made of, and nobody asks.
const HARMLESS: &str = "Failed to read Cargo metadata with dependencies for sysroot";

/// All that was heard of a server, as far as somebody may ask for it.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// How much was heard; grows with everything.
    pub(crate) serial: u64,
    /// What it is working on, by token.
    work: BTreeMap<String, Work>,
    /// How often it began to have the project checked by the compiler.
    pub(crate) checks_begun: u64,
    /// What it says of its own state.
    pub(crate) status: Option<Status>,
    /// What is wrong with files, by their URI.
    diagnostics: HashMap<String, Published>,
    /// How it ended.
    pub(crate) over: Option<Over>,
}

/// How a server ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Nobody asked it for long.
    Idle,
    /// Otherwise, in words.
    Failed(Arc<str>),
}

/// Work that a server announced and that has not ended.
#[derive(Debug, Default)]
struct Work {
    title: String,
    message: String,
    percentage: Option<u64>,
}

/// What rust-analyzer says of its own state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    /// Whether it has read the project, and nothing is under way that would change its answers.
    pub(crate) is_quiescent: bool,
    /// What is wrong with the project, if anything is.
    complaint: Option<String>,
}

/// The diagnostics of one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// How much had been heard when they came.
    pub(crate) serial: u64,
    /// The diagnostics.
    pub(crate) items: Vec<Value>,
}

impl Heard {
    /// Takes a notification.
    pub(crate) fn take(&mut self, method: &str, params: &Value) {
        self.serial += 1;
        match method {
            "$/progress" => self.take_progress(params),
            "textDocument/publishDiagnostics" => self.take_diagnostics(params),
            "experimental/serverStatus" => self.take_status(params),
            _ => {}
        }
    }

    /// Returns the diagnostics that the server sent for a file, if it sent any.
    pub(crate) fn published(&self, uri: &str) -> Option<&Published> {
        self.diagnostics.get(uri)
    }

    /// Returns how much had been heard when the server last sent diagnostics for a file, if it sent any.
    pub(crate) fn serial_of(&self, uri: &str) -> Option<u64> {
        self.published(uri).map(|published| published.serial)
    }

    /// Returns whether the server has announced work that has not ended.
    pub(crate) fn is_working(&self) -> bool {
        !self.work.is_empty()
    }

    /// Returns whether the compiler is checking the project.
    pub(crate) fn is_checking(&self) -> bool {
        self.work.keys().any(|token| token.contains(CHECK_TOKEN))
    }

    /// Returns what is wrong with the project, as the server says it, if anything is.
    pub(crate) fn complaint(&self) -> Option<&str> {
        self.status.as_ref()?.complaint.as_deref()
    }

    /// Returns whether the server complains that it could not read what the project is made of.
    pub(crate) fn sees_little(&self) -> bool {
        self.complaint().is_some_and(|said| UNREAD.iter().any(|word| said.contains(word)))
    }

    /// Returns what the server is working on, in words.
    pub(crate) fn work_text(&self) -> Option<String> {
        let furthest = self.work.values().max_by_key(|work| work.percentage)?;
        let Work { title, message, percentage } = furthest;
        let percentage = percentage.map(|percent| format!("{percent} %"));
        let parts = [Some(title.clone()), Some(message.clone()), percentage];
        let parts: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        Some(parts.join(", "))
    }

    fn take_progress(&mut self, params: &Value) {
        let Some(token) = params.get("token") else { return };
        let token = token.as_str().map_or_else(|| token.to_string(), str::to_owned);
        let value = params.get("value").unwrap_or(&Value::Null);
        match text_of(value, "kind") {
            Some("begin") if self.work.len() < WORK_MAX => {
                self.checks_begun += u64::from(token.contains(CHECK_TOKEN));
                let title = text_of(value, "title").unwrap_or_default().to_owned();
                let work = self.work.entry(token).or_default();
                *work = Work { title, ..Work::default() };
                work.take(value);
            }
            Some("report") => {
                if let Some(work) = self.work.get_mut(&token) {
                    work.take(value);
                }
            }
            Some("end") => {
                self.work.remove(&token);
            }
            Some(_) | None => {}
        }
    }

    fn take_diagnostics(&mut self, params: &Value) {
        let Some(uri) = text_of(params, "uri") else { return };
        let items = params.get("diagnostics").and_then(Value::as_array);
        let items = items.into_iter().flatten().take(DIAGNOSTICS_MAX).cloned().collect();
        let is_new = !self.diagnostics.contains_key(uri);
        if is_new && self.diagnostics.len() >= DIAGNOSED_FILES_MAX {
            let oldest = self.diagnostics.iter().min_by_key(|(_, published)| published.serial);
            if let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) {
                self.diagnostics.remove(&oldest);
            }
        }
        let published = Published { serial: self.serial, items };
        self.diagnostics.insert(uri.to_owned(), published);
    }

    fn take_status(&mut self, params: &Value) {
        let is_well = text_of(params, "health").is_none_or(|health| health == "ok");
        let message = text_of(params, "message").unwrap_or("it does not say why").to_owned();
        let is_well = is_well || message.starts_with(HARMLESS);
        self.status = Some(Status {
            is_quiescent: params.get("quiescent").and_then(Value::as_bool).unwrap_or(true),
            complaint: (!is_well).then_some(message),
        });
    }
}

impl Work {
    fn take(&mut self, value: &Value) {
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

    fn progress(heard: &mut Heard, token: &Value, value: &Value) {
        heard.take("$/progress", &json!({ "token": token, "value": value }));
    }

    #[test]
    fn work_begins_goes_on_and_ends() {
        let mut heard = Heard::default();
        let begin = json!({ "kind": "begin", "title": "Indexing", "percentage": 0 });
        progress(&mut heard, &json!("a"), &begin);
        progress(&mut heard, &json!(7), &json!({ "kind": "begin", "title": "Fetching" }));
        let report = json!({ "kind": "report", "message": "3/9 (core)", "percentage": 33 });
        progress(&mut heard, &json!("a"), &report);
        progress(&mut heard, &json!("unknown"), &report);
        assert_eq!(heard.work_text().as_deref(), Some("Indexing, 3/9 (core), 33 %"));
        progress(&mut heard, &json!("a"), &json!({ "kind": "end" }));
        assert_eq!(heard.work_text().as_deref(), Some("Fetching"));
        progress(&mut heard, &json!(7), &json!({ "kind": "end" }));
        assert!(!heard.is_working());
    }

    #[test]
    fn what_a_server_says_has_bounds() {
        let mut heard = Heard::default();
        for token in 0..=WORK_MAX {
            progress(&mut heard, &json!(token), &json!({ "kind": "begin", "title": "t" }));
        }
        assert_eq!(heard.work.len(), WORK_MAX);
        for file in 0..=DIAGNOSED_FILES_MAX {
            let items = vec![json!({}); if file == 0 { 1 } else { DIAGNOSTICS_MAX + 1 }];
            let params = json!({ "uri": format!("file:///{file}"), "diagnostics": items });
            // One of many is enough to be long.
            if file < 2 || items.len() == 1 {
                heard.take("textDocument/publishDiagnostics", &params);
            } else {
                let params = json!({ "uri": format!("file:///{file}"), "diagnostics": [] });
                heard.take("textDocument/publishDiagnostics", &params);
            }
        }
        assert!(heard.published("file:///0").is_none(), "the oldest went");
        assert_eq!(heard.published("file:///1").unwrap().items.len(), DIAGNOSTICS_MAX);
        assert_eq!(heard.diagnostics.len(), DIAGNOSED_FILES_MAX);
    }

    #[test]
    fn states_and_checks_are_kept() {
        let mut heard = Heard::default();
        let params = json!({ "health": "error", "quiescent": true, "message": "no project" });
        heard.take("experimental/serverStatus", &params);
        let status = heard.status.clone().unwrap();
        assert!(status.is_quiescent);
        assert_eq!(heard.complaint(), Some("no project"));
        assert!(!heard.sees_little());
        let unread = format!("{HARMLESS} of x");
        let params = json!({ "health": "warning", "quiescent": true, "message": unread });
        heard.take("experimental/serverStatus", &params);
        assert_eq!(heard.complaint(), None);
        let params = json!({ "health": "warning", "message": "x: can't load standard library" });
        heard.take("experimental/serverStatus", &params);
        assert!(heard.sees_little());
        progress(&mut heard, &json!("rust-analyzer/flycheck/0"), &json!({ "kind": "begin" }));
        assert!(heard.is_checking());
        assert_eq!(heard.checks_begun, 1);
    }
}
