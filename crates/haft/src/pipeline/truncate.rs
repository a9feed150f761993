//! Cuts long outputs and puts the rest into sidecars. Never fails a call.

use haft_contract::limits::OUTPUT_BYTES_MAX;
use haft_contract::{
    Body, Content, Contract, Envelope, Excerpt, Metadata, Output, OutputLimit, ToolError,
};
use haft_journal::{Intent, Status};
use serde_json::{Value, json};

use super::arrive::Entry;
use super::execute::Executed;
use super::watch::Watched;
use crate::run::RunState;
use crate::runtime::Limits;

/// An error message, in bytes; tools that have more to say say it in their output.
pub(crate) const ERROR_BYTES_MAX: usize = 64 * 1024;

/// A call with its answer in the form that leaves.
pub(super) struct Truncated {
    entry: Entry,
    intent: Intent,
    status: Status,
    envelope: Envelope,
    recorded: Option<String>,
}

/// Text at most as long as allowed, and where the rest is.
struct Cut {
    data: Value,
    truncated: bool,
    output_path: Option<String>,
    output_lost: Option<String>,
}

pub(super) fn truncate(executed: Executed, run: &RunState) -> Truncated {
    let (connections, connections_unlisted) = executed.network().take();
    let timeout_ms = executed.timeout_ms();
    let (watched, intent, result, status) = executed.into_parts();
    let entry = watched.capable().valid().entry();
    let mut metadata = Metadata {
        call_id: Some(entry.id().to_string()),
        timeout_ms,
        unsafe_no_sandbox: run.session.shared.parts.sandbox.is_off(),
        retry_warning: watched.capable().valid().retry_warning().map(str::to_owned),
        connections,
        connections_unlisted,
        ..Metadata::default()
    };
    let recorded = result.as_ref().err().and_then(|err| err.recorded.clone());
    let envelope = match result {
        Ok(output) => {
            let data = apply(output, &mut metadata, &watched, run);
            metadata.duration_ms = entry.elapsed_ms();
            Envelope::Output { data, metadata }
        }
        Err(err) => {
            let error_text = error_text(err, &mut metadata, &watched, run);
            metadata.duration_ms = entry.elapsed_ms();
            Envelope::Error { error_text, metadata }
        }
    };
    Truncated { entry: watched.into_entry(), intent, status, envelope, recorded }
}

/// Returns how many bytes of text an answer of this tool may have.
pub(super) fn bytes_max(contract: &Contract, limits: &Limits) -> usize {
    let bytes = match contract.output_limit {
        OutputLimit::Configured | OutputLimit::Entries(_) => limits.output_bytes,
        OutputLimit::Bytes(declared) => declared.min(limits.output_bytes),
    };
    bytes.min(OUTPUT_BYTES_MAX)
}

pub(super) fn apply(
    output: Output,
    metadata: &mut Metadata,
    watched: &Watched,
    run: &RunState,
) -> Value {
    metadata.exit_code = output.exit_code;
    metadata.log = output.log;
    if let Some(confined) = output.confined {
        metadata.enforced = Some(confined.enforced);
        metadata.connections.extend(confined.connections);
        metadata.connections_unlisted += confined.connections_unlisted;
        metadata.undone = confined.undone;
    }
    let is_content = matches!(output.body, Body::Content(_));
    let cut = cut(output.body, watched, run);
    metadata.content = is_content && !cut.truncated;
    metadata.truncated = cut.truncated;
    metadata.output_path = cut.output_path;
    metadata.output_lost = cut.output_lost;
    cut.data
}

/// Puts what a failed tool had produced behind its message.
fn error_text(
    err: ToolError,
    metadata: &mut Metadata,
    watched: &Watched,
    run: &RunState,
) -> String {
    metadata.code = Some(err.code);
    let message = cut_message(err.message);
    let Some(output) = err.output else { return message };
    let data = apply(*output, metadata, watched, run);
    let text = Envelope::Output { data, metadata: metadata.clone() }.text();
    if text.is_empty() { message } else { format!("{message}\n{text}") }
}

