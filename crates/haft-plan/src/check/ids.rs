//! Which node an id means, in a plan whose ids need not be right: one wrong id is one problem, and what refers to other nodes
//! is not blamed for it.

use std::collections::HashMap;

use crate::node_id::NodeId;
use crate::parse::UnreadNodes;
use crate::plan::Plan;

/// The ids that a plan has.
pub(super) struct PlanNodeIds {
    count: usize,
    pub(super) numbering: NodeIdNumbering,
    /// Who has which id, filled only where ids are not places.
    written: HashMap<NodeId, NodeIdTarget>,
}

/// How the nodes of a plan are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeIdNumbering {
    /// By their places.
    Places,
    /// In order, but from this number.
    Shifted(u32),
    /// In no order.
    Odd,
}

/// Which node an id means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeIdTarget {
    /// The node at this place.
    At(usize),
    /// One of several.
    Ambiguous,
    /// No node.
    Missing,
}

impl PlanNodeIds {
    pub(super) fn of(plan: &Plan, stand_ins: &UnreadNodes) -> Self {
        let count = plan.nodes.len();
        let numbering = numbering(plan, stand_ins);
        let mut written = HashMap::new();
        let shift = match numbering {
            NodeIdNumbering::Places => return Self { count, numbering, written },
            NodeIdNumbering::Shifted(first) => first,
            NodeIdNumbering::Odd => 0,
        };
        for (place, node) in plan.nodes.iter().enumerate() {
            let id = if stand_ins.ids.contains(&place) {
                NodeId::new(NodeId::at(place).number().saturating_add(shift))
            } else {
                node.id
            };
            written
                .entry(id)
                .and_modify(|meant| *meant = NodeIdTarget::Ambiguous)
                .or_insert(NodeIdTarget::At(place));
        }
        Self { count, numbering, written }
    }

    /// Returns which node an id means. Where a node has a wrong one, its place means it, too.
    pub(super) fn find_node(&self, id: NodeId) -> NodeIdTarget {
        let at_place = if id.index() < self.count {
            NodeIdTarget::At(id.index())
        } else {
            NodeIdTarget::Missing
        };
        let written = || self.written.get(&id).copied();
        match self.numbering {
            NodeIdNumbering::Places => at_place,
            NodeIdNumbering::Shifted(_) => written().unwrap_or(NodeIdTarget::Missing),
            NodeIdNumbering::Odd => written().unwrap_or(at_place),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self.count {
            1 => "one node".to_owned(),
            count => format!("{count} nodes"),
        }
    }
}

fn numbering(plan: &Plan, stand_ins: &UnreadNodes) -> NodeIdNumbering {
    let read = || {
        let nodes = plan.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !stand_ins.ids.contains(place))
    };
    let shift_of = |place: usize, id: NodeId| id.number().checked_sub(NodeId::at(place).number());
    let Some((place, node)) = read().next() else { return NodeIdNumbering::Places };
    match shift_of(place, node.id) {
        Some(shift) if read().all(|(place, node)| shift_of(place, node.id) == Some(shift)) => {
            if shift == 0 {
                NodeIdNumbering::Places
            } else {
                NodeIdNumbering::Shifted(shift)
            }
        }
        _ => NodeIdNumbering::Odd,
    }
}
