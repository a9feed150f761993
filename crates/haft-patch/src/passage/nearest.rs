//! Finds the passage of a text that comes closest to one that is not in it, to tell a model what
//! to copy.
//!
//! The answer is advice: nothing is ever edited on the strength of it. First the text and the
//! passage are compared with one thing left out (trailing whitespace, indentation, letter case, …),
//! which finds partial lines too and names the difference exactly. Where that fails, shared
//! trigrams vote for the line where the passage might begin, and the best few are compared line
//! by line. Every step is linear in the text or bounded by a constant below.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use super::lines::{self, BYTE_ORDER_MARK};

/// How much of a text is searched; what lies beyond is not looked at.
pub(crate) const TEXT_BYTES_MAX: usize = 1_000_000;
/// How many lines of the passage take part in the line-by-line comparison.
const WANTED_LINES_MAX: usize = 40;
/// How many lines of the passage one trigram may vote for.
const TRIGRAM_LINES_MAX: usize = 8;
/// How many characters of a line trigrams are taken from.
const TRIGRAM_LINE_CHARS_MAX: usize = 400;
/// How many places are compared line by line.
const CANDIDATES_MAX: usize = 8;
/// How many characters of a line are compared; the comparison is quadratic in them.
const COMPARED_CHARS_MAX: usize = 120;
/// The vote of a trigram that occurs once; one that occurs n times has an n-th of it.
const VOTE_MAX: u64 = 1 << 20;
/// The least average likeness of a passage worth showing.
const LIKENESS_MIN: f64 = 0.4;
/// How many lines of the found passage are shown.
pub(crate) const PASSAGE_LINES_MAX: usize = 12;
/// How many characters of a line are shown.
pub(crate) const SHOWN_CHARS_MAX: usize = 160;

/// The passage that comes closest to what was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestPassage {
    /// The line, counted from 1, where it begins.
    pub line: usize,
    /// Its lines as they are, the long ones and the many ones cut.
    pub passage: String,
    /// The difference from the wanted passage.
    pub difference: PassageDifference,
}

/// The difference between the nearest passage and the wanted one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassageDifference {
    /// Nothing but CR LF against LF.
    LineEndings,
    /// The text ends there without the final line break that was looked for.
    FinalLineBreak,
    /// Nothing but a byte order mark that the text does not have there.
    ByteOrderMark,
    /// Nothing but whitespace at the ends of lines.
    TrailingWhitespace,
    /// Nothing but whitespace at the beginnings of lines.
    Indentation,
    /// Nothing but whitespace, line breaks among it.
    Whitespace,
    /// Nothing but upper against lower case.
    LetterCase,
    /// Nothing but whitespace and letter case.
    WhitespaceAndCase,
    /// Whole lines.
    Lines {
        /// How many lines differ.
        differing: usize,
        /// How many lines were compared.
        compared: usize,
        /// The first line that differs, counted from 1 in the text.
        line: usize,
        /// The wanted line, shortened.
        expected: String,
        /// The line that the text has there, shortened. `None` past the end of the text.
        found: Option<String>,
    },
}

impl fmt::Display for PassageDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineEndings => f.write_str("only the line endings differ (CR LF against LF)"),
            Self::FinalLineBreak => f.write_str("the file ends without a line break"),
            Self::ByteOrderMark => f.write_str("there is no byte order mark"),
            Self::TrailingWhitespace => f.write_str("only whitespace at line ends differs"),
            Self::Indentation => f.write_str("only the indentation differs"),
            Self::Whitespace => f.write_str("only whitespace or line breaks differ"),
            Self::LetterCase => f.write_str("only upper and lower case differ"),
            Self::WhitespaceAndCase => f.write_str("only whitespace and letter case differ"),
            Self::Lines { differing, compared, line, expected, found } => {
                match compared {
                    1 => write!(f, "line {line} differs")?,
                    _ => write!(f, "{differing} of {compared} lines differ, first line {line}")?,
                }
                write!(f, ": yours is `{expected}`, the file ")?;
                match found {
                    Some(found) => write!(f, "has `{found}`"),
                    None => f.write_str("ends there"),
                }
            }
        }
    }
}

