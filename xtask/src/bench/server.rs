//! An MCP client on one thread that does nothing but send lines and read lines while the clock runs; what is in the
//! answers is checked after it has stopped. It speaks just enough of both eras of the protocol to be served.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::machine::first_of;
use crate::files;

/// One read takes in several answers, if they are there.
const INPUT_BUFFER_BYTES: usize = 64 * 1024;
/// How long a server may take to end once its input has.
const EXIT_WAIT_MS_MAX: u64 = 2_000;

/// The standard input and output that a client gives its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BenchTransport {
    /// As clients in Python and most others do.
    Pipes,
    /// As clients in Node do.
    Sockets,
}

/// A way to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BenchProtocolEra {
    /// With the handshake, `initialize`.
    Legacy,
    /// Without it: `server/discover`, and the version in every request.
    Modern,
}

/// A server that was started.
pub(super) struct BenchServer {
    child: Child,
    /// Given up first, because its end is what ends the server.
    input: Option<Box<dyn Write>>,
    output: BufReader<Box<dyn Read>>,
    last_id: u64,
    /// Lines as they came, until they are checked.
    answers: Vec<u8>,
}

/// The memory of a process that is in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessMemory {
    /// Anonymous memory and changed pages of files.
    pub(super) private_bytes: u64,
    /// The same with all pages of files.
    pub(super) all_bytes: u64,
}

/// A call about to be made.
pub(super) struct BenchCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// The run that the call belongs to, if it is not that of the connection.
    pub(super) run: Option<String>,
}

impl BenchCall {
    pub(super) fn new(tool: &'static str, arguments: Value) -> Self {
        Self { tool, arguments, run: None }
    }
}

