//! Lines between two layers of boxes. Each node above has one line that goes down, along its own row, and branches
//! down to where it is waited for. No branch comes down where another line starts, so two lines never run over one
//! another; they only cross.

use super::layers::{GraphLayerItem, GraphLayerItemKind, GraphLayers};

/// The directions that lines lead in from a place.
pub(super) const NORTH: u8 = 1;
pub(super) const EAST: u8 = 2;
pub(super) const SOUTH: u8 = 4;
pub(super) const WEST: u8 = 8;

/// The lines between two layers.
#[derive(Debug)]
pub(super) struct EdgeChannel {
    lines: Vec<EdgeLine>,
    rows: usize,
}

/// The line of one node above.
#[derive(Debug)]
struct EdgeLine {
    item: usize,
    start: i64,
    ends: Vec<i64>,
    /// Absent for a line that goes straight down.
    row: Option<usize>,
}

/// Finds the ways from `upper` to `lower`, or nothing where there is no room. Notes where arrows arrive at boxes, and
/// moves points of passing edges out of the way.
pub(super) fn route(
    layers: &GraphLayers,
    (upper, lower): (&[usize], &[usize]),
    columns: &mut [i64],
    arrows: &mut [Vec<i64>],
) -> Option<EdgeChannel> {
    let has_line =
        |place: &&usize| layers.items.get(**place).is_some_and(|item| !item.below.is_empty());
    let start = |place: &usize| columns.get(*place).copied().unwrap_or(0);
    let mut lines: Vec<EdgeLine> = upper
        .iter()
        .filter(has_line)
        .map(|place| EdgeLine { item: *place, start: start(place), ends: Vec::new(), row: None })
        .collect();
    for place in lower {
        let item = layers.items.get(*place)?;
        let arriving = arriving(&lines, item);
        let ends = match item.kind {
            GraphLayerItemKind::Passing => {
                let line = arriving.first()?;
                let near = [item.center, item.center - 1, item.center + 1];
                let free = near.into_iter().find(|column| is_free(&lines, *line, *column))?;
                *columns.get_mut(*place)? = free;
                vec![free]
            }
            GraphLayerItemKind::Node(_) => {
                let ends = ends_at_box(&lines, &arriving, item, 2)
                    .or_else(|| ends_at_box(&lines, &arriving, item, 1))?;
                arrows.get_mut(*place)?.clone_from(&ends);
                ends
            }
        };
        for (line, end) in arriving.into_iter().zip(ends) {
            lines.get_mut(line)?.ends.push(end);
        }
    }
    // Lines that turn get a row each, from the left, in as few rows as possible.
    let turns = |line: &&mut EdgeLine| line.ends.iter().any(|end| *end != line.start);
    let mut turning: Vec<&mut EdgeLine> = lines.iter_mut().filter(turns).collect();
    turning.sort_by_key(|line| line.extent());
    let mut row_ends: Vec<i64> = Vec::new();
    for line in turning {
        let (left, right) = line.extent();
        let row = row_ends.iter().position(|end| end + 1 < left).unwrap_or(row_ends.len());
        match row_ends.get_mut(row) {
            Some(end) => *end = right,
            None => row_ends.push(right),
        }
        line.row = Some(row);
    }
    Some(EdgeChannel { lines, rows: row_ends.len().max(1) })
}

/// Returns which lines lead to `item`, from left to right.
fn arriving(lines: &[EdgeLine], item: &GraphLayerItem) -> Vec<usize> {
    let leads = |line: &EdgeLine| item.above.contains(&line.item);
    let mut arriving: Vec<(i64, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| leads(line))
        .map(|(place, line)| (line.start, place))
        .collect();
    arriving.sort_unstable();
    arriving.into_iter().map(|(_, place)| place).collect()
}

