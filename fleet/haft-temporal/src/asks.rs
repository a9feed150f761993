//! Asks on their way between a run and its workflow. The activity that drives a run notes which of its calls wait for a person, and
//! another activity passes an answer on. Both use `haft asks`: the journal decides which answer is the first valid one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use temporalio_client::{Client, WorkflowHandle, WorkflowSignalOptions};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::Notify;

use crate::activities::failed;
use crate::child::HaftCommand;
use crate::ending::RunEnding;
use crate::request::{ASK_TEXT_BYTES_MAX, ASKS_MAX, AskReply, AskReport, AskVerdict, PendingAsk};
use crate::workflow::HaftRun;

/// Time between two looks at asks that wait.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// The asks of a run that haft has told of and that may still wait.
#[derive(Default)]
pub(crate) struct AskWatch {
    // The reader of haft's events adds names. The one who looks at them removes names.
    names: Mutex<BTreeSet<String>>,
    added: Notify,
}

/// How haft is started to look at asks and to answer them.
#[derive(Clone)]
pub(crate) struct AskCommands {
    /// The program haft.
    pub(crate) haft: PathBuf,
    /// The workspace, whose settings name the journal.
    pub(crate) root: PathBuf,
}

/// The activity that answers asks.
pub(crate) struct AnswerActivities {
    pub(crate) commands: AskCommands,
}

#[activities]
impl AnswerActivities {
    /// Answers an ask. An answer that the journal refuses is no failure of the activity.
    #[activity]
    pub(crate) async fn answer(
        self: Arc<Self>,
        _cx: ActivityContext,
        reply: AskReply,
    ) -> Result<AskReport, ActivityError> {
        let command = self.commands.command(answer_args(&reply));
        let output = command.run(|_| {}, std::future::pending()).await?;
        let error = match output.ending("", "", "") {
            RunEnding::Finished(_) => None,
            RunEnding::TryAgain { failure, delay } => return Err(failed(failure, Some(delay))),
            RunEnding::Failed(failure) => Some(failure.message),
            RunEnding::Stopped => Some("stopped".to_owned()),
        };
        Ok(AskReport { reply, error })
    }
}

impl AskWatch {
    /// Takes an event of haft. One that tells of an ask is remembered.
    pub(crate) fn note(&self, event: &Value) {
        if event.get("event").is_none_or(|name| name != "call_waiting") {
            return;
        }
        let Some(name) = event.get("ask").and_then(Value::as_str) else { return };
        let mut names = self.names();
        if names.len() < ASKS_MAX {
            names.insert(name.to_owned());
            self.added.notify_one();
        }
    }

    /// Tells the workflow which calls wait for a person, whenever that changes. `told` is what the workflow knows, if that is known.
    /// Ends only if it is dropped.
    pub(crate) async fn tell(
        &self,
        commands: &AskCommands,
        workflow: &WorkflowHandle<Client, HaftRun>,
        mut told: Option<Vec<PendingAsk>>,
    ) {
        loop {
            // If the journal does not answer, the workflow keeps what it knows.
            if let Ok(pending) = self.pending(commands).await
                && told.as_ref() != Some(&pending)
            {
                let options = WorkflowSignalOptions::default();
                let sent = workflow.signal(HaftRun::note_asks, pending.clone(), options).await;
                // A signal that did not arrive is sent again with the next look.
                told = sent.is_ok().then_some(pending);
            }
            let is_idle = told.as_ref().is_some_and(Vec::is_empty) && self.names().is_empty();
            match is_idle {
                true => self.added.notified().await,
                false => tokio::select! {
                    () = self.added.notified() => {}
                    () = tokio::time::sleep(LOOK_INTERVAL) => {}
                },
            }
        }
    }

