//! Parts of an answer as the protocol has them.

use haft_contract::{Content, ResourceBody};
use rmcp::model::{ContentBlock, Resource, ResourceContents};

/// Returns a part as the protocol has it.
pub(crate) fn block(part: Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { mime_type, data } => ContentBlock::image(data, mime_type),
        Content::Audio { mime_type, data } => ContentBlock::audio(data, mime_type),
        Content::Resource { uri, mime_type, body } => {
            ContentBlock::resource(contents(uri, mime_type, body))
        }
        Content::Link { uri, name, mime_type } => {
            let link = Resource::new(uri, name);
            ContentBlock::resource_link(match mime_type {
                Some(mime_type) => link.with_mime_type(mime_type),
                None => link,
            })
        }
    }
}

/// Returns what is in a resource as the protocol has it.
pub(crate) fn contents(
    uri: String,
    mime_type: Option<String>,
    body: ResourceBody,
) -> ResourceContents {
    let contents = match body {
        ResourceBody::Text(text) => ResourceContents::text(text, uri),
        ResourceBody::Blob(blob) => ResourceContents::blob(blob, uri),
    };
    match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }
}
