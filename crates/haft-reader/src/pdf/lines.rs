//! Joins glyphs to words and lines by their positions: a gap is a space, a step across is a new line, a wide step is a new
//! paragraph.

use haft_contract::is_invisible;
use hayro_interpret::kurbo::{Point, Vec2};

/// Step across the line that begins another one, in sizes of the glyph.
const LINE_STEP: f64 = 0.6;
/// Step across that begins a paragraph.
const PARAGRAPH_STEP: f64 = 1.75;
/// Gap between glyphs that separates words.
const WORD_GAP: f64 = 0.13;
/// Gap that separates columns.
const COLUMN_GAP: f64 = 1.8;
/// Step back along the line that begins another one.
const BACK_STEP: f64 = 0.8;

/// The position of a glyph on its page.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlyphPosition {
    pub(super) origin: Point,
    /// The origin of the next glyph, if no gap follows.
    pub(super) end: Point,
    /// The direction of the line, of length one.
    pub(super) direction: Vec2,
    /// Its height.
    pub(super) size: f64,
}

/// The lines of a document so far.
#[derive(Default)]
pub(super) struct PdfLines {
    text: String,
    last: Option<GlyphPosition>,
}

impl PdfLines {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(mut self) -> String {
        let length = self.text.trim_end().len();
        self.text.truncate(length);
        self.text
    }

    pub(super) fn end_page(&mut self) {
        self.begin_paragraph();
        self.last = None;
    }

    /// Adds the text of a glyph, and before it the separator that its distance from the last one means.
    pub(super) fn add_glyph(&mut self, text: &str, placed: &GlyphPosition) {
        // A size of zero or NaN tells no distances.
        if let Some(last) = self.last.replace(*placed)
            && let size = last.size.max(placed.size)
            && size > 0.0
        {
            let way = placed.origin - last.end;
            let along = way.dot(last.direction);
            let across = way.cross(last.direction).abs();
            if across > size * PARAGRAPH_STEP {
                self.begin_paragraph();
            } else if across > size * LINE_STEP || along < -size * BACK_STEP {
                self.trim_line();
                let mut before = self.text.chars().rev();
                let is_hyphen = matches!(before.next(), Some('-' | '\u{2010}'));
                let is_within_word = before.next().is_some_and(char::is_lowercase)
                    && text.chars().next().is_some_and(char::is_lowercase);
                // A word that the line break divides is joined.
                if is_hyphen && is_within_word {
                    self.text.pop();
                } else if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
            } else if along > size * COLUMN_GAP {
                self.push_space("  ");
            } else if along > size * WORD_GAP {
                self.push_space(" ");
            }
        }
        for character in text.chars() {
            match character {
                _ if character.is_whitespace() => self.push_space(" "),
                // A soft hyphen mostly ends a line within a word.
                '\u{ad}' => self.text.push('-'),
                _ if is_invisible(character) => {}
                '\u{fb00}' => self.text.push_str("ff"),
                '\u{fb01}' => self.text.push_str("fi"),
                '\u{fb02}' => self.text.push_str("fl"),
                '\u{fb03}' => self.text.push_str("ffi"),
                '\u{fb04}' => self.text.push_str("ffl"),
                '\u{fb05}' | '\u{fb06}' => self.text.push_str("st"),
                _ => self.text.push(character),
            }
        }
    }

    fn push_space(&mut self, space: &str) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push_str(space);
        }
    }

    fn begin_paragraph(&mut self) {
        self.trim_line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            let missing = if self.text.ends_with('\n') { "\n" } else { "\n\n" };
            self.text.push_str(missing);
        }
    }

    fn trim_line(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
    }
}