    /// Returns the asks that still wait, and forgets the others.
    async fn pending(&self, commands: &AskCommands) -> io::Result<Vec<PendingAsk>> {
        let (names, mut pending) = (self.names().clone(), Vec::new());
        for name in names {
            match commands.look(&name).await? {
                Some(ask) => pending.push(ask),
                None => {
                    self.names().remove(&name);
                }
            }
        }
        Ok(pending)
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskCommands {
    fn command(&self, args: Vec<OsString>) -> HaftCommand {
        HaftCommand { program: self.haft.clone(), root: self.root.clone(), args, input: None }
    }

    /// Returns an ask, if it still waits for an answer.
    async fn look(&self, name: &str) -> io::Result<Option<PendingAsk>> {
        let args = ["asks", "show", "--json", "--", name].map(OsString::from).to_vec();
        let mut row = None;
        let output = self
            .command(args)
            .run(|event| row = Some(event.clone()), std::future::pending())
            .await?;
        match row.filter(|_| output.code == Some(0)) {
            Some(row) => Ok(pending_ask(&row)),
            None => Err(io::Error::other(output.stderr)),
        }
    }
}

/// Reads the answer of `haft asks show --json`; `None` if the ask does not wait any more. Contents of files stay out of Temporal.
fn pending_ask(row: &Value) -> Option<PendingAsk> {
    let text = |name: &str| row.get(name)?.as_str().map(str::to_owned);
    if text("state")? != "pending" {
        return None;
    }
    let mut summary = row.get("summary")?.to_string();
    summary.truncate(summary.floor_char_boundary(ASK_TEXT_BYTES_MAX));
    Some(PendingAsk {
        ask: text("id")?,
        call: text("call")?,
        tool: text("tool")?,
        summary,
        shown_sha256: row.get("shown")?.get("sha256")?.as_str()?.to_owned(),
        deadline_ms: row.get("deadline_ms").and_then(Value::as_u64),
    })
}

/// Returns the arguments of `haft asks` for an answer. A value is part of its word, so it is never read as an option.
fn answer_args(reply: &AskReply) -> Vec<OsString> {
    let verdict = match reply.verdict {
        AskVerdict::Allow => "allow",
        AskVerdict::Reject => "reject",
    };
    let mut args: Vec<OsString> = vec!["asks".into(), verdict.into(), "--json".into()];
    args.push(format!("--shown={}", reply.shown_sha256).into());
    args.extend(reply.words.as_ref().map(|words| format!("--words={words}").into()));
    args.extend(reply.by.as_ref().map(|by| format!("--by={by}").into()));
    args.extend(["--".into(), reply.ask.clone().into()]);
    args
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(state: &str) -> Value {
        json!({
            "id": "ask_1", "call": "r/n0/0/1/1", "tool": "write", "state": state, "deadline_ms": 7,
            "summary": {"input": {"content": {"bytes": 5}}}, "shown": {"sha256": "ab", "bytes": 9},
            "content": {"input": {"content": "hello"}},
        })
    }

    #[test]
    fn only_a_pending_ask_reaches_temporal_and_its_contents_do_not() {
        let expect = PendingAsk {
            ask: "ask_1".to_owned(),
            call: "r/n0/0/1/1".to_owned(),
            tool: "write".to_owned(),
            summary: r#"{"input":{"content":{"bytes":5}}}"#.to_owned(),
            shown_sha256: "ab".to_owned(),
            deadline_ms: Some(7),
        };
        assert_eq!(pending_ask(&row("pending")), Some(expect));
        assert_eq!(pending_ask(&row("answered")), None);
        assert_eq!(pending_ask(&json!({})), None);
        let mut long = row("pending");
        long["summary"] = json!("é".repeat(ASK_TEXT_BYTES_MAX));
        assert!(pending_ask(&long).unwrap().summary.len() <= ASK_TEXT_BYTES_MAX);
    }

    #[test]
    fn words_of_an_answer_are_never_options() {
        let reply = AskReply {
            ask: "ask_1".to_owned(),
            verdict: AskVerdict::Reject,
            shown_sha256: "ab".to_owned(),
            words: Some("--session".to_owned()),
            by: Some("alice".to_owned()),
        };
        let expect = [
            "asks",
            "reject",
            "--json",
            "--shown=ab",
            "--words=--session",
            "--by=alice",
            "--",
            "ask_1",
        ];
        assert_eq!(answer_args(&reply), expect);
    }

    #[test]
    fn asks_are_noted_up_to_their_bound() {
        let watch = AskWatch::default();
        watch.note(&json!({"event": "node_started", "ask": "no"}));
        for number in 0..ASKS_MAX + 1 {
            watch.note(&json!({"event": "call_waiting", "ask": format!("ask_{number}")}));
        }
        assert_eq!(watch.names().len(), ASKS_MAX);
    }
}
