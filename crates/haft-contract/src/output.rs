//! The answer of a tool before it is cut, recorded and put into an envelope.

use serde::Serialize;
use serde_json::Value;

use crate::{
    ContentPart, EnforcedConfinement, ErrorCode, OutboundConnection, OutputDocument, Refusal,
    RefusalGrounds, RefusalSource, Remedy, WithheldPath,
};

/// A tool's answer.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The answer itself.
    pub body: OutputBody,
    /// The exit status, for tools that ran a command.
    pub exit_code: Option<i32>,
    /// The report about the confinement of the processes that the tool started.
    pub confined: Option<ConfinementReport>,
    /// The text that the tool printed beside its answer, for people; bounded by the tool.
    pub log: Option<String>,
    /// A remark on the answer, such as how the text of a file was converted.
    pub note: Option<String>,
    /// The sentence that a model reads if the answer is empty, such as where a search without a match looked.
    pub empty_note: Option<String>,
    /// The part of a file that the answer is, if it is one.
    pub file_part: Option<FilePart>,
}

/// A part of a file. If a front end shows less than the whole part, it says how to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePart {
    /// Lines.
    Lines {
        /// The number of the first line, from 1.
        first: u64,
        /// The offset of its first byte in the file.
        first_byte: u64,
        /// The number of lines in the file, if it is known.
        total: Option<u64>,
        /// Whether more lines were wanted than a call can answer.
        goes_on: bool,
    },
    /// Bytes.
    Bytes {
        /// The offset of the first byte.
        first: u64,
        /// The size of the file.
        total: u64,
    },
}

/// The report about the confinement of the processes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinementReport {
    /// The enforced confinement.
    pub enforced: EnforcedConfinement,
    /// The connections that they made or were refused.
    pub connections: Vec<OutboundConnection>,
    /// How many connections there were beyond these.
    pub connections_unlisted: u64,
    /// Their changes at protected paths, and how haft undid them.
    pub undone: Vec<String>,
    /// The paths that rules kept from them.
    pub withheld: Vec<WithheldPath>,
    /// How many such paths there were beyond these.
    pub withheld_unlisted: u64,
    /// The paths that rules deny and that appeared while they ran. They may have made or read them.
    pub appeared: Vec<String>,
}

impl ConfinementReport {
    /// Returns the report about processes with this confinement and without connections.
    pub fn new(enforced: EnforcedConfinement) -> Self {
        Self {
            enforced,
            connections: Vec::new(),
            connections_unlisted: 0,
            undone: Vec::new(),
            withheld: Vec::new(),
            withheld_unlisted: 0,
            appeared: Vec::new(),
        }
    }
}

/// The forms of an answer, which decide how it is cut.
#[derive(Clone, Debug)]
pub enum OutputBody {
    /// JSON; over the limit, its text is cut.
    Data(Value),
    /// Text; over the limit in bytes, its end goes to the sidecar.
    Text(String),
    /// A list that is answered under `key`; over the limit in entries, the rest goes to the sidecar.
    Lines {
        /// The field's name in the data.
        key: &'static str,
        /// All entries found.
        lines: Vec<String>,
        /// Whether the search itself stopped early, so that not even the sidecar holds everything.
        incomplete: bool,
    },
    /// Text that was cut while it was produced, because it may be endless.
    Excerpt(Excerpt),
    /// Parts that are more than text; over the limit, their text is answered and cut, since half a picture is of no use.
    Content(Vec<ContentPart>),
    /// A document from elsewhere; over the limit, the end of its text goes to the sidecar.
    Document(OutputDocument),
}

/// The part of a long output that was kept, and where the rest is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The first part; the whole output when nothing was cut.
    pub head: String,
    /// The last part of an output that was cut.
    pub tail: Option<String>,
    /// Size of the whole output, in bytes.
    pub total_bytes: u64,
    /// The file that holds what was cut.
    pub sidecar: Option<String>,
    /// Why there is no such file although something was cut, or why it does not hold everything.
    pub sidecar_error: Option<String>,
}

impl Excerpt {
    /// Returns whether anything was cut.
    pub fn truncated(&self) -> bool {
        self.tail.is_some()
    }
}

