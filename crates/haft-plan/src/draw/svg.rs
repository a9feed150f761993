//! A picture in SVG: no scripts, no styles, nothing from elsewhere, and every text escaped.

use std::fmt::Write as _;

use super::graph::PlanGraph;
use super::layers::{GraphLayerItem, GraphLayerItemKind, GraphLayers};
use crate::limits::LABEL_CHARS_MAX;

const CHAR_WIDTH: i64 = 8;
const NODE_HEIGHT: i64 = 32;
const LAYER_HEIGHT: i64 = 80;
const GAP: i64 = 24;
const MARGIN: i64 = 16;

/// How a node looks in the picture of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanNodeMark {
    /// The name of its style.
    pub class: &'static str,
    /// How it stands, in words.
    pub status: String,
    /// Where a click on it leads.
    pub url: Option<String>,
}

/// Returns the picture, as a document.
pub(super) fn draw(graph: &PlanGraph) -> String {
    picture(graph, None)
}

/// Returns the picture as a part of a page, whose styles colour it. The marks are those of the nodes, in their order.
pub(super) fn draw_run(graph: &PlanGraph, marks: &[PlanNodeMark]) -> String {
    picture(graph, Some(marks))
}

fn picture(graph: &PlanGraph, marks: Option<&[PlanNodeMark]>) -> String {
    let width_of = |place: usize| {
        let chars = graph
            .nodes
            .get(place)
            .map_or(0, |node| node.label(place, LABEL_CHARS_MAX).chars().count());
        i64::try_from(chars).unwrap_or(0) * CHAR_WIDTH + 2 * MARGIN
    };
    let layers = GraphLayers::arrange(graph, &width_of, GAP);
    let width = layers.width() + 2 * MARGIN;
    let count = i64::try_from(layers.layers.len()).unwrap_or(0);
    let height = count * LAYER_HEIGHT - (LAYER_HEIGHT - NODE_HEIGHT) + 2 * MARGIN;
    let back =
        if marks.is_none() { "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" } else { "" };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\" text-anchor=\"middle\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0 8 4 0 8z\" fill=\"#667\"/></marker></defs>\n{back}"
    );
    for item in &layers.items {
        for below in item.below.iter().filter_map(|below| layers.items.get(*below)) {
            let (x, y) = (item.center + MARGIN, top(item) + NODE_HEIGHT);
            let (end_x, end_y) = (below.center + MARGIN, top(below));
            let middle = i64::midpoint(y, end_y);
            let is_node = matches!(below.kind, GraphLayerItemKind::Node(_));
            let arrow = if is_node { " marker-end=\"url(#arrow)\"" } else { "" };
            let _ = writeln!(
                text,
                "<path d=\"M{x} {y}C{x} {middle} {end_x} {middle} {end_x} {end_y}\" fill=\"none\" stroke=\"#667\"{arrow}/>"
            );
            if !is_node {
                let end = end_y + NODE_HEIGHT;
                let _ = writeln!(text, "<path d=\"M{end_x} {end_y}V{end}\" stroke=\"#667\"/>");
            }
        }
    }
    for item in &layers.items {
        if let GraphLayerItemKind::Node(place) = item.kind
            && let Some(node) = graph.nodes.get(place)
        {
            let (x, y, width) = (item.left() + MARGIN, top(item), item.width);
            let (middle, baseline) = (item.center + MARGIN, top(item) + NODE_HEIGHT / 2 + 5);
            let stroke = if node.is_final { "#223\" stroke-width=\"3" } else { "#667" };
            let label = escaped(&node.label(place, LABEL_CHARS_MAX));
            let title = match &node.purpose {
                Some(purpose) => format!("{}: {}", node.tool, purpose),
                None => node.tool.clone(),
            };
            let fill = " fill=\"#f4f6fa\"";
            let Some(marks) = marks else {
                let _ = writeln!(
                    text,
                    "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{NODE_HEIGHT}\" rx=\"5\"{fill} \
                     stroke=\"{stroke}\"/><text x=\"{middle}\" y=\"{baseline}\">{label}</text></g>",
                    escaped(&title)
                );
                continue;
            };
            let mark = marks.get(place).cloned().unwrap_or_default();
            let title = format!("{title}: {}", mark.status);
            let (begin, end) = match &mark.url {
                Some(url) => (format!("<a href=\"{}\">", escaped(url)), "</a>"),
                None => (String::new(), ""),
            };
            let _ = writeln!(
                text,
                "{begin}<g class=\"node {}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" \
                 height=\"{NODE_HEIGHT}\" rx=\"5\" stroke=\"{stroke}\"/><text x=\"{middle}\" y=\"{baseline}\">{label}</text></g>{end}",
                mark.class,
                escaped(&title)
            );
        }
    }
    text.push_str("</svg>\n");
    text
}

fn top(item: &GraphLayerItem) -> i64 {
    i64::try_from(item.layer).unwrap_or(0) * LAYER_HEIGHT + MARGIN
}

/// Escapes text; characters that no XML document may hold become a mark.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for one in text.chars() {
        match one {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
