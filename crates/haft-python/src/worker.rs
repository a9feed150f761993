//! One worker process: a warm interpreter that holds one file and answers one call after the other. What it says is data of
//! the tool; whether it is used again, and by which call, is not decided here.

use std::path::{Path, PathBuf};

use haft_contract::{
    Channel, Ending, Output, Received, Resident, ResidentRequest, Residents, RunId, ToolError,
    Writable,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::directory::{SourceFile, ToolDirectory};
use crate::limits::{
    ANSWER_BYTES_MAX, CAUSES_MAX, FRAMES_MAX, LOG_BYTES_MAX, MESSAGE_CHARS_MAX, RESULT_BYTES_MAX,
    RESULT_DEPTH_MAX,
};
use crate::reading::as_characters;

const SCRIPT: &str = include_str!("python/worker.py");

/// What a worker runs and under what.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) directory: ToolDirectory,
    pub(crate) source: SourceFile,
    pub(crate) function: String,
    pub(crate) writable: Writable,
    /// Whether it may do more than read the workspace, by the grant of a call.
    pub(crate) is_granted_more: bool,
    pub(crate) memory_bytes: Option<u64>,
}

/// For whom a worker was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The run, where what the worker may do was granted to it. What one run was granted is not another one's.
    pub(crate) run: Option<RunId>,
    /// How the session is narrowed. What a worker saw for one, it has seen for all whom it serves.
    pub(crate) narrowing: String,
}

/// One call, as the worker is asked for it.
#[derive(Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) arguments: &'a Value,
    pub(crate) context: Option<Value>,
}

/// What a worker answered.
pub(crate) enum Answer {
    /// The function's result.
    Result(Value),
    /// Why there is none. The worker goes on.
    Failure(Failure),
    /// It was not even asked, because it had ended; how, in words.
    Unasked(String),
    /// The worker cannot be used any more, for this reason.
    Lost(Lost),
}

/// Why a function gave no result.
#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    #[serde(rename = "type")]
    pub(crate) exception: String,
    pub(crate) message: String,
    pub(crate) traceback: Vec<String>,
}

/// What of a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// Loading the file.
    Load,
    /// The function raised something.
    Exception,
    /// The result is not JSON.
    Result,
}

/// How a worker was lost.
pub(crate) enum Lost {
    /// It ended; how, in words.
    Ended(String),
    /// It said what cannot be understood.
    Garbled(String),
}

#[derive(Deserialize)]
struct Line {
    /// Of the request that it answers.
    number: u64,
    resident_bytes: u64,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<Failure>,
}

/// A process that runs.
pub(crate) struct Worker {
    resident: Box<dyn Resident>,
    line: Vec<u8>,
    /// The number of the next request. Lines that answer none are not taken for the answer to another.
    number: u64,
    /// For whom it was started; calls for others need another worker.
    pub(crate) home: Home,
    /// Memory that it held after its last call, as it says itself.
    pub(crate) resident_bytes: u64,
}

impl Worker {
    /// Starts a process. The file is loaded by the first request, [`Worker::load`].
    pub(crate) async fn start(
        spec: &Spec,
        home: Home,
        residents: &dyn Residents,
    ) -> Result<Self, ToolError> {
        let resident = residents.start(request(spec, &home.root)).await?;
        Ok(Self { resident, line: Vec::new(), number: 0, home, resident_bytes: 0 })
    }

    /// Hands the checked source over and has it loaded.
    pub(crate) async fn load(&mut self, spec: &Spec) -> Answer {
        let request = json!({"number": self.number, "load": {
            "path": spec.source.path.to_string_lossy(),
            "source": as_characters(&spec.source.bytes),
            "module": spec.source.module,
            "package_root": spec.directory.package_root.as_ref().map(|root| root.to_string_lossy()),
            "function": spec.function,
            "bounds": {
                "depth": RESULT_DEPTH_MAX,
                "result_bytes": RESULT_BYTES_MAX,
                "message_chars": MESSAGE_CHARS_MAX,
                "frames": FRAMES_MAX,
                "causes": CAUSES_MAX,
            },
        }});
        self.ask(request.to_string()).await
    }

    /// Has the function called.
    pub(crate) async fn call(&mut self, request: &Request<'_>) -> Answer {
        match serde_json::to_string(&json!({ "number": self.number, "call": request })) {
            Ok(text) => self.ask(text).await,
            Err(err) => Answer::Lost(Lost::Garbled(format!("it could not be asked: {err}"))),
        }
    }

