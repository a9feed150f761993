//! The language of Mermaid.

use std::fmt::Write as _;

use super::graph::PlanGraph;

/// Returns the graph as a `flowchart`.
pub(super) fn draw(graph: &PlanGraph) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (place, node) in graph.nodes.iter().enumerate() {
        let label = escaped(&node.label(place, usize::MAX));
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

/// Writes everything that has a meaning in a label as a character code.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for one in text.chars() {
        if one.is_alphanumeric() || " ._-:/,…".contains(one) {
            safe.push(one);
        } else {
            let _ = write!(safe, "#{};", u32::from(one));
        }
    }
    safe
}