/// Returns the passage of `text` nearest to `wanted`, which may begin and end inside lines.
pub(crate) fn find_nearest_passage(text: &str, wanted: &str) -> Option<NearestPassage> {
    PassageQuery::new(text, wanted, PassageExtent::PartsOfLines).nearest()
}

/// Returns the lines of `text` nearest to `wanted`.
pub(crate) fn find_nearest_lines(text: &str, wanted: &[&str]) -> Option<NearestPassage> {
    PassageQuery::new(text, &wanted.join("\n"), PassageExtent::WholeLines).nearest()
}

/// Returns a line, or the part of it around the character `at`, with invisible characters escaped.
pub(crate) fn excerpt(line: &str, at: usize) -> String {
    let length = line.chars().count();
    let start = if length <= SHOWN_CHARS_MAX { 0 } else { at.saturating_sub(SHOWN_CHARS_MAX / 4) };
    let mut shown = String::new();
    if start > 0 {
        shown.push('…');
    }
    for c in line.chars().skip(start).take(SHOWN_CHARS_MAX) {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    if length > start + SHOWN_CHARS_MAX {
        shown.push('…');
    }
    shown
}

/// Returns some lines as they are, the long ones and the many ones cut.
pub(crate) fn join_passage<'l>(mut lines: impl ExactSizeIterator<Item = &'l str>) -> String {
    let mut shown = Vec::new();
    for line in lines.by_ref().take(PASSAGE_LINES_MAX) {
        let mut chars = line.chars();
        let mut cut: String = chars.by_ref().take(SHOWN_CHARS_MAX).collect();
        if chars.next().is_some() {
            cut.push('…');
        }
        shown.push(cut);
    }
    if lines.len() > 0 {
        shown.push(format!("… ({} more lines)", lines.len()));
    }
    shown.join("\n")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PassageExtent {
    PartsOfLines,
    WholeLines,
}

/// The passage that is searched for, and the text to search.
struct PassageQuery<'q> {
    text: &'q str,
    found: Vec<&'q str>,
    wanted: &'q str,
    wanted_has_mark: bool,
    extent: PassageExtent,
}

impl<'q> PassageQuery<'q> {
    fn new(text: &'q str, wanted: &'q str, extent: PassageExtent) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or(text);
        let unmarked = wanted.strip_prefix(BYTE_ORDER_MARK);
        Self {
            text,
            found: lines::split_lines(text).iter().map(|line| line.text).collect(),
            wanted: unmarked.unwrap_or(wanted),
            wanted_has_mark: unmarked.is_some(),
            extent,
        }
    }

    fn nearest(&self) -> Option<NearestPassage> {
        self.without_final_break()
            .or_else(|| FOLDS.iter().find_map(|fold| fold.find(self)))
            .or_else(|| PassageComparison::new(self).nearest())
    }

    fn without_final_break(&self) -> Option<NearestPassage> {
        let wanted = self.wanted.strip_suffix('\n')?;
        let wanted = wanted.strip_suffix('\r').unwrap_or(wanted);
        let before = self.text.strip_suffix(wanted)?;
        if wanted.is_empty() || wanted.ends_with('\n') || self.extent == PassageExtent::WholeLines {
            return None;
        }
        let first = before.matches('\n').count();
        self.describe(first, self.found.len(), PassageDifference::FinalLineBreak)
    }

    fn describe(
        &self,
        first: usize,
        end: usize,
        difference: PassageDifference,
    ) -> Option<NearestPassage> {
        let shown = self.found.get(first..end)?.iter().copied();
        Some(NearestPassage { line: first + 1, passage: join_passage(shown), difference })
    }
}

/// A way to read a text with one thing left out.
struct TextFold {
    difference: PassageDifference,
    line: fn(&str) -> String,
    keeps_breaks: bool,
}

/// From the narrowest difference to the widest: the first that finds the passage names it.
const FOLDS: [TextFold; 6] = [
    TextFold {
        difference: PassageDifference::LineEndings,
        line: str::to_owned,
        keeps_breaks: true,
    },
    TextFold {
        difference: PassageDifference::TrailingWhitespace,
        line: |line| line.trim_end().to_owned(),
        keeps_breaks: true,
    },
    TextFold {
        difference: PassageDifference::Indentation,
        line: |line| line.trim_start().to_owned(),
        keeps_breaks: true,
    },
    TextFold {
        difference: PassageDifference::LetterCase,
        line: str::to_lowercase,
        keeps_breaks: true,
    },
    TextFold { difference: PassageDifference::Whitespace, line: squeezed, keeps_breaks: false },
    TextFold {
        difference: PassageDifference::WhitespaceAndCase,
        line: |line| squeezed(&line.to_lowercase()),
        keeps_breaks: false,
    },
];

