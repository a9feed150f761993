//! The ids of sessions, their messages and the parts of these. An id is 48 bits of time and 80 bits of chance, written so that
//! texts compare as the numbers do: who makes ids in order can have them sorted. Reading the clock and rolling the dice
//! is done by the code that makes them.

use std::fmt;

use haft_contract::{RunId, sha256_hex};
use serde::{Deserialize, Serialize};

/// The digits of an id, in the order of their values: letters that are taken for digits, or make words, are missing.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The hexadecimal digits that the bits of an id have.
const ID_DIGITS: usize = 32;

/// Digits of an id, at five bits each: two more than its 128 bits need.
const DIGITS_COUNT: usize = 26;

/// Says why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is no id of a {what}: expected {prefix} and 26 digits and letters, such as {example}"
)]
pub struct SessionIdError {
    /// The kind of thing that the id would name.
    pub what: &'static str,
    /// The prefix of such ids.
    pub prefix: &'static str,
    /// The text that was given, or its beginning.
    pub found: String,
    /// One that would be valid.
    pub example: String,
}

/// Defines a kind of id: its name, what it begins with, and what it names.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The prefix of every such id.
            pub const PREFIX: &'static str = $prefix;

            /// Returns the id that `text` spells.
            pub fn parse(text: &str) -> Result<Self, SessionIdError> {
                match text.strip_prefix($prefix).and_then(number) {
                    Some(_) => Ok(Self(text.to_owned())),
                    None => Err(SessionIdError {
                        what: $what,
                        prefix: $prefix,
                        found: text.chars().take(FOUND_CHARS_MAX).collect(),
                        example: Self::from_bits(EXAMPLE).0,
                    }),
                }
            }

            /// Returns the id of these bits: the first 48 of them are milliseconds since 1970, the others are chance.
            pub fn from_bits(bits: u128) -> Self {
                Self(spelled($prefix, bits))
            }

            /// Returns the bits that the id is made of.
            pub fn bits(&self) -> u128 {
                self.0.strip_prefix($prefix).and_then(number).unwrap_or_default()
            }

            /// Returns the id as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = SessionIdError;

            fn try_from(text: String) -> Result<Self, SessionIdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id!(
    /// Names a session, and the run that its calls are made in.
    SessionId, "ses_", "session"
);
id!(
    /// Names a message of a session.
    MessageId, "msg_", "message"
);
id!(
    /// Names a part of a message.
    PartId, "prt_", "part"
);

impl SessionId {
    /// Returns the run of the session, which has the same name.
    pub fn run(&self) -> RunId {
        RunId::parse(&self.0).expect("an id of a session is made of letters, digits and a low line")
    }

    /// Returns the id that stands for a run as the parent of the sessions that work for its calls. No session has this id.
    pub fn standing_for(run: &RunId) -> Self {
        let digest = sha256_hex(format!("run {run}").as_bytes());
        let bits = digest.get(..ID_DIGITS).and_then(|digits| u128::from_str_radix(digits, 16).ok());
        Self::from_bits(bits.expect("a SHA-256 has 64 hexadecimal digits"))
    }
}

/// Characters of what is no id that an error repeats.
const FOUND_CHARS_MAX: usize = 64;

/// The bits of the example in an error.
const EXAMPLE: u128 = 0x0199_8a2b_3c4d_5e6f_7081_92a3_b4c5_d6e7;

fn spelled(prefix: &str, bits: u128) -> String {
    let mut text = prefix.to_owned();
    for place in (0..DIGITS_COUNT).rev() {
        let digit = usize::try_from(bits >> (place * 5) & 31).expect("five bits fit");
        text.push(char::from(DIGITS[digit]));
    }
    text
}

/// Returns the number that the digits of an id are.
fn number(digits: &str) -> Option<u128> {
    if digits.len() != DIGITS_COUNT {
        return None;
    }
    digits.bytes().try_fold(0_u128, |number, byte| {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        // Of the 130 bits that the digits hold, the first two are zero.
        number.checked_mul(32)?.checked_add(u128::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests;
