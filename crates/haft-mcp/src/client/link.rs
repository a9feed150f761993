//! The way to a server that is a program: lines over its standard input and output, one message each. One task holds the
//! program, sends and receives, and decides when it has gone too far: with messages without end, floods, what is no JSON,
//! answers to what nobody asked. What messages mean is the SDK's business.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Confined, Ending, Received, Resident};
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
use super::unasked::Unasked;
use haft_contract::{clean, end_of};

/// Messages that wait to be sent, and such that were received and wait to be looked at, each.
const WAITING_MAX: usize = 64;

/// Requests of which it is known that they are not answered; of more, answers to the oldest are not heard.
const OPEN_MAX: usize = 4_096;

/// How long the process may live on that has closed its output, in milliseconds, so that it can be said how it ended.
const LAST_MS: u64 = SERVER_END_MS_MAX / 5;

/// What of a server's notifications is looked at. The others, such as its logs, are for nobody here.
const HEARD: [&str; 4] = [
    "notifications/cancelled",
    "notifications/progress",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
];

/// The SDK's end of the way.
pub(super) struct LinkTransport {
    outgoing: mpsc::Sender<Outgoing>,
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

/// The end of whoever keeps the connection. Dropping it ends the program.
pub(super) struct Link {
    asks: mpsc::Sender<oneshot::Sender<Confined>>,
    ended: watch::Receiver<Option<Arc<str>>>,
    close: CancellationToken,
}

/// A message to send, and whom to tell that it was.
struct Outgoing {
    line: Vec<u8>,
    id: Option<i64>,
    sent: oneshot::Sender<()>,
}

/// A message was not sent, so the server knows nothing of it.
#[derive(Debug, thiserror::Error)]
#[error("the message was not sent")]
pub(super) struct NotSent;

/// Returns both ends of a way to a program.
pub(super) fn link(resident: Box<dyn Resident>) -> (LinkTransport, Link) {
    let (outgoing, lines) = mpsc::channel(WAITING_MAX);
    let (messages, incoming) = mpsc::channel(WAITING_MAX);
    let (asks, asked) = mpsc::channel(1);
    let (ends, ended) = watch::channel(None);
    let close = CancellationToken::new();
    let carrier = Carrier { resident, lines, messages, asked, close: close.clone() };
    tokio::spawn(async move {
        let why = carrier.carry().await;
        ends.send_replace(Some(why.into()));
    });
    (LinkTransport { outgoing, incoming }, Link { asks, ended, close })
}

impl Link {
    /// Returns what happened around the program since this was last asked; nothing once it has ended.
    pub(super) async fn confined(&self) -> Option<Confined> {
        let (answer, answered) = oneshot::channel();
        self.asks.send(answer).await.ok()?;
        answered.await.ok()
    }

    /// Returns whether the program has ended, or is about to.
    pub(super) fn is_over(&self) -> bool {
        self.ended.borrow().is_some() || self.asks.is_closed()
    }

    /// Waits until the program has ended.
    pub(super) async fn ended(&self) {
        // It fails only with whoever would tell.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Returns how it ended, in words; waits a while for that.
    pub(super) async fn end(&self) -> String {
        let mut ended = self.ended.clone();
        let waiting = ended.wait_for(Option::is_some);
        let known = timeout(Duration::from_millis(SERVER_END_MS_MAX), waiting).await;
        let why = known.ok().and_then(Result::ok).and_then(|why| why.clone());
        why.map_or_else(|| "it ended".to_owned(), |why| why.to_string())
    }

    /// Ends the program, and waits for its end.
    pub(super) async fn close(&self) {
        self.close.cancel();
        self.end().await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

impl Transport<RoleClient> for LinkTransport {
    type Error = NotSent;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), NotSent>> + Send + 'static {
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
            let mut line = serde_json::to_vec(&message).map_err(|_| NotSent)?;
            line.push(b'\n');
            let (sent, told) = oneshot::channel();
            outgoing.send(Outgoing { line, id, sent }).await.map_err(|_| NotSent)?;
            told.await.map_err(|_| NotSent)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), NotSent> {
        self.incoming.close();
        Ok(())
    }
}

/// Holds the program.
struct Carrier {
    resident: Box<dyn Resident>,
    lines: mpsc::Receiver<Outgoing>,
    messages: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    asked: mpsc::Receiver<oneshot::Sender<Confined>>,
    close: CancellationToken,
}

/// Why the program is not spoken to any more.
enum Over {
    /// Nobody wants to.
    Let,
    /// It closed its output.
    Closed,
    /// It went too far.
    Fault(String),
}

impl Carrier {
    /// Carries messages to and fro until one side has enough; returns how it ended, in words.
    async fn carry(mut self) -> String {
        let over = self.carry_on().await;
        // Whoever still sends is told at once that nothing is sent any more.
        self.lines.close();
        self.asked.close();
        while self.lines.try_recv().is_ok() {}
        let ended = match &over {
            // Most that close their output are about to end.
            Over::Closed => {
                timeout(Duration::from_millis(LAST_MS), self.resident.ended()).await.ok()
            }
            Over::Let | Over::Fault(_) => None,
        };
        self.resident.kill();
        // Whether it was killed or not, nothing of it is left afterwards.
        let gone = self.resident.ended().await;
        let bound = self.resident.exceeded().map(|bound| format!(": {bound}")).unwrap_or_default();
        let how = match (over, ended.unwrap_or(Ok(Ending::Aborted))) {
            (Over::Let, _) => return "it was ended".to_owned(),
            (Over::Fault(why), _) => why,
            (Over::Closed, Ok(Ending::Exited(status))) => {
                format!("its process ended with status {status}{bound}")
            }
            (Over::Closed, Ok(Ending::Signalled(signal))) => {
                format!("its process was ended by signal {signal}{bound}")
            }
            (Over::Closed, Ok(Ending::TimedOut | Ending::Aborted)) => {
                format!("it closed its output{bound}")
            }
            (Over::Closed, Err(err)) => format!("its end could not be seen: {}", err.message),
        };
        if let Err(err) = gone {
            tracing::warn!(err = err.message, "the end of an MCP server could not be seen");
        }
        let output = self.resident.take_output().await;
        format!("{how}{}", complaint(output.tail.as_deref().unwrap_or(&output.head)))
    }

