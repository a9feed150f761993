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
use super::report::{ReportSection, rate_table};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 20;
/// Calls of one sample, whatever the number of connections that share them.
const BATCH_CALLS: u32 = 640;

const ABOUT: &str = "\
The tool `read` on a file of 4,096 bytes, over HTTP in the newer era, which has no sessions: each request is complete. The
floor is a bare server on the same SDK, without the listener, the guard and the journal of `haft serve`. One connection with one
call at a time, then sixty-four of them at once. Clients and servers share the machine.";

/// A server that listens; it ends with this.
struct BenchHttpServer {
    child: Child,
    authority: String,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("http")?;
    let path = file(&dir, 0);
    write_file(&path)?;
    let mut entrants = Vec::new();
    for (case, connections) in [("1 connection", 1), ("64 connections", 64)] {
        for peer in [Peer::Haft, Peer::Floor] {
            let command = bench.peers.http_server(peer, &dir).context("both listen")?;
            entrants.push(entrant(
                case,
                peer,
                BenchHttpServer::start(command)?,
                connections,
                &path,
            )?);
        }
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    Ok(ReportSection {
        title: "Calls over HTTP".to_owned(),
        about: ABOUT.to_owned(),
        tables: vec![rate_table(&cases, BATCH_CALLS)],
        notes: Vec::new(),
        targets: Vec::new(),
    })
}

fn entrant(
    case: &str,
    peer: Peer,
    server: BenchHttpServer,
    connections: usize,
    path: &Path,
) -> anyhow::Result<Entrant<'static>> {
    let request = request(&server.authority, path);
    let expected = std::fs::read_to_string(path)?;
    let mut clients = (0..connections)
        .map(|_| BenchHttpClient::connect(&server.authority))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let share = BATCH_CALLS as usize / connections;
    Ok(Entrant::new(case, peer.name(), 1, move || {
        let begin = Instant::now();
        let answers = std::thread::scope(|scope| {
            let running: Vec<_> = clients
                .iter_mut()
                .map(|client| scope.spawn(|| client.call_often(&request, share)))
                .collect();
            running.into_iter().map(|one| one.join().expect("a client does not panic")).collect()
        });
        let elapsed = begin.elapsed();
        let answers: anyhow::Result<Vec<Vec<u8>>> = answers;
        for answer in answers? {
            check(&answer, &expected)?;
        }
        let _ = &server;
        Ok(elapsed)
    }))
}

fn request(authority: &str, path: &Path) -> Vec<u8> {
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

fn check(answer: &[u8], expected: &str) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_slice(answer).context("an answer should be JSON")?;
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
    ensure!(text == Some(expected), "the call did not do its work: {answer}");
    Ok(())
}

/// One connection that is kept.
struct BenchHttpClient {
    stream: BufReader<TcpStream>,
}

impl BenchHttpClient {
    fn connect(authority: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Makes calls one after the other and returns the last answer.
    fn call_often(&mut self, request: &[u8], calls: usize) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        for _ in 0..calls {
            self.stream.get_mut().write_all(request)?;
            body = self.answer()?;
        }
        Ok(body)
    }

    fn answer(&mut self) -> anyhow::Result<Vec<u8>> {
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

impl BenchHttpServer {
    fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("its output is a pipe")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let authority =
            line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        let authority = authority.with_context(|| format!("{line:?} should be an address"))?;
        Ok(Self { child, authority: authority.to_owned() })
    }
}

impl Drop for BenchHttpServer {
    fn drop(&mut self) {
        // The benchmark does not need the process any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
