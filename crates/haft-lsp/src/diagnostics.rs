//! What is wrong with a file, as servers say it in either of two ways: some are asked, others send it by themselves when they
//! have looked, and then it must be waited for. A server that has a compiler check the project does both.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::document::Document;
use crate::hear::Heard;
use crate::limits::{DIAGNOSTICS_MS_MAX, SETTLE_MS, UNCHANGED_MS_MAX};
use crate::server::{Failed, Novelty, Server};

/// The diagnostics of a file, and what a reader of them should know.
pub(crate) struct Diagnosed {
    pub(crate) items: Vec<Value>,
    pub(crate) note: Option<String>,
}

/// Finds out what is wrong with a file that was shown; `serial` is how much had been heard before that.
pub(crate) async fn diagnose(
    server: &mut Server,
    document: &Document,
    shown: (Novelty, u64),
    deadline: Instant,
) -> Result<Diagnosed, Failed> {
    let mut found = Diagnosed { items: Vec::new(), note: None };
    if server.checks_projects() {
        found.note = check_project(server, document, shown.0, deadline).await?;
    }
    let uri = &document.uri;
    if server.checks_projects() && server.heard().borrow().sees_little() {
        // It takes what it cannot see for mistakes of the file.
        let only = "only what the compiler finds is listed".to_owned();
        found.note = Some(found.note.map_or(only.clone(), |note| format!("{note}; {only}")));
    } else if server.offers("diagnosticProvider") {
        let params = json!({ "textDocument": { "uri": uri } });
        let report = server.ask("textDocument/diagnostic", &params, deadline).await?;
        found.items = report.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    } else {
        found.note = wait_for_sent(server, uri, shown, deadline).await?;
    }
    let heard = server.heard();
    let heard = heard.borrow();
    for sent in heard.published(uri).into_iter().flat_map(|published| &published.items) {
        if !found.items.iter().any(|item| is_same(item, sent)) {
            found.items.push(sent.clone());
        }
    }
    Ok(found)
}

/// Has the compiler check the project, if anything changed, and waits for that.
async fn check_project(
    server: &mut Server,
    document: &Document,
    novelty: Novelty,
    deadline: Instant,
) -> Result<Option<String>, Failed> {
    if novelty != Novelty::Nothing {
        let begun = server.heard().borrow().checks_begun;
        let params = json!({ "textDocument": { "uri": document.uri } });
        server.notify("textDocument/didSave", &params).await?;
        // A project that cannot be checked is never begun with, and nobody says so.
        let until = Instant::now() + Duration::from_millis(UNCHANGED_MS_MAX);
        // One that was under way is begun again, so that it does not count.
        let has_begun = move |heard: &Heard| heard.checks_begun > begun;
        if !server.wait_until(until.min(deadline), has_begun).await? {
            return Ok(server.complaint());
        }
    }
    let serial = server.heard().borrow().serial_of(&document.uri);
    let is_done = server.wait_until(deadline, |heard| !heard.is_checking()).await?;
    // What was found is sent after the end is announced.
    let until = Instant::now() + Duration::from_millis(SETTLE_MS);
    if is_done && novelty != Novelty::Nothing {
        let uri = document.uri.as_str();
        server.wait_until(until, move |heard| heard.serial_of(uri) > serial).await?;
    }
    let unfinished = "the compiler is still checking the project: ask again for what it finds";
    let unfinished = (!is_done).then(|| unfinished.to_owned());
    // Also why it could not check: it says so afterwards.
    let notes = server.complaint().into_iter().chain(unfinished);
    Ok(notes.reduce(|one, other| format!("{one}; {other}")))
}

/// Waits for diagnostics that the server sends by itself, until no more come.
async fn wait_for_sent(
    server: &Server,
    uri: &str,
    (novelty, before): (Novelty, u64),
    deadline: Instant,
) -> Result<Option<String>, Failed> {
    let serial = move |heard: &Heard| heard.serial_of(uri);
    let is_known = serial(&server.heard().borrow()).is_some();
    let time = match novelty {
        Novelty::Nothing if is_known => return Ok(None),
        Novelty::Others if is_known => UNCHANGED_MS_MAX,
        Novelty::Nothing | Novelty::Others | Novelty::File => DIAGNOSTICS_MS_MAX,
    };
    let until = deadline.min(Instant::now() + Duration::from_millis(time));
    let mut after = before;
    let mut has_come = false;
    loop {
        let settled = Instant::now() + Duration::from_millis(SETTLE_MS);
        let until = if has_come { until.min(settled) } else { until };
        let is_newer = move |heard: &Heard| serial(heard) > Some(after);
        if server.wait_until(until, is_newer).await? {
            after = serial(&server.heard().borrow()).unwrap_or(after);
            has_come = true;
            continue;
        }
        if has_come || novelty == Novelty::Others && is_known {
            return Ok(None);
        }
        return Ok(Some(format!(
            "{} has sent nothing about the file as it is now: ask again for what it finds",
            server.name
        )));
    }
}

/// Returns whether two diagnostics say the same of the same place.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_equal = |name: &str| one.get(name) == other.get(name);
    is_equal("range") && is_equal("message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    const URI: &str = "file:///a";

    /// Waits for the diagnostics of a file of which a server sent some, or none, before it was shown so; returns how long
    /// that took, and what the reader is told.
    async fn waited(sent: &[(&str, Value)], novelty: Novelty) -> (Duration, Option<String>) {
        let server = Talker::new(Takes::Everything, sent, Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let heard = sent.len() as u64;
        assert!(server.wait_until(deadline, |now| now.serial == heard).await.unwrap());
        let began = Instant::now();
        let note = wait_for_sent(&server, URI, (novelty, heard), deadline).await.unwrap();
        (began.elapsed(), note)
    }

    fn sent() -> [(&'static str, Value); 1] {
        [("textDocument/publishDiagnostics", json!({ "uri": URI, "diagnostics": [] }))]
    }

    #[tokio::test(start_paused = true)]
    async fn diagnostics_that_never_come_are_waited_for_so_long() {
        let late = "fake has sent nothing about the file as it is now: ask again for what it finds";
        let most = Duration::from_millis(DIAGNOSTICS_MS_MAX);
        assert_eq!(waited(&[], Novelty::Nothing).await, (most, Some(late.to_owned())));
        assert_eq!(waited(&[], Novelty::Others).await, (most, Some(late.to_owned())));
        assert_eq!(waited(&sent(), Novelty::File).await, (most, Some(late.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_file_that_is_as_it_was_less_is_expected() {
        let most = Duration::from_millis(UNCHANGED_MS_MAX);
        assert_eq!(waited(&sent(), Novelty::Others).await, (most, None));
        assert_eq!(waited(&sent(), Novelty::Nothing).await, (Duration::ZERO, None));
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_is_all_of_it_after_a_while_without_more() {
        let server = Talker::new(Takes::Everything, &sent(), Then::Waits).server();
        let deadline = Instant::now() + Duration::from_secs(600);
        let note = wait_for_sent(&server, URI, (Novelty::File, 0), deadline);
        let began = Instant::now();
        assert_eq!(note.await.unwrap(), None);
        assert_eq!(began.elapsed(), Duration::from_millis(SETTLE_MS));
    }
}
