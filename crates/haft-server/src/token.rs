//! The bearer token. Tokens are compared in constant time, and never shown, not even in debug
//! output.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::limits::{TOKEN_CHARS_MAX, TOKEN_CHARS_MIN};

/// A bearer token.
#[derive(Clone)]
pub struct BearerToken(String);

/// A text is not a token. The error does not contain the text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BearerTokenError {
    /// It is too short or too long.
    #[error("a token has {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} characters, this one has {0}")]
    Length(usize),
    /// It has a character that a header cannot carry.
    #[error(
        "a token has only letters, digits and -._~+/= of ASCII, without spaces or line ends inside it"
    )]
    Character,
}

impl BearerToken {
    /// Parses a token; surrounding spaces and line ends are removed.
    pub fn parse(text: &str) -> Result<Self, BearerTokenError> {
        let text = text.trim();
        let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "-._~+/=".contains(letter);
        if !text.chars().all(is_usual) {
            return Err(BearerTokenError::Character);
        }
        if !(TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&text.len()) {
            return Err(BearerTokenError::Length(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether a guess is correct.
    pub(crate) fn matches_guess(&self, guess: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(guess).into()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_enough_and_fits_a_header() {
        let check = |text: &str, expect: Option<BearerTokenError>| {
            assert_eq!(BearerToken::parse(text).err(), expect, "{text:?}");
        };
        check("0123456789abcdef", None);
        check(" 0123456789abcdef\n", None);
        check("0123456789abcde", Some(BearerTokenError::Length(15)));
        check("", Some(BearerTokenError::Length(0)));
        check(&"a".repeat(TOKEN_CHARS_MAX), None);
        check(
            &"a".repeat(TOKEN_CHARS_MAX + 1),
            Some(BearerTokenError::Length(TOKEN_CHARS_MAX + 1)),
        );
        check("0123456789 abcdef", Some(BearerTokenError::Character));
        check("0123456789\nabcdef", Some(BearerTokenError::Character));
        check("0123456789abcdeä", Some(BearerTokenError::Character));
    }

    #[test]
    fn only_the_token_itself_is_right_and_nothing_shows_it() {
        let token = BearerToken::parse("0123456789abcdef").unwrap();
        assert!(token.matches_guess(b"0123456789abcdef"));
        assert!(!token.matches_guess(b"0123456789abcdeF"));
        assert!(!token.matches_guess(b"0123456789abcdef0"));
        assert!(!token.matches_guess(b""));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
