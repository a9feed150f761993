//! Pages of a PDF: as text, each under a line with its number, or drawn as images.

use haft_contract::ContentPart;
use hayro::hayro_interpret::InterpreterSettings;
use hayro::hayro_syntax::page::Page;
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use image::{DynamicImage, RgbaImage};

use super::page_range;
use super::picture::encode;
use crate::limits::{IMAGES_MAX, PAGE_EDGE_PIXELS, PDF_PAGES_MAX, TEXT_BYTES_MAX};
use crate::pdf::{PdfPageText, PdfReadError, open_pdf, read_pages};

/// Why pages cannot be shown.
#[derive(Debug)]
pub(super) enum PdfViewError {
    Unreadable(PdfReadError),
    /// The wanted pages do not exist, or are too many.
    Range(String),
}

/// Returns the text of the wanted pages, or of all.
pub(super) fn as_text(
    bytes: &[u8],
    wanted: Option<&str>,
) -> Result<Vec<ContentPart>, PdfViewError> {
    let pdf = open_pdf(bytes).map_err(PdfViewError::Unreadable)?;
    let total = pdf.pages().len();
    let wanted = match wanted {
        Some(wanted) => parse(wanted, total)?,
        None => (1..=total.min(PDF_PAGES_MAX)).collect(),
    };
    let mut text = String::new();
    for (number, page) in wanted.iter().zip(read_pages(&pdf, &wanted)) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&format!("--- page {number} of {total} ---\n"));
        let PdfPageText { text: of_page, has_unknown } = page;
        match of_page.is_empty() {
            true => text.push_str("(no text on this page: view it with \"as\": \"image\")"),
            false => text.push_str(&of_page),
        }
        if has_unknown {
            text.push_str(
                "\n(some signs have no known meaning: view the page with \"as\": \"image\")",
            );
        }
        if text.len() > TEXT_BYTES_MAX {
            text.push_str("\n(the text is too long: ask for the later pages with \"pages\")");
            break;
        }
    }
    if text.is_empty() {
        text.push_str("(the PDF has no pages)");
    }
    Ok(vec![ContentPart::Text { text }])
}

/// Returns the wanted pages as images, or the first ones.
pub(super) fn as_images(
    bytes: &[u8],
    wanted: Option<&str>,
) -> Result<Vec<ContentPart>, PdfViewError> {
    let pdf = open_pdf(bytes).map_err(PdfViewError::Unreadable)?;
    let pages = pdf.pages();
    let total = pages.len();
    let wanted = match wanted {
        Some(wanted) => parse(wanted, total)?,
        None => (1..=total).collect(),
    };
    let cache = RenderCache::new();
    let mut parts = Vec::new();
    for number in wanted.iter().take(IMAGES_MAX) {
        let Some(page) = pages.get(number - 1) else { continue };
        parts.push(ContentPart::Text { text: format!("page {number} of {total}") });
        parts.push(match page_image(page, &cache) {
            Ok(part) => part,
            Err(problem) => ContentPart::Text { text: format!("(page {number} {problem})") },
        });
    }
    if let Some(next) = wanted.get(IMAGES_MAX) {
        let last = wanted.last().unwrap_or(next);
        parts.push(ContentPart::Text {
            text: format!(
                "(at most {IMAGES_MAX} pages at once; continue with pages={next}-{last})"
            ),
        });
    }
    if parts.is_empty() {
        parts.push(ContentPart::Text { text: "(the PDF has no pages)".to_owned() });
    }
    Ok(parts)
}

fn parse(wanted: &str, total: usize) -> Result<Vec<usize>, PdfViewError> {
    page_range::parse(wanted, total, "pages").map_err(PdfViewError::Range)
}

/// Draws a page so that its longer side has the length that models take.
fn page_image<'a>(page: &'a Page<'a>, cache: &RenderCache<'a>) -> Result<ContentPart, String> {
    let (width, height) = page.render_dimensions();
    let longer = width.max(height);
    if !(longer.is_finite() && width > 0.0 && height > 0.0) {
        return Err("has no size: ask for its text".to_owned());
    }
    let scale = PAGE_EDGE_PIXELS / longer;
    // A page that is a line would have no pixel.
    if width.min(height) * scale < 1.0 {
        return Err("is too narrow to be drawn: ask for its text".to_owned());
    }
    let pixmap = render(
        page,
        cache,
        &InterpreterSettings::default(),
        &RenderSettings::default(),
        &PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE },
    );
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    // The background is opaque, so that all pixels are.
    let pixels = RgbaImage::from_raw(width, height, pixmap.data_as_u8_slice().to_vec());
    let pixels = pixels.ok_or("cannot be drawn: ask for its text")?;
    let drawn = DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(pixels).to_rgb8());
    encode(drawn, false).map(|(_, part)| part)
}
