//! Converts an editor's prompt to a message for the model. Embedded and linked files come under their names. Content that the
//! declared capabilities leave out is refused.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource, ImageContent};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use haft_model::{ModelImage, UserMessage};

use crate::call_content::fenced;
use crate::limits::{PROMPT_IMAGES_BYTES_MAX, PROMPT_IMAGES_MAX};

/// The words of an editor's user and the files that the user attached.
pub(crate) struct EditorPrompt {
    /// The message for the model.
    pub(crate) message: UserMessage,
    /// The files that the user attached by links, as absolute paths. The agent may read them wherever they lie.
    pub(crate) attached: Vec<PathBuf>,
}

/// Returns the prompt, or its problem.
pub(crate) fn editor_prompt(blocks: &[ContentBlock]) -> Result<EditorPrompt, String> {
    let of_link = |block: &ContentBlock| match block {
        ContentBlock::ResourceLink(link) => PromptReference::of_file(&link.uri),
        _ => None,
    };
    let files = blocks.iter().filter_map(of_link).map(|file| PathBuf::from(file.path));
    let attached = files.filter(|path| path.is_absolute()).collect();
    let images = prompt_images(blocks)?;
    let text = prompt_text(blocks)?;
    if text.trim().is_empty() && images.is_empty() {
        return Err("the prompt is empty: say what is to be done".to_owned());
    }
    Ok(EditorPrompt { message: UserMessage { text, images }, attached })
}

/// Returns the images of a prompt, or the problem. Providers refuse a whole conversation for one image that they do not take.
fn prompt_images(blocks: &[ContentBlock]) -> Result<Vec<ModelImage>, String> {
    let mut images = Vec::new();
    let mut bytes = 0;
    for block in blocks {
        let ContentBlock::Image(ImageContent { data, .. }) = block else { continue };
        let decoded = BASE64_STANDARD.decode(data).map_err(|err| {
            format!("an image of the prompt is no base64 ({err}): attach it again")
        })?;
        let Some(mime_type) = image_type(&decoded) else {
            return Err("an image of the prompt is none of PNG, JPEG, GIF and WebP: convert it and attach it again".to_owned());
        };
        bytes += decoded.len();
        if bytes > PROMPT_IMAGES_BYTES_MAX || images.len() == PROMPT_IMAGES_MAX {
            return Err(format!(
                "the images of the prompt are too large: a prompt takes at most {PROMPT_IMAGES_MAX} with \
                 {PROMPT_IMAGES_BYTES_MAX} bytes in all; attach fewer or smaller ones"
            ));
        }
        images.push(ModelImage { mime_type: mime_type.to_owned(), data: data.clone() });
    }
    Ok(images)
}

/// Returns the MIME type of an image that models take, by its first bytes. Editors may say another one.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the text of a prompt, or the problem.
fn prompt_text(blocks: &[ContentBlock]) -> Result<String, String> {
    let mut text = String::new();
    let mut embedded = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(block) => text.push_str(&block.text),
            ContentBlock::ResourceLink(link) => {
                text.push_str(&PromptReference::of(&link.uri).reference(&link.name));
            }
            ContentBlock::Resource(resource) => match &resource.resource {
                EmbeddedResourceResource::TextResourceContents(file) => {
                    let place = PromptReference::of(&file.uri);
                    text.push_str(&place.reference(place.name()));
                    let _ = write!(embedded, "\n\n{place}:\n{}", fenced(&file.text));
                }
                _ => return Err(unsupported_content("embedded files that are no text")),
            },
            ContentBlock::Image(_) => {}
            ContentBlock::Audio(_) => return Err(unsupported_content("audio")),
            _ => return Err(unsupported_content("content of this type")),
        }
    }
    text.push_str(&embedded);
    Ok(text)
}

fn unsupported_content(what: &str) -> String {
    format!(
        "{what} cannot be in a prompt: expected text, images, links and embedded texts, as the capabilities say"
    )
}

/// The target of a URI: the path of a file with its selected lines, or any other URI unchanged.
#[derive(Debug, PartialEq, Eq)]
struct PromptReference {
    path: String,
    /// The first and the last line, from 1.
    lines: Option<(u32, u32)>,
}

impl PromptReference {
    fn of(uri: &str) -> Self {
        Self::of_file(uri).unwrap_or_else(|| Self { path: uri.to_owned(), lines: None })
    }

    fn of_file(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix("file://")?;
        let rest = rest.strip_prefix("localhost").unwrap_or(rest);
        // An unescaped `#` belongs to the name, unless lines follow it.
        let Some((file, lines)) =
            rest.rsplit_once('#').and_then(|(file, range)| Some((file, parse_lines(range)?)))
        else {
            return Some(Self { path: percent_decode(rest)?, lines: None });
        };
        let file = file.split_once('?').map_or(file, |(file, _)| file);
        Some(Self { path: percent_decode(file)?, lines: Some(lines) })
    }

    fn name(&self) -> &str {
        let name = self.path.rsplit('/').find(|name| !name.is_empty());
        name.unwrap_or(&self.path)
    }

    fn reference(&self, name: &str) -> String {
        let lines = self.line_range_text();
        let lines = lines.map_or_else(String::new, |lines| format!(" ({lines})"));
        format!("[@{name}]({}){lines}", self.path)
    }

