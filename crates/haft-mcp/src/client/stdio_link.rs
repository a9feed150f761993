//! The connection to a server that is a program: lines over its standard input and output, one message each. One task holds
//! the program, sends and receives. It ends a program that misbehaves: with endless messages, floods, invalid JSON, or answers
//! without a request. The SDK interprets messages.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use haft_contract::{BackgroundProcess, ChannelRead, ConfinementReport, ProcessEnding};
use rmcp::RoleClient;
use rmcp::model::{ErrorData, JsonRpcMessage, NumberOrString};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::limits::{
    SERVER_COMPLAINT_BYTES_MAX, SERVER_END_MS_MAX, SERVER_MESSAGE_BYTES_MAX,
    SERVER_NOISE_LINES_MAX, SERVER_SEND_MS_MAX,
};
use super::server_link::McpServerLink;
use super::unsolicited::UnsolicitedMessages;
use haft_contract::{clean, end_of, signal_text};

/// Messages in the send queue and in the receive queue, each.
const WAITING_MAX: usize = 64;

/// Unanswered requests that are remembered; answers to older ones are ignored.
const UNANSWERED_REQUESTS_MAX: usize = 4_096;

/// Time for a process that has closed its output to end by itself, in milliseconds, so that its status can be reported.
const EXIT_WAIT_MS: u64 = SERVER_END_MS_MAX / 5;

/// The notifications that are passed on. Others, such as logs, are dropped.
const ACCEPTED_NOTIFICATIONS: [&str; 4] = [
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
];

pub(super) struct StdioTransport {
    outgoing: mpsc::Sender<OutgoingLine>,
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

/// A message to send, and the channel that confirms it.
struct OutgoingLine {
    line: Vec<u8>,
    id: Option<i64>,
    sent: oneshot::Sender<()>,
}

/// A message was not sent, so the server knows nothing of it.
#[derive(Debug, thiserror::Error)]
#[error("the message was not sent")]
pub(super) struct StdioSendError;

/// Returns both ends of a connection to a program.
pub(super) fn link_process(process: Box<dyn BackgroundProcess>) -> (StdioTransport, McpServerLink) {
    let (outgoing, lines) = mpsc::channel(WAITING_MAX);
    let (messages, incoming) = mpsc::channel(WAITING_MAX);
    let (asks, confinement_requests) = mpsc::channel(1);
    let (fault, last_fault) = watch::channel(None);
    let (close, ended) = (CancellationToken::new(), CancellationToken::new());
    let mut pump =
        StdioMessagePump { process, lines, messages, confinement_requests, close: close.clone() };
    let ends = ended.clone().drop_guard();
    tokio::spawn(async move {
        let over = pump.pump_messages().await;
        // Waiting senders fail at once.
        pump.lines.close();
        pump.confinement_requests.close();
        while pump.lines.try_recv().is_ok() {}
        let mut process = pump.process;
        let ended = match &over {
            // Most programs that close their output are about to end.
            StdioEnd::Closed => {
                timeout(Duration::from_millis(EXIT_WAIT_MS), process.wait_for_exit()).await.ok()
            }
            StdioEnd::Released | StdioEnd::Fault(_) => None,
        };
        process.kill();
        // Afterwards no process of it is left.
        let gone = process.wait_for_exit().await;
        let limit = process.exceeded_limit().map(|limit| format!(": {limit}")).unwrap_or_default();
        let is_released = matches!(over, StdioEnd::Released);
        let mut how = match (over, ended.unwrap_or(Ok(ProcessEnding::Aborted))) {
            (StdioEnd::Released, _) => "it was ended".to_owned(),
            (StdioEnd::Fault(why), _) => why,
            (StdioEnd::Closed, Ok(ProcessEnding::Exited(status))) => {
                format!("its process ended with status {status}{limit}")
            }
            (StdioEnd::Closed, Ok(ProcessEnding::Signalled(signal))) => {
                format!("its process was ended by {}{limit}", signal_text(signal))
            }
            (StdioEnd::Closed, Ok(ProcessEnding::TimedOut | ProcessEnding::Aborted)) => {
                format!("it closed its output{limit}")
            }
            (StdioEnd::Closed, Err(err)) => format!("its end could not be seen: {}", err.message),
        };
        if !is_released {
            if let Err(err) = gone {
                tracing::warn!(err = err.message, "the end of an MCP server could not be seen");
            }
            let output = process.take_output().await;
            how.push_str(&stderr_text(output.tail.as_deref().unwrap_or(&output.head)));
        }
        drop(pump.messages);
        fault.send_replace(Some(how));
        drop(ends);
    });
    let transport = StdioTransport { outgoing, incoming };
    let confinement_requests = Some(asks);
    (transport, McpServerLink { confinement_requests, close, ended, last_fault })
}

impl Transport<RoleClient> for StdioTransport {
    type Error = StdioSendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), StdioSendError>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let id = match &message {
                JsonRpcMessage::Request(request) => match &request.id {
                    NumberOrString::Number(id) => Some(*id),
                    NumberOrString::String(_) => None,
                },
                JsonRpcMessage::Response(_)
                | JsonRpcMessage::Notification(_)
                | JsonRpcMessage::Error(_) => None,
            };
            let mut line = serde_json::to_vec(&message).map_err(|_| StdioSendError)?;
            line.push(b'\n');
            let (sent, told) = oneshot::channel();
            outgoing.send(OutgoingLine { line, id, sent }).await.map_err(|_| StdioSendError)?;
            told.await.map_err(|_| StdioSendError)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), StdioSendError> {
        self.incoming.close();
        Ok(())
    }
}

