//! The names that the nodes of a plan have in its run.

use crate::node_id::NodeId;

/// Returns the name that a node of a plan has in its run.
pub(super) fn scope_name(node: NodeId) -> String {
    format!("n{node}")
}

/// Returns the node of exactly this name: `n01` is the name of no node.
pub(super) fn node_of(name: &str) -> Option<NodeId> {
    let id = name.strip_prefix('n')?.parse().ok().map(NodeId::new)?;
    (scope_name(id) == name).then_some(id)
}
