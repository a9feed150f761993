//! Finds a quote that a line opens and never closes. Such a line is no valid bash. Lines in which a quote may mean something else
//! are left to the parser.

/// The quote that a line opens and never closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnclosedQuote {
    /// The quote: `'` or `"`.
    pub quote: char,
    /// The text after the quote.
    pub rest: String,
}

/// Texts that make a quote mean something else in a part of the line: code in a substitution, a here-document, a comment.
const LEFT_TO_THE_PARSER: [&str; 5] = ["$", "`", "<<", "#", "[["];

/// Returns the quote that a line opens and never closes, if that is certain.
pub(crate) fn unclosed_quote(line: &str) -> Option<UnclosedQuote> {
    if LEFT_TO_THE_PARSER.iter().any(|text| line.contains(text)) {
        return None;
    }
    let mut open: Option<(char, usize)> = None;
    let mut letters = line.char_indices();
    while let Some((place, letter)) = letters.next() {
        match (letter, open) {
            ('\\', None | Some(('"', _))) => {
                letters.next();
            }
            ('\'' | '"', None) => open = Some((letter, place + letter.len_utf8())),
            (letter, Some((quote, _))) if letter == quote => open = None,
            (_, _) => {}
        }
    }
    let (quote, after) = open?;
    Some(UnclosedQuote { quote, rest: line.get(after..)?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quote_that_is_certainly_open_is_found() {
        let check = |line: &str, expect: Option<(char, &str)>| {
            let found = unclosed_quote(line);
            let found = found.as_ref().map(|found| (found.quote, found.rest.as_str()));
            assert_eq!(found, expect, "for {line:?}");
        };
        check("echo 'a", Some(('\'', "a")));
        check("echo \"a b", Some(('"', "a b")));
        check("git commit -m 'it's'", Some(('\'', "")));
        check("echo 'a' \"b\"", None);
        check("echo \"it's\"", None);
        check("echo 'say \"hi'", None);
        check("echo it\\'s", None);
        check("echo \"a\\\"b\"", None);
        check("echo 'a\\'", None);
        check("cat <<E\nit's\nE", None);
        check("ls # it's", None);
        check("echo $(echo 'a", None);
        check("", None);
    }
}