struct StdioMessagePump {
    process: Box<dyn BackgroundProcess>,
    lines: mpsc::Receiver<OutgoingLine>,
    messages: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    confinement_requests: mpsc::Receiver<oneshot::Sender<ConfinementReport>>,
    close: CancellationToken,
}

enum StdioEnd {
    Released,
    Closed,
    Fault(String),
}

impl StdioMessagePump {
    async fn pump_messages(&mut self) -> StdioEnd {
        let mut ear = IncomingLineFilter::new(Instant::now());
        let mut line = Vec::new();
        loop {
            let received = tokio::select! {
                biased;
                () = self.close.cancelled() => return StdioEnd::Released,
                ask = self.confinement_requests.recv() => {
                    let Some(ask) = ask else { return StdioEnd::Released };
                    // The caller may be gone.
                    let _ = ask.send(self.process.take_confinement());
                    continue;
                }
                outgoing = self.lines.recv() => {
                    let Some(outgoing) = outgoing else { return StdioEnd::Released };
                    match self.send(outgoing, &mut ear).await {
                        Ok(()) => continue,
                        Err(over) => return over,
                    }
                }
                received = self.process.receive(&mut line, SERVER_MESSAGE_BYTES_MAX) => received,
            };
            match received {
                Ok(ChannelRead::Line) => {}
                Ok(ChannelRead::Closed) | Err(_) => return StdioEnd::Closed,
                Ok(ChannelRead::TooLong) => {
                    return StdioEnd::Fault(format!(
                        "it wrote a message of more than {SERVER_MESSAGE_BYTES_MAX} bytes"
                    ));
                }
            }
            match ear.filter_line(&line, Instant::now()) {
                Ok(None) => {}
                Ok(Some(message)) => tokio::select! {
                    biased;
                    () = self.close.cancelled() => return StdioEnd::Released,
                    taken = self.messages.send(*message) => {
                        if taken.is_err() {
                            return StdioEnd::Released;
                        }
                    }
                },
                Err(why) => return StdioEnd::Fault(why),
            }
            line.clear();
        }
    }

    async fn send(
        &mut self,
        outgoing: OutgoingLine,
        ear: &mut IncomingLineFilter,
    ) -> Result<(), StdioEnd> {
        let OutgoingLine { line, id, sent } = outgoing;
        ear.record_request(id);
        let sending = self.process.send(&line);
        match timeout(Duration::from_millis(SERVER_SEND_MS_MAX), sending).await {
            Ok(Ok(())) => {
                // The sender may be gone.
                let _ = sent.send(());
                Ok(())
            }
            Ok(Err(err))
                if matches!(
                    err.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                Err(StdioEnd::Closed)
            }
            Ok(Err(err)) => Err(StdioEnd::Fault(format!("it cannot be written to: {err}"))),
            Err(_) => Err(StdioEnd::Fault(format!(
                "it did not read what it was sent within {SERVER_SEND_MS_MAX} ms"
            ))),
        }
    }
}

