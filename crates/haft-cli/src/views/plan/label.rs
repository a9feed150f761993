//! The labels of nodes on a screen: id, tool and purpose, bounded in length and with terminal controls escaped.

use crate::views::outcome::on_one_line;
use haft_contract::cut;
use haft_plan::{CheckedPlan, NodeId};

/// Longest shown purpose of a node, in characters.
pub(crate) const PURPOSE_CHARS_MAX: usize = 40;

/// The labels of a plan's nodes.
#[derive(Default)]
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
                tool: match node.is_own_work() {
                    true => cut(&on_one_line(&written.label()), PURPOSE_CHARS_MAX),
                    false => node.contract().id.to_string(),
                },
                purpose: written
                    .purpose()
                    .map(|purpose| cut(&on_one_line(purpose), PURPOSE_CHARS_MAX)),
            })
            .collect();
        let number_width = nodes.len().saturating_sub(1).to_string().len();
        let tool_width = nodes.iter().map(|label| label.tool.len()).max().unwrap_or_default();
        Self { nodes, number_width, tool_width }
    }

    /// Returns the number of nodes.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a line about a node: its label, `said`, its purpose and the rest.
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
