//! The graph as a whole: cycles in the written plan, and the dependents of each node of a valid plan.

use super::ids::{NodeIdNumbering, NodeIdTarget};
use super::plan_check::PlanCheck;
use crate::checked::CheckedNode;
use crate::limits::NAMES_LISTED_MAX;
use crate::message_text::listed;
use crate::node_id::NodeId;
use crate::plan::{Plan, PlanNode};
use crate::problem::Code;

/// Circles that are reported. One is enough to begin with; each is a path through the plan.
const CYCLES_LISTED_MAX: usize = 10;

/// Notes for each node who waits for it, in order.
pub(super) fn add_dependents(nodes: &mut [CheckedNode]) {
    let edges: Vec<(NodeId, NodeId)> = nodes
        .iter()
        .flat_map(|node| node.depends_on.iter().map(|earlier| (*earlier, node.id)))
        .collect();
    for (earlier, later) in edges {
        if let Some(node) = nodes.get_mut(earlier.index()) {
            node.dependents.push(later);
        }
    }
}

/// Reports nodes that wait for one another in a circle. Without a dependency on a later node there is none.
pub(super) fn check_cycles(plan: &Plan, check: &mut PlanCheck<'_>) {
    let looks_back = |node: &PlanNode| node.depends_on.iter().all(|id| *id <= node.id);
    if check.ids.numbering == NodeIdNumbering::Places && plan.nodes.iter().all(looks_back) {
        return;
    }
    for cycle in cycles(&edges(plan, check)) {
        let first = cycle.first().copied();
        let ids = cycle.iter().chain(&first).filter_map(|place| plan.nodes.get(*place));
        let names: Vec<String> = ids.map(|node| node.id.to_string()).collect();
        let path = if names.len() > NAMES_LISTED_MAX {
            listed(names.iter().map(String::as_str))
        } else {
            names.join(" -> ")
        };
        let message = format!(
            "nodes wait for one another in a circle: {path} (each waits for the next): remove one of these dependencies"
        );
        let edges = cycle.iter().zip(cycle.iter().skip(1).chain(&first));
        check.circular.extend(edges.map(|(from, to)| (*from, *to)));
        check.problems.push_for_plan("nodes", Code::Cycle, message);
    }
}

/// Returns for the node at each place which others it waits for, by their places.
fn edges(plan: &Plan, check: &PlanCheck<'_>) -> Vec<Vec<usize>> {
    let of = |(place, node): (usize, &PlanNode)| {
        let others = node.depends_on.iter().filter_map(|id| match check.ids.find_node(*id) {
            NodeIdTarget::At(other) => Some(other).filter(|other| *other != place),
            NodeIdTarget::Ambiguous | NodeIdTarget::Missing => None,
        });
        others.collect()
    };
    plan.nodes.iter().enumerate().map(of).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeVisitMark {
    OnPath,
    Done,
}

/// Searches through everything that waits, depth first and without recursion.
fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut cycles = Vec::new();
    let mut marks: Vec<Option<NodeVisitMark>> = vec![None; edges.len()];
    for start in 0..edges.len() {
        if marks.get(start).is_none_or(Option::is_some) {
            continue;
        }
        // The path so far, and how many edges of each node on it were followed.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        set(&mut marks, start, NodeVisitMark::OnPath);
        while let Some((place, followed)) = path.last_mut() {
            let next = edges.get(*place).and_then(|edges| edges.get(*followed)).copied();
            *followed += 1;
            let Some(next) = next else {
                set(&mut marks, *place, NodeVisitMark::Done);
                path.pop();
                continue;
            };
            match marks.get(next).copied().flatten() {
                None => {
                    set(&mut marks, next, NodeVisitMark::OnPath);
                    path.push((next, 0));
                }
                Some(NodeVisitMark::Done) => {}
                Some(NodeVisitMark::OnPath) => {
                    let places = path.iter().map(|(place, _)| *place);
                    cycles.push(places.skip_while(|place| *place != next).collect());
                    if cycles.len() == CYCLES_LISTED_MAX {
                        return cycles;
                    }
                }
            }
        }
    }
    cycles
}

fn set(marks: &mut [Option<NodeVisitMark>], place: usize, mark: NodeVisitMark) {
    if let Some(place) = marks.get_mut(place) {
        *place = Some(mark);
    }
}
