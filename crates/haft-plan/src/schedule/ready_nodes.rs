//! The nodes whose turn may come: the lowest id first, as far as the bounds of the tools let it. Time is an argument.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;

use super::messages::NodeStartBlocker;
use crate::node_id::NodeId;

/// The time that a rate counts starts in, in milliseconds.
const RATE_WINDOW_MS: u64 = 60_000;

/// How often a tool is called by a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanToolBounds {
    /// Calls that run at the same time.
    pub at_once: Option<NonZeroU32>,
    /// Calls that start in any minute.
    pub per_minute: Option<NonZeroU32>,
}

/// The nodes that are ready, tool by tool.
pub(super) struct ReadyNodes {
    queues: Vec<ReadyToolQueue>,
    /// The first node of each tool that may be called, as far as is known.
    heads: BTreeSet<(NodeId, usize)>,
    /// The tools that may be called again later, by when.
    later: BTreeSet<(u64, usize)>,
    len: usize,
}

struct ReadyToolQueue {
    bounds: PlanToolBounds,
    nodes: BTreeSet<NodeId>,
    listing: ToolQueueListing,
    running: u32,
    /// When the latest calls started, at most as many as may start in a minute.
    starts: VecDeque<u64>,
    /// Nodes of which it was not told yet that they wait; empty where the tool has no bounds.
    unreported: BTreeSet<NodeId>,
    /// Nodes of which it was told last that they wait for the rate; of others it was that they wait for the end of a call.
    reported_for_rate: BTreeSet<NodeId>,
}

/// Where a tool is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolQueueListing {
    Nowhere,
    Head(NodeId),
    Later(u64),
}

enum ToolQueueOpening {
    Now,
    WhenOneEnds,
    At(u64),
}

