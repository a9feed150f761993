//! The whole of outputs that were cut, as resources of the connection. The files belong to the session; here are only
//! their names, and reading goes through the session, which opens nothing but its own.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
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

    /// Returns the names that go on after what was typed, the newest first.
    pub(crate) fn complete(&self, typed: &str) -> Vec<String> {
        let all = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        let names = all.iter().rev().map(|kept| &kept.name);
        names.filter(|name| name.starts_with(typed)).cloned().collect()
    }

    /// Returns what is in the resource. Blocks on the file.
    pub(crate) fn read(
        &self,
        uri: &str,
        session: &Connection,
    ) -> Result<ResourceContents, ErrorData> {
        let data = Some(json!({"uri": uri}));
        let not_found = "no output of this connection has that address: take one from a result's \
                         resource_link or from resources/list";
        let Some(path) = self.path(uri) else {
            return Err(ErrorData::resource_not_found(not_found, data));
        };
        let bytes = match session.read_sidecar(&path) {
            Ok(bytes) => bytes,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                return Err(ErrorData::resource_not_found(not_found, data));
            }
            Err(err) => {
                let message = format!("the output cannot be read: {err}");
                return Err(ErrorData::internal_error(message, data));
            }
        };
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
             get parts of it with the tool read, path {:?}, byte_offset and byte_limit",
            bytes.len(),
            path.display()
        );
        return Err(ErrorData::invalid_params(message, Some(json!({"uri": uri}))));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(MIME_TEXT),
        Err(err) => ResourceContents::blob(BASE64_STANDARD.encode(err.as_bytes()), uri)
            .with_mime_type(MIME_BYTES),
    })
}

#[cfg(test)]
mod tests;
