//! The connection to a server. One task holds the program, sends and receives messages, and answers
//! the server's requests. It ends a server that misbehaves: with endless messages, floods, invalid
//! JSON, or answers without a request. The meaning of answers is defined elsewhere.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use haft_contract::{BackgroundProcess, ProcessEnding, clean, end_of};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::framing::{LspFrameReader, LspFramingError, frame_message};
use crate::limits::{IDLE_MS, LAST_MS, SAID_CHARS_MAX, SEND_MS_MAX, UNASKED_BYTES_MAX};
use crate::server_state::{LanguageServerEnd, LanguageServerState};
use crate::wire::{self, IncomingLspMessage, LspErrorResponse};

/// Messages in the send queue.
const WAITING_MAX: usize = 64;

/// The caller's end of the connection. Dropping it ends the program.
pub(crate) struct LspLink {
    outgoing: mpsc::Sender<OutgoingLspMessage>,
    state: watch::Receiver<LanguageServerState>,
    last_id: i64,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum LspRequestError {
    /// The server answered with an error.
    Refused(LspErrorResponse),
    /// No answer arrived in time.
    TimedOut,
    /// The server has ended.
    Ended,
}

/// The answers to a server's requests.
pub(crate) struct LspWorkspaceConfig {
    /// Its configuration.
    pub(crate) settings: Value,
    /// The workspace folders.
    pub(crate) folders: Value,
}

type LspAnswerSender = oneshot::Sender<Result<Value, LspErrorResponse>>;

struct OutgoingLspMessage {
    body: Vec<u8>,
    /// The number of the request, and the channel for its answer.
    pending_answer: Option<(i64, LspAnswerSender)>,
}

/// Starts the connection to a program.
pub(crate) fn link_process(
    process: Box<dyn BackgroundProcess>,
    workspace_config: LspWorkspaceConfig,
) -> LspLink {
    let (outgoing, waiting) = mpsc::channel(WAITING_MAX);
    let (state_sender, state) = watch::channel(LanguageServerState::default());
    let carrier = LspMessagePump {
        process,
        framing: LspFrameReader::default(),
        outgoing: waiting,
        pending: HashMap::new(),
        last_id: 0,
        unsolicited_bytes: 0,
        state_sender,
        workspace_config,
    };
    // The task ends when the link is dropped, or with the program.
    tokio::spawn(carrier.run());
    LspLink { outgoing, state, last_id: 0 }
}

impl LspLink {
    /// Sends a request, and waits for the answer until the deadline.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, LspRequestError> {
        self.last_id += 1;
        let id = self.last_id;
        let (answers, answer) = oneshot::channel();
        let body = wire::request(id, method, params);
        self.send(OutgoingLspMessage { body, pending_answer: Some((id, answers)) }).await?;
        match timeout_at(deadline, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(refusal))) => Err(LspRequestError::Refused(refusal)),
            Ok(Err(_)) => Err(LspRequestError::Ended),
            Err(_) => {
                let body = wire::notification("$/cancelRequest", &json!({ "id": id }));
                // If the queue is full, the server is too busy for the cancellation to matter.
                let _ = self.outgoing.try_send(OutgoingLspMessage { body, pending_answer: None });
                Err(LspRequestError::TimedOut)
            }
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), LspRequestError> {
        self.send(OutgoingLspMessage {
            body: wire::notification(method, params),
            pending_answer: None,
        })
        .await
    }

    /// Returns the observed state of the server, to read or to wait for changes.
    pub(crate) fn state(&self) -> watch::Receiver<LanguageServerState> {
        self.state.clone()
    }

    /// Returns how the server ended, if it has; waits briefly until that is known.
    pub(crate) async fn end(&self) -> Option<LanguageServerEnd> {
        if !self.outgoing.is_closed() {
            return self.state.borrow().end.clone();
        }
        let mut state = self.state.clone();
        let waiting = state.wait_for(|state| state.end.is_some());
        let known = timeout(Duration::from_millis(2 * LAST_MS), waiting).await;
        let known = known.ok().and_then(Result::ok).and_then(|state| state.end.clone());
        Some(known.unwrap_or_else(|| LanguageServerEnd::Failed("it ended".to_owned())))
    }

    async fn send(&self, outgoing: OutgoingLspMessage) -> Result<(), LspRequestError> {
        self.outgoing.send(outgoing).await.map_err(|_| LspRequestError::Ended)
    }
}

/// Why the task ends.
enum LspLinkEnd {
    /// The link was dropped.
    Released,
    Idle,
    Closed,
    Fault(String),
}

