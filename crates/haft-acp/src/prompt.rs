//! What an editor sends as a prompt, as the text that a model reads. Files that it embeds and links come under their names;
//! what is neither text nor a link is refused, as it was declared.

use std::fmt::Write as _;

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource, ResourceLink};

use crate::shown::fenced;

/// Returns the text of a prompt, or what is wrong with it.
pub(crate) fn text(blocks: &[ContentBlock]) -> Result<String, String> {
    let mut text = String::new();
    let mut embedded = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::ResourceLink(link) => text.push_str(&linked(link)),
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    text.push_str(&reference(&file.uri, name_of(&file.uri)));
                    let _ = write!(embedded, "\n\n{}:\n{}", place(&file.uri), fenced(&file.text));
                }
                _ => return Err(refused("embedded files that are no text")),
            },
            ContentBlock::Image(_) => return Err(refused("images")),
            ContentBlock::Audio(_) => return Err(refused("audio")),
            _ => return Err(refused("content of this type")),
        }
    }
    text.push_str(&embedded);
    if text.trim().is_empty() {
        return Err("the prompt is empty: say what is to be done".to_owned());
    }
    Ok(text)
}

fn refused(what: &str) -> String {
    format!(
        "{what} cannot be in a prompt: expected text, links and embedded texts, as the capabilities say"
    )
}

fn linked(link: &ResourceLink) -> String {
    reference(&link.uri, &link.name)
}

fn reference(uri: &str, name: &str) -> String {
    format!("[@{name}]({})", place(uri))
}

/// Returns a file as tools are given it, and anything else as it is.
fn place(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    decoded(path).unwrap_or_else(|| uri.to_owned())
}

fn name_of(uri: &str) -> &str {
    uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(uri)
}

/// Puts the characters in their places that a URI spells as numbers.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = after.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(blocks: Value, expect: &Expect) {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        expect.assert_eq(&text(&blocks).unwrap_or_else(|err| format!("ERROR {err}")));
    }

    #[test]
    fn a_prompt_is_text_with_names_of_files() {
        check(
            json!([
                {"type": "text", "text": "Mend "},
                {"type": "resource_link", "uri": "file:///work/a%20b.rs", "name": "a b.rs"},
                {"type": "text", "text": " and "},
                {"type": "resource", "resource": {"uri": "file:///work/c.rs", "text": "fn c() {}\n"}},
                {"type": "text", "text": "; see "},
                {"type": "resource_link", "uri": "https://example.com/x%zz", "name": "x"},
            ]),
            &expect![[r#"
                Mend [@a b.rs](/work/a b.rs) and [@c.rs](/work/c.rs); see [@x](https://example.com/x%zz)

                /work/c.rs:
                ```
                fn c() {}
                ```"#]],
        );
    }

    #[test]
    fn what_was_not_declared_is_refused() {
        check(json!([]), &expect!["ERROR the prompt is empty: say what is to be done"]);
        check(
            json!([{"type": "image", "data": "", "mimeType": "image/png"}]),
            &expect![
                "ERROR images cannot be in a prompt: expected text, links and embedded texts, as the capabilities say"
            ],
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///x", "blob": ""}}]),
            &expect![
                "ERROR embedded files that are no text cannot be in a prompt: expected text, links and embedded texts, as the capabilities say"
            ],
        );
    }
}