    async fn carry_on(&mut self) -> Over {
        let mut ear = Ear::new(Instant::now());
        let mut line = Vec::new();
        loop {
            let received = tokio::select! {
                biased;
                () = self.close.cancelled() => return Over::Let,
                ask = self.asked.recv() => {
                    let Some(ask) = ask else { return Over::Let };
                    // Whoever asked may have gone.
                    let _ = ask.send(self.resident.take_confined());
                    continue;
                }
                outgoing = self.lines.recv() => {
                    let Some(outgoing) = outgoing else { return Over::Let };
                    match self.send(outgoing, &mut ear).await {
                        Ok(()) => continue,
                        Err(over) => return over,
                    }
                }
                received = self.resident.receive(&mut line, SERVER_MESSAGE_BYTES_MAX) => received,
            };
            match received {
                Ok(Received::Line) => {}
                Ok(Received::Closed) | Err(_) => return Over::Closed,
                Ok(Received::TooLong) => {
                    return Over::Fault(format!(
                        "it wrote a message of more than {SERVER_MESSAGE_BYTES_MAX} bytes"
                    ));
                }
            }
            match ear.hear(&line, Instant::now()) {
                Ok(None) => {}
                Ok(Some(message)) => tokio::select! {
                    biased;
                    () = self.close.cancelled() => return Over::Let,
                    taken = self.messages.send(*message) => {
                        if taken.is_err() {
                            return Over::Let;
                        }
                    }
                },
                Err(why) => return Over::Fault(why),
            }
            line.clear();
        }
    }

