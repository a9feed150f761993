//! The way to a server: one task holds the program, sends and receives, answers what the server asks, and decides when it
//! has gone too far: with messages without end, floods, what is no JSON, answers to what nobody asked. What the answers to
//! requests mean is not known here.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Ending, Resident, clean, end_of};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::framing::{Broken, Framing, framed};
use crate::hear::{Heard, Over};
use crate::limits::{IDLE_MS, LAST_MS, SAID_CHARS_MAX, SEND_MS_MAX, UNASKED_BYTES_MAX};
use crate::wire::{self, Incoming, Refusal};

/// Messages that wait to be sent.
const WAITING_MAX: usize = 64;

/// The end of whoever asks. Dropping it ends the program.
pub(crate) struct Link {
    outgoing: mpsc::Sender<Outgoing>,
    heard: watch::Receiver<Heard>,
    last_id: i64,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The server says that there is none.
    Refused(Refusal),
    /// No answer came in time.
    Late,
    /// The server has ended.
    Over,
}

/// What a server is told when it asks.
pub(crate) struct Home {
    /// Its configuration.
    pub(crate) settings: Value,
    /// The directories that it works on.
    pub(crate) folders: Value,
}

type Answers = oneshot::Sender<Result<Value, Refusal>>;

struct Outgoing {
    body: Vec<u8>,
    /// The number of the request, and who waits for its answer.
    asked: Option<(i64, Answers)>,
}

/// Returns the way to a program.
pub(crate) fn link(resident: Box<dyn Resident>, home: Home) -> Link {
    let (outgoing, waiting) = mpsc::channel(WAITING_MAX);
    let (tells, heard) = watch::channel(Heard::default());
    let carrier = Carrier {
        resident,
        framing: Framing::default(),
        waiting,
        pending: HashMap::new(),
        last_id: 0,
        unasked_bytes: 0,
        tells,
        home,
    };
    // It ends when the link is dropped, or with the program.
    tokio::spawn(carrier.carry());
    Link { outgoing, heard, last_id: 0 }
}

impl Link {
    /// Asks, and waits for the answer until the deadline.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, Unanswered> {
        self.last_id += 1;
        let id = self.last_id;
        let (answers, answer) = oneshot::channel();
        let body = wire::request(id, method, params);
        self.send(Outgoing { body, asked: Some((id, answers)) }).await?;
        match timeout_at(deadline, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(refusal))) => Err(Unanswered::Refused(refusal)),
            Ok(Err(_)) => Err(Unanswered::Over),
            Err(_) => {
                let body = wire::notification("$/cancelRequest", &json!({ "id": id }));
                // Where there is no room for it, the server is busy with more than that.
                let _ = self.outgoing.try_send(Outgoing { body, asked: None });
                Err(Unanswered::Late)
            }
        }
    }

    /// Says something that wants no answer.
    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), Unanswered> {
        self.send(Outgoing { body: wire::notification(method, params), asked: None }).await
    }

    /// Returns what was heard of the server, to look at or to wait for.
    pub(crate) fn heard(&self) -> watch::Receiver<Heard> {
        self.heard.clone()
    }

    /// Returns how the server ended, if it has; waits a while for whoever finds that out.
    pub(crate) async fn over(&self) -> Option<Over> {
        if !self.outgoing.is_closed() {
            return self.heard.borrow().over.clone();
        }
        let mut heard = self.heard.clone();
        let waiting = heard.wait_for(|heard| heard.over.is_some());
        let known = timeout(Duration::from_millis(2 * LAST_MS), waiting).await;
        let known = known.ok().and_then(Result::ok).and_then(|heard| heard.over.clone());
        Some(known.unwrap_or_else(|| Over::Failed("it ended".into())))
    }

    async fn send(&self, outgoing: Outgoing) -> Result<(), Unanswered> {
        self.outgoing.send(outgoing).await.map_err(|_| Unanswered::Over)
    }
}

/// Why the task ends.
enum End {
    /// Nobody holds the link any more.
    Let,
    Idle,
    Closed,
    Fault(String),
}

/// The task that holds the program.
struct Carrier {
    resident: Box<dyn Resident>,
    framing: Framing,
    waiting: mpsc::Receiver<Outgoing>,
    /// Who waits for the answers to which requests.
    pending: HashMap<i64, Answers>,
    /// The highest number of a request so far.
    last_id: i64,
    /// What the server said since it was last sent something.
    unasked_bytes: usize,
    tells: watch::Sender<Heard>,
    home: Home,
}

impl Carrier {
    async fn carry(mut self) {
        let end = self.carry_on().await;
        self.waiting.close();
        let over = match end {
            End::Let => return,
            End::Idle => Over::Idle,
            End::Closed => Over::Failed(self.how_it_ended().await.into()),
            End::Fault(why) => {
                self.resident.kill();
                Over::Failed(format!("{why}{}", self.complaint().await).into())
            }
        };
        // Whoever waits for an answer learns first why there is none.
        self.tells.send_modify(|heard| heard.over = Some(over));
        self.pending.clear();
    }

    async fn carry_on(&mut self) -> End {
        let mut last_used = Instant::now();
        loop {
            let idle_from = last_used + Duration::from_millis(IDLE_MS);
            let received = tokio::select! {
                biased;
                outgoing = self.waiting.recv() => {
                    let Some(outgoing) = outgoing else { return End::Let };
                    if let Err(end) = self.send(outgoing).await {
                        return end;
                    }
                    last_used = Instant::now();
                    continue;
                }
                () = sleep_until(idle_from) => return End::Idle,
                received = self.framing.next(&mut *self.resident) => received,
            };
            let heard = match received {
                Ok(body) => self.hear(&body).await,
                Err(Broken::Closed) => Err(End::Closed),
                Err(Broken::Fault(why)) => Err(End::Fault(why)),
            };
            if let Err(end) = heard {
                return end;
            }
            // A flood does not keep others from running.
            tokio::task::consume_budget().await;
        }
    }