/// Cuts a message that a tool made too long. It has no sidecar, because a message is no output.
fn cut_message(message: String) -> String {
    if message.len() <= ERROR_BYTES_MAX {
        return message;
    }
    let cut = message.len() - ERROR_BYTES_MAX;
    format!("{}… [{cut} more bytes of this message were cut]", head_of(&message, ERROR_BYTES_MAX))
}

fn cut(body: Body, watched: &Watched, run: &RunState) -> Cut {
    let contract = watched.capable().valid().contract();
    let bytes_max = bytes_max(contract, &run.session.shared.parts.limits);
    match body {
        Body::Text(text) if text.len() <= bytes_max => whole(Value::String(text)),
        Body::Text(text) => keep([text.as_str()], head_of(&text, bytes_max), watched, run),
        Body::Data(data) => {
            let text = data.to_string();
            if text.len() <= bytes_max {
                return whole(data);
            }
            keep([text.as_str()], head_of(&text, bytes_max), watched, run)
        }
        Body::Lines { key, lines, incomplete } => {
            let entries_max = match contract.output_limit {
                OutputLimit::Entries(entries) => entries,
                OutputLimit::Configured | OutputLimit::Bytes(_) => usize::MAX,
            };
            let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
            if lines.len() <= entries_max && bytes <= bytes_max && !incomplete {
                return whole(json!({ key: lines }));
            }
            let shown: Vec<&str> = lines.iter().take(entries_max).map(String::as_str).collect();
            let head = head_of(&shown.join("\n"), bytes_max);
            // A search may have found ten megabytes, which are not put together once more only to be written.
            let mut cut =
                keep(lines.iter().flat_map(|line| [line.as_str(), "\n"]), head, watched, run);
            if incomplete {
                cut.output_lost
                    .get_or_insert_with(|| "the search stopped before its end".to_owned());
            }
            cut
        }
        Body::Excerpt(excerpt) => excerpt_data(excerpt),
        Body::Document(document) if document.text.len() <= bytes_max => whole(document.data(false)),
        Body::Document(mut document) => {
            let head = head_of(&document.text, bytes_max);
            let cut = keep([document.text.as_str()], head.clone(), watched, run);
            document.text = head;
            Cut { data: document.data(true), ..cut }
        }
        Body::Content(parts) => content(parts, bytes_max, watched, run),
    }
}

/// Parts that fit leave as they are, others as text, which says what was there: half a picture is of no use to anybody.
fn content(parts: Vec<Content>, bytes_max: usize, watched: &Watched, run: &RunState) -> Cut {
    let data = Content::data(&parts);
    let all = data.to_string();
    if all.len() <= bytes_max {
        return whole(data);
    }
    let texts: Vec<String> = parts.iter().map(Content::text).collect();
    keep([all.as_str()], head_of(&texts.join("\n"), bytes_max), watched, run)
}

/// Answers `head` and keeps all of the `pieces` in a sidecar.
fn keep<'a>(
    pieces: impl IntoIterator<Item = &'a str>,
    head: String,
    watched: &Watched,
    run: &RunState,
) -> Cut {
    let entry = watched.capable().valid().entry();
    let written = run.session.sidecars.write(entry.tool(), entry.id().seq, pieces);
    let (output_path, output_lost) = match written {
        Ok(path) => (Some(path.to_string_lossy().into_owned()), None),
        Err(err) => (None, Some(format!("the rest could not be kept: {err}"))),
    };
    Cut { data: json!({"head": head}), truncated: true, output_path, output_lost }
}

fn whole(data: Value) -> Cut {
    Cut { data, truncated: false, output_path: None, output_lost: None }
}

fn head_of(text: &str, bytes_max: usize) -> String {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text).to_owned()
}

fn excerpt_data(excerpt: Excerpt) -> Cut {
    let Some(tail) = excerpt.tail else { return whole(json!({"output": excerpt.head})) };
    let data = json!({"head": excerpt.head, "tail": tail, "total_bytes": excerpt.total_bytes});
    Cut { data, truncated: true, output_path: excerpt.sidecar, output_lost: excerpt.sidecar_error }
}

impl Truncated {
    pub(super) fn status(&self) -> Status {
        self.status
    }

    pub(super) fn into_parts(self) -> (Entry, Intent, Status, Envelope, Option<String>) {
        (self.entry, self.intent, self.status, self.envelope, self.recorded)
    }
}
