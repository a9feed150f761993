//! The nodes and edges of a drawing. How they are drawn is in the module of each form.

use crate::limits::LABEL_CHARS_MAX;
use crate::plan::Plan;

/// A plan as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanGraph {
    pub(super) nodes: Vec<DrawnNode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DrawnNode {
    pub(super) tool: String,
    pub(super) purpose: Option<String>,
    /// Places of the nodes that it waits for, in order, each once.
    pub(super) depends_on: Vec<usize>,
    pub(super) is_final: bool,
}

/// The characters that a terminal drawing is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawingCharset {
    /// Lines and corners of Unicode.
    Unicode,
    /// Nothing beyond ASCII.
    Ascii,
}

impl PlanGraph {
    /// Returns the graph of a plan.
    pub fn new(plan: &Plan) -> Self {
        let nodes = plan.nodes.iter().enumerate().map(|(place, node)| {
            let mut depends_on: Vec<usize> =
                node.depends_on.iter().map(|id| id.index()).filter(|id| *id < place).collect();
            depends_on.sort_unstable();
            depends_on.dedup();
            DrawnNode {
                tool: printable(&node.label()),
                purpose: node.purpose().map(printable),
                depends_on,
                is_final: plan.final_output_node.index() == place,
            }
        });
        Self { nodes: nodes.collect() }
    }

    pub(super) fn has_final(&self) -> bool {
        self.nodes.iter().any(|node| node.is_final)
    }
}

impl DrawnNode {
    /// Returns what names the node in a picture, at most so many characters.
    pub(super) fn label(&self, place: usize, chars_max: usize) -> String {
        cut(&format!("{place} {}", self.tool), chars_max.min(LABEL_CHARS_MAX))
    }
}

/// Cuts text to so many characters, in its middle: tools of one kind have names that begin alike.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(1);
    let end = kept / 2;
    let begun = text.chars().take(kept - end);
    begun.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

/// Takes out of a text what a terminal or a viewer would obey rather than show: control characters, and marks that turn
/// the direction of writing.
fn printable(text: &str) -> String {
    let is_direction = |one: char| matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line: String = text
        .chars()
        .map(|one| if one.is_control() || is_direction(one) { ' ' } else { one })
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