/// The task that holds the program.
struct LspMessagePump {
    process: Box<dyn BackgroundProcess>,
    framing: LspFrameReader,
    outgoing: mpsc::Receiver<OutgoingLspMessage>,
    /// The channels for pending answers, by request number.
    pending: HashMap<i64, LspAnswerSender>,
    /// The last request number.
    last_id: i64,
    /// Bytes that the server sent since the last message to it.
    unsolicited_bytes: usize,
    state_sender: watch::Sender<LanguageServerState>,
    workspace_config: LspWorkspaceConfig,
}

impl LspMessagePump {
    async fn run(mut self) {
        let end = self.pump_messages().await;
        self.outgoing.close();
        let reason = match end {
            LspLinkEnd::Released => return,
            LspLinkEnd::Idle => None,
            LspLinkEnd::Closed => {
                let last = Duration::from_millis(LAST_MS);
                let how = match timeout(last, self.process.wait_for_exit()).await {
                    Ok(Ok(ProcessEnding::Exited(code))) => format!("it exited with status {code}"),
                    Ok(Ok(ProcessEnding::Signalled(signal))) => format!("signal {signal} ended it"),
                    Ok(Ok(ProcessEnding::TimedOut | ProcessEnding::Aborted) | Err(_)) => {
                        "it ended".to_owned()
                    }
                    Err(_) => "it closed its output".to_owned(),
                };
                let limit = self.process.exceeded_limit().map(|limit| format!("; {limit}"));
                Some(how + &limit.unwrap_or_default())
            }
            LspLinkEnd::Fault(why) => {
                self.process.kill();
                Some(why)
            }
        };
        let end = match reason {
            None => LanguageServerEnd::Idle,
            Some(mut reason) => {
                let written = self.process.take_output().await;
                let written = clean(written.tail.as_deref().unwrap_or(&written.head));
                let stderr = end_of(written.trim(), SAID_CHARS_MAX);
                if !stderr.is_empty() {
                    reason.push_str("; it wrote: ");
                    reason.push_str(stderr);
                }
                LanguageServerEnd::Failed(reason)
            }
        };
        // Published first, so that waiting callers find the reason.
        self.state_sender.send_modify(|state| state.end = Some(end));
        self.pending.clear();
    }

    async fn pump_messages(&mut self) -> LspLinkEnd {
        let mut last_used = Instant::now();
        loop {
            let idle_from = last_used + Duration::from_millis(IDLE_MS);
            let received = tokio::select! {
                biased;
                outgoing = self.outgoing.recv() => {
                    let Some(outgoing) = outgoing else { return LspLinkEnd::Released };
                    if let Some((id, answers)) = outgoing.pending_answer {
                        self.pending.retain(|_, waiting| !waiting.is_closed());
                        self.pending.insert(id, answers);
                        self.last_id = id;
                    }
                    self.unsolicited_bytes = 0;
                    if let Err(end) = self.write(&outgoing.body).await {
                        return end;
                    }
                    last_used = Instant::now();
                    continue;
                }
                () = sleep_until(idle_from) => return LspLinkEnd::Idle,
                received = self.framing.next_message(&mut *self.process) => received,
            };
            let body = match received {
                Ok(body) => body,
                Err(LspFramingError::Closed) => return LspLinkEnd::Closed,
                Err(LspFramingError::Fault(why)) => return LspLinkEnd::Fault(why),
            };
            self.unsolicited_bytes = self.unsolicited_bytes.saturating_add(body.len());
            if self.unsolicited_bytes > UNASKED_BYTES_MAX {
                return LspLinkEnd::Fault(format!(
                    "it sent more than {UNASKED_BYTES_MAX} bytes without a request"
                ));
            }
            match IncomingLspMessage::parse(&body) {
                Err(why) => return LspLinkEnd::Fault(why),
                Ok(IncomingLspMessage::Notification { method, params }) => {
                    self.state_sender
                        .send_modify(|state| state.apply_notification(&method, &params));
                }
                Ok(IncomingLspMessage::Request { id, method, params }) => {
                    let result = self.workspace_config.answer(&method, &params);
                    if let Err(end) = self.write(&wire::answer(&id, result)).await {
                        return end;
                    }
                }
                Ok(IncomingLspMessage::Answer { id, .. }) if !(1..=self.last_id).contains(&id) => {
                    return LspLinkEnd::Fault(format!(
                        "it answered request {id}, which was never sent"
                    ));
                }
                Ok(IncomingLspMessage::Answer { id, result }) => {
                    // The caller may have given up.
                    if let Some(waiting) = self.pending.remove(&id) {
                        let _ = waiting.send(result);
                    }
                }
            }
            // A flood must not block other tasks.
            tokio::task::consume_budget().await;
        }
    }