    async fn send(&mut self, outgoing: Outgoing) -> Result<(), End> {
        if let Some((id, answers)) = outgoing.asked {
            self.pending.retain(|_, waiting| !waiting.is_closed());
            self.pending.insert(id, answers);
            self.last_id = id;
        }
        self.unasked_bytes = 0;
        self.write(&outgoing.body).await
    }

    async fn write(&mut self, body: &[u8]) -> Result<(), End> {
        let message = framed(body);
        let sending = self.resident.send(&message);
        match timeout(Duration::from_millis(SEND_MS_MAX), sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(err)) if is_end(&err) => Err(End::Closed),
            Ok(Err(err)) => Err(End::Fault(format!("it cannot be written to: {err}"))),
            Err(_) => {
                Err(End::Fault(format!("it did not read what it was sent within {SEND_MS_MAX} ms")))
            }
        }
    }

    async fn hear(&mut self, body: &[u8]) -> Result<(), End> {
        self.unasked_bytes = self.unasked_bytes.saturating_add(body.len());
        if self.unasked_bytes > UNASKED_BYTES_MAX {
            let message =
                format!("it sent more than {UNASKED_BYTES_MAX} bytes that nobody asked for");
            return Err(End::Fault(message));
        }
        match Incoming::parse(body).map_err(End::Fault)? {
            Incoming::Notification { method, params } => {
                self.tells.send_modify(|heard| heard.take(&method, &params));
                Ok(())
            }
            Incoming::Request { id, method, params } => {
                let result = self.home.answer(&method, &params);
                self.write(&wire::answer(&id, result)).await
            }
            Incoming::Answer { id, .. } if !(1..=self.last_id).contains(&id) => {
                Err(End::Fault(format!("it answered request {id}, which nobody made")))
            }
            Incoming::Answer { id, result } => {
                // Whoever asked may have given up, and then nobody waits.
                if let Some(waiting) = self.pending.remove(&id) {
                    let _ = waiting.send(result);
                }
                Ok(())
            }
        }
    }

    async fn how_it_ended(&mut self) -> String {
        let ending = timeout(Duration::from_millis(LAST_MS), self.resident.ended()).await;
        let how = match ending {
            Ok(Ok(Ending::Exited(code))) => format!("it exited with status {code}"),
            Ok(Ok(Ending::Signalled(signal))) => format!("signal {signal} ended it"),
            Ok(Ok(Ending::TimedOut | Ending::Aborted) | Err(_)) => "it ended".to_owned(),
            Err(_) => "it closed its output".to_owned(),
        };
        let bound = self.resident.exceeded().map(|bound| format!("; {bound}"));
        format!("{how}{}{}", bound.unwrap_or_default(), self.complaint().await)
    }

    /// Returns the end of what the server wrote beside its messages, if it wrote anything.
    async fn complaint(&mut self) -> String {
        let written = self.resident.take_output().await;
        let written = clean(written.tail.as_deref().unwrap_or(&written.head));
        match end_of(written.trim(), SAID_CHARS_MAX) {
            "" => String::new(),
            end => format!("; it wrote: {end}"),
        }
    }
}

impl Home {
    /// Returns the answer to what a server asks, none where that is nothing that is done here.
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

    /// Returns the section of the configuration: the part of that name, or all of it where it has no parts of such names.
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

fn is_end(err: &io::Error) -> bool {
    matches!(err.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Returns how a server ended, in words.
pub(crate) fn words(over: &Over) -> Arc<str> {
    match over {
        Over::Idle => "nobody asked it for long, and it was ended".into(),
        Over::Failed(how) => Arc::clone(how),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    fn mute() -> Link {
        Talker::new(Takes::Nothing, &[], Then::Waits).link()
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_asked_for_long_is_ended() {
        let link = mute();
        let began = Instant::now();
        link.heard().wait_for(|heard| heard.over.is_some()).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(IDLE_MS));
        assert_eq!(link.over().await, Some(Over::Idle));
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_ended_and_asks_of_it_end_too() {
        let mut link = mute();
        let far = Instant::now() + Duration::from_secs(3_600);
        let answer = link.request("initialize", &Value::Null, far).await;
        assert!(matches!(answer, Err(Unanswered::Over)), "{answer:?}");
        let expect = format!("it did not read what it was sent within {SEND_MS_MAX} ms");
        assert_eq!(link.over().await, Some(Over::Failed(expect.into())));
        let again = link.notify("initialized", &Value::Null).await;
        assert!(matches!(again, Err(Unanswered::Over)), "{again:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whose_output_ends_has_so_long_to_end_itself() {
        let link = Talker::new(Takes::Everything, &[], Then::ClosesOutput).link();
        let began = Instant::now();
        link.heard().wait_for(|heard| heard.over.is_some()).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(LAST_MS));
        assert_eq!(link.over().await, Some(Over::Failed("it closed its output".into())));
    }

    #[test]
    fn servers_are_answered_and_may_change_nothing() {
        let settings = json!({ "python": { "analysis": { "typeCheckingMode": "strict" } } });
        let home = Home { settings, folders: json!([{ "name": "root" }]) };
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
        let home = Home { settings: json!({}), folders: Value::Null };
        assert_eq!(home.section(Some("pyright")), Value::Null);
    }
}
