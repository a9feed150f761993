//! The word that a client has to know. It is compared without telling by the time how much of a guess is right, and is
//! shown nowhere, not even in a debug text.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::limits::{TOKEN_CHARS_MAX, TOKEN_CHARS_MIN};

/// A bearer token.
#[derive(Clone)]
pub struct Token(String);

/// Says why a text is no token. The text itself is not in it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It is too short or too long.
    #[error("a token has {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} characters, this one has {0}")]
    Length(usize),
    /// It has a character that no header can carry.
    #[error(
        "a token has only letters, digits and -._~+/= of ASCII, without spaces or line ends inside it"
    )]
    Character,
}

impl Token {
    /// Returns the token that a text is; spaces and line ends around it are left out.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "-._~+/=".contains(letter);
        if !text.chars().all(is_usual) {
            return Err(TokenError::Character);
        }
        if !(TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&text.len()) {
            return Err(TokenError::Length(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether a guess is right.
    pub(crate) fn is(&self, guess: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(guess).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_enough_and_fits_a_header() {
        let check = |text: &str, expect: Option<TokenError>| {
            assert_eq!(Token::parse(text).err(), expect, "{text:?}");
        };
        check("0123456789abcdef", None);
        check(" 0123456789abcdef\n", None);
        check("0123456789abcde", Some(TokenError::Length(15)));
        check("", Some(TokenError::Length(0)));
        check(&"a".repeat(TOKEN_CHARS_MAX), None);
        check(&"a".repeat(TOKEN_CHARS_MAX + 1), Some(TokenError::Length(TOKEN_CHARS_MAX + 1)));
        check("0123456789 abcdef", Some(TokenError::Character));
        check("0123456789\nabcdef", Some(TokenError::Character));
        check("0123456789abcdeä", Some(TokenError::Character));
    }

    #[test]
    fn only_the_token_itself_is_right_and_nothing_shows_it() {
        let token = Token::parse("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        assert!(!token.is(b"0123456789abcdeF"));
        assert!(!token.is(b"0123456789abcdef0"));
        assert!(!token.is(b""));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
