//! A small glob over bytes: `*`, `?` and `[…]`. It knows nothing of paths, commands or hosts, does not backtrack
//! exponentially, and matches bytes, so a name that is not UTF-8 is matched by a star as any other.

use std::collections::HashSet;

use crate::pattern_fault::PatternFault;

#[cfg(test)]
mod tests;

/// Stands between the words of a command. No argument and no file name can hold it.
pub(crate) const BOUNDARY: u8 = 0;
/// Stands for a word that is not known, in a text that may match. No text in UTF-8 holds this byte.
pub(crate) const UNKNOWN_WORD: u8 = 0xFF;

/// A compiled glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    tokens: Vec<GlobToken>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobToken {
    Byte(u8),
    /// Exactly one character, never a boundary.
    AnyChar,
    /// One character out of a set, never a boundary.
    Class(Class),
    /// Anything, also nothing, also boundaries.
    Many,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Glob {
    /// Compiles a text in which white space stands for itself.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternFault> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = push_token(&mut tokens, first, rest)?;
        }
        Ok(Self { tokens })
    }

    /// Compiles a text in which each run of white space outside brackets is one boundary; ends are trimmed.
    pub(crate) fn parse_words(text: &str) -> Result<Self, PatternFault> {
        let mut tokens = Vec::new();
        let mut rest = text.trim();
        while let Some(first) = rest.chars().next() {
            if first.is_whitespace() {
                tokens.push(GlobToken::Byte(BOUNDARY));
                rest = rest.trim_start();
            } else {
                rest = push_token(&mut tokens, first, rest)?;
            }
        }
        Ok(Self { tokens })
    }

    /// Returns the text that is matched, if there is only one.
    pub(crate) fn literal(&self) -> Option<Vec<u8>> {
        let literal = self.literal_prefix();
        (literal.len() == self.tokens.len()).then_some(literal)
    }

    /// Returns the bytes before the first token that is not literal.
    pub(crate) fn literal_prefix(&self) -> Vec<u8> {
        self.tokens.iter().map_while(GlobToken::byte).collect()
    }

    /// Returns whether everything matches.
    pub(crate) fn is_everything(&self) -> bool {
        self.tokens.iter().all(|token| *token == GlobToken::Many)
    }

    /// Returns the glob of what stands before the first boundary.
    pub(crate) fn first_word(&self) -> Self {
        let is_boundary = |token: &&GlobToken| **token != GlobToken::Byte(BOUNDARY);
        Self { tokens: self.tokens.iter().take_while(is_boundary).cloned().collect() }
    }

    /// Returns whether the byte occurs as itself.
    pub(crate) fn contains_byte(&self, byte: u8) -> bool {
        self.tokens.contains(&GlobToken::Byte(byte))
    }

    /// Returns the glob without a last word that is only `*`, or `None` if the last word is something else.
    pub(crate) fn without_last_star_word(&self) -> Option<Self> {
        match self.tokens.as_slice() {
            [before @ .., GlobToken::Byte(BOUNDARY), GlobToken::Many] => {
                Some(Self { tokens: before.to_vec() })
            }
            _ => None,
        }
    }

    /// Returns the glob followed by a boundary and anything.
    pub(crate) fn with_more_words(&self) -> Self {
        let mut tokens = self.tokens.clone();
        tokens.extend([GlobToken::Byte(BOUNDARY), GlobToken::Many]);
        Self { tokens }
    }

    /// Returns whether every longer text matches that begins with a text that matches.
    pub(crate) fn ends_with_star(&self) -> bool {
        self.tokens.last() == Some(&GlobToken::Many)
    }

    /// Returns whether the whole text matches for some value of its unknown words. Such a word stands for any characters
    /// without a boundary, or for no word at all.
    pub(crate) fn may_match(&self, text: &[u8]) -> bool {
        let mut open = vec![(0, 0)];
        let mut seen = HashSet::new();
        while let Some((token_at, text_at)) = open.pop() {
            if !seen.insert((token_at, text_at)) {
                continue;
            }
            let token = self.tokens.get(token_at);
            let rest = text.get(text_at..).unwrap_or_default();
            let Some((char, width)) = first_char(rest) else {
                if token.is_none() {
                    return true;
                }
                if token == Some(&GlobToken::Many) {
                    open.push((token_at + 1, text_at));
                }
                continue;
            };
            if rest.starts_with(&[BOUNDARY, UNKNOWN_WORD]) {
                open.push((token_at, text_at + 2));
            }
            let is_unknown = rest.first() == Some(&UNKNOWN_WORD);
            if is_unknown {
                open.push((token_at, text_at + 1));
            }
            let is_boundary = rest.first() == Some(&BOUNDARY);
            match token {
                None => {}
                Some(GlobToken::Many) => {
                    open.extend([(token_at + 1, text_at), (token_at, text_at + width)]);
                }
                Some(GlobToken::Byte(BOUNDARY)) if is_unknown => {}
                // The unknown word goes on after the character that this token matches.
                Some(_) if is_unknown => open.push((token_at + 1, text_at)),
                Some(GlobToken::Byte(byte)) if rest.first() == Some(byte) => {
                    open.push((token_at + 1, text_at + 1));
                }
                Some(GlobToken::AnyChar) if !is_boundary => {
                    open.push((token_at + 1, text_at + width));
                }
                Some(GlobToken::Class(class)) if !is_boundary && class.contains(char) => {
                    open.push((token_at + 1, text_at + width));
                }
                Some(GlobToken::Byte(_) | GlobToken::AnyChar | GlobToken::Class(_)) => {}
            }
        }
        false
    }

    /// Returns whether the whole text matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let (mut token_at, mut text_at) = (0, 0);
        // Where to go on when a guess about the last star fails: the token after it, and where its text ended.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let rest = text.get(text_at..).unwrap_or_default();
            let step = match self.tokens.get(token_at) {
                Some(GlobToken::Many) if token_at + 1 == self.tokens.len() => return true,
                Some(GlobToken::Many) => {
                    token_at += 1;
                    retry = Some((token_at, text_at));
                    continue;
                }
                Some(GlobToken::Byte(byte)) => (rest.first() == Some(byte)).then_some(1),
                Some(GlobToken::AnyChar) => first_char(rest)
                    .filter(|_| rest.first() != Some(&BOUNDARY))
                    .map(|(_, width)| width),
                Some(GlobToken::Class(class)) => first_char(rest)
                    .filter(|(char, _)| rest.first() != Some(&BOUNDARY) && class.contains(*char))
                    .map(|(_, width)| width),
                None if rest.is_empty() => return true,
                None => None,
            };
            if let Some(width) = step {
                token_at += 1;
                text_at += width;
                continue;
            }
            let Some((after_star, star_end)) = retry else { return false };
            let Some((_, width)) = text.get(star_end..).and_then(first_char) else { return false };
            (token_at, text_at) = (after_star, star_end + width);
            retry = Some((token_at, text_at));
        }
    }
}

