//! Collects the output of a command: the head and the tail in bounded memory, and a long output in a sidecar. This module
//! does not know processes.

use std::fs::File;
use std::io::Write;

use haft_contract::Excerpt;
use haft_contract::limits::{OUTPUT_BYTES_MAX, OUTPUT_TAIL_BYTES};

use super::CallLabel;
use crate::sidecar::Sidecars;

/// Keeps the head and the tail of an output in memory and streams all of it to a sidecar once it is too long.
pub(super) struct OutputCollector<'a> {
    /// The largest output in bytes that is not cut.
    bytes_max: usize,
    /// The largest tail in bytes.
    tail_bytes_max: usize,
    /// The first bytes of the output.
    head: Vec<u8>,
    /// The last bytes of the output, after the head.
    tail: Vec<u8>,
    /// The number of bytes that the command printed.
    pub(super) total_bytes: u64,
    /// The open sidecar, once the output is above the limit.
    sidecar: Option<OpenSidecar>,
    /// Why there is no sidecar, or why it is not complete.
    sidecar_error: Option<String>,
    /// The sidecars of the connection.
    sidecars: &'a Sidecars,
    /// Names the call in the name of the sidecar.
    label: &'a CallLabel,
}

/// A sidecar that is being written.
struct OpenSidecar {
    /// The open file.
    file: File,
    /// The absolute path, as the answer names it.
    path: String,
    /// The number of bytes of the output that the file has.
    written_bytes: usize,
}

impl<'a> OutputCollector<'a> {
    /// Returns a collector without output. It makes a sidecar only for output above the limit.
    pub(super) fn new(bytes_max: usize, sidecars: &'a Sidecars, label: &'a CallLabel) -> Self {
        Self {
            bytes_max,
            // Small limits keep most of their room for the head.
            tail_bytes_max: OUTPUT_TAIL_BYTES.min(bytes_max / 4),
            head: Vec::new(),
            tail: Vec::new(),
            total_bytes: 0,
            sidecar: None,
            sidecar_error: None,
            sidecars,
            label,
        }
    }

    /// Adds output of the command.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total_bytes =
            self.total_bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.bytes_max.saturating_sub(self.head.len());
        if !self.is_cut() && bytes.len() <= room {
            self.head.extend_from_slice(bytes);
            return;
        }
        if !self.is_cut() {
            match self.sidecars.create(&self.label.tool, self.label.seq) {
                Ok((file, path)) => {
                    let path = path.to_string_lossy().into_owned();
                    self.sidecar = Some(OpenSidecar { file, path, written_bytes: 0 });
                    let head = self.head.clone();
                    self.append_to_sidecar(&head);
                }
                Err(err) => self.sidecar_error = Some(format!("the rest could not be kept: {err}")),
            }
            self.tail = self.head.clone();
            let head_bytes = self.bytes_max.saturating_sub(self.tail_bytes_max);
            // Part of the head may come only now.
            self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
            self.head.truncate(head_bytes);
        }
        self.append_to_sidecar(bytes);
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(self.tail_bytes_max);
        self.tail.drain(..excess);
    }

    /// Returns whether the output is above the limit.
    fn is_cut(&self) -> bool {
        self.sidecar.is_some() || self.sidecar_error.is_some()
    }

    /// Writes output to the sidecar. After the first error, nothing more is written.
    fn append_to_sidecar(&mut self, bytes: &[u8]) {
        let Some(sidecar) = &mut self.sidecar else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(sidecar.written_bytes);
        let part = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        if part.is_empty() {
            return;
        }
        match sidecar.file.write_all(part) {
            Ok(()) => sidecar.written_bytes += part.len(),
            Err(err) => {
                self.sidecar_error = Some(format!("the rest could not be kept: {err}"));
                self.sidecar = None;
            }
        }
    }

    /// Returns the output, or its head and tail with the path of the sidecar.
    pub(super) fn finish(self) -> Excerpt {
        let cut = self.is_cut();
        let kept_bytes = self.sidecar.as_ref().map_or(0, |sidecar| sidecar.written_bytes);
        let is_short = self.sidecar.is_some()
            && u64::try_from(kept_bytes).is_ok_and(|kept| kept < self.total_bytes);
        let sidecar_error = self.sidecar_error.or_else(|| {
            is_short.then(|| {
                format!("only the first {kept_bytes} of {} bytes were kept", self.total_bytes)
            })
        });
        Excerpt {
            head: text_of_head(&self.head, cut),
            tail: cut.then(|| text_of_tail(&self.tail)),
            total_bytes: self.total_bytes,
            sidecar: self.sidecar.map(|sidecar| sidecar.path),
            sidecar_error,
        }
    }
}

/// Returns the text of a head, without the first bytes of a character that was cut.
pub(crate) fn text_of_head(bytes: &[u8], cut: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(err) if cut && err.error_len().is_none() => {
            bytes.get(..err.valid_up_to()).unwrap_or(bytes)
        }
        Ok(_) | Err(_) => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}

/// Returns the text of a tail, without the last bytes of a character that was cut.
pub(crate) fn text_of_tail(bytes: &[u8]) -> String {
    let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let skip = bytes.iter().take(3).take_while(|byte| is_continuation(byte)).count();
    String::from_utf8_lossy(bytes.get(skip..).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
