//! Words, from their source to what a program gets. What the shell would expand is not expanded: such a word is
//! unknown, and code that hides in it where the parsers were not asked for code makes the whole line unknown.

use crate::judgement::{self, UnknownReason};
use crate::syntax::{self, Code};

#[cfg(test)]
mod tests;

/// What the source of a word says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    Literal(String),
    /// The shell expands it; what stands before the first expansion is known.
    Dynamic {
        prefix: String,
        has_arithmetic: bool,
    },
}

/// Decodes a word that is split and expanded as an argument is.
pub(crate) fn decode(word: &syntax::Word) -> Result<Decoded, UnknownReason> {
    let mut decoder = Decoder::new(word);
    decoder.bare()?;
    Ok(decoder.finish())
}

/// Checks that a here-document holds no code but its holes.
pub(crate) fn decode_document(word: &syntax::Word) -> Result<Decoded, UnknownReason> {
    let mut decoder = Decoder::new(word);
    decoder.document()?;
    Ok(decoder.finish())
}

/// Checks that text in which the shell expands, and which is not decoded, holds no code.
pub(crate) fn check_no_code(source: &str) -> Result<(), UnknownReason> {
    // `@P` expands a value as a prompt, and `!` takes a value for a name with a subscript; both can run code.
    let openers = ["$(", "`", "$[", "<(", ">(", "${!", "@P"];
    if openers.iter().any(|opener| source.contains(opener)) {
        return Err(UnknownReason::Expansion);
    }
    Ok(())
}

/// Words that are no program unless they are quoted.
const RESERVED: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while",
];

/// Spells words as a line that bash reads back.
pub(crate) fn line_of(words: &[judgement::Word]) -> String {
    let spelled = words.iter().enumerate().map(|(index, word)| match word {
        judgement::Word::Literal(text) if index == 0 && is_special_first(text) => quoted(text),
        judgement::Word::Literal(text) if is_plain(text) => text.clone(),
        judgement::Word::Literal(text) => quoted(text),
        judgement::Word::Unknown(source) => source.clone(),
    });
    spelled.collect::<Vec<_>>().join(" ")
}

/// Returns whether a word would be read as syntax or as an assignment where a program is expected.
fn is_special_first(text: &str) -> bool {
    RESERVED.contains(&text) || text.contains('=')
}

fn is_plain(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./:=@%+,-".contains(char);
    !text.is_empty() && text.chars().all(is_plain)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

struct Decoder<'a> {
    word: &'a syntax::Word,
    at: usize,
    text: String,
    /// What stood before the first expansion, once there was one.
    prefix: Option<String>,
    has_arithmetic: bool,
    /// The length of the text at an unquoted brace that is open.
    brace: Option<usize>,
    /// The rest was searched as a whole, and quotes are not closed any more.
    is_searched: bool,
}

impl<'a> Decoder<'a> {
    fn new(word: &'a syntax::Word) -> Self {
        Self {
            word,
            at: 0,
            text: String::new(),
            prefix: None,
            has_arithmetic: false,
            brace: None,
            is_searched: false,
        }
    }

    fn finish(self) -> Decoded {
        match self.prefix {
            Some(prefix) => Decoded::Dynamic { prefix, has_arithmetic: self.has_arithmetic },
            None => Decoded::Literal(self.text),
        }
    }