/// Returns the end of what a server wrote beside its messages, if it wrote anything.
fn stderr_text(written: &str) -> String {
    let written = clean(written);
    match end_of(written.trim(), SERVER_COMPLAINT_BYTES_MAX) {
        "" => String::new(),
        end => format!("; it wrote: {end}"),
    }
}

/// Filters the lines of a server, and notices when there are too many.
struct IncomingLineFilter {
    /// The highest number of a request so far.
    last_request_id: Option<i64>,
    unanswered_ids: BTreeSet<i64>,
    noise_lines: u32,
    unsolicited: UnsolicitedMessages,
    has_sent_message: bool,
}

type IncomingServerMessage = Box<RxJsonRpcMessage<RoleClient>>;

impl IncomingLineFilter {
    fn new(now: Instant) -> Self {
        Self {
            last_request_id: None,
            unanswered_ids: BTreeSet::new(),
            noise_lines: 0,
            unsolicited: UnsolicitedMessages::new(now),
            has_sent_message: false,
        }
    }

    fn record_request(&mut self, id: Option<i64>) {
        self.last_request_id = self.last_request_id.max(id);
        self.unanswered_ids.extend(id);
        if self.unanswered_ids.len() > UNANSWERED_REQUESTS_MAX {
            // No call waits for the oldest any more: a call that was stopped gets no answer.
            self.unanswered_ids.pop_first();
        }
    }

