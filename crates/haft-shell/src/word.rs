//! Decodes words, from their source to the value that a program receives. Expansions are not
//! performed: such a word is unknown. Code that hides in a word, where the parser was not asked for
//! code, makes the whole line unknown. So does a character that ends a word, because bash and the
//! parser then disagree about where words end.

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
    decode_with(word, "")
}

/// Decodes a word in which some characters have no special meaning.
fn decode_with(word: &syntax::ShellWord, plain: &str) -> Result<DecodedWord, UnknownReason> {
    let mut decoder = WordDecoder::new(word);
    loop {
        if decoder.skip_code_expansion() {
            continue;
        }
        let starts_tilde = decoder.at == 0 || decoder.text.ends_with(['=', ':']);
        let Some(char) = decoder.take() else { return Ok(decoder.finish()) };
        match char {
            char if plain.contains(char) => decoder.text.push(char),
            '\\' => match decoder.take() {
                Some('\n') => {}
                Some(escaped) => decoder.text.push(escaped),
                None => return Err(UnknownReason::Syntax),
            },
            '\'' => {
                let (quoted, _) = decoder.rest().split_once('\'').ok_or(UnknownReason::Syntax)?;
                decoder.text.push_str(quoted);
                decoder.at += quoted.len() + 1;
            }
            '"' => decoder.double_quoted()?,
            '$' if decoder.rest().starts_with('\'') => decoder.ansi_quoted()?,
            // The text may be translated.
            '$' if decoder.rest().starts_with('"') => decoder.become_dynamic(),
            '$' => decoder.dollar()?,
            '~' if starts_tilde => decoder.become_dynamic(),
            '*' | '?' => decoder.become_dynamic(),
            '[' if decoder.rest().contains(']') => decoder.become_dynamic(),
            '{' if decoder.rest().starts_with('}') => {
                decoder.at += 1;
                decoder.text.push_str("{}");
            }
            '{' => {
                decoder.brace.get_or_insert(decoder.text.len());
                decoder.text.push('{');
            }
            '}' if decoder.brace.is_some() => {
                decoder.text.truncate(decoder.brace.unwrap_or_default());
                decoder.become_dynamic();
            }
            '`' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\t' | '\n' => {
                return Err(UnknownReason::Expansion);
            }
            char => decoder.text.push(char),
        }
    }
}

/// Checks that a here-document contains no code outside its known substitutions.
pub(crate) fn decode_document(word: &syntax::ShellWord) -> Result<DecodedWord, UnknownReason> {
    let mut decoder = WordDecoder::new(word);
    loop {
        if decoder.skip_code_expansion() {
            continue;
        }
        match decoder.take() {
            None => return Ok(decoder.finish()),
            Some('\\') => decoder.quoted_escape(),
            Some('$') => decoder.dollar()?,
            Some('`') => return Err(UnknownReason::Expansion),
            Some(char) => decoder.text.push(char),
        }
    }
}

/// Checks that `[[ … ]]` contains no code, and ends where bash ends it.
pub(crate) fn check_test(source: &str) -> Result<(), UnknownReason> {
    let inner = source.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    let is_separate = |inner: &&str| {
        inner.ends_with([' ', '\t', '\n']) && !inner.trim_ascii_end().ends_with('\\')
    };
    check_words(inner.filter(is_separate).ok_or(UnknownReason::Syntax)?, " \t\n()<>|&")
}

/// Checks that an array in parentheses contains no code, and ends where bash ends it.
pub(crate) fn check_array(source: &str) -> Result<(), UnknownReason> {
    let inner = source.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    check_words(inner.ok_or(UnknownReason::Syntax)?, " \t\n")
}

fn check_words(source: &str, separators: &str) -> Result<(), UnknownReason> {
    check_no_code(source)?;
    // A comment could contain anything.
    if source.split_ascii_whitespace().any(|word| word == "]]" || word.starts_with('#')) {
        return Err(UnknownReason::Construct);
    }
    let word = syntax::ShellWord { source: source.to_owned(), code_expansions: Vec::new() };
    decode_with(&word, separators).map(|_| ())
}

/// Checks that text with expansions, which is not decoded, contains no code.
pub(crate) fn check_no_code(source: &str) -> Result<(), UnknownReason> {
    // `@P` expands a value as a prompt, and `!` uses a value as a name with a subscript; both can
    // run code.
    // Newer versions of bash run the commands in `${ …; }`, `${| …; }` and `${( … )}`.
    let openers =
        ["$(", "`", "$[", "<(", ">(", "${!", "@P", "${ ", "${\t", "${\n", "${|", "${(", "${\\"];
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
}

impl<'a> WordDecoder<'a> {
    fn new(word: &'a syntax::ShellWord) -> Self {
        Self { word, at: 0, text: String::new(), prefix: None, has_arithmetic: false, brace: None }
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
                None => return Err(UnknownReason::Syntax),
                Some('"') => return Ok(()),
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
        self.has_arithmetic |= matches!(hole.code, EmbeddedCode::Arithmetic);
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
            '{' => {
                self.become_dynamic();
                let body = self.rest();
                let (body, _) = body.split_at(parameter_end(body)?);
                // Arithmetic may be a subscript, or the text after a colon that begins no default.
                let after = |mark: char| body.split(mark).skip(1);
                self.has_arithmetic |= after('[').any(|rest| !rest.starts_with(['@', '*']))
                    || after(':').any(|rest| !rest.starts_with(['-', '=', '?', '+']));
                self.at += body.len();
                check_no_code(&format!("${body}"))
            }
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
}

/// Returns the length of `{…}` after a dollar sign.
///
/// The meaning of quotes in it depends on the operator and on the quotes around it. Their text may
/// therefore not contain a character that matters for the end.
fn parameter_end(body: &str) -> Result<usize, UnknownReason> {
    let mut depth: usize = 0;
    let mut chars = body.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '{' if depth == 0 => depth = 1,
            '$' if matches!(chars.peek(), Some((_, '{'))) => {
                chars.next();
                depth += 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            '\\' => {
                chars.next();
            }
            quote @ ('\'' | '"') => loop {
                match chars.next() {
                    Some((_, char)) if char == quote => break,
                    Some((_, '\\' | '\'' | '"' | '{' | '}' | '`')) | None => {
                        return Err(UnknownReason::Expansion);
                    }
                    Some(_) => {}
                }
            },
            _ => {}
        }
    }
    Err(UnknownReason::Syntax)
}
