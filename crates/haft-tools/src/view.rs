//! `view`: shows an image, a PDF or a notebook. A confined program decodes the file, because a stranger may have written it. The
//! tool reads the file and sends it to the program; it looks at none of its contents.

use std::io::Read as _;
use std::sync::Arc;

use haft_contract::{
    Access, ContentPart, Cx, ErrorCode, ListingCondition, OpenRegularFile, OutputBody, OutputLimit,
    Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::text_file::{open_file, workspace_read_requirements};
use crate::web_fetch::PageReaderPool;
use crate::web_fetch::page_reader::ViewedFile;

/// Largest file that is viewed, in bytes.
///
/// Limit (files): the call fails and says so.
pub(crate) const VIEWED_FILE_BYTES_MAX: usize = 32_000_000;
/// Largest answer with its images, in bytes. An answer has at most five images of at most one megabyte, written in base64.
const ANSWER_BYTES_MAX: usize = 10_000_000;
/// Longest text that says which pages are wanted, in characters.
const PAGES_CHARS_MAX: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ViewInput {
    /// Relative to the root, or absolute within it.
    path: String,
    /// Pages of a PDF or cells of a notebook: `3`, `2-5`.
    #[schemars(length(min = 1, max = PAGES_CHARS_MAX))]
    pages: Option<String>,
    /// `image` draws the pages of a PDF.
    #[serde(rename = "as")]
    form: Option<ViewedForm>,
}

/// The form in which a file is shown.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ViewedForm {
    Text,
    Image,
}

pub(crate) fn view(reader: Arc<PageReaderPool>) -> Tool {
    Tool::new("view")
        .description("Look at an image (PNG, JPEG, GIF, WebP), a PDF or a notebook.")
        .kind(ToolKind::Read)
        .listed_if(match reader.has_program() {
            true => ListingCondition::Always,
            false => ListingCondition::Never,
        })
        .example_output(json!({"content": [{"type": "text", "text": "the text of the file"}]}))
        .output_limit(OutputLimit::Bytes(ANSWER_BYTES_MAX))
        .requires(workspace_read_requirements())
        .aliases(aliases::PATH)
        .aliases(aliases::VIEW)
        .accesses(|input: &ViewInput| vec![Access::read(&input.path)])
        .execute_with(move |input: ViewInput, cx: Cx| {
            let reader = Arc::clone(&reader);
            async move {
                let ViewInput { path, pages, form } = input;
                let (loading, name) = (cx.clone(), path.clone());
                let loaded = tokio::task::spawn_blocking(move || load_file(&loading, &name));
                let bytes = loaded.await.map_err(|_| {
                    ToolError::new(ErrorCode::ToolFailed, format!("{path:?} could not be read"))
                })??;
                let form = form.map(|form| match form {
                    ViewedForm::Text => "text",
                    ViewedForm::Image => "image",
                });
                let file = ViewedFile { bytes: &bytes, name: &path, pages: pages.as_deref(), form };
                reader.view_file(&file, &cx).await.map(output)
            }
        })
}

fn load_file(cx: &Cx, path: &str) -> Result<Vec<u8>, ToolError> {
    let (_, OpenRegularFile { file, stamp }) = open_file(cx.fs(), path)?;
    let bytes_max = u64::try_from(VIEWED_FILE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    if stamp.size <= bytes_max {
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    }
    if stamp.size > bytes_max || bytes.len() > VIEWED_FILE_BYTES_MAX {
        let message = format!(
            "file {path:?} has {} bytes, and view takes at most {VIEWED_FILE_BYTES_MAX}: make a smaller copy with a \
             command",
            stamp.size
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    }
    if bytes.is_empty() {
        return Err(ToolError::new(
            ErrorCode::PathInvalid,
            format!("file {path:?} is empty, so there is nothing to view: use another file"),
        ));
    }
    Ok(bytes)
}

/// Returns parts as an answer. Text alone is cut as any text is.
fn output(parts: Vec<ContentPart>) -> ToolOutput {
    match <[ContentPart; 1]>::try_from(parts) {
        Ok([ContentPart::Text { text }]) => ToolOutput::text(text),
        Ok(one) => ToolOutput::new(OutputBody::Content(one.into())),
        Err(parts) => ToolOutput::new(OutputBody::Content(parts)),
    }
}
