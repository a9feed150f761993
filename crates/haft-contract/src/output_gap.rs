//! The part of an output that an answer leaves out, and how to read on. Written out, it is the line that a model sees in place of
//! that part.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The part of an output that an answer leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputGap {
    /// The end of a part of a file that was read by lines.
    FileLines {
        /// The number of the first line that is shown, from 1.
        first: u64,
        /// The number of the last line that is shown whole.
        last: u64,
        /// The number of lines in the file, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
    /// The end of a part of a file that was read by bytes, or of a line that is too long.
    FileBytes {
        /// The offset of the first byte that is shown.
        first: u64,
        /// The offset after the last byte that is shown.
        end: u64,
        /// The size of the file, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
    /// The end of a list of entries.
    Entries {
        /// The noun for the entries, such as `matches`.
        noun: String,
        /// The number of entries that are shown.
        shown: u64,
        /// The number of entries that were found.
        total: u64,
        /// Whether the search ended early, so that there may be more entries.
        is_incomplete: bool,
        /// The line of the sidecar on which the first entry that is not shown begins.
        next_line: u64,
    },
    /// The middle or the end of a text.
    Text {
        /// The number of bytes that are left out.
        bytes: u64,
        /// The number of lines that are left out, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<u64>,
        /// The line of the sidecar that goes on after the first shown part. A text of few lines has no such line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_line: Option<u64>,
        /// The offset in the sidecar of the first byte that is not shown.
        next_byte: u64,
    },
}

impl OutputGap {
    /// Returns the parameter of `read` that reads on in the sidecar.
    pub(crate) fn next_part(&self) -> Option<String> {
        match self {
            Self::FileLines { .. } | Self::FileBytes { .. } => None,
            Self::Entries { next_line, .. } | Self::Text { next_line: Some(next_line), .. } => {
                Some(format!("offset={next_line}"))
            }
            Self::Text { next_line: None, next_byte, .. } => {
                Some(format!("byte_offset={next_byte}"))
            }
        }
    }
}

impl fmt::Display for OutputGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileLines { first, last, total } => {
                write!(f, "lines {}-{}", grouped(*first), grouped(*last))?;
                if let Some(total) = total {
                    write!(f, " of {}", grouped(*total))?;
                }
                write!(f, "; continue with offset={}", last.saturating_add(1))
            }
            Self::FileBytes { first, end, total } => {
                write!(f, "bytes {}-{}", grouped(*first), grouped(end.saturating_sub(1)))?;
                if let Some(total) = total {
                    write!(f, " of {}", grouped(*total))?;
                }
                write!(f, "; continue with byte_offset={end}")
            }
            Self::Entries { noun, shown, total, is_incomplete, .. } => {
                let least = if *is_incomplete { "at least " } else { "" };
                write!(f, "{} of {least}{} {noun}", grouped(*shown), grouped(*total))
            }
            Self::Text { bytes, lines: Some(lines), .. } if *lines > 1 => {
                write!(f, "{} lines ({} bytes) left out", grouped(*lines), grouped(*bytes))
            }
            Self::Text { bytes, .. } => write!(f, "{} bytes left out", grouped(*bytes)),
        }
    }
}

/// Returns a number with a comma before every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_says_how_much_is_left_out_and_how_to_read_on() {
        let check = |gap: OutputGap, expect: &str, next: Option<&str>| {
            assert_eq!(gap.to_string(), expect);
            assert_eq!(gap.next_part().as_deref(), next);
            let json = serde_json::to_string(&gap).unwrap();
            assert_eq!(serde_json::from_str::<OutputGap>(&json).unwrap(), gap);
        };
        check(
            OutputGap::FileLines { first: 1, last: 800, total: Some(4_212) },
            "lines 1-800 of 4,212; continue with offset=801",
            None,
        );
        check(
            OutputGap::FileLines { first: 900, last: 1_000, total: None },
            "lines 900-1,000; continue with offset=1001",
            None,
        );
        check(
            OutputGap::FileBytes { first: 0, end: 40_000, total: Some(878_000) },
            "bytes 0-39,999 of 878,000; continue with byte_offset=40000",
            None,
        );
        check(
            OutputGap::Entries {
                noun: "matches".to_owned(),
                shown: 200,
                total: 100_412,
                is_incomplete: false,
                next_line: 201,
            },
            "200 of 100,412 matches",
            Some("offset=201"),
        );
        let text =
            |lines, next_line| OutputGap::Text { bytes: 1_234_567, lines, next_line, next_byte: 9 };
        check(text(Some(12), Some(3)), "12 lines (1,234,567 bytes) left out", Some("offset=3"));
        check(text(None, None), "1,234,567 bytes left out", Some("byte_offset=9"));
    }
}