impl ReadyNodes {
    pub(super) fn new(bounds: impl IntoIterator<Item = PlanToolBounds>) -> Self {
        let lane = |bounds| ReadyToolQueue {
            bounds,
            nodes: BTreeSet::new(),
            listing: ToolQueueListing::Nowhere,
            running: 0,
            starts: VecDeque::new(),
            unreported: BTreeSet::new(),
            reported_for_rate: BTreeSet::new(),
        };
        let lanes = bounds.into_iter().map(lane).collect();
        Self { queues: lanes, heads: BTreeSet::new(), later: BTreeSet::new(), len: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn add(&mut self, tool: usize, node: NodeId) {
        let Some(lane) = self.queues.get_mut(tool) else { return };
        self.len += usize::from(lane.nodes.insert(node));
        if lane.is_bounded() {
            lane.unreported.insert(node);
        }
        match lane.listing {
            ToolQueueListing::Later(_) => {}
            ToolQueueListing::Nowhere | ToolQueueListing::Head(_) => self.list_first_node(tool),
        }
    }

    /// Takes the lowest node whose tool may be called now.
    pub(super) fn take(&mut self, now_ms: u64) -> Option<NodeId> {
        while let Some((at_ms, tool)) = self.later.first().copied()
            && at_ms <= now_ms
        {
            self.later.remove(&(at_ms, tool));
            self.list_first_node(tool);
        }
        while let Some((node, tool)) = self.heads.pop_first() {
            let lane = self.queues.get_mut(tool)?;
            lane.listing = ToolQueueListing::Nowhere;
            match lane.opening(now_ms) {
                ToolQueueOpening::Now => {
                    lane.nodes.remove(&node);
                    lane.unreported.remove(&node);
                    lane.reported_for_rate.remove(&node);
                    lane.running += 1;
                    if let Some(most) = lane.bounds.per_minute {
                        if lane.starts.len() >= to_usize(most) {
                            lane.starts.pop_front();
                        }
                        lane.starts.push_back(now_ms);
                    }
                    self.len -= 1;
                    self.list_first_node(tool);
                    return Some(node);
                }
                ToolQueueOpening::WhenOneEnds => {}
                ToolQueueOpening::At(at_ms) => {
                    lane.listing = ToolQueueListing::Later(at_ms);
                    self.later.insert((at_ms, tool));
                }
            }
        }
        None
    }

    /// Notes that a call which was taken has ended.
    pub(super) fn mark_ended(&mut self, tool: usize) {
        let Some(lane) = self.queues.get_mut(tool) else { return };
        lane.running = lane.running.saturating_sub(1);
        if lane.listing == ToolQueueListing::Nowhere {
            self.list_first_node(tool);
        }
    }

    /// Returns the nodes that only the bounds of their tools keep from starting: each once, and the first of a tool anew when it
    /// comes to wait for something else.
    pub(super) fn blocked_nodes(&mut self, now_ms: u64) -> Vec<(NodeId, NodeStartBlocker)> {
        let bounded = self.queues.iter_mut().filter(|lane| lane.is_bounded());
        bounded.flat_map(|lane| lane.blocked_nodes(now_ms)).collect()
    }

    /// Returns when a tool that may not be called now may be called again.
    pub(super) fn opens_at_ms(&self) -> Option<u64> {
        self.later.first().map(|(at_ms, _)| *at_ms)
    }

    /// Lists the first node of a tool, in place of what was listed.
    fn list_first_node(&mut self, tool: usize) {
        let Some(lane) = self.queues.get_mut(tool) else { return };
        if let ToolQueueListing::Head(node) = lane.listing {
            self.heads.remove(&(node, tool));
        }
        lane.listing = match lane.nodes.first() {
            Some(node) => {
                self.heads.insert((*node, tool));
                ToolQueueListing::Head(*node)
            }
            None => ToolQueueListing::Nowhere,
        };
    }
}

impl ReadyToolQueue {
    fn opening(&self, now_ms: u64) -> ToolQueueOpening {
        if self.bounds.at_once.is_some_and(|most| self.running >= most.get()) {
            return ToolQueueOpening::WhenOneEnds;
        }
        match (self.bounds.per_minute, self.starts.front()) {
            (Some(most), Some(first)) if self.starts.len() >= to_usize(most) => {
                let opens_at_ms = first.saturating_add(RATE_WINDOW_MS);
                if opens_at_ms <= now_ms {
                    ToolQueueOpening::Now
                } else {
                    ToolQueueOpening::At(opens_at_ms)
                }
            }
            (Some(_) | None, _) => ToolQueueOpening::Now,
        }
    }

    fn is_bounded(&self) -> bool {
        self.bounds != PlanToolBounds::default()
    }

    fn blocked_nodes(&mut self, now_ms: u64) -> Vec<(NodeId, NodeStartBlocker)> {
        let Some(first) = self.nodes.first().copied() else { return Vec::new() };
        let hindrance = match (self.opening(now_ms), self.bounds) {
            (ToolQueueOpening::WhenOneEnds, PlanToolBounds { at_once: Some(most), .. }) => {
                NodeStartBlocker::AtOnce(most)
            }
            (ToolQueueOpening::At(opens_at_ms), PlanToolBounds { per_minute: Some(most), .. }) => {
                NodeStartBlocker::PerMinute { most, opens_at_ms }
            }
            (
                ToolQueueOpening::Now | ToolQueueOpening::WhenOneEnds | ToolQueueOpening::At(_),
                _,
            ) => return Vec::new(),
        };
        let is_rate = matches!(hindrance, NodeStartBlocker::PerMinute { .. });
        if self.reported_for_rate.contains(&first) != is_rate {
            self.unreported.insert(first);
        }
        let untold = std::mem::take(&mut self.unreported);
        if is_rate {
            self.reported_for_rate.extend(&untold);
        } else {
            self.reported_for_rate.retain(|node| !untold.contains(node));
        }
        untold.into_iter().map(|node| (node, hindrance)).collect()
    }
}

fn to_usize(count: NonZeroU32) -> usize {
    usize::try_from(count.get()).unwrap_or(usize::MAX)
}
