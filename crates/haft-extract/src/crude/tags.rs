//! Where tags begin and end, in one pass. What an element means is not known here.

use std::borrow::Cow;

/// Elements whose content is text up to their end, whatever it looks like.
const RAW: &[&str] =
    &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];
/// Classes of what is there for other than eyes.
const UNSEEN_CLASSES: &[&str] =
    &["sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screen-reader-only"];

/// A piece of markup.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Open(Tag<'a>),
    /// The end of the element of this name, in lower case.
    Close(Cow<'a, str>),
}

/// A tag that opens an element.
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: Cow<'a, str>,
    attributes: &'a str,
    /// Whether it says that the element ends with it.
    pub(super) is_closed: bool,
}

/// The pieces of a page, in their order.
pub(super) struct Pieces<'a> {
    rest: &'a str,
    /// The element that is open and holds nothing but text.
    raw: Option<String>,
    /// Ends of such elements that are not in the rest, so that they are not looked for again.
    endless: Vec<&'static str>,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(html: &'a str) -> Self {
        Self { rest: html, raw: None, endless: Vec::new() }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Takes everything up to the end of an element that holds only text.
    fn take_raw(&mut self, name: &str) -> Option<&'a str> {
        let end = find_end(self.rest, name).unwrap_or(self.rest.len());
        (end > 0).then(|| self.advance(end))
    }

    /// Skips a comment, a declaration or an instruction.
    fn skip_declaration(&mut self) {
        let end = match self.rest.strip_prefix("<!--") {
            Some(comment) => comment.find("-->").map(|end| end + "<!---->".len()),
            None => self.rest.find('>').map(|end| end + 1),
        };
        // Browsers take an open comment for one up to the end.
        self.advance(end.unwrap_or(self.rest.len()));
    }

    fn take_tag(&mut self) -> Piece<'a> {
        let is_close = self.rest.starts_with("</");
        let end = tag_end(self.rest);
        let tag = self.advance(end);
        let inner = tag.trim_start_matches(['<', '/']).trim_end_matches('>');
        let name_end =
            inner.find(|character: char| character.is_ascii_whitespace() || character == '/');
        let (name, attributes) = inner.split_at(name_end.unwrap_or(inner.len()));
        let name = lower(name);
        if is_close {
            return Piece::Close(name);
        }
        let is_closed = attributes.ends_with('/');
        if let Some(raw) = RAW.iter().find(|raw| **raw == name)
            && !self.endless.contains(raw)
        {
            if find_end(self.rest, raw).is_some() {
                self.raw = Some((*raw).to_owned());
            } else {
                self.endless.push(raw);
            }
        }
        Piece::Open(Tag { name, attributes, is_closed })
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(name) = self.raw.take()
            && let Some(text) = self.take_raw(&name)
        {
            return Some(Piece::Text(text));
        }
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
                self.skip_declaration();
            } else if begins_tag(self.rest) {
                return Some(self.take_tag());
            } else {
                let next =
                    self.rest.char_indices().skip(1).find(|(_, character)| *character == '<');
                let end = next.map_or(self.rest.len(), |(index, _)| index);
                return Some(Piece::Text(self.advance(end)));
            }
        }
    }
}

impl Tag<'_> {
    /// Returns whether the element itself says that it is not shown.
    pub(super) fn is_hidden(&self) -> bool {
        // Most tags say nothing of the kind.
        if self.attributes.is_empty() {
            return false;
        }
        let attributes = self.attributes.to_ascii_lowercase();
        let words = || {
            attributes.split(|character: char| {
                character.is_ascii_whitespace() || matches!(character, '"' | '\'' | '=' | '/')
            })
        };
        let compact: String =
            attributes.chars().filter(|character| !character.is_whitespace()).collect();
        attributes.split_ascii_whitespace().any(|word| {
            matches!(word, "hidden" | "hidden=\"\"" | "hidden=hidden" | "hidden=\"hidden\"")
        }) || ["display:none", "visibility:hidden", "aria-hidden=\"true\"", "aria-hidden=true"]
            .iter()
            .any(|sign| compact.contains(sign))
            || attributes.contains("class") && words().any(|word| UNSEEN_CLASSES.contains(&word))
    }
}

fn begins_tag(text: &str) -> bool {
    let after = text.strip_prefix('<').map(|after| after.strip_prefix('/').unwrap_or(after));
    after.and_then(|after| after.chars().next()).is_some_and(|first| first.is_ascii_alphabetic())
}

/// Returns the length of the tag that begins here: up to a `>` that is not within quotes. A quote that does not end
/// before the next tag is a slip of the pen.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    let mut previous = '<';
    for (index, character) in text.char_indices().skip(1) {
        match (quote, character) {
            (None, '>') => return index + 1,
            (None, '<') => return index,
            (None, '"' | '\'') if previous == '=' => quote = Some((character, index)),
            (Some((open, _)), _) if open == character => quote = None,
            _ => {}
        }
        if !character.is_ascii_whitespace() {
            previous = character;
        }
    }
    // There is no other such quote after this one, so that this second look is taken once for each of the two.
    let unquoted = quote.and_then(|(_, from)| Some(from + text.get(from..)?.find('>')? + 1));
    unquoted.unwrap_or(text.len())
}

/// Returns where the end tag of an element begins.
fn find_end(text: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find("</") {
        let start = from + found;
        let after = text.get(start + 2..)?;
        let is_named = after.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
        let next = after.get(name.len()..).and_then(|rest| rest.chars().next());
        let is_whole =
            next.is_none_or(|next| next.is_ascii_whitespace() || matches!(next, '>' | '/'));
        if is_named && is_whole {
            return Some(start);
        }
        from = start + 2;
    }
    None
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
