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

/// Returns the diagnostics of a file that was just synced; `before` is the server state's serial
/// before that.
pub(crate) async fn diagnose(
    server: &mut LanguageServer,
    document: &SourceDocument,
    (novelty, before): (FileNovelty, u64),
    deadline: Instant,
) -> Result<FileDiagnostics, LspCallError> {
    let mut found = FileDiagnostics { items: Vec::new(), note: None };
    if server.checks_projects() {
        let mut is_checked = true;
        if novelty != FileNovelty::Unchanged {
            let begun = server.state().borrow().checks_started;
            let params = json!({ "textDocument": { "uri": document.uri } });
            server.notify("textDocument/didSave", &params).await?;
            // The server never starts to check a project that cannot be checked, and does not
            // report this.
            let until = Instant::now() + Duration::from_millis(UNCHANGED_MS_MAX);
            // A check in progress is restarted, so it does not count.
            let has_begun = move |state: &LanguageServerState| state.checks_started > begun;
            is_checked = server.wait_until(until.min(deadline), has_begun).await?;
        }
        let mut unfinished = None;
        if is_checked {
            let serial = server.state().borrow().serial_of(&document.uri);
            let is_done = server.wait_until(deadline, |state| !state.is_checking()).await?;
            // The results are sent after the end is announced.
            let until = Instant::now() + Duration::from_millis(SETTLE_MS);
            if is_done && novelty != FileNovelty::Unchanged {
                let uri = document.uri.as_str();
                server.wait_until(until, move |state| state.serial_of(uri) > serial).await?;
            }
            let text = "the compiler is still checking the project: ask again later";
            unfinished = (!is_done).then(|| text.to_owned());
        }
        // This includes the reason if it could not check: the server reports it afterwards.
        let notes = server.project_complaint().into_iter().chain(unfinished);
        found.note = notes.reduce(|one, other| format!("{one}; {other}"));
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
        // The server publishes diagnostics: wait until no more arrive.
        let is_known = server.state().borrow().serial_of(uri).is_some();
        let is_expected = !is_known || novelty == FileNovelty::ThisFile;
        let time = if is_expected { DIAGNOSTICS_MS_MAX } else { UNCHANGED_MS_MAX };
        let latest = deadline.min(Instant::now() + Duration::from_millis(time));
        let (mut after, mut has_come, mut until) = (before, false, latest);
        let is_settled = is_known && novelty == FileNovelty::Unchanged;
        while !is_settled
            && server.wait_until(until, |state| state.serial_of(uri) > Some(after)).await?
        {
            after = server.state().borrow().serial_of(uri).unwrap_or(after);
            has_come = true;
            until = latest.min(Instant::now() + Duration::from_millis(SETTLE_MS));
        }
        found.note = (is_expected && !has_come).then(|| {
            let name = &server.name;
            format!("{name} has sent nothing about the file as it is now: ask again later")
        });
    }
    let state = server.state();
    let state = state.borrow();
    for sent in state.published_diagnostics(uri).into_iter().flat_map(|published| &published.items)
    {
        let is_sent = |item: &Value| {
            item.get("range") == sent.get("range") && item.get("message") == sent.get("message")
        };
        if !found.items.iter().any(is_sent) {
            found.items.push(sent.clone());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use haft_contract::FileStamp;

    use super::*;
    use crate::testing::{Takes, Talker, Then};

    const URI: &str = "file:///a";

    /// Waits for the diagnostics of a file after a server has published `sent`; returns the waiting
    /// time and the note for the reader.
    async fn waited(sent: &[(&str, Value)], novelty: FileNovelty) -> (Duration, Option<String>) {
        let mut server = Talker::new(Takes::Everything, sent, Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let serial = sent.len() as u64;
        assert!(server.wait_until(deadline, |now| now.serial == serial).await.unwrap());
        let began = Instant::now();
        let found = diagnose(&mut server, &document(), (novelty, serial), deadline).await.unwrap();
        (began.elapsed(), found.note)
    }

    fn document() -> SourceDocument {
        let stamp =
            FileStamp { device: 1, inode: 1, size: 0, modified_ns: 0, changed_ns: 0, mode: 0 };
        let (display, uri, text) = ("a".to_owned(), URI.to_owned(), String::new());
        SourceDocument { display, uri, stamp, text }
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
        let mut server = Talker::new(Takes::Everything, &sent(), Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let document = document();
        let found = diagnose(&mut server, &document, (FileNovelty::ThisFile, 0), deadline);
        let began = Instant::now();
        assert_eq!(found.await.unwrap().note, None);
        assert_eq!(began.elapsed(), Duration::from_millis(SETTLE_MS));
    }
}
