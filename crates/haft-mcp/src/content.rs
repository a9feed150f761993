//! Parts of an answer as the protocol has them.

use haft_contract::{ContentPart, ResourceBody};
use rmcp::model::{ContentBlock, Resource, ResourceContents};

pub(crate) fn content_block(part: ContentPart) -> ContentBlock {
    match part {
        ContentPart::Text { text } => ContentBlock::text(text),
        ContentPart::Image { mime_type, data } => ContentBlock::image(data, mime_type),
        ContentPart::Audio { mime_type, data } => ContentBlock::audio(data, mime_type),
        ContentPart::Resource { uri, mime_type, body } => {
            ContentBlock::resource(resource_contents(uri, mime_type, body))
        }
        ContentPart::Link { uri, name, mime_type } => {
            let link = Resource::new(uri, name);
            ContentBlock::resource_link(match mime_type {
                Some(mime_type) => link.with_mime_type(mime_type),
                None => link,
            })
        }
    }
}

pub(crate) fn resource_contents(
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