    async fn send(&mut self, outgoing: Outgoing, ear: &mut Ear) -> Result<(), Over> {
        let Outgoing { line, id, sent } = outgoing;
        ear.asked(id);
        let sending = self.resident.send(&line);
        match timeout(Duration::from_millis(SERVER_SEND_MS_MAX), sending).await {
            Ok(Ok(())) => {
                // Whoever sent it may have gone.
                let _ = sent.send(());
                Ok(())
            }
            Ok(Err(err)) if is_end(&err) => Err(Over::Closed),
            Ok(Err(err)) => Err(Over::Fault(format!("it cannot be written to: {err}"))),
            Err(_) => Err(Over::Fault(format!(
                "it did not read what it was sent within {SERVER_SEND_MS_MAX} ms"
            ))),
        }
    }
}

/// Returns the end of what a server wrote beside its messages, if it wrote anything.
fn complaint(written: &str) -> String {
    let written = clean(written);
    match end_of(written.trim(), SERVER_COMPLAINT_BYTES_MAX) {
        "" => String::new(),
        end => format!("; it wrote: {end}"),
    }
}

fn is_end(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Hears what a server says, and when that is too much.
struct Ear {
    /// The highest number of a request so far.
    asked_max: Option<i64>,
    /// The numbers of requests that are not answered.
    open: BTreeSet<i64>,
    noise_lines: u32,
    unasked: Unasked,
    has_spoken: bool,
}

type Heard = Box<RxJsonRpcMessage<RoleClient>>;

impl Ear {
    fn new(now: Instant) -> Self {
        Self {
            asked_max: None,
            open: BTreeSet::new(),
            noise_lines: 0,
            unasked: Unasked::new(now),
            has_spoken: false,
        }
    }

    /// Takes note of a request that the server is sent.
    fn asked(&mut self, id: Option<i64>) {
        self.asked_max = self.asked_max.max(id);
        self.open.extend(id);
        if self.open.len() > OPEN_MAX {
            // Nobody has waited for the oldest for long: a call that is given up is not answered.
            self.open.pop_first();
        }
    }

    /// Returns the message in a line if somebody is to hear it, or why the server is not listened to any more.
    fn hear(&mut self, line: &[u8], now: Instant) -> Result<Option<Heard>, String> {
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
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            // Greetings come before the first message, whatever they look like.
            Err(_) if !self.has_spoken => {
                self.noise_lines += 1;
                return Ok(None);
            }
            Err(err) => return Err(format!("it wrote what is no JSON: {err}")),
        };
        self.has_spoken = true;
        match message.get("method") {
            Some(Value::String(method)) => {
                let is_heard = HEARD.contains(&method.as_str());
                self.unasked.count(now)?;
                let is_request = message.get("id").is_some();
                // What has no form that is known is for nobody.
                let parsed = serde_json::from_value(message).ok().map(Box::new);
                Ok(parsed.filter(|_| is_request || is_heard))
            }
            None | Some(_) => self.answered(message, now),
        }
    }

    /// Returns an answer, or one in its place if it has no form that is known. What is answered more than once is heard once.
    fn answered(&mut self, mut message: Value, now: Instant) -> Result<Option<Heard>, String> {
        let Some(id) = message.get("id").and_then(number) else {
            // That a request was not understood is said without its number, which helps nobody here.
            return match message.get("error") {
                Some(_) => self.unasked.count(now).map(|()| None),
                None => Err("it wrote what is no message of MCP".to_owned()),
            };
        };
        if self.asked_max.is_none_or(|asked| id > asked) {
            return Err(format!("it answered a request {id} that nobody had made"));
        }
        if !self.open.remove(&id) {
            return self.unasked.count(now).map(|()| None);
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

/// Returns the number of an id, which some servers send back as a text.
fn number(id: &Value) -> Option<i64> {
    id.as_i64().or_else(|| id.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::limits::SERVER_UNASKED_PER_SECOND_MAX;

    fn heard(ear: &mut Ear, line: &str) -> String {
        match ear.hear(line.as_bytes(), Instant::now()) {
            Ok(Some(message)) => serde_json::to_string(&message).unwrap(),
            Ok(None) => "-".to_owned(),
            Err(why) => format!("over: {why}"),
        }
    }

    #[test]
    fn greetings_are_passed_over_and_broken_messages_are_not() {
        let mut ear = Ear::new(Instant::now());
        ear.asked(Some(0));
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
        let mut ear = Ear::new(Instant::now());
        let answer = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        [Some(1), Some(2), Some(3), None].into_iter().for_each(|id| ear.asked(id));
        // Some servers write numbers as texts, which the SDK would not know again.
        for good in ["3", "\"2\""] {
            let expect = answer(good.trim_matches('"'));
            assert_eq!(heard(&mut ear, &answer(good)), expect);
            assert_eq!(heard(&mut ear, &answer(good)), "-", "{good} is answered already");
        }
        let over = "over: it answered a request 4 that nobody had made";
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
        let mut ear = Ear::new(began);
        ear.asked(Some(0));
        let answer = br#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
        assert!(ear.hear(answer, began).unwrap().is_some());
        for _ in 0..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.hear(answer, began).unwrap().is_none());
        }
        assert!(ear.hear(answer, began).is_err());
        let requests = i64::try_from(OPEN_MAX).unwrap();
        (0..2 * requests).for_each(|id| ear.asked(Some(id)));
        assert_eq!(ear.open.len(), OPEN_MAX);
    }

    #[test]
    fn floods_are_counted_by_the_second() {
        let mut ear = Ear::new(Instant::now());
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
        let began = Instant::now();
        for _ in 0..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.hear(log.as_bytes(), began).unwrap().is_none());
        }
        let later = began + Duration::from_secs(2);
        assert!(ear.hear(log.as_bytes(), later).is_ok(), "a new second begins");
        for _ in 1..SERVER_UNASKED_PER_SECOND_MAX {
            assert!(ear.hear(log.as_bytes(), later).is_ok());
        }
        assert!(ear.hear(log.as_bytes(), later).is_err());
        let mut ear = Ear::new(began);
        for _ in 0..SERVER_NOISE_LINES_MAX {
            assert!(ear.hear(b"noise", began).is_ok());
        }
        assert!(ear.hear(b"noise", began).is_err());
        assert!(Ear::new(began).hear(b"", began).is_ok());
    }

    #[test]
    fn of_what_a_server_complains_the_end_is_shown() {
        let whole = "x".repeat(SERVER_COMPLAINT_BYTES_MAX);
        assert_eq!(complaint(&format!(" {whole}\n")), format!("; it wrote: {whole}"));
        assert_eq!(complaint(&format!("y{whole}")), format!("; it wrote: {whole}"));
        assert_eq!(complaint(" \n"), "");
    }

    #[test]
    fn of_what_is_told_only_some_is_heard() {
        let mut ear = Ear::new(Instant::now());
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert!(heard(&mut ear, changed).contains("list_changed"));
        let other = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;
        assert_eq!(heard(&mut ear, other), "-");
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
        assert!(heard(&mut ear, request).contains("ping"));
    }
}