    /// Returns whether the process lives and has said nothing that it was not asked for.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let has_ended = tokio::select! {
            biased;
            _ = self.resident.ended() => true,
            () = std::future::ready(()) => false,
        };
        self.line.clear();
        let has_spoken = tokio::select! {
            biased;
            // A single byte is too much for a line of none.
            _ = self.resident.receive(&mut self.line, 0) => true,
            () = std::future::ready(()) => false,
        };
        !has_ended && !has_spoken
    }

    /// Kills the process with everything that it started, waits until that is done and what it left at protected places
    /// is put right, and returns what is said of it.
    pub(crate) async fn end(mut self) -> Output {
        self.resident.kill();
        if let Err(err) = self.resident.ended().await {
            tracing::warn!(error = %err.message, "the end of a Python worker could not be seen");
        }
        self.surroundings().await
    }

    /// Returns an output of nothing but what the tool printed, and what its process was confined to and did, since this was
    /// last asked.
    pub(crate) async fn surroundings(&mut self) -> Output {
        let log = self.take_log().await;
        Output { log, confined: Some(self.resident.take_confined()), ..Output::text("") }
    }

    /// Returns what was printed, its middle left out if it is too much.
    async fn take_log(&mut self) -> Option<String> {
        let printed = self.resident.take_output().await;
        let tail = printed.tail.as_deref();
        let kept = printed.head.len() + tail.map_or(0, str::len);
        let left_out = printed.total_bytes.saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX));
        let text = match tail {
            Some(tail) => format!("{}{}{tail}", printed.head, left_out_note(left_out)),
            None => printed.head,
        };
        (!text.is_empty()).then(|| without_middle(&text, LOG_BYTES_MAX))
    }

    async fn ask(&mut self, mut text: String) -> Answer {
        text.push('\n');
        if self.resident.send(text.as_bytes()).await.is_err() {
            // Without its end a request is none, so nothing was done about it.
            return Answer::Unasked(self.how_it_ended().await);
        }
        self.line.clear();
        match self.resident.receive(&mut self.line, ANSWER_BYTES_MAX).await {
            Ok(Received::Line) => self.understand(),
            Ok(Received::TooLong) => {
                Answer::Lost(Lost::Garbled(format!("it said more than {ANSWER_BYTES_MAX} bytes")))
            }
            Ok(Received::Closed) | Err(_) => Answer::Lost(Lost::Ended(self.how_it_ended().await)),
        }
    }

    fn understand(&mut self) -> Answer {
        match serde_json::from_slice::<Line>(&self.line) {
            Err(err) => Answer::Lost(Lost::Garbled(err.to_string())),
            Ok(Line { number, .. }) if number != self.number => {
                let expected = self.number;
                Answer::Lost(Lost::Garbled(format!(
                    "it answers request {number}, and {expected} was asked"
                )))
            }
            Ok(Line { resident_bytes, result, error, .. }) => {
                self.number += 1;
                self.resident_bytes = resident_bytes;
                error.map_or(Answer::Result(result), Answer::Failure)
            }
        }
    }

    /// Says how the process ended. One that only closed its channel is waited for until the call is stopped, as any that
    /// does not answer.
    async fn how_it_ended(&mut self) -> String {
        let how = match self.resident.ended().await {
            Ok(Ending::Exited(status)) => format!("ended with status {status}"),
            Ok(Ending::Signalled(signal)) => format!("was ended by signal {signal}"),
            Ok(Ending::TimedOut | Ending::Aborted) => "was stopped".to_owned(),
            Err(err) => format!("ended, and it cannot be said how: {}", err.message),
        };
        let bound = self.resident.exceeded().map(|bound| format!(": {bound}")).unwrap_or_default();
        format!("{how}{bound}")
    }
}

fn request(spec: &Spec, root: &Path) -> ResidentRequest {
    let mut request = ResidentRequest::new(&spec.directory.interpreter);
    // Isolated: neither the working directory nor the user's own packages are imported from. A virtual environment is.
    request.args = ["-I", "-B", "-X", "utf8", "-c", SCRIPT].map(Into::into).to_vec();
    // Roots are readable as they are, and writable where that was granted, which this must not take back.
    request.readable = spec.directory.readable();
    request.readable.retain(|path| !path.starts_with(root));
    request.writable = spec.writable.clone();
    request.channel = Channel::Descriptor;
    request.memory_bytes = spec.memory_bytes;
    request
}

/// Leaves out the middle of a text that is too long.
pub(crate) fn without_middle(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(bytes_max / 4)).unwrap_or_default();
    let tail_from = text.ceil_char_boundary(text.len() - (bytes_max - bytes_max / 4));
    let tail = text.get(tail_from..).unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}{}{tail}", left_out_note(u64::try_from(left_out).unwrap_or(u64::MAX)))
}

fn left_out_note(bytes: u64) -> String {
    format!("\n[{bytes} bytes left out]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle_between_characters() {
        assert_eq!(without_middle("abcdefgh", 8), "abcdefgh");
        assert_eq!(without_middle("abcdefghi", 8), "ab\n[1 bytes left out]\ndefghi");
        assert_eq!(without_middle("ääää\u{1f600}ä", 8), "ä\n[6 bytes left out]\n\u{1f600}ä");
    }
}
