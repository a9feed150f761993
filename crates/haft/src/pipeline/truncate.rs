//! Truncates long outputs and puts the rest into sidecars. Never fails a call.

use haft_contract::limits::OUTPUT_BYTES_MAX;
use haft_contract::{
    ContentPart, Contract, Envelope, EnvelopeMetadata, Excerpt, FilePart, OutputBody, OutputGap,
    OutputLimit, ToolOutput,
};
use haft_journal::{CallStatus, Intent};
use serde_json::{Value, json};

use super::call_state::CallState;
use super::execute::Executed;
use super::watch::Granted;
use crate::connection_state::ConnectionState;
use crate::model_view::{ModelView, TextParts};
use crate::registry::Registry;
use crate::sidecar::Sidecars;
use crate::terminal_text::terminal_text;

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
    /// The part that is left out.
    gap: Option<OutputGap>,
}

/// Builds the envelope. Output and error messages above their limits are cut.
pub(super) fn truncate(
    state: &mut CallState,
    granted: &Granted,
    executed: Executed,
    connection: &ConnectionState,
) -> CallOutcome {
    let Executed { intent, result, status, connections, timeout_ms, retry_warning, asked_for } =
        executed;
    state.subtract_asked_time(asked_for);
    let state = &*state;
    let (connections, connections_unlisted) = connections.take();
    let parts = &connection.shared.parts;
    let mut metadata = EnvelopeMetadata {
        call_id: Some(state.id().to_string()),
        timeout_ms,
        unsafe_no_sandbox: parts.sandbox.is_off(),
        retry_warning,
        approval_note: state.approval_note().map(str::to_owned),
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
            let error_bytes_max = connection
                .model_view
                .map_or(ERROR_BYTES_MAX, |view| view.shown_chars_max.min(ERROR_BYTES_MAX));
            if error_text.len() > error_bytes_max {
                // The rest is lost, because only output goes to a sidecar.
                let cut = error_text.len() - error_bytes_max;
                let head = head_of(&error_text, error_bytes_max);
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

/// Returns how a sidecar is read if `read` takes no range of lines, as in the profile `smithers`: it refuses a file that is too
/// long for one answer. Commands see the sidecars of their connection.
fn output_reader(registry: &Registry) -> Option<&'static str> {
    let read = registry.contract("read")?;
    let takes_range = read.parameters.pointer("/properties/start_line").is_some();
    (!takes_range && registry.contract("bash").is_some())
        .then_some("bash with the command sed and the arguments -n, 1,200p and this path")
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
    /// The largest answer in bytes that is more than text and stays whole.
    content_bytes_max: usize,
    /// The bound of a front end that shows answers to a model.
    view: Option<ModelView>,
    /// The sidecars of the connection.
    sidecars: &'a Sidecars,
    /// How a sidecar is read, if the tool `read` cannot read part of a file.
    output_reader: Option<&'static str>,
}

impl<'a> OutputCutter<'a> {
    /// Returns a cutter with the limits of the tool.
    pub(super) fn new(
        state: &'a CallState,
        contract: &Contract,
        connection: &'a ConnectionState,
    ) -> Self {
        let bytes_max = connection.shared.parts.limits.output_bytes_of(contract);
        Self {
            tool: state.tool(),
            seq: state.id().seq,
            output_limit: contract.output_limit,
            bytes_max,
            // The configured bound is about text: images are larger, and cost a model less.
            content_bytes_max: match contract.output_limit {
                OutputLimit::Bytes(bytes) => bytes.min(OUTPUT_BYTES_MAX),
                OutputLimit::Configured | OutputLimit::Entries(_) => bytes_max,
            },
            // An output that was promised in a form is whole or of no use to a client that checks it.
            view: connection.model_view.filter(|_| contract.output.is_none()),
            sidecars: &connection.sidecars,
            output_reader: output_reader(&state.catalog().registry),
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
        metadata.note = output.note;
        metadata.empty_note = output.empty_note;
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
        let cut = match (output.body, output.file_part) {
            (OutputBody::Text(text), Some(part))
                if self.is_too_long(&text)
                    || matches!(part, FilePart::Lines { goes_on: true, .. }) =>
            {
                self.cut_file_part(&text, part)
            }
            (body, _) => self.cut_body(body),
        };
        metadata.content = is_content && cut.data.get("content").is_some();
        metadata.truncated = cut.truncated;
        if cut.output_path.is_some() {
            metadata.output_reader = self.output_reader.map(str::to_owned);
        }
        metadata.output_path = cut.output_path;
        metadata.output_lost = cut.sidecar_error;
        metadata.gap = cut.gap;
        cut.data
    }

    /// Returns whether a text is above the limits.
    fn is_too_long(&self, text: &str) -> bool {
        text.len() > self.bytes_max || self.view.is_some_and(|view| view.is_too_long(text))
    }

    /// Returns the parts of a text that are within the limits. A front end that shows answers to a model gets the end as well.
    fn parts_of<'t>(&self, text: &'t str) -> TextParts<'t> {
        let head = head_of(text, self.bytes_max);
        match self.view {
            Some(view) => view.head_and_tail(text, self.bytes_max),
            None => TextParts { head, tail: None },
        }
    }

    /// Cuts the body if it is above the limit, and writes all of it to a sidecar.
    fn cut_body(&self, body: OutputBody) -> CutOutput {
        match body {
            OutputBody::Text(text) if !self.is_too_long(&text) => uncut_output(Value::String(text)),
            OutputBody::Text(text) => self.cut_text(&text),
            OutputBody::Data(data) => {
                let text = data.to_string();
                if !self.is_too_long(&text) {
                    return uncut_output(data);
                }
                self.cut_text(&text)
            }
            OutputBody::Lines { key, lines, incomplete } => self.cut_lines(key, &lines, incomplete),
            OutputBody::Excerpt(excerpt) => self.cut_excerpt(excerpt),
            OutputBody::Document(document) if !self.is_too_long(&document.text) => {
                uncut_output(document.data(false))
            }
            OutputBody::Document(mut document) => {
                let head = head_of(&document.text, self.bytes_max);
                let head = self.view.map_or(head, |view| view.head(head)).to_owned();
                let mut cut = self.write_sidecar([document.text.as_str()], head.clone());
                cut.gap = Some(text_gap(&document.text, &TextParts { head: &head, tail: None }));
                document.text = head;
                CutOutput { data: document.data(true), ..cut }
            }
            OutputBody::Content(parts) => {
                let data = ContentPart::data(&parts);
                let all = data.to_string();
                let texts = parts.iter().map(|part| match part {
                    ContentPart::Text { text } => text.len(),
                    _ => 0,
                });
                let text_bytes = texts.sum::<usize>();
                let is_shown = text_bytes <= self.bytes_max
                    && self.view.is_none_or(|view| text_bytes <= view.shown_chars_max);
                if all.len() <= self.content_bytes_max {
                    return if is_shown { uncut_output(data) } else { self.cut_texts(parts) };
                }
                // Cut parts become text, because half a picture is useless.
                let texts: Vec<String> = parts.iter().map(ContentPart::text).collect();
                let text = texts.join("\n");
                let head = self.parts_of(&text).head.to_owned();
                self.write_sidecar([all.as_str()], head)
            }
        }
    }

    /// Cuts a text, and writes all of it to a sidecar.
    fn cut_text(&self, text: &str) -> CutOutput {
        let parts = self.parts_of(text);
        let mut cut = self.write_sidecar([text], parts.head.to_owned());
        if let Some(tail) = parts.tail {
            cut.data = json!({"head": parts.head, "tail": tail});
        }
        cut.gap = Some(text_gap(text, &parts));
        cut
    }

    /// Cuts the texts of an answer whose other parts, such as images, are within the limits.
    fn cut_texts(&self, parts: Vec<ContentPart>) -> CutOutput {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                ContentPart::Text { text } => texts.push(text),
                other => others.push(other),
            }
        }
        let mut cut = self.cut_text(&texts.join("\n"));
        let metadata = EnvelopeMetadata {
            truncated: true,
            output_path: cut.output_path.clone(),
            output_reader: self.output_reader.map(str::to_owned),
            output_lost: cut.sidecar_error.clone(),
            gap: cut.gap.clone(),
            ..EnvelopeMetadata::default()
        };
        let text = Envelope::Output { data: cut.data, metadata }.text();
        others.insert(0, ContentPart::Text { text });
        cut.data = ContentPart::data(&others);
        cut
    }

    /// Cuts a part of a file after whole lines. The file itself holds the rest.
    fn cut_file_part(&self, text: &str, part: FilePart) -> CutOutput {
        let head = head_of(text, self.bytes_max);
        let head = self.view.map_or(head, |view| view.head(head));
        let gap = match part {
            FilePart::Lines { first, total, .. } if head.ends_with('\n') => OutputGap::FileLines {
                first,
                last: (first + line_breaks(head)).saturating_sub(1),
                total,
            },
            FilePart::Lines { first_byte, .. } => OutputGap::FileBytes {
                first: first_byte,
                end: first_byte + count(head.len()),
                total: None,
            },
            FilePart::Bytes { first, total } => {
                OutputGap::FileBytes { first, end: first + count(head.len()), total: Some(total) }
            }
        };
        CutOutput {
            data: json!({"head": head}),
            truncated: true,
            output_path: None,
            sidecar_error: None,
            gap: Some(gap),
        }
    }

    /// Cuts a list after whole entries, and writes all of it to a sidecar.
    fn cut_lines(&self, key: &'static str, lines: &[String], incomplete: bool) -> CutOutput {
        let entries_max = match self.output_limit {
            OutputLimit::Entries(entries) => entries,
            OutputLimit::Configured | OutputLimit::Bytes(_) => usize::MAX,
        };
        let fitting = |chars_max: usize| {
            let (mut bytes, mut chars) = (0, 0);
            let fitting = lines.iter().take(entries_max).take_while(|line| {
                bytes += line.len() + 1;
                chars += line.chars().count() + 1;
                bytes <= self.bytes_max && chars <= chars_max
            });
            fitting.count()
        };
        let whole = fitting(self.view.map_or(usize::MAX, |view| view.shown_chars_max));
        if whole == lines.len() && !incomplete {
            return uncut_output(json!({ key: lines }));
        }
        let fitting = fitting(self.view.map_or(usize::MAX, ModelView::room));
        let shown: Vec<&str> = lines.iter().take(fitting.max(1)).map(String::as_str).collect();
        let joined = shown.join("\n");
        let head = head_of(&joined, self.bytes_max);
        let head = self.view.map_or(head, |view| view.head(head)).to_owned();
        let gap = OutputGap::Entries {
            noun: key.to_owned(),
            shown: count(shown.len()),
            total: count(lines.len()),
            is_incomplete: incomplete,
            next_line: line_breaks(&joined) + 2,
        };
        // The matches of a search can be ten megabytes, so they are written without joining them first.
        let mut cut = self.write_sidecar(lines.iter().flat_map(|line| [line.as_str(), "\n"]), head);
        if incomplete {
            cut.sidecar_error.get_or_insert_with(|| "the search stopped before its end".to_owned());
        }
        cut.gap = Some(gap);
        cut
    }

    /// Cuts the output of a command, part of which may be missing already. A model sees it as a terminal shows it.
    fn cut_excerpt(&self, excerpt: Excerpt) -> CutOutput {
        let Excerpt { head, tail, total_bytes, sidecar, sidecar_error } = excerpt;
        let Some(view) = self.view else {
            let Some(tail) = tail else { return uncut_output(json!({ "output": head })) };
            let gap = OutputGap::Text {
                bytes: total_bytes.saturating_sub(count(head.len() + tail.len())),
                lines: None,
                next_line: next_line(&head),
                next_byte: count(head.len()),
            };
            return CutOutput {
                data: json!({"head": head, "tail": tail, "total_bytes": total_bytes}),
                truncated: true,
                output_path: sidecar,
                sidecar_error,
                gap: Some(gap),
            };
        };
        let shown = terminal_text(&head);
        let Some(tail) = tail else {
            if !self.is_too_long(&shown) {
                return uncut_output(json!({ "output": shown }));
            }
            let parts = view.head_and_tail(&shown, self.bytes_max);
            // The sidecar keeps the bytes of the command.
            let mut cut = self.write_sidecar([head.as_str()], String::new());
            cut.data = json!({"head": parts.head, "tail": parts.tail, "total_bytes": total_bytes});
            cut.gap = Some(text_gap(&shown, &parts));
            return cut;
        };
        let ending = terminal_text(&tail);
        let head = view.head_beside_tail(&shown);
        let parts = TextParts { head, tail: Some(view.tail(&ending)) };
        let bytes = total_bytes.saturating_sub(count(parts.shown_bytes()));
        CutOutput {
            data: json!({"head": parts.head, "tail": parts.tail, "total_bytes": total_bytes}),
            truncated: true,
            output_path: sidecar,
            sidecar_error,
            gap: Some(OutputGap::Text {
                bytes,
                lines: None,
                next_line: next_line(parts.head),
                next_byte: count(parts.head.len()),
            }),
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
            gap: None,
        }
    }
}

/// Returns output that is within its limit.
fn uncut_output(data: Value) -> CutOutput {
    CutOutput { data, truncated: false, output_path: None, sidecar_error: None, gap: None }
}

/// Returns the gap between the shown parts of a text.
fn text_gap(text: &str, parts: &TextParts<'_>) -> OutputGap {
    let end = text.len() - parts.tail.map_or(0, str::len);
    let left_out = text.get(parts.head.len()..end).unwrap_or_default();
    OutputGap::Text {
        bytes: count(left_out.len()),
        lines: Some(line_breaks(left_out)),
        next_line: next_line(parts.head),
        next_byte: count(parts.head.len()),
    }
}

/// Returns the number of the line on which a text goes on after its first part, if that part ends with a whole line.
fn next_line(head: &str) -> Option<u64> {
    head.ends_with('\n').then(|| line_breaks(head) + 1)
}

fn line_breaks(text: &str) -> u64 {
    count(text.matches('\n').count())
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Returns the first bytes of a text, at most `bytes_max`, without a broken character.
fn head_of(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
