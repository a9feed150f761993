//! Decides where the hunks of a file belong in its text, or that this cannot be known.
//!
//! The rule, chosen so that no hunk ever lands at a wrong place in silence:
//!
//! 1. A hunk fits at a place when its context and removed lines are there, all of them, exactly.
//! 2. Line numbers are believed only when every numbered hunk of the file fits at its number, in
//!    order. One that does not shows that the numbers were guessed or are out of date, and then
//!    none of them chooses between places, not even the nearest.
//! 3. A hunk whose number is missing or not believed must fit at exactly one place below the
//!    changes of the hunk before it. Where it fits at several, the line named after its `@@` may
//!    settle it, if that line occurs once and the hunk fits once below it.
//! 4. Only-added lines fit anywhere, so they are refused, except in an empty file or where the
//!    patch says that they end the file.
//!
//! Line endings and a byte order mark are not compared, unless the hunk itself distinguishes them.

use std::collections::HashMap;

use super::SEARCH_STEPS_MAX;
use super::error::{HunkMisplacement, PatchApplyError};
use super::hunk::{HunkLine, HunkLineKind, PatchHunk};
use crate::passage::lines::{self, BYTE_ORDER_MARK, TextLine};
use crate::passage::{nearest, occurrences};

/// The text that a patch is applied to.
pub(crate) struct OriginalText<'t> {
    pub(crate) has_mark: bool,
    pub(crate) lines: Vec<TextLine<'t>>,
    text: &'t str,
    /// A number for each distinct line, so that comparing lines costs the same however long.
    numbers: HashMap<&'t str, usize>,
    numbered: Vec<usize>,
}

impl<'t> OriginalText<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let body = text.strip_prefix(BYTE_ORDER_MARK);
        let has_mark = body.is_some();
        let text = body.unwrap_or(text);
        let lines = lines::split_lines(text);
        let mut numbers = HashMap::new();
        let numbered = lines
            .iter()
            .map(|line| {
                let next = numbers.len();
                *numbers.entry(line.text).or_insert(next)
            })
            .collect();
        Self { has_mark, lines, text, numbers, numbered }
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.lines.last().is_none_or(|line| line.ending.is_some())
    }

    /// Returns the numbers of some lines; `None` when one of them is nowhere in the text.
    fn numbers_of<'h>(&self, lines: impl Iterator<Item = &'h HunkLine>) -> Option<Vec<usize>> {
        lines
            .enumerate()
            .map(|(at, line)| {
                let unmarked = line.text.strip_prefix(BYTE_ORDER_MARK);
                let text = unmarked.filter(|_| at == 0 && self.has_mark).unwrap_or(&line.text);
                self.numbers.get(text).copied()
            })
            .collect()
    }

    fn matches_at(&self, place: usize, numbers: &[usize]) -> bool {
        let there = place.checked_add(numbers.len()).and_then(|end| self.numbered.get(place..end));
        there == Some(numbers)
    }
}

/// Returns the line of the text, counted from 0, where each hunk begins.
pub(crate) fn locate_hunks(
    original: &OriginalText<'_>,
    hunks: &[PatchHunk],
) -> Result<Vec<usize>, PatchApplyError> {
    let wanted: Vec<HunkQuery<'_>> =
        hunks.iter().map(|hunk| HunkQuery::new(original, hunk)).collect();
    let mut search = HunkSearch {
        original,
        numbers_hold: numbers_hold(original, &wanted),
        changed: 0,
        steps_left: SEARCH_STEPS_MAX,
    };
    wanted.iter().map(|wanted| search.locate_hunk(wanted)).collect()
}

/// A hunk and what it looks for.
struct HunkQuery<'h> {
    hunk: &'h PatchHunk,
    /// The context and removed lines as numbers; `None` when one of them is nowhere in the text.
    old: Option<Vec<usize>>,
    old_lines: usize,
    /// How many context lines come before its first change and after its last.
    leading: usize,
    trailing: usize,
    /// Whether the hunk says how lines end.
    says_endings: bool,
    /// Whether the hunk shows the byte order mark that the text has.
    shows_mark: bool,
}

impl<'h> HunkQuery<'h> {
    fn new(original: &OriginalText<'_>, hunk: &'h PatchHunk) -> Self {
        Self {
            hunk,
            old: original.numbers_of(hunk.old_side()),
            old_lines: hunk.old_side().count(),
            leading: hunk.leading(),
            trailing: hunk.trailing(),
            says_endings: hunk.old_side().any(|line| line.ending.is_some()),
            shows_mark: original.has_mark
                && hunk
                    .old_side()
                    .next()
                    .is_some_and(|line| line.text.starts_with(BYTE_ORDER_MARK)),
        }
    }

    /// Returns why the hunk cannot be meant at a place where its lines are.
    fn misplacement(&self, original: &OriginalText<'_>, place: usize) -> Option<HunkMisplacement> {
        if self.hunk.reaches_end() && place + self.old_lines != original.lines.len() {
            return Some(HunkMisplacement::NotAtEnd);
        }
        if self.shows_mark && place != 0 {
            return Some(HunkMisplacement::NotAtStart);
        }
        if self.hunk.old_unterminated && original.is_terminated() {
            return Some(HunkMisplacement::FinalLineBreak);
        }
        let differs = self.says_endings && {
            let there = original.lines.iter().skip(place);
            self.hunk
                .old_side()
                .zip(there)
                .any(|(line, there)| line.ending.is_some() && line.ending != there.ending)
        };
        differs.then_some(HunkMisplacement::LineEndings)
    }

    fn fits(&self, original: &OriginalText<'_>, place: usize) -> bool {
        self.old.as_ref().is_some_and(|old| original.matches_at(place, old))
            && self.misplacement(original, place).is_none()
    }

