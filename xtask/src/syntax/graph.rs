//! Directed graphs of files or modules, their cycles, and the order that breaks the fewest edges.

use std::collections::BTreeSet;

/// A directed graph over the nodes `0..len`.
pub(crate) struct Graph {
    edges: Vec<BTreeSet<usize>>,
}

/// Nodes that can all reach one another, at least two.
pub(crate) type Cycle = Vec<usize>;

impl Graph {
    pub(crate) fn new(edges: Vec<BTreeSet<usize>>) -> Self {
        Self { edges }
    }

    /// Returns the number of edges.
    pub(crate) fn edge_count(&self) -> usize {
        self.edges.iter().map(BTreeSet::len).sum()
    }

    /// Returns the strongly connected components of two and more nodes, the largest first.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        let reachable: Vec<BTreeSet<usize>> =
            (0..self.edges.len()).map(|node| self.reachable(node)).collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut cycles = Vec::new();
        for node in 0..self.edges.len() {
            if !reachable[node].contains(&node) || seen.contains(&node) {
                continue;
            }
            let cycle: Cycle = reachable[node]
                .iter()
                .copied()
                .filter(|to| reachable[*to].contains(&node))
                .collect();
            seen.extend(&cycle);
            cycles.push(cycle);
        }
        cycles.retain(|cycle| cycle.len() > 1);
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    fn reachable(&self, from: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            open.extend(self.edges[node].iter().filter(|next| found.insert(**next)));
        }
        found
    }

    /// Returns all nodes, those that import nothing first, so that few edges lead to a later node.
    ///
    /// The order is the greedy one of Eades, Lin and Smyth; without cycles no edge leads to a later node.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut rest: BTreeSet<usize> = (0..self.edges.len()).collect();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let out = |node: usize| self.edges[node].intersection(&rest).count();
            let into = |node: usize| {
                rest.iter().filter(|other| self.edges[**other].contains(&node)).count()
            };
            let sink = rest.iter().copied().find(|node| out(*node) == 0);
            let source = rest.iter().copied().find(|node| into(*node) == 0);
            let weight = |node: &usize| out(*node).cast_signed() - into(*node).cast_signed();
            let node = match (sink, source) {
                (Some(node), _) => {
                    low.push(node);
                    node
                }
                (None, Some(node)) => {
                    high.push(node);
                    node
                }
                (None, None) => {
                    let Some(node) = rest.iter().copied().max_by_key(weight) else { break };
                    high.push(node);
                    node
                }
            };
            rest.remove(&node);
        }
        low.extend(high.into_iter().rev());
        low
    }

    /// Returns the edges from a node to one that is later in an order.
    pub(crate) fn upward(&self, order: &[usize]) -> Vec<(usize, usize)> {
        let position = |node: usize| order.iter().position(|other| *other == node);
        let mut upward = Vec::new();
        for (from, targets) in self.edges.iter().enumerate() {
            let later = targets.iter().filter(|to| position(**to) > position(from));
            upward.extend(later.map(|to| (from, *to)));
        }
        upward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[&[usize]]) -> Graph {
        Graph::new(edges.iter().map(|targets| targets.iter().copied().collect()).collect())
    }

    #[test]
    fn cycles_are_the_strongly_connected_components() {
        assert_eq!(graph(&[&[1], &[2], &[]]).cycles(), Vec::<Cycle>::new());
        assert_eq!(
            graph(&[&[1], &[0], &[3], &[4], &[2], &[0, 2]]).cycles(),
            [vec![2, 3, 4], vec![0, 1]]
        );
    }

    #[test]
    fn the_order_has_upward_edges_only_in_cycles() {
        let straight = graph(&[&[1, 2], &[2], &[]]);
        assert_eq!(straight.order(), [2, 1, 0]);
        assert_eq!(straight.upward(&straight.order()), []);
        let cycle = graph(&[&[1], &[2], &[0]]);
        assert_eq!(cycle.upward(&cycle.order()).len(), 1);
        assert_eq!(cycle.edge_count(), 3);
    }
}
