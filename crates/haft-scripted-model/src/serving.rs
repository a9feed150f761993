//! One connection: requests come in, replies go out, and what waits notices that the client has hung up.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Incoming};
use crate::requests::{Asked, Ended, Request};
use crate::script::{Ending, Part, Raw, Reply, Wait};
use crate::server::Shared;
use crate::wire::{Speak, Spoken, Wire};

/// How often something that is waited for is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Whether a connection is of further use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connection {
    Kept,
    Done,
}

/// Serves a connection until the client or the server is done with it.
pub(crate) fn serve(mut stream: TcpStream, shared: &Shared) {
    // A client that hangs up in the middle is no failure of the server; it is in the record of the request.
    while let Ok(Some(incoming)) = http::read(&mut stream) {
        let served = match Wire::of_path(&incoming.path) {
            Some(wire) => ask(&mut stream, shared, wire, incoming),
            None => control(&mut stream, shared, &incoming),
        };
        if !matches!(served, Ok(Connection::Kept)) {
            break;
        }
    }
    // The server holds a second handle, so that dropping this one closes nothing.
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

fn control(stream: &mut TcpStream, shared: &Shared, incoming: &Incoming) -> io::Result<Connection> {
    let (status, body) = match (incoming.method.as_str(), incoming.path.as_str()) {
        ("GET", "/requests") => (200, shared.requests_json()),
        (method, path) => {
            if let ("POST", Some(name)) = (method, path.strip_prefix("/release/")) {
                shared.release(name);
                (200, "{}".to_owned())
            } else if let ("GET", Some(name)) = (method, path.strip_prefix("/held/")) {
                shared.wait_until_held(name);
                (200, "{}".to_owned())
            } else {
                let error = format!(
                    "nothing answers {method} {path}: expected a path of a provider, GET /requests, POST /release/NAME or GET /held/NAME"
                );
                (404, json!({"error": error}).to_string())
            }
        }
    };
    http::answer(stream, status, &[], &body).map(|()| Connection::Kept)
}

fn ask(
    stream: &mut TcpStream,
    shared: &Shared,
    wire: Wire,
    incoming: Incoming,
) -> io::Result<Connection> {
    let Incoming { path, head, body, .. } = incoming;
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return fail(stream, wire, "the request is not JSON");
    };
    if !wire.is_stream(&body) {
        return fail(stream, wire, "only streams are spoken here: set stream to true");
    }
    let asked = Asked::of(wire, &path, &body);
    let model = wire.model(&path, &body);
    let request = Request { wire, path, head, body, reply: None, ended: None };
    let chosen = shared.choose(request, &asked);
    let replying = Replying { stream, shared, speaker: wire.speaker(&model), wire };
    let replied = match chosen.reply {
        Ok(reply) => replying.reply(&reply),
        Err(message) => fail(replying.stream, wire, &message),
    };
    let ended = if replied.is_ok() { Ended::Sent } else { Ended::HungUp };
    shared.ended(chosen.request, ended);
    replied
}

fn fail(stream: &mut TcpStream, wire: Wire, message: &str) -> io::Result<Connection> {
    http::answer(stream, 400, &[], &wire.failure(message).to_string()).map(|()| Connection::Kept)
}

/// One reply on its way.
struct Replying<'a> {
    stream: &'a mut TcpStream,
    shared: &'a Shared,
    speaker: Box<dyn Speak>,
    wire: Wire,
}

impl Replying<'_> {
    fn reply(mut self, reply: &Reply) -> io::Result<Connection> {
        if let Some(raw) = &reply.raw {
            return self.raw(raw);
        }
        // What is waited for first is waited for before anything is sent.
        let waits = reply.parts.iter().take_while(|part| matches!(part, Part::WaitFor(_))).count();
        let (before, parts) = reply.parts.split_at(waits);
        before.iter().try_for_each(|part| self.part(part))?;
        if let Some(failure) = &reply.failure {
            let body = self.wire.failure(&failure.message).to_string();
            http::answer(self.stream, failure.status, &failure.headers, &body)?;
            return Ok(Connection::Kept);
        }
        http::begin(self.stream, self.wire.content_type())?;
        let begins = self.speaker.begin(&reply.usage);
        self.send(&begins)?;
        parts.iter().try_for_each(|part| self.part(part))?;
        if reply.breaks_off {
            return Ok(Connection::Done);
        }
        let ends = self.speaker.end(reply.stop(), &reply.usage);
        self.send(&ends)?;
        http::end(self.stream)?;
        Ok(Connection::Kept)
    }

    fn part(&mut self, part: &Part) -> io::Result<()> {
        match part {
            Part::Text(text) => {
                for piece in pieces(text, self.shared.piece_chars) {
                    let frame = self.speaker.text(&piece);
                    self.send(&frame)?;
                }
                Ok(())
            }
            Part::Reasoning(text) => {
                for piece in pieces(text, self.shared.piece_chars) {
                    let frame = self.speaker.reasoning(&piece);
                    self.send(&frame)?;
                }
                Ok(())
            }
            Part::Call(call) => {
                let id = call.id.clone().unwrap_or_else(|| format!("c{}", self.shared.next_call()));
                let pieces = pieces(&call.text(), self.shared.piece_chars);
                let spoken =
                    Spoken { id: &id, tool: &call.tool, input: &call.input, pieces: &pieces };
                let frames = self.speaker.call(&spoken);
                frames.iter().try_for_each(|frame| self.send(frame))
            }
            Part::WaitFor(wait) => self.wait(wait),
        }
    }

    fn send(&mut self, frame: &str) -> io::Result<()> {
        http::chunk(self.stream, frame)
    }

    /// Waits, and ends the connection if its client or the server does.
    fn wait(&mut self, wait: &Wait) -> io::Result<()> {
        if let Wait::Release(name) = wait {
            self.shared.hold(name);
        }
        self.stream.set_read_timeout(Some(LOOK))?;
        let happened = || match wait {
            Wait::File(path) => path.exists(),
            Wait::Release(name) => self.shared.is_released(name),
        };
        let gone = |what: &str| io::Error::new(io::ErrorKind::ConnectionAborted, what);
        while !happened() {
            if self.shared.is_over() {
                return Err(gone("the server ends"));
            }
            // Looking for what the client says is also the pause between two looks.
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Err(gone("the client hung up")),
                Ok(_) => std::thread::sleep(LOOK),
                Err(err) if is_pause(&err) => {}
                Err(err) => return Err(err),
            }
        }
        self.stream.set_read_timeout(None)
    }

    fn raw(&mut self, raw: &Raw) -> io::Result<Connection> {
        self.stream.write_all(&raw.bytes)?;
        match raw.ending {
            Ending::Close => {}
            Ending::Stall => while matches!(self.stream.peek(&mut [0]), Ok(count) if count > 0) {},
            Ending::Flood => while self.stream.write_all(&[b'x'; 4096]).is_ok() {},
        }
        Ok(Connection::Done)
    }
}

fn is_pause(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Cuts a text into pieces of so many characters; nothing is no piece.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.max(1)).map(|piece| piece.iter().collect()).collect()
}
