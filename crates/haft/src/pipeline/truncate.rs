//! Truncates long outputs and puts the rest into sidecars. Never fails a call.

use haft_contract::{
    ContentPart, Contract, Envelope, EnvelopeMetadata, Excerpt, OutputBody, OutputLimit, ToolOutput,
};
use haft_journal::{CallStatus, Intent};
use serde_json::{Value, json};

use super::call_state::CallState;
use super::execute::Executed;
use super::watch::Granted;
use crate::connection_state::ConnectionState;
use crate::sidecar::Sidecars;

/// Longest error message, in bytes.
///
/// Limit (calls): the message is cut and says so.
pub(crate) const ERROR_BYTES_MAX: usize = 64 * 1024;

/// The outcome of a call, with its final envelope.
pub(super) struct CallOutcome {
    /// The open intent, which the recording stage settles.
    pub(super) intent: Intent,
    /// The status that the journal records.
    pub(super) status: CallStatus,
    /// The answer of the call.
    pub(super) envelope: Envelope,
    /// The text that the journal stores instead of the error text.
    pub(super) recorded_message: Option<String>,
}

/// Output within the limit, and the place of the rest.
struct CutOutput {
    /// The output within the limit, as the envelope holds it.
    data: Value,
    /// Whether a part of the output is missing.
    truncated: bool,
    /// The sidecar with all of the output, if it was written.
    output_path: Option<String>,
    /// Why there is no sidecar with the rest.
    sidecar_error: Option<String>,
}

/// Builds the envelope. Output and error messages above their limits are cut.
pub(super) fn truncate(
    state: &CallState,
    granted: &Granted,
    executed: Executed,
    connection: &ConnectionState,
) -> CallOutcome {
    let Executed { intent, result, status, connections, timeout_ms, retry_warning } = executed;
    let (connections, connections_unlisted) = connections.take();
    let parts = &connection.shared.parts;
    let mut metadata = EnvelopeMetadata {
        call_id: Some(state.id().to_string()),
        timeout_ms,
        unsafe_no_sandbox: parts.sandbox.is_off(),
        retry_warning,
        connections,
        connections_unlisted,
        ..EnvelopeMetadata::default()
    };
    let recorded_message = result.as_ref().err().and_then(|err| err.recorded.clone());
    let cutter = OutputCutter::new(state, granted.contract(), connection);
    let envelope = match result {
        Ok(output) => {
            let data = cutter.truncate_output(output, &mut metadata);
            metadata.duration_ms = state.elapsed_ms();
            Envelope::Output { data, metadata }
        }
        Err(err) => {
            metadata.code = Some(err.code);
            metadata.refusal = err.refusal().map(Box::new);
            let mut error_text = err.message;
            if error_text.len() > ERROR_BYTES_MAX {
                // The rest is lost, because only output goes to a sidecar.
                let cut = error_text.len() - ERROR_BYTES_MAX;
                let head = head_of(&error_text, ERROR_BYTES_MAX);
                error_text = format!("{head}… [{cut} more bytes of this message were cut]");
            }
            if let Some(refusal) = &mut metadata.refusal {
                refusal.because.clone_from(&error_text);
            }
            if let Some(output) = err.output {
                let data = cutter.truncate_output(*output, &mut metadata);
                let text = Envelope::Output { data, metadata: metadata.clone() }.text();
                if !text.is_empty() {
                    error_text = format!("{error_text}\n{text}");
                }
            }
            metadata.duration_ms = state.elapsed_ms();
            Envelope::Error { error_text, metadata }
        }
    };
    CallOutcome { intent, status, envelope, recorded_message }
}

/// Cuts the output of one call.
pub(super) struct OutputCutter<'a> {
    /// The id of the tool, for the name of the sidecar.
    tool: &'a str,
    /// The number of the call, for the name of the sidecar.
    seq: u32,
    /// The limit of the tool, if it differs from the configured one.
    output_limit: OutputLimit,
    /// The largest output in bytes that is not cut.
    bytes_max: usize,
    /// The sidecars of the connection.
    sidecars: &'a Sidecars,
}

impl<'a> OutputCutter<'a> {
    /// Returns a cutter with the limits of the tool.
    pub(super) fn new(
        state: &'a CallState,
        contract: &Contract,
        connection: &'a ConnectionState,
    ) -> Self {
        Self {
            tool: state.tool(),
            seq: state.id().seq,
            output_limit: contract.output_limit,
            bytes_max: connection.shared.parts.limits.output_bytes_of(contract),
            sidecars: &connection.sidecars,
        }
    }

