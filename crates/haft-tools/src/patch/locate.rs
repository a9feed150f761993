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
use super::error::{ApplyError, HunkName, Misplacement};
use super::hunk::{Hunk, HunkLine, Kind};
use crate::edit_match::lines::{self, BYTE_ORDER_MARK, Line};
use crate::edit_match::{nearest, occurrences};

/// The text that a patch is applied to.
pub(super) struct Original<'t> {
    pub(super) has_mark: bool,
    pub(super) lines: Vec<Line<'t>>,
    text: &'t str,
    /// A number for each distinct line, so that comparing lines costs the same however long.
    numbers: HashMap<&'t str, usize>,
    numbered: Vec<usize>,
}

impl<'t> Original<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let body = text.strip_prefix(BYTE_ORDER_MARK);
        let has_mark = body.is_some();
        let text = body.unwrap_or(text);
        let lines = lines::split(text);
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

    pub(super) fn is_terminated(&self) -> bool {
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

    fn has_at(&self, place: usize, numbers: &[usize]) -> bool {
        let there = place.checked_add(numbers.len()).and_then(|end| self.numbered.get(place..end));
        there == Some(numbers)
    }
}

/// Returns the line of the text, counted from 0, where each hunk begins.
pub(super) fn places(original: &Original<'_>, hunks: &[Hunk]) -> Result<Vec<usize>, ApplyError> {
    let wanted: Vec<Wanted<'_>> = hunks.iter().map(|hunk| Wanted::new(original, hunk)).collect();
    let mut search = Search {
        original,
        numbers_hold: numbers_hold(original, &wanted),
        changed: 0,
        steps_left: SEARCH_STEPS_MAX,
    };
    wanted.iter().map(|wanted| search.place(wanted)).collect()
}

/// A hunk and what it looks for.
struct Wanted<'h> {
    hunk: &'h Hunk,
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

impl<'h> Wanted<'h> {
    fn new(original: &Original<'_>, hunk: &'h Hunk) -> Self {
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

    fn name(&self) -> HunkName {
        self.hunk.name
    }

    /// Returns why the hunk cannot be meant at a place where its lines are.
    fn misplacement(&self, original: &Original<'_>, place: usize) -> Option<Misplacement> {
        if self.hunk.reaches_end() && place + self.old_lines != original.lines.len() {
            return Some(Misplacement::NotAtEnd);
        }
        if self.shows_mark && place != 0 {
            return Some(Misplacement::NotAtStart);
        }
        if self.hunk.old_unterminated && original.is_terminated() {
            return Some(Misplacement::FinalLineBreak);
        }
        let differs = self.says_endings && {
            let there = original.lines.iter().skip(place);
            self.hunk
                .old_side()
                .zip(there)
                .any(|(line, there)| line.ending.is_some() && line.ending != there.ending)
        };
        differs.then_some(Misplacement::LineEndings)
    }

    fn fits(&self, original: &Original<'_>, place: usize) -> bool {
        self.old.as_ref().is_some_and(|old| original.has_at(place, old))
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

fn numbers_hold(original: &Original<'_>, wanted: &[Wanted<'_>]) -> bool {
    let mut changed = 0;
    wanted.iter().filter(|wanted| wanted.old_lines > 0).all(|wanted| {
        let Some(place) = wanted.hunk.place else { return true };
        let fits = wanted.fits(original, place) && wanted.first_change(place) >= changed;
        changed = if fits { wanted.end_of_change(place) } else { changed };
        fits
    })
}

struct Search<'s> {
    original: &'s Original<'s>,
    numbers_hold: bool,
    /// The line after the last one that the hunks so far change.
    changed: usize,
    steps_left: usize,
}

impl Search<'_> {
    fn place(&mut self, wanted: &Wanted<'_>) -> Result<usize, ApplyError> {
        let place = match self.numbered_place(wanted) {
            Some(place) => place,
            None if wanted.old_lines == 0 => self.place_of_additions(wanted)?,
            None => self.only_place(wanted)?,
        };
        self.refuse_repetition(wanted, place)?;
        self.changed = wanted.end_of_change(place);
        Ok(place)
    }

