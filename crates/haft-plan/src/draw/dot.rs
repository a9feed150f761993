//! The language of Graphviz.

use std::fmt::Write as _;

use super::graph::PlanGraph;

/// Returns the graph as a `digraph`.
pub(super) fn draw(graph: &PlanGraph) -> String {
    let mut text = "digraph plan {\n  node [shape=box, fontname=\"monospace\"];\n".to_owned();
    for (place, node) in graph.nodes.iter().enumerate() {
        let label = quoted(&node.label(place, usize::MAX));
        let purpose =
            node.purpose.as_deref().map(|purpose| format!(", tooltip={}", quoted(purpose)));
        let border = if node.is_final { ", peripheries=2" } else { "" };
        let purpose = purpose.unwrap_or_default();
        let _ = writeln!(text, "  n{place} [label={label}{purpose}{border}];");
    }
    for (place, node) in graph.nodes.iter().enumerate() {
        for earlier in &node.depends_on {
            let _ = writeln!(text, "  n{earlier} -> n{place};");
        }
    }
    text.push_str("}\n");
    text
}

/// Quotes text; a backslash would begin one of the language's own escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
