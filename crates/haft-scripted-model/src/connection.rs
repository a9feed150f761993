//! One connection: receives requests and sends replies. A waiting reply notices that the client has
//! closed the connection.

use std::io::{self, ErrorKind, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, ScriptedHttpRequest};
use crate::requests::{RecordedModelRequest, ReplyCriteria, ReplyEnd};
use crate::script::{RawReplyEnding, ReplyPart, ReplyWait, ScriptedReply};
use crate::shared::ScriptedServerShared;
use crate::wire::{ReplyEncoder, ReplyToolCall, WireProtocol};

/// The polling interval of a wait.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Whether a connection is kept open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionReuse {
    Kept,
    Done,
}

/// Serves a connection until the client or the server ends it.
pub(crate) fn serve(mut stream: TcpStream, shared: &ScriptedServerShared) {
    // A client that closes early is not an error of the server; the request's record shows it.
    while let Ok(Some(incoming)) = http::read(&mut stream) {
        let served = match WireProtocol::of_path(&incoming.path) {
            Some(wire) => answer_request(&mut stream, shared, wire, incoming),
            None => {
                let (method, path) = (incoming.method.as_str(), incoming.path.as_str());
                let (mut status, mut body) = (200, "{}".to_owned());
                if (method, path) == ("GET", "/requests") {
                    body = serde_json::to_string(&shared.state().requests)
                        .unwrap_or_else(|err| err.to_string());
                } else if let ("POST", Some(name)) = (method, path.strip_prefix("/release/")) {
                    shared.release(name);
                } else if let ("GET", Some(name)) = (method, path.strip_prefix("/held/")) {
                    shared.wait_until_held(name);
                } else {
                    let error = format!(
                        "nothing answers {method} {path}: expected a path of a provider, GET /requests, POST /release/NAME or GET /held/NAME"
                    );
                    (status, body) = (404, json!({"error": error}).to_string());
                }
                http::answer(&mut stream, status, &[], &body).map(|()| ConnectionReuse::Kept)
            }
        };
        if !matches!(served, Ok(ConnectionReuse::Kept)) {
            break;
        }
    }
    // The server holds a second handle, so dropping this one does not close the connection.
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

fn answer_request(
    stream: &mut TcpStream,
    shared: &ScriptedServerShared,
    wire: WireProtocol,
    incoming: ScriptedHttpRequest,
) -> io::Result<ConnectionReuse> {
    let ScriptedHttpRequest { path, head, body, .. } = incoming;
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return send_failure(stream, wire, "the request is not JSON");
    };
    if !wire.is_stream(&body) {
        return send_failure(stream, wire, "only streams are spoken here: set stream to true");
    }
    let criteria = ReplyCriteria::from_body(wire, &path, &body);
    let model = wire.model(&path, &body);
    let request = RecordedModelRequest { wire, path, head, body, reply: None, ended: None };
    let chosen = shared.choose_reply(request, &criteria);
    let replying = ReplyWriter { stream, shared, speaker: wire.speaker(&model), wire };
    let replied = match chosen.reply {
        Ok(reply) => replying.reply(&reply),
        Err(message) => send_failure(replying.stream, wire, &message),
    };
    let ended = if replied.is_ok() { ReplyEnd::Sent } else { ReplyEnd::HungUp };
    shared.change(|state| {
        if let Some(request) = state.requests.get_mut(chosen.request) {
            request.ended = Some(ended);
        }
    });
    replied
}

fn send_failure(
    stream: &mut TcpStream,
    wire: WireProtocol,
    message: &str,
) -> io::Result<ConnectionReuse> {
    http::answer(stream, 400, &[], &wire.failure(message).to_string())
        .map(|()| ConnectionReuse::Kept)
}

/// One reply in progress.
struct ReplyWriter<'a> {
    stream: &'a mut TcpStream,
    shared: &'a ScriptedServerShared,
    speaker: Box<dyn ReplyEncoder>,
    wire: WireProtocol,
}

