//! Which node an id means, in a plan whose ids need not be right: one wrong id is one problem, and what refers to other nodes
//! is not blamed for it.

use std::collections::HashMap;

use crate::parse::StandIns;
use crate::plan::{NodeId, Plan};

/// The ids that a plan has.
pub(super) struct Ids {
    count: usize,
    pub(super) numbering: Numbering,
    /// Who has which id, filled only where ids are not places.
    written: HashMap<NodeId, Meant>,
}

/// How the nodes of a plan are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// By their places.
    Places,
    /// In order, but from this number.
    Shifted(u32),
    /// In no order.
    Odd,
}

/// Which node an id means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// The node at this place.
    At(usize),
    /// One of several.
    Several,
    /// No node.
    Nobody,
}

impl Ids {
    pub(super) fn of(plan: &Plan, stand_ins: &StandIns) -> Self {
        let count = plan.nodes.len();
        let numbering = numbering(plan, stand_ins);
        let mut written = HashMap::new();
        let shift = match numbering {
            Numbering::Places => return Self { count, numbering, written },
            Numbering::Shifted(first) => first,
            Numbering::Odd => 0,
        };
        for (place, node) in plan.nodes.iter().enumerate() {
            let id = if stand_ins.ids.contains(&place) {
                NodeId::new(NodeId::at(place).number().saturating_add(shift))
            } else {
                node.id
            };
            written
                .entry(id)
                .and_modify(|meant| *meant = Meant::Several)
                .or_insert(Meant::At(place));
        }
        Self { count, numbering, written }
    }

    /// Returns which node an id means. Where a node has a wrong one, its place means it, too.
    pub(super) fn meant(&self, id: NodeId) -> Meant {
        let at_place = if id.index() < self.count { Meant::At(id.index()) } else { Meant::Nobody };
        let written = || self.written.get(&id).copied();
        match self.numbering {
            Numbering::Places => at_place,
            Numbering::Shifted(_) => written().unwrap_or(Meant::Nobody),
            Numbering::Odd => written().unwrap_or(at_place),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self.count {
            1 => "one node".to_owned(),
            count => format!("{count} nodes"),
        }
    }
}

fn numbering(plan: &Plan, stand_ins: &StandIns) -> Numbering {
    let read = || {
        let nodes = plan.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !stand_ins.ids.contains(place))
    };
    let shift_of = |place: usize, id: NodeId| id.number().checked_sub(NodeId::at(place).number());
    let Some((place, node)) = read().next() else { return Numbering::Places };
    match shift_of(place, node.id) {
        Some(shift) if read().all(|(place, node)| shift_of(place, node.id) == Some(shift)) => {
            if shift == 0 {
                Numbering::Places
            } else {
                Numbering::Shifted(shift)
            }
        }
        _ => Numbering::Odd,
    }
}
