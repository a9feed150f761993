//! Shows files of a workspace to a model: images as images, PDFs and notebooks as text with images. The kind of a file follows
//! from its bytes. A file of text is refused, because another tool reads it.

mod notebook;
mod page_range;
mod pdf_pages;
mod picture;

use haft_contract::ContentPart;
use serde::Deserialize;
use thiserror::Error;

use crate::describe::describe;
use crate::media::MediaKind;
use crate::page::FetchedPage;
use crate::pdf::PdfReadError;

/// A request to show a file.
#[derive(Debug, Deserialize)]
pub struct ViewRequest {
    /// The path of the file, for messages.
    pub name: String,
    /// Pages of a PDF or cells of a notebook, such as `2-5`; the first ones if absent.
    #[serde(default)]
    pub pages: Option<String>,
    /// The form of the answer; for each kind of file the usual one if absent.
    #[serde(default)]
    pub form: Option<ViewForm>,
}

/// The form in which a file is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewForm {
    /// As text.
    Text,
    /// As images.
    Image,
}

/// Why a file cannot be shown, with the next step.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The request does not fit the file.
    #[error("{0}")]
    Input(String),
    /// The file is damaged, too large, or of another kind.
    #[error("{0}")]
    File(String),
}

/// Returns a file as a model sees it.
pub fn view_file(bytes: &[u8], request: &ViewRequest) -> Result<Vec<ContentPart>, ViewError> {
    let name = &request.name;
    if let Some(format) = picture::format_of(bytes) {
        return view_picture(bytes, format, request);
    }
    let page = FetchedPage { bytes, content_type: None, url: "" };
    match MediaKind::of(&page) {
        MediaKind::Pdf => {
            let shown = match request.form {
                Some(ViewForm::Image) => pdf_pages::as_images(bytes, request.pages.as_deref()),
                Some(ViewForm::Text) | None => pdf_pages::as_text(bytes, request.pages.as_deref()),
            };
            shown.map_err(|err| match err {
                pdf_pages::PdfViewError::Unreadable(PdfReadError::Encrypted) => {
                    ViewError::File(format!(
                        "the PDF {name:?} is encrypted with a password: ask the user for a copy without one"
                    ))
                }
                pdf_pages::PdfViewError::Unreadable(PdfReadError::Damaged) => {
                    ViewError::File(format!(
                        "the PDF {name:?} is damaged: look at it with a command, or use another copy"
                    ))
                }
                pdf_pages::PdfViewError::Range(problem) => ViewError::Input(problem),
            })
        }
        _ if notebook::is_notebook(bytes) => match request.form {
            Some(ViewForm::Image) => Err(ViewError::Input(format!(
                "{name:?} is a notebook, which is shown as text with its images: leave \"as\" out"
            ))),
            Some(ViewForm::Text) | None => {
                notebook::view(bytes, request.pages.as_deref()).map_err(ViewError::Input)
            }
        },
        MediaKind::Html | MediaKind::Text(_) => {
            Err(ViewError::File(format!("{name:?} is a text file: use read")))
        }
        MediaKind::Binary => {
            let what = describe(bytes).unwrap_or_else(|| "binary".to_owned());
            Err(ViewError::File(format!(
                "{name:?} is of a kind that view does not show ({what}): it shows PNG, JPEG, GIF and WebP images, PDFs \
                 and notebooks. Look at this file with a command"
            )))
        }
    }
}

fn view_picture(
    bytes: &[u8],
    format: picture::PictureFormat,
    request: &ViewRequest,
) -> Result<Vec<ContentPart>, ViewError> {
    let name = &request.name;
    if request.pages.is_some() {
        return Err(ViewError::Input(format!(
            "{name:?} is one image and has no pages: leave \"pages\" out"
        )));
    }
    let picture = picture::show(bytes, format)
        .map_err(|problem| ViewError::File(format!("the image {name:?} {problem}")))?;
    let mut parts = vec![ContentPart::Text { text: format!("{name}: {}", picture.description) }];
    // Without the image, the description is what a reader of text gets.
    if request.form != Some(ViewForm::Text) {
        parts.push(picture.part);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
