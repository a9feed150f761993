//! A list of the nodes, one a line, for plans that boxes would not make clearer: stage by stage, with what each waits
//! for.

use std::fmt::Write as _;

use super::graph::{DrawingCharset, PlanGraph, cut};
use super::layers::{GraphLayerItemKind, GraphLayers};
use crate::limits::{LABEL_CHARS_MAX, NAMES_LISTED_MAX};

/// Narrowest list, in columns.
const COLUMNS_MIN: usize = 20;

/// Returns the list. No line is longer than `columns`, or than the narrowest list where that is more.
pub(super) fn draw(graph: &PlanGraph, columns: usize, charset: DrawingCharset) -> String {
    let columns = columns.max(COLUMNS_MIN);
    let GraphLayers { items, layers } = GraphLayers::place(graph);
    let node = |item: &usize| match items.get(*item)?.kind {
        GraphLayerItemKind::Node(place) => Some(place),
        GraphLayerItemKind::Passing => None,
    };
    let labels = graph.nodes.iter().map(|node| node.tool.chars().count());
    let tool_width = labels.max().unwrap_or(0).min(LABEL_CHARS_MAX);
    let id_width = graph.nodes.len().saturating_sub(1).to_string().len();
    let mut text = String::new();
    for (stage, layer) in layers.iter().enumerate() {
        let mut places: Vec<usize> = layer.iter().filter_map(node).collect();
        places.sort_unstable();
        let count = places.len();
        let noun = if count == 1 { "node" } else { "nodes" };
        push_line(&format!("stage {}: {count} {noun}", stage + 1), columns, charset, &mut text);
        for (place, node) in
            places.iter().filter_map(|place| Some((place, graph.nodes.get(*place)?)))
        {
            let mark = if node.is_final { '*' } else { ' ' };
            let tool = cut(&node.tool, tool_width);
            let mut line = format!("{mark} {place:>id_width$} {tool:<tool_width$}");
            if !node.depends_on.is_empty() {
                let shown = node.depends_on.iter().take(NAMES_LISTED_MAX).map(ToString::to_string);
                let _ = write!(line, " <- {}", shown.collect::<Vec<_>>().join(", "));
                if let Some(beyond @ 1..) = node.depends_on.len().checked_sub(NAMES_LISTED_MAX) {
                    let _ = write!(line, " and {beyond} more");
                }
            }
            if let Some(purpose) = &node.purpose {
                let _ = write!(line, "  {purpose}");
            }
            push_line(&line, columns, charset, &mut text);
        }
    }
    if graph.has_final() {
        push_line("* the final output", columns, charset, &mut text);
    }
    text
}

fn push_line(line: &str, columns: usize, charset: DrawingCharset, text: &mut String) {
    let line = line.trim_end();
    let mut shown = String::new();
    let mut left = columns;
    let is_whole = line.chars().map(columns_of).sum::<usize>() <= columns;
    for one in line.chars() {
        let width = columns_of(one);
        let room = if is_whole { left } else { left.saturating_sub(ELLIPSIS_COLUMNS) };
        if width > room {
            shown.push_str("...");
            break;
        }
        left -= width;
        shown.push(one);
    }
    match charset {
        DrawingCharset::Unicode => text.push_str(&shown),
        DrawingCharset::Ascii => text.extend(shown.chars().map(|one| match one {
            '…' => '.',
            one if one.is_ascii() => one,
            _ => '?',
        })),
    }
    text.push('\n');
}

const ELLIPSIS_COLUMNS: usize = 3;

/// Returns the columns that a character takes at most. Beyond the alphabets of Europe it is taken to be wide: a line that
/// is cut too early is better than one that breaks.
fn columns_of(one: char) -> usize {
    if one < '\u{1100}' { 1 } else { 2 }
}
