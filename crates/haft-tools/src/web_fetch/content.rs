//! The content of an answer: read up to a limit, and described if it is not text.

use haft_contract::{NetResponse, ToolError};

use super::{DESCRIBED_BYTES_MAX, FETCH_BYTES_MAX};

/// Families of content that are never text.
const DESCRIBED: &[&str] = &["audio/", "font/", "image/", "video/"];
/// Longest `content-type` that is repeated, in bytes.
const KIND_BYTES_MAX: usize = 200;

/// The content of an answer.
pub(super) struct ResponseContent {
    /// The `content-type`, as the server says it.
    pub(super) kind: Option<String>,
    pub(super) bytes: Vec<u8>,
    /// Whether the content is longer than the part that was read.
    pub(super) is_cut: bool,
    /// Its length, if the server declares it and nothing was compressed.
    declared_bytes: Option<u64>,
}

impl ResponseContent {
    /// Reads an answer up to the limit of its kind.
    pub(super) async fn read(mut response: NetResponse) -> Result<Self, ToolError> {
        let kind = response.header("content-type").map(|kind| {
            kind.get(..kind.floor_char_boundary(KIND_BYTES_MAX)).unwrap_or(kind).to_owned()
        });
        let declared_bytes = response.header("content-length").and_then(|text| text.parse().ok());
        let bytes_max = match kind.as_deref() {
            Some(kind) if is_media_type(kind) => DESCRIBED_BYTES_MAX,
            Some(_) | None => FETCH_BYTES_MAX,
        };
        let mut bytes = Vec::new();
        let mut is_cut = false;
        while let Some(chunk) = response.body.chunk().await? {
            let room = bytes_max - bytes.len();
            bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() > room {
                is_cut = true;
                break;
            }
        }
        Ok(Self { kind, bytes, is_cut, declared_bytes })
    }

    /// Returns remarks on the content, for its reader.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.bytes.is_empty() {
            return vec!["there is no content".to_owned()];
        }
        let is_text_cut = self.is_cut && !self.kind.as_deref().is_some_and(is_media_type);
        let cut = is_text_cut.then(|| format!("only the first {FETCH_BYTES_MAX} bytes were read"));
        cut.into_iter().collect()
    }
}

/// Describes content that has no text.
pub(super) fn describe_content(content: &ResponseContent, note: Option<&str>) -> String {
    if content.bytes.is_empty() {
        return String::new();
    }
    let kind = content.kind.as_deref().unwrap_or("content of unknown type");
    let note = note.map(|note| format!(", {note}")).unwrap_or_default();
    let size = match (content.is_cut, content.declared_bytes) {
        (false, _) => format!("{} bytes", content.bytes.len()),
        (true, Some(bytes)) => format!("{bytes} bytes, as the server says"),
        (true, None) => format!("more than {} bytes", content.bytes.len()),
    };
    format!("[{kind}, {size}{note}: not text, so it is not shown]")
}

fn is_media_type(kind: &str) -> bool {
    let kind = kind.trim_start().to_ascii_lowercase();
    // A drawing that is written as text.
    let is_text = kind.starts_with("image/svg");
    !is_text && DESCRIBED.iter().any(|family| kind.starts_with(family))
}