    async fn write(&mut self, body: &[u8]) -> Result<(), LspLinkEnd> {
        let message = frame_message(body);
        let sending = self.process.send(&message);
        match timeout(Duration::from_millis(SEND_MS_MAX), sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(err))
                if matches!(
                    err.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                Err(LspLinkEnd::Closed)
            }
            Ok(Err(err)) => Err(LspLinkEnd::Fault(format!("it cannot be written to: {err}"))),
            Err(_) => Err(LspLinkEnd::Fault(format!(
                "it did not read what it was sent within {SEND_MS_MAX} ms"
            ))),
        }
    }
}

impl LspWorkspaceConfig {
    /// Returns the answer to a server's request, or `None` if the method is not supported.
    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "workspace/configuration" => {
                let items = params.get("items").and_then(Value::as_array);
                let section = |item: &Value| self.section(wire::text_of(item, "section"));
                Some(items.into_iter().flatten().map(section).collect())
            }
            "workspace/workspaceFolders" => Some(self.folders.clone()),
            "workspace/applyEdit" => Some(json!({
                "applied": false,
                "failureReason": "this client changes no files",
            })),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/showMessageRequest"
            | "window/workDoneProgress/create"
            | "workspace/codeLens/refresh"
            | "workspace/diagnostic/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/semanticTokens/refresh" => Some(Value::Null),
            _ => None,
        }
    }

    /// Returns a section of the configuration, or the whole configuration if it has no such
    /// sections.
    fn section(&self, section: Option<&str>) -> Value {
        let is_empty = self.settings.as_object().is_none_or(serde_json::Map::is_empty);
        if is_empty {
            return Value::Null;
        }
        let mut found = &self.settings;
        for name in section.into_iter().flat_map(|section| section.split('.')) {
            match found.get(name) {
                Some(part) => found = part,
                None => return self.settings.clone(),
            }
        }
        found.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    fn mute() -> LspLink {
        Talker::new(Takes::Nothing, &[], Then::Waits).link()
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_asked_for_long_is_ended() {
        let link = mute();
        let began = Instant::now();
        link.state().wait_for(|state| state.end.is_some()).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(IDLE_MS));
        assert_eq!(link.end().await, Some(LanguageServerEnd::Idle));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_ended_and_asks_of_it_end_too() {
        let mut link = mute();
        let far = Instant::now() + Duration::from_secs(3_600);
        let answer = link.request("initialize", &Value::Null, far).await;
        assert!(matches!(answer, Err(LspRequestError::Ended)), "{answer:?}");
        let expect = format!("it did not read what it was sent within {SEND_MS_MAX} ms");
        assert_eq!(link.end().await, Some(LanguageServerEnd::Failed(expect)));
        let again = link.notify("initialized", &Value::Null).await;
        assert!(matches!(again, Err(LspRequestError::Ended)), "{again:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whose_output_ends_has_so_long_to_end_itself() {
        let link = Talker::new(Takes::Everything, &[], Then::ClosesOutput).link();
        let began = Instant::now();
        link.state().wait_for(|state| state.end.is_some()).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(LAST_MS));
        assert_eq!(
            link.end().await,
            Some(LanguageServerEnd::Failed("it closed its output".into()))
        );
    }

    #[test]
    fn servers_are_answered_and_may_change_nothing() {
        let settings = json!({ "python": { "analysis": { "typeCheckingMode": "strict" } } });
        let home = LspWorkspaceConfig { settings, folders: json!([{ "name": "root" }]) };
        let check = |method: &str, params: Value, expect: &str| {
            let answer = home.answer(method, &params);
            assert_eq!(answer.map_or("none".to_owned(), |answer| answer.to_string()), expect);
        };
        let items =
            json!({ "items": [{ "section": "python.analysis" }, { "section": "pyright" }, {}] });
        let all = r#"{"python":{"analysis":{"typeCheckingMode":"strict"}}}"#;
        let expect = format!(r#"[{{"typeCheckingMode":"strict"}},{all},{all}]"#);
        check("workspace/configuration", items, &expect);
        check("workspace/configuration", Value::Null, "[]");
        check("workspace/workspaceFolders", Value::Null, r#"[{"name":"root"}]"#);
        let refused = r#"{"applied":false,"failureReason":"this client changes no files"}"#;
        check("workspace/applyEdit", json!({}), refused);
        check("window/workDoneProgress/create", json!({}), "null");
        check("workspace/executeCommand", json!({}), "none");
        let home = LspWorkspaceConfig { settings: json!({}), folders: Value::Null };
        assert_eq!(home.section(Some("pyright")), Value::Null);
    }
}
