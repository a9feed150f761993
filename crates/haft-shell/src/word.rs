//! Decodes words, from their source to the value that a program receives. Expansions are not
//! performed: such a word is unknown. Code that hides in a word, where the parsers were not asked
//! for code, makes the whole line unknown.

use crate::analysis::UnknownReason;
use crate::syntax::{self, EmbeddedCode};

#[cfg(test)]
mod tests;

/// The decoded value of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodedWord {
    Literal(String),
    /// The shell expands it; the text before the first expansion is known.
    Dynamic {
        prefix: String,
        has_arithmetic: bool,
    },
}

/// Decodes a word that is split and expanded like an argument.
pub(crate) fn decode(word: &syntax::ShellWord) -> Result<DecodedWord, UnknownReason> {
    let mut decoder = WordDecoder::new(word);
    decoder.bare()?;
    Ok(decoder.finish())
}

/// Checks that a here-document contains no code outside its known substitutions.
pub(crate) fn decode_document(word: &syntax::ShellWord) -> Result<DecodedWord, UnknownReason> {
    let mut decoder = WordDecoder::new(word);
    decoder.document()?;
    Ok(decoder.finish())
}

/// Checks that text with expansions, which is not decoded, contains no code.
pub(crate) fn check_no_code(source: &str) -> Result<(), UnknownReason> {
    // `@P` expands a value as a prompt, and `!` uses a value as a name with a subscript; both can
    // run code.
    let openers = ["$(", "`", "$[", "<(", ">(", "${!", "@P"];
    if openers.iter().any(|opener| source.contains(opener)) {
        return Err(UnknownReason::Expansion);
    }
    Ok(())
}

struct WordDecoder<'a> {
    word: &'a syntax::ShellWord,
    at: usize,
    text: String,
    /// The text before the first expansion, once there was one.
    prefix: Option<String>,
    has_arithmetic: bool,
    /// The length of the text at an open unquoted brace.
    brace: Option<usize>,
    /// The rest was searched as a whole, and quotes are no longer closed.
    is_searched: bool,
}

impl<'a> WordDecoder<'a> {
    fn new(word: &'a syntax::ShellWord) -> Self {
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

    fn finish(self) -> DecodedWord {
        match self.prefix {
            Some(prefix) => DecodedWord::Dynamic { prefix, has_arithmetic: self.has_arithmetic },
            None => DecodedWord::Literal(self.text),
        }
    }

    fn rest(&self) -> &'a str {
        self.word.source.get(self.at..).unwrap_or_default()
    }

    /// Consumes the next character.
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
            if self.skip_code_expansion() {
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

    /// Parses `'…'` after a dollar sign. Only escapes of a single character are decoded.
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
            if self.constant() || self.skip_code_expansion() {
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
            if self.skip_code_expansion() {
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

    /// Parses the text after a backslash in double quotes, where it escapes only special
    /// characters.
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

    /// Parses a substitution that starts here and has constant text.
    fn constant(&mut self) -> bool {
        let Some(hole) = self.code_expansion_here() else { return false };
        let Some(text) = hole.constant() else { return false };
        self.text.push_str(text);
        self.at = hole.range.end;
        true
    }

    fn code_expansion_here(&self) -> Option<&'a syntax::CodeExpansion> {
        self.word.code_expansions.iter().find(|hole| hole.range.start == self.at)
    }

    /// Skips a substitution that starts here.
    fn skip_code_expansion(&mut self) -> bool {
        let Some(hole) = self.code_expansion_here() else { return false };
        self.has_arithmetic |= hole.code == EmbeddedCode::Arithmetic;
        self.become_dynamic();
        self.at = hole.range.end.max(self.at + 1);
        true
    }

    /// Parses the text after a dollar sign.
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

    /// Parses `{…}` after a dollar sign. Its end does not matter once it is known that no code
    /// follows in the word, so the rest is only searched for code.
    fn parameter(&mut self) -> Result<(), UnknownReason> {
        self.become_dynamic();
        let body = self.rest();
        let simple = body.find('}').and_then(|end| body.get(1..end));
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if let Some(name) = simple.filter(|name| !name.is_empty() && name.chars().all(is_name)) {
            self.at += name.len() + 2;
            return Ok(());
        }
        let body = self.without_code_expansions();
        self.has_arithmetic |= has_subscript(&body);
        self.at = self.word.source.len();
        self.is_searched = true;
        check_no_code(&format!("${body}"))
    }

    /// Returns the rest of the source with a space for every substitution.
    fn without_code_expansions(&self) -> String {
        let mut text = String::new();
        let mut at = self.at;
        for hole in self.word.code_expansions.iter().filter(|hole| hole.range.start >= self.at) {
            text.push_str(self.word.source.get(at..hole.range.start).unwrap_or_default());
            text.push(' ');
            at = hole.range.end;
        }
        text + self.word.source.get(at..).unwrap_or_default()
    }
}

/// Returns whether parameter expansions in `text` may evaluate arithmetic: as a subscript, or after
/// a colon that begins no default.
fn has_subscript(text: &str) -> bool {
    let after = |mark: char| text.split(mark).skip(1);
    after('[').any(|rest| !rest.starts_with(['@', '*']))
        || after(':').any(|rest| !rest.starts_with(['-', '=', '?', '+']))
}