impl BenchServer {
    /// Starts a program. The command is taken so that no end of the connection but the program's own stays open.
    pub(super) fn start(mut command: Command, wire: BenchTransport) -> anyhow::Result<Self> {
        let mut sockets = None;
        match wire {
            BenchTransport::Pipes => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
            }
            BenchTransport::Sockets => {
                let (input, its_input) = UnixStream::pair()?;
                let (output, its_output) = UnixStream::pair()?;
                command.stdin(OwnedFd::from(its_input)).stdout(OwnedFd::from(its_output));
                sockets = Some((input, output));
            }
        }
        let program = command.get_program().display().to_string();
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let (input, output): (Box<dyn Write>, Box<dyn Read>) = match sockets {
            Some((input, output)) => (Box::new(input), Box::new(output)),
            None => {
                let input = child.stdin.take().context("a child without standard input")?;
                let output = child.stdout.take().context("a child without standard output")?;
                (Box::new(input), Box::new(output))
            }
        };
        Ok(Self {
            child,
            input: Some(input),
            output: BufReader::with_capacity(INPUT_BUFFER_BYTES, output),
            last_id: 0,
            answers: Vec::new(),
        })
    }

    /// Begins a session and asks for the tools. The answer is still to be taken, by [`BenchServer::answers`].
    pub(super) fn open(&mut self, era: BenchProtocolEra) -> anyhow::Result<()> {
        let (first, second) = match era {
            BenchProtocolEra::Legacy => {
                let client = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "bench", "version": "0"},
                });
                (self.request("initialize", &client), self.request("tools/list", &json!({})))
            }
            BenchProtocolEra::Modern => {
                let about = json!({"_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }});
                (self.request("server/discover", &about), self.request("tools/list", &about))
            }
        };
        self.send(&first)?;
        self.receive()?;
        if era == BenchProtocolEra::Legacy {
            self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        }
        self.answers.clear();
        self.send(&second)?;
        self.receive()
    }

    /// Makes a call and returns its result with the time it took.
    pub(super) fn call(&mut self, call: &BenchCall) -> anyhow::Result<(Duration, Value)> {
        let request = self.call_request(call);
        let begin = Instant::now();
        self.send(&request)?;
        self.receive()?;
        let elapsed = begin.elapsed();
        let results = self.answers()?;
        let result = results.into_iter().next().context("an answer without a result")?;
        Ok((elapsed, result))
    }

    /// Makes calls, so many at a time, and returns their results, in whatever order, with the time of all.
    ///
    /// The server must be able to take in the requests of all calls in flight while it waits for the client to
    /// take its answers, or both wait for ever: requests or answers have to be small.
    pub(super) fn call_all(
        &mut self,
        calls: &[BenchCall],
        in_flight: usize,
    ) -> anyhow::Result<(Duration, Vec<Value>)> {
        let requests: Vec<Vec<u8>> = calls.iter().map(|call| self.call_request(call)).collect();
        let (first, rest) = requests.split_at(in_flight.min(requests.len()));
        let mut rest = rest.iter();
        let begin = Instant::now();
        for request in first {
            self.send(request)?;
        }
        for _ in &requests {
            self.receive()?;
            if let Some(request) = rest.next() {
                self.send(request)?;
            }
        }
        let elapsed = begin.elapsed();
        Ok((elapsed, self.answers()?))
    }

    /// Returns what a resource holds.
    pub(super) fn read_resource(&mut self, uri: &str) -> anyhow::Result<String> {
        let request = self.request("resources/read", &json!({"uri": uri}));
        self.send(&request)?;
        self.receive()?;
        let results = self.answers()?;
        let text = results.first().and_then(|result| result.pointer("/contents/0/text"));
        Ok(text.and_then(Value::as_str).context("a resource without text")?.to_owned())
    }

    /// Takes the results that have come. An answer that is an error, of the protocol or of a tool, is one here.
    pub(super) fn answers(&mut self) -> anyhow::Result<Vec<Value>> {
        let lines = std::mem::take(&mut self.answers);
        lines.split_inclusive(|byte| *byte == b'\n').map(result_of).collect()
    }

    /// Returns the size of the answer that came last, without the end of its line.
    pub(super) fn answer_bytes(&self) -> usize {
        self.answers.len().saturating_sub(1)
    }

    /// Returns how much memory the server uses.
    pub(super) fn memory(&self) -> anyhow::Result<ProcessMemory> {
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let memory = files::read(Path::new(&path))?;
        let bytes = |name: &str| {
            let kilobytes = first_of(&memory, name).and_then(|value| value.strip_suffix(" kB"));
            let kilobytes = kilobytes.with_context(|| format!("{path} has no {name}"))?;
            let kilobytes: u64 = kilobytes.trim().parse().context("the size is no number")?;
            anyhow::Ok(kilobytes * 1024)
        };
        // A changed page of a private mapping is anonymous. The kernel also counts pages as dirty whose file was just written.
        Ok(ProcessMemory { private_bytes: bytes("Anonymous")?, all_bytes: bytes("Rss")? })
    }

    fn call_request(&mut self, call: &BenchCall) -> Vec<u8> {
        let mut params = json!({"name": call.tool, "arguments": call.arguments});
        if let Some(run) = &call.run {
            params["_meta"] = json!({"haft/run": run});
        }
        self.request("tools/call", &params)
    }

    fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        format!("{request}\n").into_bytes()
    }

    fn send(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("the server's input is closed")?;
        input.write_all(line).context("the server does not read")
    }

    fn receive(&mut self) -> anyhow::Result<()> {
        let count = self.output.read_until(b'\n', &mut self.answers)?;
        if count == 0 {
            bail!("the server ended without an answer");
        }
        Ok(())
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + Duration::from_millis(EXIT_WAIT_MS_MAX);
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // It did not end by itself. If it cannot be killed either, there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn result_of(line: &[u8]) -> anyhow::Result<Value> {
    let mut answer: Value = serde_json::from_slice(line).context("an answer that is not JSON")?;
    match answer.get_mut("result").map(Value::take) {
        Some(result) if result.get("isError") != Some(&Value::Bool(true)) => Ok(result),
        Some(result) => bail!("the call failed: {result}"),
        None => bail!("expected a result, found {answer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_result_that_is_no_error_is_one() {
        let check = |line: &str| result_of(line.as_bytes()).map_err(|err| err.to_string());
        assert_eq!(
            check("{\"id\":1,\"result\":{\"isError\":false}}\n"),
            Ok(json!({"isError": false}))
        );
        assert_eq!(
            check(r#"{"result":{"isError":true}}"#),
            Err(r#"the call failed: {"isError":true}"#.to_owned())
        );
        assert_eq!(
            check(r#"{"error":{"code":1}}"#),
            Err(r#"expected a result, found {"error":{"code":1}}"#.to_owned())
        );
        assert!(check("nonsense").is_err());
    }

    /// Answers every line with a result that holds it.
    const ECHO: &str = r#"while read -r line; do echo "{\"result\":$line}"; done"#;

    #[test]
    fn a_server_is_spoken_to_over_pipes_and_sockets() {
        for wire in [BenchTransport::Pipes, BenchTransport::Sockets] {
            let mut command = Command::new("sh");
            command.args(["-c", ECHO]);
            let mut server = BenchServer::start(command, wire).expect("a shell starts");
            let call = |number| BenchCall::new("read", json!({"number": number}));
            let (_, result) = server.call(&call(7)).expect("it answers");
            assert_eq!(result["params"], json!({"name": "read", "arguments": {"number": 7}}));
            let calls: Vec<BenchCall> = (0..40).map(call).collect();
            let (_, results) = server.call_all(&calls, 16).expect("it answers");
            let ids: Vec<u64> = results.iter().filter_map(|result| result["id"].as_u64()).collect();
            assert_eq!(ids, (2..42).collect::<Vec<_>>(), "{wire:?}");
            let memory = server.memory().expect("it runs");
            assert!(memory.private_bytes > 0 && memory.private_bytes <= memory.all_bytes);
        }
    }

    #[test]
    fn a_server_that_ends_early_is_an_error() {
        let mut server =
            BenchServer::start(Command::new("true"), BenchTransport::Pipes).expect("it starts");
        let call = BenchCall::new("read", json!({}));
        assert!(server.call(&call).is_err());
    }
}
