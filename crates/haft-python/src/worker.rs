//! One worker process: a warm interpreter that has loaded one file and answers one call after the
//! other. Its answers are data of the tool; the pool decides which calls use it.

use std::path::PathBuf;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, ChannelRead, ProcessChannel,
    ProcessEnding, ProcessWriteAccess, RunId, ToolError, ToolOutput, signal_text,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::directory::{SourceFile, ToolDirectory};
use crate::limits::{
    ANSWER_BYTES_MAX, CAUSES_MAX, FRAMES_MAX, LOG_BYTES_MAX, MESSAGE_CHARS_MAX, RESULT_BYTES_MAX,
    RESULT_DEPTH_MAX,
};
use crate::parsed_file::as_characters;

const SCRIPT: &str = include_str!("python/worker.py");

/// The file that a worker runs, and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct WorkerSpec {
    pub(crate) directory: ToolDirectory,
    pub(crate) source: SourceFile,
    pub(crate) function: String,
    pub(crate) writable: ProcessWriteAccess,
    /// Whether the grant of a call lets it do more than read the workspace.
    pub(crate) is_granted_more: bool,
    pub(crate) memory_bytes: Option<u64>,
    /// Whether a call sees what an earlier one left in the globals of the process.
    pub(crate) is_stateful: bool,
}

/// The scope in which a worker may be reused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WorkerScope {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// The run, if the worker was granted more than reading. Another run does not share that grant.
    pub(crate) run: Option<RunId>,
    /// The restrictions of the session. Data that a worker saw under one set of restrictions must
    /// not reach another.
    pub(crate) restrictions: String,
}

/// A worker's answer.
pub(crate) enum PythonAnswer {
    /// The function's result.
    Result(Value),
    /// An error of the call. The worker continues.
    Failure(PythonFailure),
    /// The request was not sent, because the worker had ended; how it ended, as text.
    NotSent(String),
    /// The worker is lost, for this reason.
    Lost(WorkerLoss),
}

/// Why a function gave no result.
#[derive(Debug, Deserialize)]
pub(crate) struct PythonFailure {
    pub(crate) kind: PythonFailureKind,
    #[serde(rename = "type")]
    pub(crate) exception: String,
    pub(crate) message: String,
    pub(crate) traceback: Vec<String>,
}

/// The failed step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PythonFailureKind {
    /// Loading the file.
    Load,
    /// The function raised an exception.
    Exception,
    /// The result is not JSON.
    Result,
}

/// How a worker was lost.
pub(crate) enum WorkerLoss {
    /// It ended; how, as text.
    Ended(String),
    /// It sent an invalid reply.
    InvalidReply(String),
}

impl WorkerLoss {
    /// Returns the loss in words about the process.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Ended(how) => format!("its process {how}"),
            Self::InvalidReply(why) => format!("its answer could not be understood: {why}"),
        }
    }
}

#[derive(Deserialize)]
struct WorkerReplyLine {
    /// The number of the request that it answers.
    number: u64,
    resident_bytes: u64,
    /// Whether the process can serve no further call without showing it the state of this one.
    #[serde(default)]
    is_spent: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<PythonFailure>,
}

/// A running process.
pub(crate) struct PythonWorker {
    process: Box<dyn BackgroundProcess>,
    line: Vec<u8>,
    /// The number of the next request. A line with another number is never taken for its answer.
    number: u64,
    /// Its scope; calls of other scopes need another worker.
    pub(crate) scope: WorkerScope,
    /// Memory that it used after its last call, as it reported.
    pub(crate) resident_bytes: u64,
    /// Whether it reported that it can serve no further call.
    pub(crate) is_spent: bool,
}

impl PythonWorker {
    /// Starts a process. The first request, [`PythonWorker::load`], loads the file.
    pub(crate) async fn start(
        spec: &WorkerSpec,
        home: WorkerScope,
        residents: &dyn BackgroundProcesses,
    ) -> Result<Self, ToolError> {
        let mut request = BackgroundProcessRequest::new(&spec.directory.interpreter);
        // Isolated: nothing is imported from the working directory or the user's own packages. A
        // virtual environment is used.
        request.args = ["-I", "-B", "-X", "utf8", "-c", SCRIPT].map(Into::into).to_vec();
        // Roots are already readable, and writable where granted; naming them here would revoke that.
        request.readable = spec.directory.readable();
        request.readable.retain(|path| !path.starts_with(&home.root));
        request.writable = spec.writable.clone();
        request.channel = ProcessChannel::Descriptor;
        request.memory_bytes = spec.memory_bytes;
        let process = residents.start(request).await?;
        Ok(Self {
            process,
            line: Vec::new(),
            number: 0,
            scope: home,
            resident_bytes: 0,
            is_spent: false,
        })
    }

    /// Sends the checked source and loads it.
    pub(crate) async fn load(&mut self, spec: &WorkerSpec) -> PythonAnswer {
        let request = json!({"number": self.number, "load": {
            "path": spec.source.path.to_string_lossy(),
            "source": as_characters(&spec.source.bytes),
            "module": spec.source.module,
            "package_root": spec.directory.package_root.as_ref().map(|root| root.to_string_lossy()),
            "function": spec.function,
            // A process that may write serves one call, which has no earlier one.
            "is_stateful": spec.is_stateful || spec.writable != ProcessWriteAccess::Nothing,
            "bounds": {
                "depth": RESULT_DEPTH_MAX,
                "result_bytes": RESULT_BYTES_MAX,
                "message_chars": MESSAGE_CHARS_MAX,
                "frames": FRAMES_MAX,
                "causes": CAUSES_MAX,
            },
        }});
        self.send_request(request.to_string()).await
    }

