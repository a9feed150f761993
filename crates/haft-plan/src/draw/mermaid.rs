//! The language of Mermaid.

use std::fmt::Write as _;

use super::graph::PlanGraph;

/// Returns the graph as a `flowchart`.
pub(super) fn draw(graph: &PlanGraph) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (place, node) in graph.nodes.iter().enumerate() {
        // Everything that has a meaning in a label is written as a character code.
        let mut label = String::new();
        for one in node.label(place, usize::MAX).chars() {
            if one.is_alphanumeric() || " ._-:/,…".contains(one) {
                label.push(one);
            } else {
                let _ = write!(label, "#{};", u32::from(one));
            }
        }
        let (open, close) = if node.is_final { ("[[", "]]") } else { ("[", "]") };
        let _ = writeln!(text, "  n{place}{open}\"{label}\"{close}");
    }
    for (place, node) in graph.nodes.iter().enumerate() {
        for earlier in &node.depends_on {
            let _ = writeln!(text, "  n{earlier} --> n{place}");
        }
    }
    text
}