    fn line_range_text(&self) -> Option<String> {
        let (first, last) = self.lines?;
        let is_one = first == last;
        Some(if is_one { format!("line {first}") } else { format!("lines {first} to {last}") })
    }
}

impl fmt::Display for PromptReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        self.line_range_text().map_or(Ok(()), |lines| write!(f, ", {lines}"))
    }
}

/// Parses lines as editors write them after a file: `L3`, `L3:9`, `L3-9` or `L3-L9`.
fn parse_lines(range: &str) -> Option<(u32, u32)> {
    let range = range.strip_prefix('L')?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|line| *line > 0);
    let Some((first, last)) = range.split_once([':', '-']) else {
        return number(range).map(|line| (line, line));
    };
    Some((number(first)?, number(last.strip_prefix('L').unwrap_or(last))?))
}

/// Decodes the percent-encoded characters of a URI.
fn percent_decode(path: &str) -> Option<String> {
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
        let prompt = editor_prompt(&blocks).map(|prompt| prompt.message.text);
        expect.assert_eq(&prompt.unwrap_or_else(|err| format!("ERROR {err}")));
    }

    #[test]
    fn linked_files_are_attached() {
        let blocks = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///data/a%20b.csv#L3", "name": "a b.csv"},
            {"type": "resource_link", "uri": "https://example.com/x", "name": "x"},
            {"type": "resource_link", "uri": "file://data/b.csv", "name": "b.csv"},
            {"type": "resource", "resource": {"uri": "file:///work/c.rs", "text": "fn c() {}"}},
        ]);
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        let prompt = editor_prompt(&blocks).unwrap();
        assert_eq!(prompt.attached, [PathBuf::from("/data/a b.csv")]);
        assert!(prompt.message.text.starts_with("Look at [@a b.csv](/data/a b.csv) (line 3)"));
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
    fn lines_that_are_meant_are_no_part_of_a_name() {
        let check = |uri: &str, path: &str, lines: Option<(u32, u32)>| {
            let place = PromptReference { path: path.to_owned(), lines };
            assert_eq!(PromptReference::of(uri), place, "{uri}");
        };
        check("file:///w/a.rs#L3:9", "/w/a.rs", Some((3, 9)));
        check("file:///w/a.rs?symbol=f%20g#L3:9", "/w/a.rs", Some((3, 9)));
        check("file:///w/a%23L1.rs#L3", "/w/a#L1.rs", Some((3, 3)));
        check("file://localhost/w/a.rs#L3-L9", "/w/a.rs", Some((3, 9)));
        check("file:///w/a.rs#L3-9", "/w/a.rs", Some((3, 9)));
        check("file:///w/c#/a?.rs", "/w/c#/a?.rs", None);
        check("file:///w/a.rs#L0", "/w/a.rs#L0", None);
        check("zed:///agent/untitled-buffer#L3:9", "zed:///agent/untitled-buffer#L3:9", None);
    }

    #[test]
    fn a_selection_comes_with_its_lines() {
        check(
            json!([
                {"type": "text", "text": "Mend "},
                {"type": "resource", "resource": {"uri": "file:///work/c.rs#L3:4", "text": "a\nb"}},
                {"type": "text", "text": " and "},
                {"type": "resource_link", "uri": "file:///work/src/#L7", "name": "d.rs (7:7)"},
            ]),
            &expect![[r#"
                Mend [@c.rs](/work/c.rs) (lines 3 to 4) and [@d.rs (7:7)](/work/src/) (line 7)

                /work/c.rs, lines 3 to 4:
                ```
                a
                b
                ```"#]],
        );
    }

    #[test]
    fn images_go_to_the_model_as_what_they_are() {
        let image = |data: &str| json!([{"type": "image", "data": data, "mimeType": "image/png"}]);
        let blocks: Vec<ContentBlock> = serde_json::from_value(image("R0lGODlh")).unwrap();
        let UserMessage { text, images } = editor_prompt(&blocks).unwrap().message;
        assert_eq!(text, "", "an image alone is a prompt");
        assert_eq!(
            images,
            [ModelImage { mime_type: "image/gif".to_owned(), data: "R0lGODlh".to_owned() }],
            "the type comes from the bytes"
        );
        check(
            image("R0lGO!"),
            &expect![
                "ERROR an image of the prompt is no base64 (Invalid symbol 33, offset 5.): attach it again"
            ],
        );
        check(
            image("QUJD"),
            &expect![
                "ERROR an image of the prompt is none of PNG, JPEG, GIF and WebP: convert it and attach it again"
            ],
        );
        let many: Vec<Value> =
            (0..=PROMPT_IMAGES_MAX).map(|_| image("R0lGODlh")[0].clone()).collect();
        check(
            Value::from(many),
            &expect![
                "ERROR the images of the prompt are too large: a prompt takes at most 20 with 5000000 bytes in all; attach fewer or smaller ones"
            ],
        );
    }

    #[test]
    fn what_was_not_declared_is_refused() {
        check(json!([]), &expect!["ERROR the prompt is empty: say what is to be done"]);
        check(
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            &expect![
                "ERROR audio cannot be in a prompt: expected text, images, links and embedded texts, as the capabilities say"
            ],
        );
        check(
            json!([{"type": "resource", "resource": {"uri": "file:///x", "blob": ""}}]),
            &expect![
                "ERROR embedded files that are no text cannot be in a prompt: expected text, images, links and embedded texts, as the capabilities say"
            ],
        );
    }
}
