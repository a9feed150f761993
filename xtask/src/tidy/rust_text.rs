//! Splits Rust text into code, comments and literals, so that checks look only where they mean to.
//!
//! It is a scanner, not a parser: it knows how comments, strings and characters begin and end, and
//! nothing else. Both views keep every line break, so that line numbers stay true.

use std::iter::Peekable;
use std::str::Chars;

/// The same text twice, each time with everything else blanked out.
pub(crate) struct RustText {
    /// Without comments and without what is inside string and character literals.
    pub(crate) code: String,
    /// Comments only, documentation included.
    pub(crate) comments: String,
}

impl RustText {
    /// Splits a whole file.
    pub(crate) fn split(text: &str) -> Self {
        let mut scanner = Scanner {
            rest: text.chars().peekable(),
            views: Self { code: String::new(), comments: String::new() },
        };
        scanner.scan();
        scanner.views
    }
}

#[derive(Clone, Copy)]
enum Part {
    Code,
    Comment,
    Literal,
}

struct Scanner<'text> {
    rest: Peekable<Chars<'text>>,
    views: RustText,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(&next) = self.rest.peek() {
            match next {
                '/' if self.lookahead(1) == Some('/') => self.line_comment(),
                '/' if self.lookahead(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                '\'' => self.quote(),
                _ if is_word(next) => self.word(),
                _ => self.take(Part::Code),
            }
        }
    }

    fn lookahead(&self, distance: usize) -> Option<char> {
        self.rest.clone().nth(distance)
    }

    /// Moves one character into the view it belongs to and blanks it in the other.
    fn take(&mut self, part: Part) {
        let Some(next) = self.rest.next() else { return };
        let blank = if next == '\n' { '\n' } else { ' ' };
        let (code, comment) = match part {
            Part::Code => (next, blank),
            Part::Comment => (blank, next),
            Part::Literal => (blank, blank),
        };
        self.views.code.push(code);
        self.views.comments.push(comment);
    }

    fn take_many(&mut self, count: usize, part: Part) {
        for _ in 0..count {
            self.take(part);
        }
    }

    fn line_comment(&mut self) {
        while self.rest.peek().is_some_and(|&next| next != '\n') {
            self.take(Part::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(&next) = self.rest.peek() {
            match (next, self.lookahead(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.take_many(2, Part::Comment);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.take_many(2, Part::Comment);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.take(Part::Comment),
            }
        }
    }

    /// Takes an identifier, a number, or the letters that say what kind of string follows.
    fn word(&mut self) {
        let mut word = String::new();
        while let Some(&next) = self.rest.peek().filter(|&&next| is_word(next)) {
            word.push(next);
            self.take(Part::Code);
        }
        if ["r", "br", "cr"].contains(&word.as_str())
            && let Some(hashes) = self.raw_string_hashes()
        {
            self.raw_string(hashes);
        }
    }

    fn string(&mut self) {
        self.take(Part::Code);
        while let Some(&next) = self.rest.peek() {
            match next {
                '\\' => self.take_many(2, Part::Literal),
                '"' => return self.take(Part::Code),
                _ => self.take(Part::Literal),
            }
        }
    }

    /// Returns how many hashes stand before the quote here; a raw identifier has no quote.
    fn raw_string_hashes(&self) -> Option<usize> {
        let hashes = self.rest.clone().take_while(|&next| next == '#').count();
        (self.lookahead(hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self, hashes: usize) {
        self.take_many(hashes + 1, Part::Code);
        while let Some(&next) = self.rest.peek() {
            let follow = self.rest.clone().skip(1).take(hashes).filter(|&next| next == '#').count();
            if next == '"' && follow == hashes {
                return self.take_many(hashes + 1, Part::Code);
            }
            self.take(Part::Literal);
        }
    }

    /// A quote opens a character or a lifetime; only a character has a second quote near by.
    fn quote(&mut self) {
        let is_character = self.lookahead(1) == Some('\\') || self.lookahead(2) == Some('\'');
        self.take(Part::Code);
        if !is_character {
            return;
        }
        while let Some(&next) = self.rest.peek() {
            match next {
                '\\' => self.take_many(2, Part::Literal),
                '\'' => return self.take(Part::Code),
                _ => self.take(Part::Literal),
            }
        }
    }
}

/// Returns whether a character can be part of an identifier.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
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
