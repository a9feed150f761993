//! Converts PDFs to text: the glyphs of each page in drawing order, joined to words and lines by their positions. Pictures
//! are not read. Columns come in the order in which they are drawn.

mod lines;

use encoding_rs::{UTF_8, UTF_16BE, WINDOWS_1252};
use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps,
    InterpreterCache, InterpreterSettings, SoftMask, interpret_page,
};
use thiserror::Error;

use self::lines::{GlyphPosition, PdfLines};
use crate::limits::{PDF_PAGES_MAX, TEXT_BYTES_MAX};

/// Units in which a glyph's width is measured, in one em.
const UNITS_PER_EM: f64 = 1_000.0;
/// Glyphs without a known character, in percent, from which a text says that it lacks some.
const UNKNOWN_MIN_PERCENT: usize = 2;

/// The text of a PDF.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PdfText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) note: Option<String>,
}

/// Why a PDF could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PdfReadError {
    /// It needs a password.
    #[error("it is encrypted with a password")]
    Encrypted,
    /// It is damaged, or not a PDF.
    #[error("it is damaged, or no PDF")]
    Damaged,
}

/// The text of one page of a PDF.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PdfPageText {
    pub(crate) text: String,
    /// Whether some of its signs have no known character.
    pub(crate) has_unknown: bool,
}

/// Opens a PDF.
pub(crate) fn open_pdf(bytes: &[u8]) -> Result<Pdf, PdfReadError> {
    Pdf::new(bytes.to_vec()).map_err(|err| match err {
        LoadPdfError::Decryption(_) => PdfReadError::Encrypted,
        LoadPdfError::Invalid => PdfReadError::Damaged,
    })
}

/// Returns the text of each of these pages, which are counted from 1. Pages that do not exist are empty.
pub(crate) fn read_pages<'a>(
    pdf: &'a Pdf,
    numbers: &'a [usize],
) -> impl Iterator<Item = PdfPageText> + use<'a> {
    let cache = InterpreterCache::new();
    numbers.iter().map(move |number| {
        let mut reader = GlyphCollector::default();
        if let Some(page) = number.checked_sub(1).and_then(|index| pdf.pages().get(index)) {
            collect_page(pdf, page, &cache, &mut reader);
        }
        let has_unknown = reader.has_unknown();
        PdfPageText { text: reader.lines.into_text(), has_unknown }
    })
}

/// Reads a PDF.
pub(crate) fn read_pdf(bytes: &[u8]) -> Result<PdfText, PdfReadError> {
    let pdf = open_pdf(bytes)?;
    let cache = InterpreterCache::new();
    let mut reader = GlyphCollector::default();
    let pages = pdf.pages();
    for page in pages.iter().take(PDF_PAGES_MAX) {
        collect_page(&pdf, page, &cache, &mut reader);
        if reader.lines.text().len() > TEXT_BYTES_MAX {
            break;
        }
    }
    let note = reader.note(pages.len());
    // A title is UTF-16 or UTF-8 with a mark, or a character set that is nearly windows-1252.
    let title = pdf.metadata().title.as_deref().map(|title| {
        let decoded = match title {
            [0xfe, 0xff, rest @ ..] => UTF_16BE.decode_without_bom_handling(rest).0,
            [0xef, 0xbb, 0xbf, rest @ ..] => UTF_8.decode_without_bom_handling(rest).0,
            _ => WINDOWS_1252.decode_without_bom_handling(title).0,
        };
        decoded.into_owned()
    });
    Ok(PdfText { title, text: reader.lines.into_text(), note })
}

fn collect_page<'a>(
    pdf: &'a Pdf,
    page: &'a Page<'a>,
    cache: &InterpreterCache<'a>,
    reader: &mut GlyphCollector,
) {
    let anywhere = Rect::new(0.0, 0.0, 1.0, 1.0);
    let settings = InterpreterSettings::default();
    let mut context = Context::new(Affine::IDENTITY, anywhere, cache, pdf.xref(), settings);
    interpret_page(page, &mut context, reader);
    reader.lines.end_page();
}

/// Collects the glyphs of pages.
#[derive(Default)]
struct GlyphCollector {
    lines: PdfLines,
    known: usize,
    /// Glyphs without a known character.
    unknown: usize,
}

impl GlyphCollector {
    fn add_glyph(&mut self, glyph: &Glyph<'_>, transform: Affine, mode: WritingMode) {
        let text = match glyph.as_unicode() {
            Some(BfString::Char(character)) => character.to_string(),
            Some(BfString::String(text)) => text,
            None => {
                self.unknown += 1;
                "\u{fffd}".to_owned()
            }
        };
        self.known += 1;
        let advance = match glyph {
            Glyph::Outline(glyph) => glyph.advance_width(),
            Glyph::Type3(glyph) => glyph.advance_width(),
        };
        let advance = f64::from(advance.unwrap_or_default());
        let origin = transform * Point::ZERO;
        let upright = transform * Point::new(0.0, UNITS_PER_EM) - origin;
        let onwards = transform * Point::new(UNITS_PER_EM, 0.0) - origin;
        let (step, end) = match mode {
            WritingMode::Horizontal => (onwards, transform * Point::new(advance, 0.0)),
            WritingMode::Vertical => (-upright, transform * Point::new(0.0, -UNITS_PER_EM)),
        };
        let direction = if step.hypot() > 0.0 { step / step.hypot() } else { Vec2::new(1.0, 0.0) };
        self.lines
            .add_glyph(&text, &GlyphPosition { origin, end, direction, size: upright.hypot() });
    }

    fn has_unknown(&self) -> bool {
        self.known > 0 && self.unknown * 100 >= self.known * UNKNOWN_MIN_PERCENT
    }

    fn note(&self, pages: usize) -> Option<String> {
        if self.known == 0 {
            return Some("there is no text in the PDF: its pages are probably pictures".to_owned());
        }
        let mut notes = Vec::new();
        if pages > PDF_PAGES_MAX {
            notes.push(format!("only the first {PDF_PAGES_MAX} of {pages} pages were read"));
        }
        if self.has_unknown() {
            notes.push(
                "the PDF does not say what some of its signs mean; they are \u{fffd}".to_owned(),
            );
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl<'a> Device<'a> for GlyphCollector {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}

    fn push_clip_path(&mut self, _: &ClipPath) {}

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, mode: &DrawMode) {
        // Text that is filled and outlined is drawn twice, first filled. Invisible text lies over the picture of a scan.
        match mode {
            DrawMode::Fill(_) | DrawMode::FillAndStroke(..) | DrawMode::Invisible => {}
            DrawMode::Stroke(_) => return,
        }
        if self.lines.text().len() > TEXT_BYTES_MAX {
            return;
        }
        for glyph in run.glyphs() {
            self.add_glyph(glyph, props.transform * glyph.transform(), run.writing_mode());
        }
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

#[cfg(test)]
pub(crate) mod tests;
