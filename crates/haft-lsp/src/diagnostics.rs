//! The diagnostics of a file. Some servers are asked for them; others publish them after an
//! analysis, so the call must wait. A server that runs the compiler on the project does both.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::document::SourceDocument;
use crate::limits::{DIAGNOSTICS_MS_MAX, SETTLE_MS, UNCHANGED_MS_MAX};
use crate::server::{FileNovelty, LanguageServer, LspCallError};
use crate::server_state::LanguageServerState;

/// The diagnostics of a file, and notes for the reader.
pub(crate) struct FileDiagnostics {
    pub(crate) items: Vec<Value>,
    pub(crate) note: Option<String>,
}

/// Returns the diagnostics of a file that was just synced; `serial` is the server state's serial
/// before that.
pub(crate) async fn diagnose(
    server: &mut LanguageServer,
    document: &SourceDocument,
    shown: (FileNovelty, u64),
    deadline: Instant,
) -> Result<FileDiagnostics, LspCallError> {
    let mut found = FileDiagnostics { items: Vec::new(), note: None };
    if server.checks_projects() {
        found.note = check_project(server, document, shown.0, deadline).await?;
    }
    let uri = &document.uri;
    if server.checks_projects() && server.state().borrow().has_unread_project() {
        // It would report names that it cannot see as mistakes in the file.
        let only = "only what the compiler finds is listed".to_owned();
        found.note = Some(found.note.map_or(only.clone(), |note| format!("{note}; {only}")));
    } else if server.has_capability("diagnosticProvider") {
        let params = json!({ "textDocument": { "uri": uri } });
        let report = server.request("textDocument/diagnostic", &params, deadline).await?;
        found.items = report.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    } else {
        found.note = wait_for_published(server, uri, shown, deadline).await?;
    }
    let state = server.state();
    let state = state.borrow();
    for sent in state.published_diagnostics(uri).into_iter().flat_map(|published| &published.items)
    {
        if !found.items.iter().any(|item| is_same(item, sent)) {
            found.items.push(sent.clone());
        }
    }
    Ok(found)
}

/// Lets the compiler check the project if anything changed, and waits for the result.
async fn check_project(
    server: &mut LanguageServer,
    document: &SourceDocument,
    novelty: FileNovelty,
    deadline: Instant,
) -> Result<Option<String>, LspCallError> {
    if novelty != FileNovelty::Unchanged {
        let begun = server.state().borrow().checks_started;
        let params = json!({ "textDocument": { "uri": document.uri } });
        server.notify("textDocument/didSave", &params).await?;
        // The server never starts to check a project that cannot be checked, and does not report
        // this.
        let until = Instant::now() + Duration::from_millis(UNCHANGED_MS_MAX);
        // A check in progress is restarted, so it does not count.
        let has_begun = move |state: &LanguageServerState| state.checks_started > begun;
        if !server.wait_until(until.min(deadline), has_begun).await? {
            return Ok(server.project_complaint());
        }
    }
    let serial = server.state().borrow().serial_of(&document.uri);
    let is_done = server.wait_until(deadline, |state| !state.is_checking()).await?;
    // The results are sent after the end is announced.
    let until = Instant::now() + Duration::from_millis(SETTLE_MS);
    if is_done && novelty != FileNovelty::Unchanged {
        let uri = document.uri.as_str();
        server.wait_until(until, move |state| state.serial_of(uri) > serial).await?;
    }
    let unfinished = "the compiler is still checking the project: ask again later";
    let unfinished = (!is_done).then(|| unfinished.to_owned());
    // This includes the reason if it could not check: the server reports it afterwards.
    let notes = server.project_complaint().into_iter().chain(unfinished);
    Ok(notes.reduce(|one, other| format!("{one}; {other}")))
}

/// Waits for diagnostics that the server publishes, until no more arrive.
async fn wait_for_published(
    server: &LanguageServer,
    uri: &str,
    (novelty, before): (FileNovelty, u64),
    deadline: Instant,
) -> Result<Option<String>, LspCallError> {
    let serial = move |state: &LanguageServerState| state.serial_of(uri);
    let is_known = serial(&server.state().borrow()).is_some();
    let time = match novelty {
        FileNovelty::Unchanged if is_known => return Ok(None),
        FileNovelty::OtherFiles if is_known => UNCHANGED_MS_MAX,
        FileNovelty::Unchanged | FileNovelty::OtherFiles | FileNovelty::ThisFile => {
            DIAGNOSTICS_MS_MAX
        }
    };
    let until = deadline.min(Instant::now() + Duration::from_millis(time));
    let mut after = before;
    let mut has_come = false;
    loop {
        let settled = Instant::now() + Duration::from_millis(SETTLE_MS);
        let until = if has_come { until.min(settled) } else { until };
        let is_newer = move |state: &LanguageServerState| serial(state) > Some(after);
        if server.wait_until(until, is_newer).await? {
            after = serial(&server.state().borrow()).unwrap_or(after);
            has_come = true;
            continue;
        }
        if has_come || novelty == FileNovelty::OtherFiles && is_known {
            return Ok(None);
        }
        return Ok(Some(format!(
            "{} has sent nothing about the file as it is now: ask again later",
            server.name
        )));
    }
}

/// Returns whether two diagnostics have the same message at the same place.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_equal = |name: &str| one.get(name) == other.get(name);
    is_equal("range") && is_equal("message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    const URI: &str = "file:///a";

    /// Waits for the diagnostics of a file after a server has published `sent`; returns the waiting
    /// time and the note for the reader.
    async fn waited(sent: &[(&str, Value)], novelty: FileNovelty) -> (Duration, Option<String>) {
        let server = Talker::new(Takes::Everything, sent, Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let serial = sent.len() as u64;
        assert!(server.wait_until(deadline, |now| now.serial == serial).await.unwrap());
        let began = Instant::now();
        let note = wait_for_published(&server, URI, (novelty, serial), deadline).await.unwrap();
        (began.elapsed(), note)
    }

    fn sent() -> [(&'static str, Value); 1] {
        [("textDocument/publishDiagnostics", json!({ "uri": URI, "diagnostics": [] }))]
    }

    #[tokio::test(start_paused = true)]
    async fn diagnostics_that_never_come_are_waited_for_so_long() {
        let late = "fake has sent nothing about the file as it is now: ask again later";
        let most = Duration::from_millis(DIAGNOSTICS_MS_MAX);
        assert_eq!(waited(&[], FileNovelty::Unchanged).await, (most, Some(late.to_owned())));
        assert_eq!(waited(&[], FileNovelty::OtherFiles).await, (most, Some(late.to_owned())));
        assert_eq!(waited(&sent(), FileNovelty::ThisFile).await, (most, Some(late.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_file_that_is_as_it_was_less_is_expected() {
        let most = Duration::from_millis(UNCHANGED_MS_MAX);
        assert_eq!(waited(&sent(), FileNovelty::OtherFiles).await, (most, None));
        assert_eq!(waited(&sent(), FileNovelty::Unchanged).await, (Duration::ZERO, None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_is_all_of_it_after_a_while_without_more() {
        let server = Talker::new(Takes::Everything, &sent(), Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let note = wait_for_published(&server, URI, (FileNovelty::ThisFile, 0), deadline);
        let began = Instant::now();
        assert_eq!(note.await.unwrap(), None);
        assert_eq!(began.elapsed(), Duration::from_millis(SETTLE_MS));
    }
}
