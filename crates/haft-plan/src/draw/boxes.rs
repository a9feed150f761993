//! Boxes and lines for a terminal. A line that passes another one is drawn through it without touching; where lines
//! touch, they are one edge that branches.

use super::graph::{DrawingCharset, PlanGraph};
use super::layers::{GraphLayerItemKind, GraphLayers};
use super::route::{EAST, EdgeGrid, NORTH, SOUTH, WEST, route};
use crate::limits::LABEL_CHARS_MAX;

/// Lengths of labels that are tried, the longest that fits is taken.
const LABELS_CHARS: [usize; 3] = [LABEL_CHARS_MAX, 14, 8];
const GAP: i64 = 2;

/// Returns the drawing, or nothing where it is wider than the terminal or its lines find no way.
pub(super) fn draw(graph: &PlanGraph, columns: usize, charset: DrawingCharset) -> Option<String> {
    LABELS_CHARS.into_iter().find_map(|label_chars| {
        // Odd, so that there is a middle, and wide enough for an arrow from each node above.
        let width_of = |place: usize| {
            let Some(node) = graph.nodes.get(place) else { return 1 };
            let label = node.label(place, label_chars).chars().count() + 4;
            let arrows = 2 * node.depends_on.len() + 5;
            i64::try_from(label.max(arrows) | 1).unwrap_or(i64::MAX)
        };
        let layers = GraphLayers::arrange(graph, &width_of, GAP);
        if usize::try_from(layers.width()).ok()? > columns {
            return None;
        }
        let page = BoxPage { graph, layers: &layers, charset, label_chars };
        page.draw()
    })
}

struct BoxPage<'g> {
    graph: &'g PlanGraph,
    layers: &'g GraphLayers,
    charset: DrawingCharset,
    label_chars: usize,
}

/// The lines of a box: its corners, edges, arrows and the place where its own line leaves.
struct BoxStrokes {
    top: [char; 3],
    side: char,
    bottom: [char; 3],
    arrow: char,
    leaving: char,
}

const PLAIN: BoxStrokes = BoxStrokes {
    top: ['┌', '─', '┐'],
    side: '│',
    bottom: ['└', '─', '┘'],
    arrow: '▼',
    leaving: '┬',
};
const FINAL: BoxStrokes = BoxStrokes {
    top: ['╔', '═', '╗'],
    side: '║',
    bottom: ['╚', '═', '╝'],
    arrow: '▼',
    leaving: '╤',
};
const PLAIN_ASCII: BoxStrokes = BoxStrokes {
    top: ['+', '-', '+'],
    side: '|',
    bottom: ['+', '-', '+'],
    arrow: 'v',
    leaving: '+',
};
const FINAL_ASCII: BoxStrokes = BoxStrokes {
    top: ['#', '=', '#'],
    side: '#',
    bottom: ['#', '=', '#'],
    arrow: 'v',
    leaving: '+',
};