    /// Returns the output within its limit, and notes in the metadata what was cut and what the command did.
    pub(super) fn truncate_output(
        &self,
        output: ToolOutput,
        metadata: &mut EnvelopeMetadata,
    ) -> Value {
        metadata.exit_code = output.exit_code;
        metadata.log = output.log;
        if let Some(confined) = output.confined {
            metadata.enforced = Some(confined.enforced);
            metadata.connections.extend(confined.connections);
            metadata.connections_unlisted += confined.connections_unlisted;
            metadata.undone = confined.undone;
            metadata.withheld = confined.withheld;
            metadata.withheld_unlisted = confined.withheld_unlisted;
            metadata.appeared = confined.appeared;
        }
        let is_content = matches!(output.body, OutputBody::Content(_));
        let cut = self.cut_body(output.body);
        metadata.content = is_content && !cut.truncated;
        metadata.truncated = cut.truncated;
        metadata.output_path = cut.output_path;
        metadata.output_lost = cut.sidecar_error;
        cut.data
    }

    /// Cuts the body if it is above the limit, and writes all of it to a sidecar.
    fn cut_body(&self, body: OutputBody) -> CutOutput {
        let bytes_max = self.bytes_max;
        match body {
            OutputBody::Text(text) if text.len() <= bytes_max => uncut_output(Value::String(text)),
            OutputBody::Text(text) => {
                self.write_sidecar([text.as_str()], head_of(&text, bytes_max))
            }
            OutputBody::Data(data) => {
                let text = data.to_string();
                if text.len() <= bytes_max {
                    return uncut_output(data);
                }
                self.write_sidecar([text.as_str()], head_of(&text, bytes_max))
            }
            OutputBody::Lines { key, lines, incomplete } => {
                let entries_max = match self.output_limit {
                    OutputLimit::Entries(entries) => entries,
                    OutputLimit::Configured | OutputLimit::Bytes(_) => usize::MAX,
                };
                let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
                if lines.len() <= entries_max && bytes <= bytes_max && !incomplete {
                    return uncut_output(json!({ key: lines }));
                }
                let shown: Vec<&str> = lines.iter().take(entries_max).map(String::as_str).collect();
                let head = head_of(&shown.join("\n"), bytes_max);
                // The matches of a search can be ten megabytes, so they are written without joining them first.
                let mut cut =
                    self.write_sidecar(lines.iter().flat_map(|line| [line.as_str(), "\n"]), head);
                if incomplete {
                    cut.sidecar_error
                        .get_or_insert_with(|| "the search stopped before its end".to_owned());
                }
                cut
            }
            OutputBody::Excerpt(Excerpt { head, tail: None, .. }) => {
                uncut_output(json!({ "output": head }))
            }
            OutputBody::Excerpt(excerpt) => CutOutput {
                data: json!({
                    "head": excerpt.head,
                    "tail": excerpt.tail,
                    "total_bytes": excerpt.total_bytes,
                }),
                truncated: true,
                output_path: excerpt.sidecar,
                sidecar_error: excerpt.sidecar_error,
            },
            OutputBody::Document(document) if document.text.len() <= bytes_max => {
                uncut_output(document.data(false))
            }
            OutputBody::Document(mut document) => {
                let head = head_of(&document.text, bytes_max);
                let cut = self.write_sidecar([document.text.as_str()], head.clone());
                document.text = head;
                CutOutput { data: document.data(true), ..cut }
            }
            OutputBody::Content(parts) => {
                let data = ContentPart::data(&parts);
                let all = data.to_string();
                if all.len() <= bytes_max {
                    return uncut_output(data);
                }
                // Cut parts become text, because half a picture is useless.
                let texts: Vec<String> = parts.iter().map(ContentPart::text).collect();
                self.write_sidecar([all.as_str()], head_of(&texts.join("\n"), bytes_max))
            }
        }
    }

    /// Returns `head` and writes all `pieces` to a sidecar.
    fn write_sidecar<'p>(
        &self,
        pieces: impl IntoIterator<Item = &'p str>,
        head: String,
    ) -> CutOutput {
        let written = self.sidecars.write(self.tool, self.seq, pieces);
        let (output_path, output_lost) = match written {
            Ok(path) => (Some(path.to_string_lossy().into_owned()), None),
            Err(err) => (None, Some(format!("the rest could not be kept: {err}"))),
        };
        CutOutput {
            data: json!({"head": head}),
            truncated: true,
            output_path,
            sidecar_error: output_lost,
        }
    }
}

/// Returns output that is within its limit.
fn uncut_output(data: Value) -> CutOutput {
    CutOutput { data, truncated: false, output_path: None, sidecar_error: None }
}

/// Returns the first bytes of a text, at most `bytes_max`, without a broken character.
fn head_of(text: &str, bytes_max: usize) -> String {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text).to_owned()
}