    /// Returns the message in a line if it is passed on, or the reason to end the server.
    fn filter_line(
        &mut self,
        line: &[u8],
        now: Instant,
    ) -> Result<Option<IncomingServerMessage>, String> {
        let line = line.trim_ascii();
        if !line.starts_with(b"{") {
            self.noise_lines += u32::from(!line.is_empty());
            return match self.noise_lines > SERVER_NOISE_LINES_MAX {
                true => Err(format!(
                    "it wrote more than {SERVER_NOISE_LINES_MAX} lines that are no messages"
                )),
                false => Ok(None),
            };
        }
        let mut message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            // Greetings come before the first message, whatever they look like.
            Err(_) if !self.has_sent_message => {
                self.noise_lines += 1;
                return Ok(None);
            }
            Err(err) => return Err(format!("it wrote what is no JSON: {err}")),
        };
        self.has_sent_message = true;
        if let Some(Value::String(method)) = message.get("method") {
            let is_heard = ACCEPTED_NOTIFICATIONS.contains(&method.as_str());
            self.unsolicited.count_message(now)?;
            let is_request = message.get("id").is_some();
            // A message of an unknown form is dropped.
            let parsed = serde_json::from_value(message).ok().map(Box::new);
            return Ok(parsed.filter(|_| is_request || is_heard));
        }
        // An answer. Some servers send the number of the request back as a text.
        let number = |id: &Value| id.as_i64().or_else(|| id.as_str()?.parse().ok());
        let Some(id) = message.get("id").and_then(number) else {
            // A server that cannot parse a request answers without its number, so no call can use it.
            return match message.get("error") {
                Some(_) => self.unsolicited.count_message(now).map(|()| None),
                None => Err("it wrote what is no message of MCP".to_owned()),
            };
        };
        if self.last_request_id.is_none_or(|asked| id > asked) {
            return Err(format!("it answered a request {id} that was never sent"));
        }
        if !self.unanswered_ids.remove(&id) {
            return self.unsolicited.count_message(now).map(|()| None);
        }
        // The SDK knows its own numbers only as such.
        if let Some(written) = message.get_mut("id") {
            *written = id.into();
        }
        Ok(Some(serde_json::from_value(message).map(Box::new).unwrap_or_else(|_| {
            let err = ErrorData::internal_error("the answer has no form that MCP knows", None);
            Box::new(JsonRpcMessage::error(err, Some(NumberOrString::Number(id))))
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::limits::SERVER_UNASKED_PER_SECOND_MAX;

    fn heard(ear: &mut IncomingLineFilter, line: &str) -> String {
        match ear.filter_line(line.as_bytes(), Instant::now()) {
            Ok(Some(message)) => serde_json::to_string(&message).unwrap(),
            Ok(None) => "-".to_owned(),
            Err(why) => format!("over: {why}"),
        }
    }

    #[test]
    fn greetings_are_passed_over_and_broken_messages_are_not() {
        let mut ear = IncomingLineFilter::new(Instant::now());
        ear.record_request(Some(0));
        assert_eq!(heard(&mut ear, "Server running on stdio"), "-");
        assert_eq!(heard(&mut ear, "{ looks like JSON"), "-");
        assert_eq!(
            heard(&mut ear, r#"{"jsonrpc":"2.0","id":0,"result":{"a":1}}"#).get(..1),
            Some("{")
        );
        assert_eq!(heard(&mut ear, "still chatting"), "-");
        assert!(heard(&mut ear, "{\"jsonrpc\":").starts_with("over: it wrote what is no JSON: "));
    }

    #[test]
    fn answers_belong_to_questions() {
        let mut ear = IncomingLineFilter::new(Instant::now());
        let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        [Some(1), Some(2), Some(3), None].into_iter().for_each(|id| ear.record_request(id));
        // Some servers write numbers as texts, which the SDK would not know again.
        for good in ["3", "\"2\""] {
            let expect = answer(good.trim_matches('"'));
            assert_eq!(heard(&mut ear, &answer(good)), expect);
            assert_eq!(heard(&mut ear, &answer(good)), "-", "{good} is answered already");
        }
        let over = "over: it answered a request 4 that was never sent";
        assert_eq!(heard(&mut ear, &answer("4")), over);
        assert_eq!(heard(&mut ear, r#"{"jsonrpc":"2.0","method":5,"id":4,"result":{}}"#), over);
        assert_eq!(heard(&mut ear, &answer("-1")), "-");
        assert_eq!(
            heard(&mut ear, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#),
            "-"
        );
        let odd = heard(&mut ear, r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#);
        assert!(odd.contains("the answer has no form that MCP knows"), "{odd}");
    }

    #[test]
    fn answers_without_end_are_a_flood() {
        let began = Instant::now();
        let mut ear = IncomingLineFilter::new(began);
        ear.record_request(Some(0));
        let answer = br#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        assert!(ear.filter_line(answer, began).unwrap().is_some());
        for _ in 0..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.filter_line(answer, began).unwrap().is_none());
        }
        assert!(ear.filter_line(answer, began).is_err());
        let requests = i64::try_from(UNANSWERED_REQUESTS_MAX).unwrap();
        (0..2 * requests).for_each(|id| ear.record_request(Some(id)));
        assert_eq!(ear.unanswered_ids.len(), UNANSWERED_REQUESTS_MAX);
    }

    #[test]
    fn floods_are_counted_by_the_second() {
        let mut ear = IncomingLineFilter::new(Instant::now());
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
        let began = Instant::now();
        for _ in 0..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.filter_line(log.as_bytes(), began).unwrap().is_none());
        }
        let later = began + Duration::from_secs(2);
        assert!(ear.filter_line(log.as_bytes(), later).is_ok(), "a new second begins");
        for _ in 1..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.filter_line(log.as_bytes(), later).is_ok());
        }
        assert!(ear.filter_line(log.as_bytes(), later).is_err());
        let mut ear = IncomingLineFilter::new(began);
        for _ in 0..SERVER_NOISE_LINES_MAX {
            assert!(ear.filter_line(b"noise", began).is_ok());
        }
        assert!(ear.filter_line(b"noise", began).is_err());
        assert!(IncomingLineFilter::new(began).filter_line(b"", began).is_ok());
    }

    #[test]
    fn of_what_a_server_complains_the_end_is_shown() {
        let whole = "x".repeat(SERVER_COMPLAINT_BYTES_MAX);
        assert_eq!(stderr_text(&format!(" {whole}\n")), format!("; it wrote: {whole}"));
        assert_eq!(stderr_text(&format!("y{whole}")), format!("; it wrote: {whole}"));
        assert_eq!(stderr_text(" \n"), "");
    }

    #[test]
    fn of_what_is_told_only_some_is_heard() {
        let mut ear = IncomingLineFilter::new(Instant::now());
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert!(heard(&mut ear, changed).contains("list_changed"));
        let other = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
        assert_eq!(heard(&mut ear, other), "-");
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        assert!(heard(&mut ear, request).contains("ping"));
    }
}