    /// Returns the first line that changes if the hunk begins at `place`.
    fn first_change(&self, place: usize) -> usize {
        place + self.leading
    }

    /// Returns the line after the last that changes if the hunk begins at `place`.
    fn end_of_change(&self, place: usize) -> usize {
        (place + self.old_lines).saturating_sub(self.trailing)
    }
}

fn numbers_hold(original: &OriginalText<'_>, wanted: &[HunkQuery<'_>]) -> bool {
    let mut changed = 0;
    wanted.iter().filter(|wanted| wanted.old_lines > 0).all(|wanted| {
        let Some(place) = wanted.hunk.old_index else { return true };
        let fits = wanted.fits(original, place) && wanted.first_change(place) >= changed;
        changed = if fits { wanted.end_of_change(place) } else { changed };
        fits
    })
}

struct HunkSearch<'s> {
    original: &'s OriginalText<'s>,
    numbers_hold: bool,
    /// The line after the last one that the hunks so far change.
    changed: usize,
    steps_left: usize,
}

impl HunkSearch<'_> {
    fn locate_hunk(&mut self, wanted: &HunkQuery<'_>) -> Result<usize, PatchApplyError> {
        let hunk = wanted.hunk;
        let end = self.original.lines.len();
        let numbered = hunk
            .old_index
            .filter(|_| self.numbers_hold && wanted.old_lines > 0)
            .filter(|place| wanted.first_change(*place) >= self.changed);
        let place = match numbered {
            Some(place) => place,
            None if wanted.old_lines > 0 => self.only_position(wanted)?,
            None if end == 0 || hunk.reaches_end() => end,
            None => return Err(PatchApplyError::NoContext { hunk: hunk.name }),
        };
        // Context on one side only may match next to lines that an earlier application of the patch has added.
        let added = hunk.new_side().count().saturating_sub(wanted.old_lines);
        let start = match (wanted.leading, wanted.trailing) {
            (1.., 0) => Some(place),
            (0, 1..) => place.checked_sub(added),
            _ => None,
        };
        if let Some(start) = start.filter(|_| !hunk.has(HunkLineKind::Remove))
            && let Some(new) = self.original.numbers_of(hunk.new_side())
            && self.original.matches_at(start, &new)
        {
            return Err(PatchApplyError::AlreadyApplied { hunk: hunk.name, line: start + 1 });
        }
        self.changed = wanted.end_of_change(place);
        Ok(place)
    }

    fn only_position(&mut self, wanted: &HunkQuery<'_>) -> Result<usize, PatchApplyError> {
        let all = self.search(wanted.old.as_deref())?;
        if wanted.says_endings {
            self.spend_steps(all.len().saturating_mul(wanted.old_lines))?;
        }
        let fitting: Vec<usize> = all
            .iter()
            .copied()
            .filter(|place| wanted.first_change(*place) >= self.changed)
            .filter(|place| wanted.misplacement(self.original, *place).is_none())
            .collect();
        match fitting.as_slice() {
            [] => Err(self.not_found_error(wanted, &all)?),
            [place] => Ok(*place),
            several => self
                .anchored_position(wanted, several)
                .ok_or_else(|| PatchApplyError::ambiguous(wanted.hunk.name, several)),
        }
    }

    /// Returns the only place below the lines that the hunk's `@@` names, each occurring once.
    fn anchored_position(&self, wanted: &HunkQuery<'_>, places: &[usize]) -> Option<usize> {
        let mut from = self.changed;
        for anchor in &wanted.hunk.anchors {
            let lines = self.original.lines.iter().enumerate().skip(from);
            let mut named = lines.filter(|(_, line)| line.text.trim() == anchor);
            let (Some((at, _)), None) = (named.next(), named.next()) else { return None };
            from = at;
        }
        let mut below = places.iter().filter(|place| **place >= from);
        match (below.next(), below.next()) {
            (Some(place), None) => Some(*place),
            _ => None,
        }
    }

    /// Says why a hunk has no place.
    fn not_found_error(
        &mut self,
        wanted: &HunkQuery<'_>,
        all: &[usize],
    ) -> Result<PatchApplyError, PatchApplyError> {
        let hunk = wanted.hunk.name;
        if let Some(place) = all.first() {
            let why = wanted.misplacement(self.original, *place);
            let why = why.unwrap_or(HunkMisplacement::OutOfOrder);
            return Ok(PatchApplyError::Elsewhere { hunk, line: place + 1, why });
        }
        let shows_result =
            wanted.hunk.has(HunkLineKind::Add) || (wanted.leading > 0 && wanted.trailing > 0);
        if shows_result {
            let new = self.original.numbers_of(wanted.hunk.new_side());
            if let Some(place) = self.search(new.as_deref())?.first() {
                return Ok(PatchApplyError::AlreadyApplied { hunk, line: place + 1 });
            }
        }
        let old: Vec<&str> = wanted.hunk.old_side().map(|line| line.text.as_str()).collect();
        let nearest = nearest::find_nearest_lines(self.original.text, &old).map(Box::new);
        let expected = nearest::join_passage(old.into_iter());
        Ok(PatchApplyError::NotFound { hunk, expected, nearest })
    }

    fn search(&mut self, numbers: Option<&[usize]>) -> Result<Vec<usize>, PatchApplyError> {
        let Some(numbers) = numbers else { return Ok(Vec::new()) };
        self.spend_steps(self.original.numbered.len() + numbers.len())?;
        Ok(occurrences::find_overlapping(&self.original.numbered, numbers))
    }

    fn spend_steps(&mut self, steps: usize) -> Result<(), PatchApplyError> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(PatchApplyError::TooMuchWork)?;
        Ok(())
    }
}