fn squeezed(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A folded text and the offsets in it where the lines of the original begin.
struct FoldedText {
    text: String,
    line_starts: Vec<usize>,
}

impl TextFold {
    fn find(&self, query: &PassageQuery<'_>) -> Option<NearestPassage> {
        let needle = self.apply(query.wanted).text;
        if needle.trim().is_empty() {
            return None;
        }
        let folded = self.apply(query.text);
        let mut starts = folded.text.match_indices(&needle).map(|(start, _)| start);
        let begins_line = |at: usize| folded.line_starts.binary_search(&at).is_ok();
        let start = starts.find(|start| {
            let end = start + needle.len();
            let rest = folded.text.get(end..).unwrap_or_default();
            let ends_line = rest.is_empty() || begins_line(end) || rest.starts_with('\n');
            query.extent == PassageExtent::PartsOfLines || (begins_line(*start) && ends_line)
        })?;
        let last = start + needle.trim_end_matches('\n').len().saturating_sub(1);
        let difference = match self.difference {
            PassageDifference::LineEndings if query.wanted_has_mark => {
                PassageDifference::ByteOrderMark
            }
            _ => self.difference.clone(),
        };
        query.describe(folded.line_of(start), folded.line_of(last) + 1, difference)
    }

    fn apply(&self, text: &str) -> FoldedText {
        let mut folded =
            FoldedText { text: String::with_capacity(text.len()), line_starts: vec![] };
        for line in lines::split_lines(text) {
            folded.line_starts.push(folded.text.len());
            folded.text.push_str(&(self.line)(line.text));
            if self.keeps_breaks && line.ending.is_some() {
                folded.text.push('\n');
            }
        }
        folded
    }
}

impl FoldedText {
    /// Returns the line, counted from 0, that an offset lies in.
    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}

type Trigram = [char; 3];

/// The occurrences of one trigram of the passage.
#[derive(Default)]
struct TrigramOccurrences {
    wanted_lines: Vec<usize>,
    times_found: u64,
}

/// The search for a passage that differs in more than one thing.
struct PassageComparison<'c> {
    query: &'c PassageQuery<'c>,
    found: &'c [&'c str],
    wanted: Vec<&'c str>,
}

impl<'c> PassageComparison<'c> {
    fn new(query: &'c PassageQuery<'c>) -> Self {
        let wanted = lines::split_lines(query.wanted).into_iter().map(|line| line.text);
        Self { query, found: &query.found, wanted: wanted.take(WANTED_LINES_MAX).collect() }
    }

    fn nearest(&self) -> Option<NearestPassage> {
        let mut best: Option<(f64, usize)> = None;
        for start in self.candidates() {
            let likeness = self.likeness(start);
            if best.is_none_or(|(highest, _)| likeness > highest) {
                best = Some((likeness, start));
            }
        }
        let (likeness, start) = best?;
        if likeness < LIKENESS_MIN {
            return None;
        }
        let end = self.found.len().min(start + self.wanted.len());
        self.query.describe(start, end, self.difference(start)?)
    }

    /// Returns the lines where the passage most likely begins, the likeliest first.
    fn candidates(&self) -> Vec<usize> {
        let mut sightings = self.sightings();
        for line in self.found {
            for trigram in trigrams(line) {
                if let Some(sighting) = sightings.get_mut(&trigram) {
                    sighting.times_found += 1;
                }
            }
        }
        let mut votes: Vec<u64> = vec![0; self.found.len()];
        for (line, text) in self.found.iter().enumerate() {
            for trigram in trigrams(text) {
                let Some(sighting) = sightings.get(&trigram) else { continue };
                for wanted in &sighting.wanted_lines {
                    if let Some(start) = line.checked_sub(*wanted).and_then(|at| votes.get_mut(at))
                    {
                        *start += VOTE_MAX / sighting.times_found.max(1);
                    }
                }
            }
        }
        let mut ranked: Vec<(Reverse<u64>, usize)> = votes
            .into_iter()
            .enumerate()
            .filter(|(_, votes)| *votes > 0)
            .map(|(start, votes)| (Reverse(votes), start))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().take(CANDIDATES_MAX).map(|(_, start)| start).collect()
    }