impl GlobToken {
    fn byte(&self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(*byte),
            Self::AnyChar | Self::Class(_) | Self::Many => None,
        }
    }
}

impl Class {
    /// A byte that is no character (`None`) is in every negated set and in no other.
    fn contains(&self, char: Option<char>) -> bool {
        let listed = char.is_some_and(|char| {
            self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&char))
        });
        listed != self.negated
    }
}

/// Returns the first character and its width in bytes; a byte that is not part of UTF-8 counts as one character.
fn first_char(text: &[u8]) -> Option<(Option<char>, usize)> {
    let width = match text.first()? {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let char = text
        .get(..width)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| text.chars().next());
    Some(char.map_or((None, 1), |char| (Some(char), width)))
}

/// Pushes what `rest`, which starts with `first`, begins with, and returns what follows it.
fn push_token<'a>(
    tokens: &mut Vec<GlobToken>,
    first: char,
    rest: &'a str,
) -> Result<&'a str, PatternFault> {
    let after = rest.get(first.len_utf8()..).unwrap_or_default();
    match first {
        '*' if tokens.last() == Some(&GlobToken::Many) => {}
        '*' => tokens.push(GlobToken::Many),
        '?' => tokens.push(GlobToken::AnyChar),
        '[' => return push_class(tokens, after),
        '\\' => return Err(PatternFault::Backslash),
        '\0' => return Err(PatternFault::NulByte),
        '{' if after.split_once('}').is_some_and(|(inner, _)| inner.contains(',')) => {
            return Err(PatternFault::Alternatives);
        }
        _ => push_literal(tokens, first),
    }
    Ok(after)
}

fn push_literal(tokens: &mut Vec<GlobToken>, char: char) {
    tokens.extend(char.encode_utf8(&mut [0; 4]).bytes().map(GlobToken::Byte));
}

/// Pushes the set whose text follows the bracket, and returns what follows it. A set of one is a literal.
fn push_class<'a>(tokens: &mut Vec<GlobToken>, after: &'a str) -> Result<&'a str, PatternFault> {
    let (negated, set) = match after.strip_prefix(['!', '^']) {
        Some(set) => (true, set),
        None => (false, after),
    };
    // A bracket that comes first stands for itself, as everywhere.
    let first_width = set.chars().next().ok_or(PatternFault::OpenBracket)?.len_utf8();
    let end = set
        .get(first_width..)
        .and_then(|tail| tail.find(']'))
        .map(|found| found + first_width)
        .ok_or(PatternFault::OpenBracket)?;
    let (members, rest) = set.split_at(end);
    if members.contains('\0') {
        return Err(PatternFault::NulByte);
    }
    let mut ranges = Vec::new();
    let mut chars = members.chars();
    while let Some(first) = chars.next() {
        let mut ahead = chars.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) => {
                chars = ahead;
                last
            }
            _ => first,
        };
        if last < first {
            return Err(PatternFault::EmptyRange { first, last });
        }
        ranges.push((first, last));
    }
    match ranges.as_slice() {
        [(first, last)] if first == last && !negated => push_literal(tokens, *first),
        _ => tokens.push(GlobToken::Class(Class { negated, ranges })),
    }
    Ok(rest.strip_prefix(']').unwrap_or(rest))
}
