//! A layered layout: every node below all that it waits for, edges that pass layers as points in them, few crossings,
//! and nodes near what they belong to. Whole numbers only, so that it is the same everywhere.

use super::graph::PlanGraph;
use crate::limits::WAYPOINTS_MAX;

/// How often the order within layers is improved, downwards and upwards.
const SWEEPS: usize = 6;

/// Nodes and passing edges, layer by layer.
#[derive(Debug)]
pub(super) struct GraphLayers {
    pub(super) items: Vec<GraphLayerItem>,
    /// Places of items, from left to right.
    pub(super) layers: Vec<Vec<usize>>,
}

/// A node, or the point where edges of one node pass a layer.
#[derive(Debug)]
pub(super) struct GraphLayerItem {
    pub(super) kind: GraphLayerItemKind,
    pub(super) layer: usize,
    /// Items of the layer above that lead here.
    pub(super) above: Vec<usize>,
    /// Items of the layer below that this one leads to.
    pub(super) below: Vec<usize>,
    pub(super) width: i64,
    /// The middle.
    pub(super) center: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GraphLayerItemKind {
    Node(usize),
    Passing,
}

impl GraphLayers {
    /// Arranges the graph. The place of a node among the items is its place in the graph. Where too many edges pass too
    /// many layers, edges join items of layers that are not neighbours.
    pub(super) fn arrange(graph: &PlanGraph, width_of: &dyn Fn(usize) -> i64, gap: i64) -> Self {
        let mut layers = Self::place(graph);
        for item in &mut layers.items {
            item.width = match item.kind {
                GraphLayerItemKind::Node(node) => width_of(node),
                GraphLayerItemKind::Passing => 1,
            };
        }
        layers.order();
        layers.align(gap);
        layers
    }

