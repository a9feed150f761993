//! An editor that is nothing but lines of JSON: what it sends and is told is the protocol as it stands on the wire.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};

/// A process of `haft acp`, and what it said that was no answer.
pub(crate) struct Wire {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    requests: u64,
    told: Vec<Value>,
}

impl Wire {
    /// Starts the command and introduces the editor, which takes notices.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wire = Self { child, input, lines, requests: 0, told: Vec::new() };
        let capabilities = json!({"session": {"notices": {}}});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        assert_eq!(wire.request("initialize", hello)["result"]["protocolVersion"], 1);
        wire
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{line}").unwrap();
        id
    }

    /// Returns what comes next; nothing when the process has said all.
    fn receive(&mut self) -> Option<Value> {
        let line = self.lines.next()?.ok()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Returns the answer to a request; nothing if the process ends before.
    fn answer(&mut self, id: u64) -> Option<Value> {
        loop {
            let message = self.receive()?;
            if message["id"] == id && message.get("method").is_none() {
                return Some(message);
            }
            self.told.push(message);
        }
    }

    /// Sends a request and returns its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id).unwrap()
    }

    /// Reads so many updates, or all until the request is answered; returns whether there were so many.
    pub(crate) fn updates_before(&mut self, id: u64, updates: usize) -> bool {
        for _ in 0..updates {
            match self.receive() {
                Some(message) if message["id"] != id => self.told.push(message),
                _ => return false,
            }
        }
        true
    }

    /// Opens a session in a directory and returns the answer.
    pub(crate) fn open(&mut self, method: &str, session: Option<&str>, directory: &str) -> Value {
        let mut params = json!({"cwd": directory, "mcpServers": []});
        if let Some(session) = session {
            params["sessionId"] = session.into();
        }
        self.request(method, params)
    }

    /// Sends a prompt and returns its id.
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let text = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": text}))
    }

    /// Says something and returns the answer.
    pub(crate) fn say(&mut self, session: &str, text: &str) -> Value {
        let id = self.prompt(session, text);
        self.answer(id).unwrap()
    }

    /// Returns the updates since the last time, one line each.
    pub(crate) fn told(&mut self) -> String {
        self.updates().iter().map(line).collect()
    }

    /// Returns the updates since the last time.
    pub(crate) fn updates(&mut self) -> Vec<Value> {
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|mut told| told["params"]["update"].take()).collect()
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Goes away, and returns how the process ended.
    pub(crate) fn end(self) -> Output {
        let Self { child, input, .. } = self;
        drop(input);
        child.wait_with_output().unwrap()
    }
}

/// Returns what can be compared of an update, on one line.
fn line(update: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut words = vec![text(&update["sessionUpdate"])];
    for name in ["toolCallId", "status", "title", "description"] {
        words.extend(update[name].as_str().map(str::to_owned));
    }
    match &update["content"] {
        Value::Array(contents) => {
            words.extend(contents.iter().map(|content| text(&content["content"]["text"])));
        }
        content => words.extend(content["text"].as_str().map(|text| format!("{text:?}"))),
    }
    format!("{}\n", words.join(" ").replace('\n', " "))
}
