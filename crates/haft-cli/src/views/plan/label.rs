//! What nodes are called on a screen: id, tool and what they are for, in so many characters and without anything that a
//! terminal would obey.

use haft_plan::{CheckedPlan, NodeId};

use crate::views::output;
use crate::views::table::shortened;

/// Longest text of what a node is for, in characters.
pub(crate) const PURPOSE_CHARS_MAX: usize = 40;

/// What the nodes of a plan are called on a screen.
pub(super) struct NodeLabels {
    nodes: Vec<NodeLabel>,
    number_width: usize,
    tool_width: usize,
}

struct NodeLabel {
    tool: String,
    purpose: Option<String>,
}

impl NodeLabels {
    pub(super) fn new(plan: &CheckedPlan) -> Self {
        let nodes: Vec<NodeLabel> = plan
            .nodes()
            .iter()
            .zip(&plan.plan().nodes)
            .map(|(node, written)| NodeLabel {
                tool: node.contract().id.to_string(),
                purpose: written
                    .purpose()
                    .map(|purpose| shortened(&on_one_line(purpose), PURPOSE_CHARS_MAX)),
            })
            .collect();
        let number_width = nodes.len().saturating_sub(1).to_string().len();
        let tool_width = nodes.iter().map(|label| label.tool.len()).max().unwrap_or_default();
        Self { nodes, number_width, tool_width }
    }

    /// Returns how many nodes there are.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a line about a node: what it is called, what is said of it, what it is for, and then the rest.
    pub(super) fn line(&self, node: NodeId, said: &str, rest: &str) -> String {
        let (number_width, tool_width) = (self.number_width, self.tool_width);
        let (number, label) = (node.number(), self.nodes.get(node.index()));
        let tool = label.map_or("", |label| label.tool.as_str());
        let line = format!("{number:>number_width$} {tool:tool_width$} {said}");
        match label.and_then(|label| label.purpose.as_deref()) {
            Some(purpose) => format!("{line} ({purpose}){rest}"),
            None => line + rest,
        }
    }
}

/// Returns a text on one line, without characters that would control a terminal.
pub(super) fn on_one_line(text: &str) -> String {
    output::escape_controls(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
