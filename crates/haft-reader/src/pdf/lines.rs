//! Words and lines of glyphs that each stand somewhere: a gap is a space, a step across is a new line, a wide one a new
//! paragraph.

use haft_contract::is_invisible;
use hayro_interpret::kurbo::{Point, Vec2};

/// Step across the line that begins another one, in sizes of the glyph.
const LINE_STEP: f64 = 0.6;
/// Step across that begins a paragraph.
const PARAGRAPH_STEP: f64 = 1.75;
/// Gap between glyphs that parts words.
const WORD_GAP: f64 = 0.13;
/// Gap that parts columns.
const COLUMN_GAP: f64 = 1.8;
/// Step back along the line after which something else goes on.
const BACK_STEP: f64 = 0.8;

/// Where a glyph stands on its page.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlyphPosition {
    pub(super) origin: Point,
    /// Where the next one is due.
    pub(super) end: Point,
    /// The way in which the line goes, of length one.
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

    /// Adds what a glyph stands for.
    pub(super) fn add_glyph(&mut self, text: &str, placed: &GlyphPosition) {
        if let Some(last) = self.last {
            self.separate(&last, placed, text);
        }
        self.last = Some(*placed);
        for character in text.chars() {
            match character {
                _ if character.is_whitespace() => self.push_space(" "),
                // The end of a word that a line break parts, mostly.
                '\u{ad}' => self.text.push('-'),
                _ if is_invisible(character) => {}
                _ => match ligature(character) {
                    Some(letters) => self.text.push_str(letters),
                    None => self.text.push(character),
                },
            }
        }
    }

    /// Puts between two glyphs what their distance means.
    fn separate(&mut self, last: &GlyphPosition, next: &GlyphPosition, text: &str) {
        let way = next.origin - last.end;
        let size = last.size.max(next.size);
        let along = way.dot(last.direction);
        let across = way.cross(last.direction).abs();
        // What has no size, or none that is a number, has no distances either.
        if size.is_nan() || size <= 0.0 {
            return;
        }
        if across > size * PARAGRAPH_STEP {
            self.begin_paragraph();
        } else if across > size * LINE_STEP || along < -size * BACK_STEP {
            self.begin_line(text);
        } else if along > size * COLUMN_GAP {
            self.push_space("  ");
        } else if along > size * WORD_GAP {
            self.push_space(" ");
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

    /// Begins a line, unless the one before ended within a word.
    fn begin_line(&mut self, next: &str) {
        self.trim_line();
        let mut before = self.text.chars().rev();
        let is_hyphen = matches!(before.next(), Some('-' | '\u{2010}'));
        let is_within_word = before.next().is_some_and(char::is_lowercase)
            && next.chars().next().is_some_and(char::is_lowercase);
        if is_hyphen && is_within_word {
            self.text.pop();
        } else if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn trim_line(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
    }
}

fn ligature(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => return None,
    })
}
