//! The long texts of a call: its input, its answer, the text that it printed, and the file with the rest of a cut output. A page
//! gets the beginning, and the rest in pieces.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use askama::Template;
use haft_app::host::AppHost;
use haft_contract::Envelope;
use haft_journal::CallRow;

use crate::ansi::{StyledText, styled};
use crate::limits::TEXT_BYTES_SHOWN_MAX;
use crate::page_error::PageError;
use crate::request::call_url;
use crate::text::{number, pretty};

/// A text of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallText {
    Input,
    Answer,
    /// The text that the tool printed beside its answer.
    Printed,
    /// The file with the rest of a cut output.
    Rest,
}

/// A piece of a text, also alone.
#[derive(Template)]
#[template(path = "text_piece.html")]
pub(crate) struct TextPiece {
    spans: Vec<StyledText>,
    /// Where the next piece is, and how much is left.
    more: Option<(String, String)>,
    /// Where the last piece is, if it is not the next one.
    end: Option<String>,
}

/// The content of a text, or the file that holds it.
enum TextSource {
    Text(String),
    File(PathBuf),
}

impl CallText {
    const ALL: [(&'static str, Self); 4] = [
        ("input", Self::Input),
        ("answer", Self::Answer),
        ("printed", Self::Printed),
        ("rest", Self::Rest),
    ];

    /// Returns the text of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(word, _)| *word == name).map(|(_, text)| *text)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, text)| *text == self).map_or("", |(word, _)| word)
    }

    /// Returns the part of the text that begins at a byte.
    pub(crate) fn piece(
        self,
        call: &CallRow,
        from: u64,
        host: &AppHost,
    ) -> Result<TextPiece, PageError> {
        let (text, whole) = match self.source(call, host)? {
            TextSource::Text(text) => {
                let begin = usize::try_from(from).unwrap_or(usize::MAX).min(text.len());
                let begin = text.ceil_char_boundary(begin);
                let rest = text.get(begin..).unwrap_or_default();
                let piece = rest.get(..rest.floor_char_boundary(TEXT_BYTES_SHOWN_MAX));
                let piece = piece.unwrap_or_default().as_bytes().to_vec();
                (piece, u64::try_from(text.len()).unwrap_or(u64::MAX))
            }
            TextSource::File(path) => read_piece(&path, from)?,
        };
        let read = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let next = from.saturating_add(read);
        let left = whole.saturating_sub(next);
        let url_from =
            |from| format!("{}/text?part={}&from={from}", call_url(&call.id()), self.name());
        let more = (left > 0 && read > 0).then(|| {
            (url_from(next), format!("Show more ({} KB left)", number(left.div_ceil(1_000))))
        });
        let piece_bytes = u64::try_from(TEXT_BYTES_SHOWN_MAX).unwrap_or(u64::MAX);
        let end = (left > piece_bytes && from == 0).then(|| url_from(whole - piece_bytes));
        Ok(TextPiece { spans: styled(&String::from_utf8_lossy(&text)), more, end })
    }

    /// Returns the whole text, to be saved.
    pub(crate) fn whole(self, call: &CallRow, host: &AppHost) -> Result<Vec<u8>, PageError> {
        match self.source(call, host)? {
            TextSource::Text(text) => Ok(text.into_bytes()),
            TextSource::File(path) => std::fs::read(&path).map_err(|err| unreadable(&err)),
        }
    }

    fn source(self, call: &CallRow, host: &AppHost) -> Result<TextSource, PageError> {
        let envelope = || call.parsed_envelope().ok().flatten();
        match self {
            Self::Input => Ok(TextSource::Text(pretty(&call.input))),
            Self::Answer => Ok(TextSource::Text(match envelope() {
                Some(envelope) => answer_text(&envelope),
                // An envelope that this haft cannot read is shown as it is recorded.
                None => call.envelope.clone().unwrap_or_default(),
            })),
            Self::Printed => {
                let log = envelope().and_then(|envelope| envelope.metadata().log.clone());
                Ok(TextSource::Text(log.unwrap_or_default()))
            }
            Self::Rest => {
                let path = envelope().and_then(|it| it.metadata().output_path.clone());
                let path = path.ok_or_else(|| PageError::not_found("This output was not cut."))?;
                sidecar(Path::new(&path), host).map(TextSource::File)
            }
        }
    }
}

/// Returns the answer of a call as a person reads it.
fn answer_text(envelope: &Envelope) -> String {
    let text = envelope.text();
    // Data that is no text is JSON.
    if text.starts_with(['{', '[']) { pretty(&text) } else { text }
}

/// Returns the file of a cut output. A journal may come from elsewhere, so only files that haft wrote are read.
fn sidecar(path: &Path, host: &AppHost) -> Result<PathBuf, PageError> {
    let gone = "The rest of this output is not there any more.";
    let found = path.canonicalize().map_err(|_| PageError::not_found(gone))?;
    let own = host.state().sidecars().canonicalize().map_err(|_| PageError::not_found(gone))?;
    if !found.starts_with(&own) || !found.is_file() {
        return Err(PageError::not_found("The rest of this output is not among haft's own files."));
    }
    Ok(found)
}

/// Returns the bytes of a file from a place on, up to the end of a line if there is one, and the size of the file.
fn read_piece(path: &Path, from: u64) -> Result<(Vec<u8>, u64), PageError> {
    let mut file = File::open(path).map_err(|err| unreadable(&err))?;
    let size = file.metadata().map_err(|err| unreadable(&err))?.len();
    file.seek(SeekFrom::Start(from)).map_err(|err| unreadable(&err))?;
    let mut piece = Vec::new();
    let bytes_max = u64::try_from(TEXT_BYTES_SHOWN_MAX).unwrap_or(u64::MAX);
    file.take(bytes_max).read_to_end(&mut piece).map_err(|err| unreadable(&err))?;
    let is_end = from.saturating_add(u64::try_from(piece.len()).unwrap_or(0)) >= size;
    if !is_end && let Some(end) = piece.iter().rposition(|byte| *byte == b'\n') {
        piece.truncate(end + 1);
    }
    Ok((piece, size))
}

fn unreadable(err: &std::io::Error) -> PageError {
    PageError::failed(format!("The rest of this output cannot be read: {err}"))
}