impl ToolOutput {
    /// Returns an answer of `body` alone.
    pub fn new(body: OutputBody) -> Self {
        Self {
            body,
            exit_code: None,
            confined: None,
            log: None,
            note: None,
            empty_note: None,
            file_part: None,
        }
    }

    /// Returns an answer of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(OutputBody::Text(text.into()))
    }

    /// Returns an answer of JSON.
    pub fn data(data: Value) -> Self {
        Self::new(OutputBody::Data(data))
    }
}

/// Turns what a tool returns into an [`ToolOutput`]: any serializable value, or an `Output` itself.
pub trait IntoOutput {
    /// Returns the output, or why the value is none.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl<T: Serialize> IntoOutput for T {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        match serde_json::to_value(self) {
            Ok(Value::String(text)) => Ok(ToolOutput::text(text)),
            Ok(data) => Ok(ToolOutput::data(data)),
            Err(err) => Err(ToolError::new(
                ErrorCode::ToolBadOutput,
                format!("the tool's answer is not JSON: {err}"),
            )),
        }
    }
}

/// Why a tool failed, in words for a model.
///
/// It deliberately does not implement [`std::error::Error`], so that `?` turns any error into it.
#[derive(Clone, Debug)]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// The mistake and the next step.
    pub message: String,
    /// The output of the tool until then, such as the output of a command that failed.
    pub output: Option<Box<ToolOutput>>,
    /// The text that the journal stores instead of the message, if the message quotes data that the journal must not store.
    pub recorded: Option<String>,
    /// How far the tool had come, where it knows that better than the runtime can.
    pub failed_at: Option<FailedAt>,
    /// The grounds of a refusal, if they do not follow from the code.
    pub grounds: Option<Box<RefusalGrounds>>,
}

/// How far a tool had come when it failed, as far as its effect is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailedAt {
    /// Nothing that has an effect was begun, not even if the call was told to stop meanwhile.
    Beginning,
    /// In the middle, by an interruption. How much of the effect happened is unknown.
    Middle,
}

impl ToolError {
    /// Returns an error without output.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, output: None, recorded: None, failed_at: None, grounds: None }
    }

    /// Returns the error as a refusal that this decided.
    pub fn decided_by(mut self, source: RefusalSource) -> Self {
        self.grounds = Some(Box::new(RefusalGrounds::new(source)));
        self
    }

    /// Returns the error as a refusal that this change would lift.
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        let code = self.code;
        let of_code = || {
            Box::new(RefusalGrounds::new(
                RefusalSource::of_code(code).unwrap_or(RefusalSource::Contract),
            ))
        };
        self.grounds.get_or_insert_with(of_code).remedies.push(remedy);
        self
    }

    /// Returns the refusal that the error stands for, or `None` if the call failed in another way.
    pub fn refusal(&self) -> Option<Refusal> {
        let grounds = match &self.grounds {
            Some(grounds) => (**grounds).clone(),
            None => RefusalGrounds::new(RefusalSource::of_code(self.code)?),
        };
        Some(grounds.into_refusal(self.code, self.message.clone()))
    }

    /// Returns the error for a call of which nothing was begun that has an effect. Without this, a call that fails
    /// because it was told to stop is taken for one that was interrupted.
    pub fn not_begun(mut self) -> Self {
        self.failed_at = Some(FailedAt::Beginning);
        self
    }

    /// Returns the error for a call that was interrupted, by the end of its process for one. A
    /// [`once`](crate::Effect::Once) effect may have happened then, and the call is in doubt.
    pub fn interrupted(mut self) -> Self {
        self.failed_at = Some(FailedAt::Middle);
        self
    }

    /// Returns the error with what the tool had produced until then.
    pub fn with_output(mut self, output: ToolOutput) -> Self {
        self.output = Some(Box::new(output));
        self
    }

    /// Returns the error with the text that the journal stores instead of its message. A message that quotes a redacted
    /// parameter needs it.
    pub fn recorded_as(mut self, text: impl Into<String>) -> Self {
        self.recorded = Some(text.into());
        self
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(err: E) -> Self {
        Self::new(ErrorCode::ToolFailed, err.to_string())
    }
}