    /// Calls the function.
    pub(crate) async fn call(&mut self, arguments: &Value, context: Option<Value>) -> PythonAnswer {
        let call = json!({ "arguments": arguments, "context": context });
        self.send_request(json!({ "number": self.number, "call": call }).to_string()).await
    }

    /// Returns whether the process is alive and has sent nothing without a request.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let has_ended = tokio::select! {
            biased;
            _ = self.process.wait_for_exit() => true,
            () = std::future::ready(()) => false,
        };
        self.line.clear();
        let has_sent_line = tokio::select! {
            biased;
            // A maximum of 0 bytes rejects any line, so a received byte is an error.
            _ = self.process.receive(&mut self.line, 0) => true,
            () = std::future::ready(()) => false,
        };
        !has_ended && !has_sent_line
    }

    /// Kills the process with all its child processes. Waits until that is done and its changes at
    /// protected paths are reverted, and returns its report.
    pub(crate) async fn end(mut self) -> ToolOutput {
        self.process.kill();
        if let Err(err) = self.process.wait_for_exit().await {
            tracing::warn!(error = %err.message, "the end of a Python worker could not be seen");
        }
        self.take_process_report().await
    }

    /// Returns an output with only the tool's printed text and the confinement and actions of its
    /// process, since the last call of this function.
    pub(crate) async fn take_process_report(&mut self) -> ToolOutput {
        let printed = self.process.take_output().await;
        let tail = printed.tail.as_deref();
        let kept = printed.head.len() + tail.map_or(0, str::len);
        let left_out = printed.total_bytes.saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX));
        let text = match tail {
            Some(tail) => format!("{}{}{tail}", printed.head, omitted_note(left_out)),
            None => printed.head,
        };
        let log = (!text.is_empty()).then(|| cut_middle(&text, LOG_BYTES_MAX));
        ToolOutput { log, confined: Some(self.process.take_confinement()), ..ToolOutput::text("") }
    }

    async fn send_request(&mut self, mut text: String) -> PythonAnswer {
        text.push('\n');
        if self.process.send(text.as_bytes()).await.is_err() {
            // A request without its end is ignored, so nothing has been executed.
            return PythonAnswer::NotSent(self.describe_end().await);
        }
        self.line.clear();
        let invalid = |why: String| PythonAnswer::Lost(WorkerLoss::InvalidReply(why));
        match self.process.receive(&mut self.line, ANSWER_BYTES_MAX).await {
            Ok(ChannelRead::Line) => {}
            Ok(ChannelRead::TooLong) => {
                return invalid(format!("it sent more than {ANSWER_BYTES_MAX} bytes"));
            }
            Ok(ChannelRead::Closed) | Err(_) => {
                return PythonAnswer::Lost(WorkerLoss::Ended(self.describe_end().await));
            }
        }
        match serde_json::from_slice::<WorkerReplyLine>(&self.line) {
            Err(err) => invalid(err.to_string()),
            Ok(WorkerReplyLine { number, .. }) if number != self.number => {
                invalid(format!("it answered request {number}, expected {}", self.number))
            }
            Ok(WorkerReplyLine { resident_bytes, is_spent, result, error, .. }) => {
                self.number += 1;
                self.resident_bytes = resident_bytes;
                self.is_spent = is_spent;
                error.map_or(PythonAnswer::Result(result), PythonAnswer::Failure)
            }
        }
    }

    /// Returns how the process ended. If it only closed its channel, this waits until the call is
    /// stopped, like any call without an answer.
    async fn describe_end(&mut self) -> String {
        let how = match self.process.wait_for_exit().await {
            Ok(ProcessEnding::Exited(status)) => format!("ended with status {status}"),
            Ok(ProcessEnding::Signalled(signal)) => {
                format!("was ended by {}", signal_text(signal))
            }
            Ok(ProcessEnding::TimedOut | ProcessEnding::Aborted) => "was stopped".to_owned(),
            Err(err) => format!("ended, and the reason is unknown: {}", err.message),
        };
        let bound =
            self.process.exceeded_limit().map(|bound| format!(": {bound}")).unwrap_or_default();
        format!("{how}{bound}")
    }
}

/// Removes the middle of a text that is too long.
pub(crate) fn cut_middle(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(bytes_max / 4)).unwrap_or_default();
    let tail_from = text.ceil_char_boundary(text.len() - (bytes_max - bytes_max / 4));
    let tail = text.get(tail_from..).unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}{}{tail}", omitted_note(u64::try_from(left_out).unwrap_or(u64::MAX)))
}

fn omitted_note(bytes: u64) -> String {
    format!("\n[{bytes} bytes left out]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle_between_characters() {
        assert_eq!(cut_middle("abcdefgh", 8), "abcdefgh");
        assert_eq!(cut_middle("abcdefghi", 8), "ab\n[1 bytes left out]\ndefghi");
        assert_eq!(cut_middle("ääää\u{1f600}ä", 8), "ä\n[6 bytes left out]\n\u{1f600}ä");
    }
}
