//! The whole of outputs that were cut, as resources of the connection. The files belong to the session; here are only
//! their names, and reading goes through the session, which opens nothing but its own.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft::Connection;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::limits::{RESOURCE_BYTES_MAX, RESOURCES_MAX};

const URI_PREFIX: &str = "haft://output/";
const MIME_TEXT: &str = "text/plain";
const MIME_BYTES: &str = "application/octet-stream";

/// The cut outputs that calls of this connection have answered with.
#[derive(Default)]
pub(crate) struct OutputResources {
    // Written by each call whose output is cut, read by requests for resources; both hold the lock for a few
    // instructions.
    resources: Mutex<VecDeque<OutputResource>>,
}

#[derive(Clone)]
struct OutputResource {
    name: String,
    path: PathBuf,
    size_bytes: Option<u64>,
}

impl OutputResources {
    /// Keeps the file of a cut output, and returns the link that leads to it.
    pub(crate) fn add_output(&self, path: &str) -> Option<Resource> {
        let path = PathBuf::from(path);
        let kept = OutputResource {
            name: path.file_name()?.to_str()?.to_owned(),
            size_bytes: std::fs::metadata(&path).ok().map(|file| file.len()),
            path,
        };
        let link = kept.resource();
        let mut all = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.name != kept.name);
        if all.len() >= RESOURCES_MAX {
            all.pop_front();
        }
        all.push_back(kept);
        Some(link)
    }

    /// Returns all of them, the oldest first.
    pub(crate) fn list(&self) -> Vec<Resource> {
        let all = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(OutputResource::resource).collect()
    }

    /// Returns what is in the resource. Blocks on the file.
    pub(crate) fn read(
        &self,
        uri: &str,
        session: &Connection,
    ) -> Result<ResourceContents, ErrorData> {
        let path = self.path(uri).ok_or_else(|| not_found(uri))?;
        let bytes = session.read_sidecar(&path).map_err(|err| unreadable(uri, &err))?;
        contents(uri, bytes, &path)
    }

    fn path(&self, uri: &str) -> Option<PathBuf> {
        let name = uri.strip_prefix(URI_PREFIX)?;
        let all = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|kept| kept.name == name).map(|kept| kept.path.clone())
    }
}

impl OutputResource {
    fn resource(&self) -> Resource {
        // Names are made of a number and a tool id, so they need no escaping.
        let resource = Resource::new(format!("{URI_PREFIX}{}", self.name), self.name.clone())
            .with_mime_type(MIME_TEXT);
        match self.size_bytes {
            Some(size) => resource.with_size(size),
            None => resource,
        }
    }
}

/// Returns how the addresses of outputs look.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{URI_PREFIX}{{name}}"), "output")
        .with_description("All of an output that was cut, as linked by the call's result")
        .with_mime_type(MIME_TEXT)
}

fn contents(uri: &str, bytes: Vec<u8>, path: &Path) -> Result<ResourceContents, ErrorData> {
    if bytes.len() > RESOURCE_BYTES_MAX {
        let message = format!(
            "the output has {} bytes, more than the {RESOURCE_BYTES_MAX} that are answered whole: \
             get parts of it with the tool read, path {:?}, offset and limit",
            bytes.len(),
            path.display()
        );
        return Err(ErrorData::invalid_params(message, Some(json!({"uri": uri}))));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(MIME_TEXT),
        Err(err) => ResourceContents::blob(base64(err.as_bytes()), uri).with_mime_type(MIME_BYTES),
    })
}

fn not_found(uri: &str) -> ErrorData {
    let message = "no output of this connection has that address: take one from a result's \
                   resource_link or from resources/list";
    ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
}

fn unreadable(uri: &str, err: &io::Error) -> ErrorData {
    if err.kind() == io::ErrorKind::NotFound {
        return not_found(uri);
    }
    let message = format!("the output cannot be read: {err}");
    ErrorData::internal_error(message, Some(json!({"uri": uri})))
}

/// The protocol's form of bytes that are no text.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = usize::try_from(bits >> (18 - 6 * digit) & 0b11_1111).unwrap_or_default();
            let is_padding = digit > group.len();
            let letter = ALPHABET.get(index).copied().filter(|_| !is_padding);
            text.push(char::from(letter.unwrap_or(b'=')));
        }
    }
    text
}

#[cfg(test)]
mod tests;