    /// Puts every node below all that it waits for, in the order of places.
    pub(super) fn place(graph: &PlanGraph) -> Self {
        let mut items: Vec<GraphLayerItem> = Vec::with_capacity(graph.nodes.len());
        let mut lowest = vec![0_usize; graph.nodes.len()];
        for (place, node) in graph.nodes.iter().enumerate() {
            let above = node.depends_on.iter().filter_map(|earlier| items.get(*earlier));
            let layer = above.map(|item| item.layer + 1).max().unwrap_or(0);
            for earlier in &node.depends_on {
                if let Some(deepest) = lowest.get_mut(*earlier) {
                    *deepest = layer.max(*deepest);
                }
            }
            items.push(GraphLayerItem::new(GraphLayerItemKind::Node(place), layer));
        }
        let spans =
            items.iter().zip(&lowest).map(|(item, lowest)| lowest.saturating_sub(item.layer + 1));
        let is_bounded = spans.sum::<usize>() <= WAYPOINTS_MAX;
        let mut chains: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
        if is_bounded {
            for (source, (chain, lowest)) in chains.iter_mut().zip(&lowest).enumerate() {
                // The points where edges of `source` pass layers on their way to the lowest one.
                let first = items.get(source).map_or(0, |item| item.layer + 1);
                let mut before = source;
                for layer in first..*lowest {
                    let place = items.len();
                    items.push(GraphLayerItem::new(GraphLayerItemKind::Passing, layer));
                    join(&mut items, before, place);
                    chain.push(place);
                    before = place;
                }
            }
        }
        for (place, node) in graph.nodes.iter().enumerate() {
            for earlier in &node.depends_on {
                // The point of the edge in the layer above its end: the node itself, or a point of its chain.
                let layer = |item: usize| items.get(item).map_or(0, |item| item.layer);
                let between = (layer(place) - layer(*earlier)).checked_sub(2);
                let point = between.and_then(|index| chains.get(*earlier)?.get(index)).copied();
                join(&mut items, point.unwrap_or(*earlier), place);
            }
        }
        let count = items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); count];
        for (place, item) in items.iter().enumerate() {
            if let Some(layer) = layers.get_mut(item.layer) {
                layer.push(place);
            }
        }
        Self { items, layers }
    }

    /// Orders each layer by where its neighbours are.
    fn order(&mut self) {
        let mut places = vec![0_i64; self.items.len()];
        for layer in &self.layers {
            note_places(layer, &mut places);
        }
        for sweep in 0..SWEEPS {
            let mut indices: Vec<usize> = (0..self.layers.len()).collect();
            if sweep % 2 == 1 {
                indices.reverse();
            }
            for index in indices {
                let Some(layer) = self.layers.get_mut(index) else { continue };
                let wish = |item: &usize| {
                    let item_ref = self.items.get(*item);
                    let neighbours =
                        item_ref.map(|one| if sweep % 2 == 0 { &one.above } else { &one.below });
                    let own = places.get(*item).copied().unwrap_or(0);
                    (mean(neighbours.into_iter().flatten(), &places).unwrap_or(own * SCALE), own)
                };
                layer.sort_by_cached_key(wish);
                note_places(layer, &mut places);
            }
        }
    }

    /// Moves items towards their neighbours as far as their own layer allows.
    fn align(&mut self, gap: i64) {
        let mut centers = vec![0_i64; self.items.len()];
        for layer in &self.layers {
            let wishes = vec![0; layer.len()];
            self.spread(layer, &wishes, gap, &mut centers);
        }
        for sweep in 0..SWEEPS {
            let mut layers: Vec<&Vec<usize>> = self.layers.iter().collect();
            if sweep % 2 == 1 {
                layers.reverse();
            }
            for layer in layers {
                let wish = |item: &usize| {
                    let neighbours = self
                        .items
                        .get(*item)
                        .into_iter()
                        .flat_map(|one| one.above.iter().chain(&one.below));
                    let own = centers.get(*item).copied().unwrap_or(0);
                    mean(neighbours, &centers).map_or(own, |mean| mean.div_euclid(SCALE))
                };
                let wishes: Vec<i64> = layer.iter().map(wish).collect();
                self.spread(layer, &wishes, gap, &mut centers);
            }
        }
        let left =
            self.items.iter().zip(&centers).map(|(item, center)| center - item.width / 2).min();
        for (item, center) in self.items.iter_mut().zip(centers) {
            item.center = center - left.unwrap_or(0);
        }
    }

    /// Gives a layer the centers nearest to its wishes that keep order and distance: neighbours that would overlap move
    /// as one block to the mean of what they wish for.
    fn spread(&self, layer: &[usize], wishes: &[i64], gap: i64, centers: &mut [i64]) {
        let width = |item: &usize| self.items.get(*item).map_or(0, |one| one.width);
        let mut offsets = Vec::with_capacity(layer.len());
        let mut offset = 0;
        for (place, item) in layer.iter().enumerate() {
            if let Some(before) = place.checked_sub(1).and_then(|before| layer.get(before)) {
                // Right half of the one before, left half of this one.
                offset += (width(before) - width(before) / 2) + gap + width(item) / 2;
            }
            offsets.push(offset);
        }
        // Each block: the sum of wishes less offsets, and how many items.
        let mut blocks: Vec<(i64, i64)> = Vec::new();
        for (wish, offset) in wishes.iter().zip(&offsets) {
            let mut block = (wish - offset, 1);
            while let Some(before) =
                blocks.pop_if(|before| before.0 * block.1 >= block.0 * before.1)
            {
                block = (before.0 + block.0, before.1 + block.1);
            }
            blocks.push(block);
        }
        let starts = blocks.into_iter().flat_map(|(sum, count)| {
            let start = sum.div_euclid(count);
            (0..count).map(move |_| start)
        });
        for ((item, offset), start) in layer.iter().zip(offsets).zip(starts) {
            if let Some(center) = centers.get_mut(*item) {
                *center = start + offset;
            }
        }
    }

    /// Returns the width of the whole.
    pub(super) fn width(&self) -> i64 {
        self.items.iter().map(|item| item.left() + item.width).max().unwrap_or(0)
    }
}

/// Means are kept this many times larger, so that whole numbers tell them apart.
const SCALE: i64 = 1_000;

fn mean<'a>(neighbours: impl Iterator<Item = &'a usize>, places: &[i64]) -> Option<i64> {
    let (mut sum, mut count) = (0, 0);
    for neighbour in neighbours {
        sum += places.get(*neighbour).copied().unwrap_or(0);
        count += 1;
    }
    (count > 0).then(|| sum * SCALE / count)
}

fn note_places(layer: &[usize], places: &mut [i64]) {
    for (number, item) in (0_i64..).zip(layer) {
        if let Some(place) = places.get_mut(*item) {
            *place = number;
        }
    }
}

fn join(items: &mut [GraphLayerItem], above: usize, below: usize) {
    if let Some(item) = items.get_mut(above) {
        item.below.push(below);
    }
    if let Some(item) = items.get_mut(below) {
        item.above.push(above);
    }
}

impl GraphLayerItem {
    fn new(kind: GraphLayerItemKind, layer: usize) -> Self {
        Self { kind, layer, above: Vec::new(), below: Vec::new(), width: 1, center: 0 }
    }

    /// Returns the leftmost column or pixel.
    pub(super) fn left(&self) -> i64 {
        self.center - self.width / 2
    }
}