    fn sightings(&self) -> HashMap<Trigram, TrigramOccurrences> {
        let mut sightings: HashMap<Trigram, TrigramOccurrences> = HashMap::new();
        for (line, text) in self.wanted.iter().enumerate() {
            for trigram in trigrams(text) {
                let lines = &mut sightings.entry(trigram).or_default().wanted_lines;
                if lines.len() < TRIGRAM_LINES_MAX && lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
        }
        sightings
    }

    /// Returns how alike the passage and the lines from `start` on are, from 0 to 1; long lines
    /// count for more.
    fn likeness(&self, start: usize) -> f64 {
        let mut total = 0.0;
        let mut reached = 0.0;
        for (line, wanted) in self.wanted.iter().enumerate() {
            let wanted_part = compared(wanted);
            let weight = wanted_part.chars().fold(1.0, |sum, _| sum + 1.0);
            total += weight;
            let Some(found) = self.found.get(start + line) else { continue };
            if wanted.trim() == found.trim() {
                reached += weight;
                continue;
            }
            let mut likeness = strsim::normalized_levenshtein(&wanted_part, &compared(found));
            if self.may_be_part(line) != (false, false) {
                likeness = likeness.max(0.9 * contained(wanted, found));
            }
            reached += weight * likeness;
        }
        if total > 0.0 { reached / total } else { 0.0 }
    }

    /// Whether a line of the passage may be only the tail, and only the head, of a line.
    fn may_be_part(&self, line: usize) -> (bool, bool) {
        let parts = self.query.extent == PassageExtent::PartsOfLines;
        (parts && line == 0, parts && line + 1 == self.wanted.len())
    }

    fn difference(&self, start: usize) -> Option<PassageDifference> {
        // The first and the last line of the passage may be only a part of the line found.
        let differs = |line: &usize| {
            let pair = self.wanted.get(*line).zip(self.found.get(start + line));
            !pair.is_some_and(|(wanted, found)| match self.may_be_part(*line) {
                (true, true) => found.contains(wanted),
                (true, false) => found.ends_with(wanted),
                (false, true) => found.starts_with(wanted),
                (false, false) => found == wanted,
            })
        };
        let first = (0..self.wanted.len()).find(differs)?;
        let wanted = self.wanted.get(first)?;
        let found = self.found.get(start + first);
        let same = found.map_or(0, |found| {
            wanted.chars().zip(found.chars()).take_while(|(wanted, found)| wanted == found).count()
        });
        Some(PassageDifference::Lines {
            differing: (0..self.wanted.len()).filter(differs).count(),
            compared: self.wanted.len(),
            line: start + first + 1,
            expected: excerpt(wanted, same),
            found: found.map(|found| excerpt(found, same)),
        })
    }
}

fn compared(line: &str) -> String {
    line.trim().chars().take(COMPARED_CHARS_MAX).collect()
}

/// Returns which part of the trigrams of `wanted` occurs in `found`.
fn contained(wanted: &str, found: &str) -> f64 {
    let found = trigrams(found);
    let mut all = 0.0;
    let mut shared = 0.0;
    for trigram in trigrams(wanted).into_iter().take(COMPARED_CHARS_MAX) {
        all += 1.0;
        if found.contains(&trigram) {
            shared += 1.0;
        }
    }
    if all > 0.0 { shared / all } else { 0.0 }
}

/// Returns the runs of three characters in a line, without whitespace and letter case.
fn trigrams(line: &str) -> Vec<Trigram> {
    let kept = line.chars().filter(|c| !c.is_whitespace()).take(TRIGRAM_LINE_CHARS_MAX);
    let kept: Vec<char> = kept.flat_map(char::to_lowercase).collect();
    kept.windows(3).filter_map(|window| <Trigram>::try_from(window).ok()).collect()
}
