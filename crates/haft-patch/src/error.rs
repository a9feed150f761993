//! Why a patch was not understood and why it was not applied, in words a model can act on.
//!
//! Messages name lines of the patch and lines of the file, not the file: who called knows its
//! path and puts it in front.

use std::fmt;

use thiserror::Error;

use super::{PLACES_LISTED_MAX, SEARCH_STEPS_MAX};
use crate::passage::{LineList, NearestPassage, NearestPassageAdvice};

/// Why a patch was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatchParseError {
    /// There is no patch.
    #[error(
        "the patch is empty; write a unified diff, each file beginning with `--- a/path` and \
         `+++ b/path`"
    )]
    Empty,
    /// There is text, but no line that begins a file.
    #[error(
        "the patch names no file; begin each file with the lines `--- a/path` and `+++ b/path`, \
         then `@@` and the changed lines"
    )]
    NoHeader,
    /// A line is not what has to come there.
    #[error("line {line} of the patch: expected {expected}, found {found}")]
    Malformed {
        /// The line of the patch, counted from 1.
        line: usize,
        /// The text that the patch needs at this place.
        expected: &'static str,
        /// The text at this place: a quoted excerpt, or the end of the patch.
        found: String,
    },
    /// The patch asks for something that is refused on principle.
    #[error("line {line} of the patch: {what} not supported; {instead}")]
    Unsupported {
        /// The line of the patch, counted from 1.
        line: usize,
        /// The unsupported request, with its verb.
        what: &'static str,
        /// The advice: another way to do it.
        instead: &'static str,
    },
    /// Headers and hunks of one file do not fit together.
    #[error("line {line} of the patch: {what}")]
    Contradiction {
        /// The line of the patch, counted from 1.
        line: usize,
        /// The part that does not fit, and how to write it.
        what: String,
    },
    /// A file is named, but nothing is to happen to it.
    #[error(
        "line {line} of the patch: nothing is to be done to `{path}`; add its hunks, or leave \
         the file out"
    )]
    NothingToDo {
        /// The line of the patch where the file begins, counted from 1.
        line: usize,
        /// The file.
        path: String,
    },
    /// A hunk would leave the text as it is.
    #[error(
        "line {line} of the patch: the hunk changes nothing; mark removed lines with `-` and \
         added ones with `+`, or leave the hunk out"
    )]
    NoChange {
        /// The line of the patch where the hunk begins, counted from 1.
        line: usize,
    },
    /// A file is named twice.
    #[error(
        "line {line} of the patch: `{path}` is already named at line {first}; put all hunks of \
         a file under one header, and chained renames into separate patches"
    )]
    DuplicatePath {
        /// The line of the patch where the file is named again, counted from 1.
        line: usize,
        /// Where it is named first.
        first: usize,
        /// The file.
        path: String,
    },
    /// A limit is exceeded.
    #[error("the patch has {what} over the limit of {limit}; split it into smaller patches")]
    OverLimit {
        /// The noun that the limit counts.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// Names a hunk in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HunkName {
    /// Its number in its file, counted from 1.
    pub number: usize,
    /// The line of the patch where it begins, counted from 1.
    pub line: usize,
}

impl fmt::Display for HunkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hunk {} (line {} of the patch)", self.number, self.line)
    }
}

/// Why a hunk does not belong at the one place where its lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HunkMisplacement {
    /// The hunk above changes lines after it.
    OutOfOrder,
    /// The hunk shows the byte order mark, the place is not at the start of the file.
    NotAtStart,
    /// The hunk reaches to the end of the file, the place does not.
    NotAtEnd,
    /// The hunk says that the file ends without a line break, and it ends with one.
    FinalLineBreak,
    /// The hunk mixes line endings on purpose, and the file has others there.
    LineEndings,
}

