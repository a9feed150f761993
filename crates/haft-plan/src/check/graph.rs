//! The graph as a whole: circles in what was written, and who waits for whom in what is valid.

use std::collections::HashMap;

use super::Check;
use crate::checked::CheckedNode;
use crate::plan::{NodeId, Plan};
use crate::problem::{Code, listed};

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
pub(super) fn check_cycles(plan: &Plan, check: &mut Check<'_>) {
    if plan.nodes.iter().all(|node| node.depends_on.iter().all(|id| *id <= node.id)) {
        return;
    }
    let search = Search::of(plan);
    for cycle in search.cycles() {
        let first = cycle.first().copied();
        let names: Vec<String> = cycle.iter().chain(&first).map(ToString::to_string).collect();
        let message = format!(
            "nodes wait for one another in a circle: {} (each waits for the next): remove one of these dependencies",
            listed_path(&names)
        );
        let edges = cycle.iter().zip(cycle.iter().skip(1).chain(&first));
        check.circular.extend(edges.map(|(from, to)| (*from, *to)));
        check.problems.of_plan("nodes", Code::Cycle, message);
    }
}

fn listed_path(names: &[String]) -> String {
    if names.len() > crate::limits::NAMES_LISTED_MAX {
        return listed(names.iter().map(String::as_str));
    }
    names.join(" -> ")
}

/// A search through everything that waits, depth first and without recursion.
struct Search {
    /// What each id waits for; an id that is written twice counts once.
    edges: HashMap<NodeId, Vec<NodeId>>,
    order: Vec<NodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    OnPath,
    Done,
}

impl Search {
    fn of(plan: &Plan) -> Self {
        let mut edges: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for node in &plan.nodes {
            let others = node.depends_on.iter().copied().filter(|id| *id != node.id);
            edges.entry(node.id).or_default().extend(others);
        }
        let order = plan.nodes.iter().map(|node| node.id).collect();
        Self { edges, order }
    }

    fn cycles(&self) -> Vec<Vec<NodeId>> {
        let mut cycles = Vec::new();
        let mut marks: HashMap<NodeId, Mark> = HashMap::new();
        for start in &self.order {
            if marks.contains_key(start) {
                continue;
            }
            // The path so far, and how many edges of each node on it were followed.
            let mut path: Vec<(NodeId, usize)> = vec![(*start, 0)];
            marks.insert(*start, Mark::OnPath);
            while let Some((id, followed)) = path.last_mut() {
                let next = self.edges.get(id).and_then(|edges| edges.get(*followed)).copied();
                *followed += 1;
                let Some(next) = next else {
                    marks.insert(*id, Mark::Done);
                    path.pop();
                    continue;
                };
                match marks.get(&next) {
                    None => {
                        marks.insert(next, Mark::OnPath);
                        path.push((next, 0));
                    }
                    Some(Mark::Done) => {}
                    Some(Mark::OnPath) => {
                        cycles.push(
                            path.iter().map(|(id, _)| *id).skip_while(|id| *id != next).collect(),
                        );
                        if cycles.len() == CYCLES_LISTED_MAX {
                            return cycles;
                        }
                    }
                }
            }
        }
        cycles
    }
}