    fn rest(&self) -> &'a str {
        self.word.source.get(self.at..).unwrap_or_default()
    }

    /// Takes the next character.
    fn take(&mut self) -> Option<char> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn become_dynamic(&mut self) {
        self.prefix.get_or_insert_with(|| self.text.clone());
    }

    fn bare(&mut self) -> Result<(), UnknownReason> {
        loop {
            if self.hole() {
                continue;
            }
            let starts_tilde = self.at == 0 || self.text.ends_with(['=', ':']);
            let Some(char) = self.take() else { return Ok(()) };
            match char {
                '\\' => match self.take() {
                    Some('\n') => {}
                    Some(escaped) => self.text.push(escaped),
                    None => return Err(UnknownReason::Syntax),
                },
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '$' if self.rest().starts_with('\'') => self.ansi_quoted()?,
                // The text may be translated.
                '$' if self.rest().starts_with('"') => self.become_dynamic(),
                '$' => self.dollar()?,
                '~' if starts_tilde => self.become_dynamic(),
                '*' | '?' => self.become_dynamic(),
                '[' if self.rest().contains(']') => self.become_dynamic(),
                '{' if self.rest().starts_with('}') => {
                    self.at += 1;
                    self.text.push_str("{}");
                }
                '{' => {
                    self.brace.get_or_insert(self.text.len());
                    self.text.push('{');
                }
                '}' if self.brace.is_some() => {
                    self.text.truncate(self.brace.unwrap_or_default());
                    self.become_dynamic();
                }
                '`' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '\n' => {
                    return Err(UnknownReason::Expansion);
                }
                char => self.text.push(char),
            }
        }
    }

    fn single_quoted(&mut self) -> Result<(), UnknownReason> {
        let end = self.rest().find('\'').ok_or(UnknownReason::Syntax)?;
        self.text.push_str(self.rest().get(..end).unwrap_or_default());
        self.at += end + 1;
        Ok(())
    }

    /// Takes `'…'` after a dollar sign. Of its escapes only those of one character are decoded.
    fn ansi_quoted(&mut self) -> Result<(), UnknownReason> {
        self.at += 1;
        loop {
            match self.take().ok_or(UnknownReason::Syntax)? {
                '\'' => return Ok(()),
                '\\' => match self.take().ok_or(UnknownReason::Syntax)? {
                    'n' => self.text.push('\n'),
                    't' => self.text.push('\t'),
                    'r' => self.text.push('\r'),
                    escaped @ ('\\' | '\'' | '"' | '?') => self.text.push(escaped),
                    _ => self.become_dynamic(),
                },
                char => self.text.push(char),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), UnknownReason> {
        loop {
            if self.constant() || self.hole() {
                continue;
            }
            match self.take() {
                None if self.is_searched => return Ok(()),
                None => return Err(UnknownReason::Syntax),
                Some('"') => return Ok(()),
                Some('\\') => self.quoted_escape(),
                Some('$') => self.dollar()?,
                Some('`') => return Err(UnknownReason::Expansion),
                Some(char) => self.text.push(char),
            }
        }
    }

    fn document(&mut self) -> Result<(), UnknownReason> {
        loop {
            if self.hole() {
                continue;
            }
            match self.take() {
                None => return Ok(()),
                Some('\\') => self.quoted_escape(),
                Some('$') => self.dollar()?,
                Some('`') => return Err(UnknownReason::Expansion),
                Some(char) => self.text.push(char),
            }
        }
    }

    /// Takes what follows a backslash in double quotes, where it escapes only what is special there.
    fn quoted_escape(&mut self) {
        match self.rest().chars().next() {
            Some('\n') => self.at += 1,
            Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                self.at += 1;
                self.text.push(escaped);
            }
            Some(_) | None => self.text.push('\\'),
        }
    }

    /// Takes a hole that starts here and whose text is known.
    fn constant(&mut self) -> bool {
        let Some(hole) = self.hole_here() else { return false };
        let Some(text) = hole.constant() else { return false };
        self.text.push_str(text);
        self.at = hole.range.end;
        true
    }

    fn hole_here(&self) -> Option<&'a syntax::Hole> {
        self.word.holes.iter().find(|hole| hole.range.start == self.at)
    }

    /// Steps over a hole that starts here.
    fn hole(&mut self) -> bool {
        let Some(hole) = self.hole_here() else { return false };
        self.has_arithmetic |= hole.code == Code::Arithmetic;
        self.become_dynamic();
        self.at = hole.range.end.max(self.at + 1);
        true
    }

    /// Takes what follows a dollar sign.
    fn dollar(&mut self) -> Result<(), UnknownReason> {
        let Some(next) = self.rest().chars().next() else {
            self.text.push('$');
            return Ok(());
        };
        match next {
            '(' | '[' => Err(UnknownReason::Expansion),
            '{' => self.parameter(),
            next if next.is_ascii_alphanumeric() || "_@*#?-$!".contains(next) => {
                self.at += next.len_utf8();
                self.become_dynamic();
                Ok(())
            }
            _ => {
                self.text.push('$');
                Ok(())
            }
        }
    }

    /// Takes `{…}` after a dollar sign. Where it ends decides nothing once it is known that no code follows in the
    /// word, so the rest is only searched for code.
    fn parameter(&mut self) -> Result<(), UnknownReason> {
        self.become_dynamic();
        let body = self.rest();
        let simple = body.find('}').and_then(|end| body.get(1..end));
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if let Some(name) = simple.filter(|name| !name.is_empty() && name.chars().all(is_name)) {
            self.at += name.len() + 2;
            return Ok(());
        }
        let body = self.without_holes();
        self.has_arithmetic |= has_subscript(&body);
        self.at = self.word.source.len();
        self.is_searched = true;
        check_no_code(&format!("${body}"))
    }

    /// Returns the rest of the source with a space for every hole.
    fn without_holes(&self) -> String {
        let mut text = String::new();
        let mut at = self.at;
        for hole in self.word.holes.iter().filter(|hole| hole.range.start >= self.at) {
            text.push_str(self.word.source.get(at..hole.range.start).unwrap_or_default());
            text.push(' ');
            at = hole.range.end;
        }
        text + self.word.source.get(at..).unwrap_or_default()
    }
}

/// Returns whether parameter expansions in `text` may evaluate arithmetic: as a subscript, or after a colon that
/// begins no default.
fn has_subscript(text: &str) -> bool {
    let after = |mark: char| text.split(mark).skip(1);
    after('[').any(|rest| !rest.starts_with(['@', '*']))
        || after(':').any(|rest| !rest.starts_with(['-', '=', '?', '+']))
}