impl fmt::Display for HunkMisplacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfOrder => {
                "which is above or inside the lines of the hunk before it; put the hunks in the \
                 order of the file, none overlapping another"
            }
            Self::NotAtStart => {
                "but the hunk shows a byte order mark, which the file has at its start; leave it out"
            }
            Self::NotAtEnd => {
                "but the hunk says that the file ends with it, and more lines follow there; leave \
                 the end-of-file marker out"
            }
            Self::FinalLineBreak => {
                "but the hunk says that the file ends without a line break, and it ends with one; \
                 leave `\\ No newline at end of file` out after removed and context lines"
            }
            Self::LineEndings => {
                "but with other line endings than the hunk, which mixes CR LF and LF; write all \
                 its lines with the same ending to keep the endings of the file"
            }
        })
    }
}

/// Why a patch was not applied to a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatchApplyError {
    /// The file to create is there already.
    #[error(
        "the file to create exists already; to change it, write a hunk with its present lines \
         under `--- a/path`, not `--- /dev/null`"
    )]
    Exists,
    /// The file to change, rename or delete is not there.
    #[error(
        "the file to change does not exist; check the path, or write `--- /dev/null` above \
         `+++ b/path` to create it"
    )]
    Missing,
    /// The lines of a hunk are not in the file.
    #[error(
        "{hunk} does not match: these context and removed lines are not in the file:\n{expected}\n\
         {}", NearestPassageAdvice(.nearest.as_deref())
    )]
    NotFound {
        /// The hunk.
        hunk: HunkName,
        /// The lines looked for, the long ones and the many ones cut.
        expected: String,
        /// The passage that comes closest, when one resembles them at all.
        nearest: Option<Box<NearestPassage>>,
    },
    /// The lines of a hunk are in several places, and nothing says which is meant.
    #[error(
        "{hunk} matches {total} places, at {}, and its line number does not settle which; add \
         context lines until only one place matches", LineList(.lines, *.total)
    )]
    Ambiguous {
        /// The hunk.
        hunk: HunkName,
        /// Where its lines are, counted from 1: the first [`PLACES_LISTED_MAX`].
        lines: Vec<usize>,
        /// How many places there are.
        total: usize,
    },
    /// The lines of a hunk are only where it cannot be meant.
    #[error("{hunk} matches only at line {line}, {why}")]
    Elsewhere {
        /// The hunk.
        hunk: HunkName,
        /// Where its lines are, counted from 1.
        line: usize,
        /// Why it does not belong there.
        why: HunkMisplacement,
    },
    /// The file already has the lines that a hunk would make.
    #[error(
        "{hunk} seems to be applied already: the lines it would make are at line {line}; leave it \
         out, or add context lines if they are to be there once more"
    )]
    AlreadyApplied {
        /// The hunk.
        hunk: HunkName,
        /// Where its result is, counted from 1.
        line: usize,
    },
    /// A hunk only adds lines and shows none of those around them.
    #[error(
        "{hunk} has only added lines, so nothing shows where they belong in a file that is not \
         empty; add the lines before and after them as context"
    )]
    NoContext {
        /// The hunk.
        hunk: HunkName,
    },
    /// The removed lines are not the whole file that is to be deleted.
    #[error(
        "{hunk} deletes the file, but leaves {lines} of its lines unmentioned; read the file \
         again and remove all its lines, or change it instead of deleting it"
    )]
    DeleteIncomplete {
        /// The hunk.
        hunk: HunkName,
        /// How many lines would be lost unseen.
        lines: usize,
    },
    /// Finding the places of the hunks takes too long.
    #[error(
        "finding the places of the hunks takes more than {SEARCH_STEPS_MAX} comparisons; give \
         right line numbers, or split the patch"
    )]
    TooMuchWork,
}

impl PatchApplyError {
    pub(crate) fn ambiguous(hunk: HunkName, places: &[usize]) -> Self {
        let lines = places.iter().take(PLACES_LISTED_MAX).map(|place| place + 1).collect();
        Self::Ambiguous { hunk, lines, total: places.len() }
    }
}