impl ReplyWriter<'_> {
    fn reply(mut self, reply: &ScriptedReply) -> io::Result<ConnectionReuse> {
        if let Some(raw) = &reply.raw {
            self.stream.write_all(&raw.bytes)?;
            match raw.ending {
                RawReplyEnding::Close => {}
                RawReplyEnding::Stall => {
                    while matches!(self.stream.peek(&mut [0]), Ok(count) if count > 0) {}
                }
                RawReplyEnding::Flood => while self.stream.write_all(&[b'x'; 4096]).is_ok() {},
            }
            return Ok(ConnectionReuse::Done);
        }
        // A wait at the beginning happens before anything is sent.
        let waits =
            reply.parts.iter().take_while(|part| matches!(part, ReplyPart::WaitFor(_))).count();
        let (before, parts) = reply.parts.split_at(waits);
        before.iter().try_for_each(|part| self.send_part(part))?;
        if let Some(failure) = &reply.failure {
            let body = self.wire.failure(&failure.message).to_string();
            http::answer(self.stream, failure.status, &failure.headers, &body)?;
            return Ok(ConnectionReuse::Kept);
        }
        http::begin(self.stream, self.wire.content_type())?;
        let begins = self.speaker.begin(&reply.usage);
        self.send_frame(&begins)?;
        parts.iter().try_for_each(|part| self.send_part(part))?;
        if reply.breaks_off {
            return Ok(ConnectionReuse::Done);
        }
        let ends = self.speaker.end(reply.stop(), &reply.usage);
        self.send_frame(&ends)?;
        http::end(self.stream)?;
        Ok(ConnectionReuse::Kept)
    }

    fn send_part(&mut self, part: &ReplyPart) -> io::Result<()> {
        match part {
            ReplyPart::Text(text) => {
                pieces(text, self.shared.piece_chars).iter().try_for_each(|piece| {
                    let frame = self.speaker.text(piece);
                    self.send_frame(&frame)
                })
            }
            ReplyPart::Reasoning(text) => {
                pieces(text, self.shared.piece_chars).iter().try_for_each(|piece| {
                    let frame = self.speaker.reasoning(piece);
                    self.send_frame(&frame)
                })
            }
            ReplyPart::Call(call) => {
                let id = call.id.clone().unwrap_or_else(|| {
                    self.shared.change(|state| {
                        state.calls += 1;
                        format!("c{}", state.calls)
                    })
                });
                let pieces = pieces(&call.text(), self.shared.piece_chars);
                let spoken = ReplyToolCall {
                    id: &id,
                    tool: &call.tool,
                    input: &call.input,
                    pieces: &pieces,
                };
                let frames = self.speaker.call(&spoken);
                frames.iter().try_for_each(|frame| self.send_frame(frame))
            }
            ReplyPart::WaitFor(wait) => self.wait_for(wait),
        }
    }

    fn send_frame(&mut self, frame: &str) -> io::Result<()> {
        http::chunk(self.stream, frame)
    }

    /// Waits, and fails if the client or the server closes the connection.
    fn wait_for(&mut self, wait: &ReplyWait) -> io::Result<()> {
        if let ReplyWait::Release(name) = wait {
            self.shared.change(|state| state.held_names.insert(name.clone()));
        }
        self.stream.set_read_timeout(Some(POLL_INTERVAL))?;
        let happened = || match wait {
            ReplyWait::File(path) => path.exists(),
            ReplyWait::Release(name) => self.shared.state().released.contains(name),
        };
        let aborted = |what: &str| io::Error::new(ErrorKind::ConnectionAborted, what);
        while !happened() {
            if self.shared.is_over() {
                return Err(aborted("the server ends"));
            }
            // Peeking for client data is also the pause between two checks.
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Err(aborted("the client hung up")),
                Ok(_) => std::thread::sleep(POLL_INTERVAL),
                Err(err) => match err.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Err(err),
                },
            }
        }
        self.stream.set_read_timeout(None)
    }
}

/// Splits a text into pieces of `chars` characters; an empty text has no pieces.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.max(1)).map(|piece| piece.iter().collect()).collect()
}
