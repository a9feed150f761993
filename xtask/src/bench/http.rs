//! Reads of 4 KiB over HTTP, in the era without sessions: one client after the other, and sixty-four connections at once, each
//! with one call in flight. The clients are threads that send bytes and read bytes; what they read is looked at afterwards.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::calls::{file, write_file};
use super::peers::Peer;
use super::report::{BenchTarget, ReportSection, rate_table};
use super::turns::{Entrant, interleave};
use crate::files;

const ROUNDS: usize = 20;
/// Calls of one sample, whatever the number of connections that share them.
const BATCH_CALLS: u32 = 640;
/// Six tenths of the rate of the bare server, as the time that a call takes.
const RATIO_MAX: f64 = 1.0 / 0.6;
const MANY_CONNECTIONS: &str = "64 connections";

const ABOUT: &str = "\
The tool `read` on a file of 4,096 bytes, over HTTP in the newer era, which has no sessions: each request is complete. The
floor is a bare server on the same SDK, without the listener, the guard and the journal of `haft serve`. One connection with one
call at a time, then sixty-four of them at once. Clients and servers share the machine.";

/// A server that listens; it ends with this.
pub(super) struct BenchHttpServer {
    child: Child,
    /// The host and port where it listens.
    pub(super) authority: String,
}

impl BenchHttpServer {
    pub(super) fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("its output is a pipe")?;
        let mut server = Self { child, authority: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let authority =
            line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        let authority = authority.with_context(|| format!("{line:?} should be an address"))?;
        authority.clone_into(&mut server.authority);
        Ok(server)
    }
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("http")?;
    let path = file(&dir, 0);
    write_file(&path)?;
    let expected = files::read(&path)?;
    let mut entrants = Vec::new();
    for (case, connections) in [("1 connection", 1), (MANY_CONNECTIONS, 64)] {
        for peer in [Peer::Haft, Peer::Floor] {
            let command = bench.peers.http_server(peer, &dir).context("both listen")?;
            let server = BenchHttpServer::start(command)?;
            let (request, expected) = (request(&server.authority, &path), expected.as_str());
            let mut clients = (0..connections)
                .map(|_| BenchHttpClient::connect(&server.authority))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let share = BATCH_CALLS as usize / connections;
            entrants.push(Entrant::new(case, peer.name(), 1, move || {
                let begin = Instant::now();
                let answers: Vec<anyhow::Result<Vec<u8>>> = std::thread::scope(|scope| {
                    let request = &request;
                    let running: Vec<_> = clients
                        .iter_mut()
                        .map(|client| {
                            scope.spawn(move || {
                                (0..share).try_fold(Vec::new(), |_, _| client.call(request))
                            })
                        })
                        .collect();
                    let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
                    ended.map(|one| one.expect("a client does not panic")).collect()
                });
                let elapsed = begin.elapsed();
                for answer in answers {
                    let answer: Value =
                        serde_json::from_slice(&answer?).context("an answer should be JSON")?;
                    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
                    ensure!(text == Some(expected), "the call did not do its work: {answer}");
                }
                let _ = &server;
                Ok(elapsed)
            }));
        }
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    let many = cases.iter().filter(|case| case.name == MANY_CONNECTIONS);
    let target = |case| BenchTarget::ratio("HTTP", case, Peer::Floor.name(), RATIO_MAX);
    Ok(ReportSection {
        targets: many.map(target).collect(),
        ..ReportSection::new("Calls over HTTP", ABOUT, vec![rate_table(&cases, BATCH_CALLS)])
    })
}

/// Returns a request for a `read` in the newer era.
pub(super) fn request(authority: &str, path: &Path) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "read", "arguments": {"path": path}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: read\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// One connection that is kept.
pub(super) struct BenchHttpClient {
    stream: BufReader<TcpStream>,
}

impl BenchHttpClient {
    pub(super) fn connect(authority: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    pub(super) fn call(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        self.stream.get_mut().write_all(request)?;
        let mut length = None;
        let mut line = String::new();
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse()?);
            }
        }
        let Some(length) = length else { bail!("the answer has no length") };
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}

impl Drop for BenchHttpServer {
    fn drop(&mut self) {
        // The benchmark does not need the process any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