impl BoxPage<'_> {
    fn draw(&self) -> Option<String> {
        let items = &self.layers.items;
        let mut columns: Vec<i64> = items.iter().map(|item| item.center).collect();
        let mut arrows: Vec<Vec<i64>> = vec![Vec::new(); items.len()];
        let mut text = String::new();
        for (index, layer) in self.layers.layers.iter().enumerate() {
            self.write_layer(layer, &columns, &arrows, &mut text);
            if let Some(lower) = self.layers.layers.get(index + 1) {
                let channel = route(self.layers, (layer, lower), &mut columns, &mut arrows)?;
                for row in EdgeGrid::of(&channel).rows() {
                    let line: Vec<char> = row.iter().map(|lines| self.glyph(*lines)).collect();
                    write_line(&line, &mut text);
                }
            }
        }
        if self.graph.has_final() {
            text.push_str(match self.charset {
                DrawingCharset::Unicode => "╔═╗ the final output\n",
                DrawingCharset::Ascii => "#=# the final output\n",
            });
        }
        Some(text)
    }

    fn write_layer(
        &self,
        layer: &[usize],
        columns: &[i64],
        arrows: &[Vec<i64>],
        text: &mut String,
    ) {
        let mut lines: [Vec<char>; 3] = Default::default();
        for place in layer {
            let Some(item) = self.layers.items.get(*place) else { continue };
            let GraphLayerItemKind::Node(node) = item.kind else {
                let line = self.glyph(NORTH | SOUTH);
                lines.iter_mut().for_each(|one| put(one, columns.get(*place).copied(), line));
                continue;
            };
            let strokes = self.strokes(node);
            let (left, width) = (item.left(), item.width);
            let right = left + width - 1;
            let [top, middle, bottom] = &mut lines;
            write_border(top, strokes.top, left, right);
            write_border(bottom, strokes.bottom, left, right);
            for column in arrows.get(*place).into_iter().flatten() {
                put(top, Some(*column), strokes.arrow);
            }
            if !item.below.is_empty() {
                put(bottom, Some(item.center), strokes.leaving);
            }
            put(middle, Some(left), strokes.side);
            put(middle, Some(right), strokes.side);
            let label = self.label(node);
            let chars = i64::try_from(label.chars().count()).unwrap_or(0);
            let start = left + (width - chars) / 2;
            for (column, one) in (start..).zip(label.chars()) {
                put(middle, Some(column), one);
            }
        }
        lines.iter().for_each(|line| write_line(line, text));
    }

    /// A box is as wide as its text has characters only if each takes one column.
    fn label(&self, node: usize) -> String {
        let label = self.graph.nodes.get(node).map(|one| one.label(node, self.label_chars));
        let in_one_column = |one: char| match (one, self.charset) {
            ('…', DrawingCharset::Unicode) => '…',
            ('…', DrawingCharset::Ascii) => '.',
            (one, _) if one.is_ascii() => one,
            _ => '?',
        };
        label.unwrap_or_default().chars().map(in_one_column).collect()
    }

    fn strokes(&self, node: usize) -> &'static BoxStrokes {
        let is_final = self.graph.nodes.get(node).is_some_and(|node| node.is_final);
        match (self.charset, is_final) {
            (DrawingCharset::Unicode, false) => &PLAIN,
            (DrawingCharset::Unicode, true) => &FINAL,
            (DrawingCharset::Ascii, false) => &PLAIN_ASCII,
            (DrawingCharset::Ascii, true) => &FINAL_ASCII,
        }
    }

    /// Returns the character whose lines lead in these directions.
    fn glyph(&self, lines: u8) -> char {
        const ACROSS: u8 = EAST | WEST;
        const DOWN: u8 = NORTH | SOUTH;
        match (lines, self.charset) {
            (0, _) => ' ',
            (DOWN, DrawingCharset::Unicode) => '│',
            (ACROSS, DrawingCharset::Unicode) => '─',
            (DOWN, DrawingCharset::Ascii) => '|',
            (ACROSS, DrawingCharset::Ascii) => '-',
            (_, DrawingCharset::Ascii) => '+',
            (lines, DrawingCharset::Unicode) => corner(lines),
        }
    }
}

fn corner(lines: u8) -> char {
    const CORNERS: [(u8, char); 8] = [
        (EAST | SOUTH, '┌'),
        (SOUTH | WEST, '┐'),
        (NORTH | EAST, '└'),
        (NORTH | WEST, '┘'),
        (NORTH | EAST | SOUTH, '├'),
        (NORTH | SOUTH | WEST, '┤'),
        (EAST | SOUTH | WEST, '┬'),
        (NORTH | EAST | WEST, '┴'),
    ];
    CORNERS.iter().find(|(corner, _)| *corner == lines).map_or('┼', |(_, glyph)| *glyph)
}

fn write_border(line: &mut Vec<char>, [left, middle, right]: [char; 3], from: i64, to: i64) {
    (from..=to).for_each(|column| put(line, Some(column), middle));
    put(line, Some(from), left);
    put(line, Some(to), right);
}

fn put(line: &mut Vec<char>, column: Option<i64>, glyph: char) {
    let Some(column) = column.and_then(|column| usize::try_from(column).ok()) else { return };
    if line.len() <= column {
        line.resize(column + 1, ' ');
    }
    if let Some(cell) = line.get_mut(column) {
        *cell = glyph;
    }
}

fn write_line(line: &[char], text: &mut String) {
    let line: String = line.iter().collect();
    text.push_str(line.trim_end());
    text.push('\n');
}
