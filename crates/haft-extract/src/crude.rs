//! Markup without a parser: one pass over it that keeps the text between tags, in time that grows with its length only and
//! without recursion. It serves pages that are too much for anything that understands them. Links, tables and everything
//! that only a tree can tell are lost.

mod references;
mod tags;

use std::borrow::Cow;
use std::collections::HashMap;

use haft_contract::is_unseen;

use self::references::push_decoded;
use self::tags::{Piece, Pieces, Tag};

/// Elements that hold what nobody reads.
const UNREAD: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select",
    "datalist", "canvas", "audio", "video",
];
/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "title",
    "tr",
    "ul",
];
/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
];
/// Elements whose end is mostly left out: the next of them ends the one before.
const ENDLESS: &[&str] = &[
    "body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rb", "rp",
    "rt", "rtc", "tbody", "td", "tfoot", "th", "thead", "tr",
];
/// Elements of drawings and formulas, the only ones that a slash at the end of their tag ends.
const FOREIGN: &[&str] = &[
    "animate", "circle", "defs", "ellipse", "g", "image", "line", "math", "mspace", "none", "path",
    "polygon", "polyline", "rect", "stop", "svg", "text", "tspan", "use",
];

/// What is left of markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripped {
    /// The content of the first `title`.
    pub title: Option<String>,
    /// The text between the tags, space collapsed as browsers do.
    pub text: String,
}

/// Returns the text of a page without its tags.
pub fn strip_tags(html: &str) -> Stripped {
    let mut stripper = Stripper::default();
    for piece in Pieces::of(html) {
        match piece {
            Piece::Text(text) => stripper.take_text(text),
            Piece::Open(tag) => stripper.open(&tag),
            Piece::Close(name) => stripper.close(&name),
        }
    }
    let title = stripper.title.map(|title| title.trim().to_owned());
    let length = stripper.text.trim_end().len();
    stripper.text.truncate(length);
    Stripped { title: title.filter(|title| !title.is_empty()), text: stripper.text }
}

/// Returns how deep elements are nested, if each is closed where it says.
pub(crate) fn depth(html: &str) -> usize {
    let mut open: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut depth = 0_usize;
    let mut deepest = 0;
    for piece in Pieces::of(html) {
        match piece {
            Piece::Open(tag) if nests(&tag) => {
                *open.entry(tag.name).or_default() += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            // What is not open is not closed either.
            Piece::Close(name) => {
                if let Some(count @ 1..) = open.get_mut(&name) {
                    *count -= 1;
                    depth -= 1;
                }
            }
            Piece::Open(_) | Piece::Text(_) => {}
        }
    }
    deepest
}

/// Returns whether an element with this tag can be within another of its name.
fn nests(tag: &Tag<'_>) -> bool {
    has_content(tag) && !ENDLESS.contains(&&*tag.name)
}

fn has_content(tag: &Tag<'_>) -> bool {
    let name = &*tag.name;
    !(VOID.contains(&name) || tag.is_closed && FOREIGN.contains(&name))
}

#[derive(Default)]
struct Stripper {
    text: String,
    title: Option<String>,
    is_in_title: bool,
    /// The element whose content is left out, and how many of its name are open within.
    left_out: Option<(String, usize)>,
    /// How many elements that keep their space are open.
    preformatted: usize,
    /// What has to come before the next text.
    gap: Gap,
}

/// The space between two texts, the wider one counts.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

impl Stripper {
    fn take_text(&mut self, text: &str) {
        if self.left_out.is_some() {
            return;
        }
        if self.is_in_title {
            push_decoded(self.title.get_or_insert_default(), text);
            return;
        }
        let mut decoded = String::new();
        push_decoded(&mut decoded, text);
        if self.preformatted > 0 {
            self.fill_gap();
            self.text.extend(
                decoded.chars().filter(|character| !is_unseen(*character) && *character != '\r'),
            );
            return;
        }
        for character in decoded.chars().filter(|character| !is_unseen(*character)) {
            if character.is_whitespace() {
                self.widen(Gap::Space);
            } else {
                self.fill_gap();
                self.text.push(character);
            }
        }
    }

    fn open(&mut self, tag: &Tag<'_>) {
        let name = &*tag.name;
        if let Some((left_out, open)) = &mut self.left_out {
            let is_same = left_out == name;
            if !is_same || !ENDLESS.contains(&name) {
                *open += usize::from(is_same && nests(tag));
                return;
            }
            self.left_out = None;
        }
        if UNREAD.contains(&name) || tag.is_hidden() {
            self.left_out = has_content(tag).then(|| (name.to_owned(), 1));
            return;
        }
        match name {
            "title" if self.title.is_none() => self.is_in_title = true,
            "pre" | "textarea" => self.preformatted += 1,
            "br" => self.widen(Gap::Line),
            "td" | "th" => self.widen(Gap::Space),
            _ => {}
        }
        self.widen(gap_around(name));
        if name == "li" {
            self.fill_gap();
            self.text.push_str("- ");
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((left_out, open)) = &mut self.left_out {
            if left_out == name {
                *open -= 1;
                if *open == 0 {
                    self.left_out = None;
                }
            }
            return;
        }
        match name {
            "title" => self.is_in_title = false,
            "pre" | "textarea" => self.preformatted = self.preformatted.saturating_sub(1),
            _ => {}
        }
        self.widen(gap_around(name));
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn fill_gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("- ") {
            self.text.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::None;
    }
}

fn gap_around(name: &str) -> Gap {
    match name {
        "li" | "tr" | "dt" | "dd" | "option" => Gap::Line,
        _ if BLOCKS.contains(&name) => Gap::Paragraph,
        _ => Gap::None,
    }
}

#[cfg(test)]
mod tests;
