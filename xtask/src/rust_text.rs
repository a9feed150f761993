//! Splits Rust text into code, comments and literals, so that checks look only where they mean to.
//!
//! It is a scanner, not a parser: it knows how comments, strings and characters begin and end, and
//! nothing else. All views keep every line break, so that line numbers stay true.

use std::iter::Peekable;
use std::str::Chars;

/// The same text three times, each time with everything else blanked out.
pub(crate) struct RustText {
    /// Without comments and without what is inside string and character literals.
    pub(crate) code: String,
    /// Comments only, documentation included.
    pub(crate) comments: String,
    /// Only what is inside string and character literals.
    pub(crate) literals: String,
}

impl RustText {
    /// Splits a whole file.
    pub(crate) fn split(text: &str) -> Self {
        let mut scanner = RustTextScanner {
            rest: text.chars().peekable(),
            views: Self { code: String::new(), comments: String::new(), literals: String::new() },
        };
        scanner.scan();
        scanner.views
    }
}

#[derive(Clone, Copy)]
enum RustTextPart {
    Code,
    Comment,
    Literal,
}

struct RustTextScanner<'text> {
    rest: Peekable<Chars<'text>>,
    views: RustText,
}

impl RustTextScanner<'_> {
    fn scan(&mut self) {
        while let Some(&next) = self.rest.peek() {
            match next {
                '/' if self.lookahead(1) == Some('/') => self.line_comment(),
                '/' if self.lookahead(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                '\'' => self.quote(),
                _ if is_word(next) => self.word(),
                _ => self.take(RustTextPart::Code),
            }
        }
    }

    fn lookahead(&self, distance: usize) -> Option<char> {
        self.rest.clone().nth(distance)
    }

    /// Moves one character into the view it belongs to and blanks it in the others.
    fn take(&mut self, part: RustTextPart) {
        let Some(next) = self.rest.next() else { return };
        let blank = if next == '\n' { '\n' } else { ' ' };
        let (code, comment, literal) = match part {
            RustTextPart::Code => (next, blank, blank),
            RustTextPart::Comment => (blank, next, blank),
            RustTextPart::Literal => (blank, blank, next),
        };
        self.views.literals.push(literal);
        self.views.code.push(code);
        self.views.comments.push(comment);
    }

    fn take_many(&mut self, count: usize, part: RustTextPart) {
        for _ in 0..count {
            self.take(part);
        }
    }

    fn line_comment(&mut self) {
        while self.rest.peek().is_some_and(|&next| next != '\n') {
            self.take(RustTextPart::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(&next) = self.rest.peek() {
            match (next, self.lookahead(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.take_many(2, RustTextPart::Comment);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.take_many(2, RustTextPart::Comment);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.take(RustTextPart::Comment),
            }
        }
    }

    /// Takes an identifier, a number, or the letters that say what kind of string follows.
    fn word(&mut self) {
        let mut word = String::new();
        while let Some(&next) = self.rest.peek().filter(|&&next| is_word(next)) {
            word.push(next);
            self.take(RustTextPart::Code);
        }
        if ["r", "br", "cr"].contains(&word.as_str())
            && let Some(hashes) = self.raw_string_hashes()
        {
            self.raw_string(hashes);
        }
    }

    fn string(&mut self) {
        self.take(RustTextPart::Code);
        while let Some(&next) = self.rest.peek() {
            match next {
                '\\' => self.take_many(2, RustTextPart::Literal),
                '"' => return self.take(RustTextPart::Code),
                _ => self.take(RustTextPart::Literal),
            }
        }
    }

    /// Returns how many hashes stand before the quote here; a raw identifier has no quote.
    fn raw_string_hashes(&self) -> Option<usize> {
        let hashes = self.rest.clone().take_while(|&next| next == '#').count();
        (self.lookahead(hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self, hashes: usize) {
        self.take_many(hashes + 1, RustTextPart::Code);
        while let Some(&next) = self.rest.peek() {
            let follow = self.rest.clone().skip(1).take(hashes).filter(|&next| next == '#').count();
            if next == '"' && follow == hashes {
                return self.take_many(hashes + 1, RustTextPart::Code);
            }
            self.take(RustTextPart::Literal);
        }
    }

    /// A quote opens a character or a lifetime; only a character has a second quote near by.
    fn quote(&mut self) {
        let is_character = self.lookahead(1) == Some('\\') || self.lookahead(2) == Some('\'');
        self.take(RustTextPart::Code);
        if !is_character {
            return;
        }
        while let Some(&next) = self.rest.peek() {
            match next {
                '\\' => self.take_many(2, RustTextPart::Literal),
                '\'' => return self.take(RustTextPart::Code),
                _ => self.take(RustTextPart::Literal),
            }
        }
    }
}

/// Returns whether a character can be part of an identifier.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the identifiers, keywords and numbers of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|character: char| !is_word(character)).filter(|word| !word.is_empty())
}

/// Returns whether a line has a word, alone and not as a part of a longer one.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, comments: &str) {
        let split = RustText::split(text);
        assert_eq!(split.code.trim_end(), code, "code of {text}");
        assert_eq!(split.comments.trim(), comments, "comments of {text}");
        assert_eq!(split.code.lines().count(), text.lines().count(), "lines of {text}");
    }

    #[test]
    fn comments() {
        check("a // b\nc", "a     \nc", "// b");
        check("a /* b /* c */ d */ e", "a                   e", "/* b /* c */ d */");
        check("\"// no\" x", "\"     \" x", "");
        check("/// unsafe", "", "/// unsafe");
    }

    #[test]
    fn literals() {
        check(r#"f("a\"b") + c"#, r#"f("    ") + c"#, "");
        check(r##"r#"a"b"# c"##, r##"r#"   "# c"##, "");
        check(r##"br"\" c"##, r##"br" " c"##, "");
        check("r#match \"a\"", "r#match \" \"", "");
        check("'\"' x '\\'' y", "' ' x '  ' y", "");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)", "");
        check("\"one\ntwo\" x", "\"   \n   \" x", "");
    }

    #[test]
    fn words_stand_alone() {
        for (line, expected) in [
            ("unsafe {", true),
            ("(unsafe)", true),
            ("#![forbid(unsafe_code)]", false),
            ("not_unsafe", false),
            ("unsafe_a unsafe", true),
        ] {
            assert_eq!(has_word(line, "unsafe"), expected, "{line}");
        }
    }
}