    /// Returns the place that the hunk's number gives, when numbers are believed.
    fn numbered_place(&self, wanted: &Wanted<'_>) -> Option<usize> {
        let place = wanted.hunk.place.filter(|_| self.numbers_hold && wanted.old_lines > 0)?;
        (wanted.first_change(place) >= self.changed).then_some(place)
    }

    fn place_of_additions(&self, wanted: &Wanted<'_>) -> Result<usize, ApplyError> {
        let end = self.original.lines.len();
        if end == 0 || wanted.hunk.reaches_end() {
            return Ok(end);
        }
        Err(ApplyError::NoContext { hunk: wanted.name() })
    }

    fn only_place(&mut self, wanted: &Wanted<'_>) -> Result<usize, ApplyError> {
        let all = self.search(wanted.old.as_deref())?;
        if wanted.says_endings {
            self.spend(all.len().saturating_mul(wanted.old_lines))?;
        }
        let fitting: Vec<usize> = all
            .iter()
            .copied()
            .filter(|place| wanted.first_change(*place) >= self.changed)
            .filter(|place| wanted.misplacement(self.original, *place).is_none())
            .collect();
        match fitting.as_slice() {
            [] => Err(self.absence(wanted, &all)?),
            [place] => Ok(*place),
            several => self
                .anchored(wanted, several)
                .ok_or_else(|| ApplyError::ambiguous(wanted.name(), several)),
        }
    }

    /// Returns the only place below the lines that the hunk's `@@` names, each occurring once.
    fn anchored(&self, wanted: &Wanted<'_>, places: &[usize]) -> Option<usize> {
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
    fn absence(&mut self, wanted: &Wanted<'_>, all: &[usize]) -> Result<ApplyError, ApplyError> {
        let hunk = wanted.name();
        if let Some(place) = all.first() {
            let why = wanted.misplacement(self.original, *place);
            let why = why.unwrap_or(Misplacement::OutOfOrder);
            return Ok(ApplyError::Elsewhere { hunk, line: place + 1, why });
        }
        let shows_result =
            wanted.hunk.has(Kind::Add) || (wanted.leading > 0 && wanted.trailing > 0);
        if shows_result {
            let new = self.original.numbers_of(wanted.hunk.new_side());
            if let Some(place) = self.search(new.as_deref())?.first() {
                return Ok(ApplyError::AlreadyApplied { hunk, line: place + 1 });
            }
        }
        let old: Vec<&str> = wanted.hunk.old_side().map(|line| line.text.as_str()).collect();
        let nearest = nearest::lines_like(self.original.text, &old).map(Box::new);
        let expected = nearest::passage(old.into_iter());
        Ok(ApplyError::NotFound { hunk, expected, nearest })
    }

    /// Refuses to add lines next to context that shows on one side only, when they stand there
    /// already: that is how a patch looks that is applied a second time.
    fn refuse_repetition(&self, wanted: &Wanted<'_>, place: usize) -> Result<(), ApplyError> {
        let hunk = wanted.hunk;
        let added = hunk.new_side().count().saturating_sub(wanted.old_lines);
        let start = match (wanted.leading, wanted.trailing) {
            (0, 0) => return Ok(()),
            (_, 0) => Some(place),
            (0, _) => place.checked_sub(added),
            (_, _) => return Ok(()),
        };
        if hunk.has(Kind::Remove) {
            return Ok(());
        }
        let new = self.original.numbers_of(hunk.new_side());
        match start.zip(new).filter(|(start, new)| self.original.has_at(*start, new)) {
            Some((start, _)) => {
                Err(ApplyError::AlreadyApplied { hunk: hunk.name, line: start + 1 })
            }
            None => Ok(()),
        }
    }

    fn search(&mut self, numbers: Option<&[usize]>) -> Result<Vec<usize>, ApplyError> {
        let Some(numbers) = numbers else { return Ok(Vec::new()) };
        self.spend(self.original.numbered.len() + numbers.len())?;
        Ok(occurrences::overlapping(&self.original.numbered, numbers))
    }

    fn spend(&mut self, steps: usize) -> Result<(), ApplyError> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(ApplyError::TooMuchWork)?;
        Ok(())
    }
}