/// Returns whether `line` may come down in a column: no other line starts there.
fn is_free(lines: &[EdgeLine], line: usize, column: i64) -> bool {
    !lines.iter().enumerate().any(|(other, one)| other != line && one.start == column)
}

/// Returns where lines arrive at a box: in their order, so far apart at least, and as straight down as possible.
fn ends_at_box(
    lines: &[EdgeLine],
    arriving: &[usize],
    item: &GraphLayerItem,
    apart: i64,
) -> Option<Vec<i64>> {
    let first = item.left() + 1;
    let last = item.left() + item.width - 2;
    // The rightmost place of each line that leaves room for those after it.
    let mut latest = Vec::with_capacity(arriving.len());
    let mut to = last;
    for line in arriving.iter().rev() {
        let place = (first..=to).rev().find(|column| is_free(lines, *line, *column))?;
        latest.push(place);
        to = place - apart;
    }
    let mut ends = Vec::with_capacity(arriving.len());
    let mut from = first;
    for (line, latest) in arriving.iter().zip(latest.into_iter().rev()) {
        let start = lines.get(*line)?.start;
        let is_above = (first..=last).contains(&start);
        let wish = if is_above || arriving.len() > 1 { start } else { item.center };
        let free = (from..=latest).filter(|column| is_free(lines, *line, *column));
        let end = free.min_by_key(|column| (column - wish).abs())?;
        ends.push(end);
        from = end + apart;
    }
    Some(ends)
}

impl EdgeLine {
    fn extent(&self) -> (i64, i64) {
        let columns = || self.ends.iter().copied().chain([self.start]);
        (columns().min().unwrap_or(0), columns().max().unwrap_or(0))
    }
}

/// Lines drawn into places: the directions that lead from each.
pub(super) struct EdgeGrid {
    cells: Vec<Vec<u8>>,
    owners: Vec<Vec<usize>>,
}

impl EdgeGrid {
    /// Draws the lines of a channel.
    pub(super) fn of(channel: &EdgeChannel) -> Self {
        let right = channel.lines.iter().map(|line| line.extent().1).max().unwrap_or(0);
        let columns = usize::try_from(right).unwrap_or(0) + 1;
        let mut grid = Self {
            cells: vec![vec![0; columns]; channel.rows],
            owners: vec![vec![0; columns]; channel.rows],
        };
        for (owner, line) in channel.lines.iter().enumerate() {
            let Some(turn) = line.row else {
                (0..channel.rows).for_each(|row| grid.add(owner, row, line.start, NORTH | SOUTH));
                continue;
            };
            (0..turn).for_each(|row| grid.add(owner, row, line.start, NORTH | SOUTH));
            let (left, right) = line.extent();
            for column in left..=right {
                let mut lines = EAST | WEST;
                if column == left {
                    lines &= !WEST;
                }
                if column == right {
                    lines &= !EAST;
                }
                if column == line.start {
                    lines |= NORTH;
                }
                if line.ends.contains(&column) {
                    lines |= SOUTH;
                }
                grid.add(owner, turn, column, lines);
            }
            for end in &line.ends {
                (turn + 1..channel.rows).for_each(|row| grid.add(owner, row, *end, NORTH | SOUTH));
            }
        }
        grid
    }

    /// Returns the rows, from the top.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.cells.iter().map(Vec::as_slice)
    }

    /// Adds lines at a place. Where another line passes already, the one that goes down stays whole.
    fn add(&mut self, owner: usize, row: usize, column: i64, lines: u8) {
        let Ok(column) = usize::try_from(column) else { return };
        let cell = self.cells.get_mut(row).and_then(|cells| cells.get_mut(column));
        let owned = self.owners.get_mut(row).and_then(|owners| owners.get_mut(column));
        let (Some(cell), Some(owned)) = (cell, owned) else { return };
        if *cell != 0 && *owned != owner {
            *cell = NORTH | SOUTH;
        } else {
            *cell |= lines;
            *owned = owner;
        }
    }
}
