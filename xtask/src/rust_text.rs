//! Splits Rust text into code, comments and literals, so that checks look only where they mean to.
//!
//! It is a scanner, not a parser: it knows how comments, strings and characters begin and end, and
//! nothing else. All views keep every line break, so that line numbers stay true.

/// The same text three times, each time with everything else blanked out.
#[derive(Default)]
pub(crate) struct RustText {
    /// Without comments and without what is inside string and character literals.
    pub(crate) code: String,
    /// Comments only, documentation included.
    pub(crate) comments: String,
    /// Only what is inside string and character literals.
    pub(crate) literals: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RustTextPart {
    Code,
    Comment,
    Literal,
}

impl RustText {
    /// Splits a whole file.
    pub(crate) fn split(text: &str) -> Self {
        let mut views = Self::default();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            if rest.starts_with("//") {
                rest =
                    views.take(rest, rest.find('\n').unwrap_or(rest.len()), RustTextPart::Comment);
                continue;
            }
            if rest.starts_with("/*") {
                // Such comments nest.
                let (mut depth, mut end) = (0_usize, 0);
                while let Some(tail) = rest.get(end..).filter(|tail| !tail.is_empty()) {
                    let (opens, closes) = (tail.starts_with("/*"), tail.starts_with("*/"));
                    depth = depth + usize::from(opens) - usize::from(closes);
                    end += if opens || closes {
                        2
                    } else {
                        tail.chars().next().map_or(1, char::len_utf8)
                    };
                    if depth == 0 {
                        break;
                    }
                }
                rest = views.take(rest, end, RustTextPart::Comment);
                continue;
            }
            // The bytes of code, up to an opening quote, of the literal, and of its closing delimiter.
            let (code, literal, close) = match next {
                '"' => (1, bytes_before(&rest[1..], next), 1),
                // A quote opens a character or a lifetime; only a character has a second quote near by.
                '\'' if rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'') => {
                    (1, bytes_before(&rest[1..], next), 1)
                }
                _ if is_word(next) => {
                    let (word, after) =
                        rest.split_at(rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()));
                    let quoted = after.trim_start_matches('#');
                    let hashes = after.len() - quoted.len();
                    // A raw identifier has no quote.
                    if ["r", "br", "cr"].contains(&word) && quoted.starts_with('"') {
                        let end = format!("\"{}", &after[..hashes]);
                        let literal = quoted[1..].find(&end).unwrap_or(quoted.len() - 1);
                        (word.len() + hashes + 1, literal, end.len())
                    } else {
                        (word.len(), 0, 0)
                    }
                }
                _ => (next.len_utf8(), 0, 0),
            };
            rest = views.take(rest, code, RustTextPart::Code);
            rest = views.take(rest, literal, RustTextPart::Literal);
            rest = views.take(rest, close.min(rest.len()), RustTextPart::Code);
        }
        views
    }

    /// Moves some bytes into the view that they belong to, blanks them in the others, and returns the rest.
    fn take<'text>(&mut self, text: &'text str, bytes: usize, part: RustTextPart) -> &'text str {
        let (taken, rest) = text.split_at(bytes);
        for (view, kept) in [
            (&mut self.code, RustTextPart::Code),
            (&mut self.comments, RustTextPart::Comment),
            (&mut self.literals, RustTextPart::Literal),
        ] {
            let is_kept = |next: char| part == kept || next == '\n';
            view.extend(taken.chars().map(|next| if is_kept(next) { next } else { ' ' }));
        }
        rest
    }
}

/// Returns how much of a text is before the quote that ends a literal; a backslash escapes one.
fn bytes_before(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.find(|next: char| {
        let is_end = next == quote && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
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
