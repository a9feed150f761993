//! Decides which node of a plan is called when. Pure: what happened and the time go in, what is to be done comes out.
//! Nothing is called here, nothing waits, and what a call answered is none of its business.
//!
//! Ready nodes run in parallel up to a bound, the lowest id first. Nodes that name the same resource run one after the
//! other in the order of their ids, whatever becomes of each. Where nothing halts the plan, what becomes of every node
//! follows from the outcomes of the calls alone, not from their order. A resumed plan first learns the answers that
//! earlier processes got, and starts nothing new before.

mod backoff;
mod messages;
mod ready_nodes;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use haft_contract::ToolId;

use crate::checked::CheckedPlan;
use crate::drive_limits::{PARALLEL_DEFAULT, PARALLEL_MAX};
use crate::node_id::NodeId;
use crate::plan::OnFail;
pub use backoff::NodeRetryBackoff;
pub use messages::PlanEnding;
pub(crate) use messages::{NodeAttemptEnding, NodeStartBlocker, ScheduleCommand, ScheduleEvent};
pub use ready_nodes::PlanToolBounds;
use ready_nodes::ReadyNodes;
pub(crate) use state::{NodeTransitionCause, PlanNodeState};

/// How much of a plan happens at the same time, and how soon what failed is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanBounds {
    /// Nodes that run at the same time, at most [`PARALLEL_MAX`].
    pub parallel: NonZeroUsize,
    /// Bounds of single tools.
    pub tools: BTreeMap<ToolId, PlanToolBounds>,
    /// The times between attempts.
    pub backoff: NodeRetryBackoff,
}

impl Default for PlanBounds {
    fn default() -> Self {
        Self {
            parallel: PARALLEL_DEFAULT,
            tools: BTreeMap::new(),
            backoff: NodeRetryBackoff::default(),
        }
    }
}

/// One node as the schedule sees it.
#[derive(Clone, Debug, Default)]
struct ScheduledNode {
    depends_on: Vec<NodeId>,
    dependents: Vec<NodeId>,
    /// The nodes that use one of its resources next.
    next_users: Vec<NodeId>,
    /// The nodes that used its resources last, by the places of these in its list.
    previous_users: Vec<(usize, NodeId)>,
    attempts_max: u32,
    on_fail: OnFail,
    tool: usize,
    /// For each iteration, the attempts of earlier processes whose ends are recorded.
    attempts_recorded: Vec<u32>,
}

/// A plan that is under way.
pub(crate) struct PlanSchedule {
    steps: Arc<[ScheduledNode]>,
    nodes: Vec<NodeProgress>,
    ready: ReadyNodes,
    /// Ready nodes whose next attempt is recorded already.
    recalls: BTreeSet<NodeId>,
    parallel: usize,
    backoff: NodeRetryBackoff,
    phase: PlanPhase,
    running: usize,
    /// Whether one of those that run is recorded already.
    is_recalling: bool,
    backing_off: usize,
    unfinished: usize,
    wakes_at_ms: Option<u64>,
    commands: Vec<ScheduleCommand>,
    #[cfg(test)]
    seen: BTreeSet<(PlanNodeState, NodeTransitionCause)>,
}

struct NodeProgress {
    state: PlanNodeState,
    /// Dependencies that have not succeeded.
    dependencies_left: usize,
    /// Earlier users of its resources that the resources have not gone past.
    users_left: usize,
    /// Whether its resources have gone past it: it has ended, and so have all their earlier users.
    has_released: bool,
    iteration: u32,
    /// The attempts of the iteration that were begun.
    attempts_begun: u32,
}

/// Where the plan as a whole is going; a later one overrules an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlanPhase {
    Running,
    Stopping,
    InDoubt,
    Aborting,
    Halting(NodeId),
    Done,
}

impl ScheduledNode {
    /// Returns how many attempts of an iteration need only be recalled.
    fn attempts_recorded(&self, iteration: u32) -> u32 {
        let place = usize::try_from(iteration).unwrap_or(usize::MAX);
        self.attempts_recorded.get(place).copied().unwrap_or_default()
    }
}

impl PlanSchedule {
    /// Returns the schedule of a plan. `attempts_recorded` says of each node, for each iteration, how many attempts of earlier
    /// processes have ended; nodes and iterations that it does not reach have none.
    pub(crate) fn new(
        plan: &CheckedPlan,
        bounds: &PlanBounds,
        attempts_recorded: &[Vec<u32>],
    ) -> Self {
        let mut tools: BTreeMap<&ToolId, usize> = BTreeMap::new();
        let mut bounds_of_tools = Vec::new();
        let mut last_users: BTreeMap<&str, usize> = BTreeMap::new();
        let mut steps: Vec<ScheduledNode> = Vec::with_capacity(plan.nodes().len());
        for (place, node) in plan.nodes().iter().enumerate() {
            let id = &node.contract().id;
            let tool = *tools.entry(id).or_insert_with(|| {
                bounds_of_tools.push(bounds.tools.get(id).copied().unwrap_or_default());
                bounds_of_tools.len() - 1
            });
            let mut leaders = Vec::new();
            for (nth, resource) in node.resources.iter().enumerate() {
                let before = last_users.insert(resource, place);
                if let Some(before) = before
                    && let Some(step) = steps.get_mut(before)
                {
                    step.next_users.push(node.id());
                    leaders.push((nth, NodeId::at(before)));
                }
            }
            steps.push(ScheduledNode {
                depends_on: node.depends_on().to_vec(),
                dependents: node.dependents.clone(),
                next_users: Vec::new(),
                previous_users: leaders,
                attempts_max: node.attempts_max(),
                on_fail: node.on_fail(),
                tool,
                attempts_recorded: attempts_recorded.get(place).cloned().unwrap_or_default(),
            });
        }
        Self::of_steps(steps, bounds, bounds_of_tools)
    }

    fn of_steps(
        steps: Vec<ScheduledNode>,
        bounds: &PlanBounds,
        of_tools: Vec<PlanToolBounds>,
    ) -> Self {
        let mut nodes: Vec<NodeProgress> = steps
            .iter()
            .map(|step| NodeProgress {
                state: PlanNodeState::Waiting,
                dependencies_left: step.depends_on.len(),
                users_left: 0,
                has_released: false,
                iteration: 0,
                attempts_begun: 0,
            })
            .collect();
        for follower in steps.iter().flat_map(|step| &step.next_users) {
            if let Some(node) = nodes.get_mut(follower.index()) {
                node.users_left += 1;
            }
        }
        Self {
            unfinished: nodes.len(),
            steps: steps.into(),
            nodes,
            ready: ReadyNodes::new(of_tools),
            recalls: BTreeSet::new(),
            parallel: bounds.parallel.min(PARALLEL_MAX).get(),
            backoff: bounds.backoff,
            phase: PlanPhase::Running,
            running: 0,
            is_recalling: false,
            backing_off: 0,
            wakes_at_ms: None,
            commands: Vec::new(),
            #[cfg(test)]
            seen: BTreeSet::new(),
        }
    }

    /// Takes in what happened at `now_ms`, a time that never goes back, and returns what is to be done.
    pub(crate) fn handle(&mut self, happening: ScheduleEvent, now_ms: u64) -> Vec<ScheduleCommand> {
        if self.phase == PlanPhase::Done {
            return Vec::new();
        }
        match happening {
            ScheduleEvent::PlanStarted => {
                for place in 0..self.nodes.len() {
                    self.unblock(NodeId::at(place));
                }
            }
            ScheduleEvent::AttemptEnded { node, how } => self.handle_attempt_end(node, how),
            ScheduleEvent::RetryDue { node } => {
                if self.change_state(node, NodeTransitionCause::RetryDue) {
                    self.backing_off -= 1;
                    self.enqueue_node(node);
                }
            }
            ScheduleEvent::WakeDue => self.wakes_at_ms = None,
            ScheduleEvent::StopRequested => self.change_phase(PlanPhase::Stopping),
            ScheduleEvent::AbortRequested => self.change_phase(PlanPhase::Aborting),
        }
        if self.phase == PlanPhase::Running {
            // Recalls start one at a time, so that they are reported in one order.
            while self.running < self.parallel && !self.is_recalling {
                let recalled = self.recalls.pop_first();
                self.is_recalling = recalled.is_some();
                let Some(id) = recalled.or_else(|| self.ready.take(now_ms)) else { break };
                self.running += 1;
                self.change_state(id, NodeTransitionCause::Started);
                if let Some(node) = self.nodes.get_mut(id.index()) {
                    node.attempts_begun += 1;
                    let (iteration, attempt) = (node.iteration, node.attempts_begun);
                    self.commands.push(ScheduleCommand::Start { node: id, iteration, attempt });
                }
            }
            if self.running < self.parallel && !self.is_recalling {
                // Only the bounds of their tools keep these nodes from starting.
                let blocked = self.ready.blocked_nodes(now_ms).into_iter();
                self.commands.extend(
                    blocked.map(|(node, hindrance)| ScheduleCommand::Wait { node, hindrance }),
                );
            }
        }
        self.finish_if_done();
        std::mem::take(&mut self.commands)
    }

    /// Returns how far each node has come.
    pub(crate) fn states(&self) -> impl Iterator<Item = PlanNodeState> {
        self.nodes.iter().map(|node| node.state)
    }

    /// Returns for each node which one kept it from running: of several that failed the lowest, so that it does not
    /// depend on which failed first.
    pub(crate) fn causes(&self, ending: &PlanEnding) -> Vec<Option<NodeId>> {
        let mut failed: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        let mut causes = Vec::with_capacity(self.nodes.len());
        for (place, (node, step)) in self.nodes.iter().zip(&*self.steps).enumerate() {
            let of_dependencies =
                step.depends_on.iter().filter_map(|id| failed.get(id.index()).copied()?).min();
            let (root, cause) = match (node.state, ending) {
                (PlanNodeState::Failed, _) => (Some(NodeId::at(place)), None),
                (PlanNodeState::Skipped, _) => (of_dependencies, of_dependencies),
                (PlanNodeState::Cancelled, PlanEnding::Halted { by }) => (None, Some(*by)),
                _ => (None, None),
            };
            failed.push(root);
            causes.push(cause);
        }
        causes
    }

    /// Brings a node into another state, unless the cause comes too late for that.
    fn change_state(&mut self, id: NodeId, cause: NodeTransitionCause) -> bool {
        let Some(node) = self.nodes.get_mut(id.index()) else { return false };
        let Some(state) = node.state.after(cause) else { return false };
        #[cfg(test)]
        self.seen.insert((node.state, cause));
        node.state = state;
        self.unfinished -= usize::from(state.is_final());
        true
    }

    /// Makes a node ready, unless it waits for something.
    fn unblock(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(id.index()) else { return };
        if node.dependencies_left > 0 {
            return;
        }
        if node.users_left > 0 {
            let leaders = self.steps.get(id.index()).into_iter().flat_map(|it| &it.previous_users);
            let is_before =
                |user: &NodeId| self.nodes.get(user.index()).is_some_and(|it| !it.has_released);
            if node.state == PlanNodeState::Waiting
                && let Some((place, user)) = leaders.copied().find(|(_, user)| is_before(user))
            {
                let hindrance = NodeStartBlocker::Resource { place, user };
                self.commands.push(ScheduleCommand::Wait { node: id, hindrance });
            }
        } else if self.change_state(id, NodeTransitionCause::Unblocked) {
            self.enqueue_node(id);
        }
    }

    /// Puts a ready node where it is taken from when its turn comes.
    fn enqueue_node(&mut self, id: NodeId) {
        let (Some(node), Some(step)) = (self.nodes.get(id.index()), self.steps.get(id.index()))
        else {
            return;
        };
        if node.attempts_begun < step.attempts_recorded(node.iteration) {
            self.recalls.insert(id);
        } else {
            self.ready.add(step.tool, id);
        }
    }

    fn handle_attempt_end(&mut self, id: NodeId, how: NodeAttemptEnding) {
        let steps = Arc::clone(&self.steps);
        let (Some(step), Some(node)) = (steps.get(id.index()), self.nodes.get(id.index())) else {
            return;
        };
        if node.state != PlanNodeState::Running {
            return;
        }
        let attempt = node.attempts_begun;
        let was_recorded = attempt <= step.attempts_recorded(node.iteration);
        self.running -= 1;
        if was_recorded {
            self.is_recalling = false;
        } else {
            self.ready.mark_ended(step.tool);
        }
        match how {
            NodeAttemptEnding::Succeeded => {
                self.change_state(id, NodeTransitionCause::Answered);
                for dependent in &step.dependents {
                    if let Some(node) = self.nodes.get_mut(dependent.index()) {
                        node.dependencies_left = node.dependencies_left.saturating_sub(1);
                    }
                    self.unblock(*dependent);
                }
                self.release_resources(id);
            }
            NodeAttemptEnding::Repeats => {
                if let Some(node) = self.nodes.get_mut(id.index()) {
                    node.iteration += 1;
                    node.attempts_begun = 0;
                }
                self.change_state(id, NodeTransitionCause::Repeated);
                match self.phase {
                    PlanPhase::Halting(_) => {
                        self.change_state(id, NodeTransitionCause::Halted);
                    }
                    PlanPhase::Running
                    | PlanPhase::Stopping
                    | PlanPhase::InDoubt
                    | PlanPhase::Aborting
                    | PlanPhase::Done => self.enqueue_node(id),
                }
            }
            NodeAttemptEnding::Failed if attempt < step.attempts_max && was_recorded => {
                self.change_state(id, NodeTransitionCause::FailedBefore);
                self.enqueue_node(id);
            }
            NodeAttemptEnding::Failed if attempt < step.attempts_max => {
                self.change_state(id, NodeTransitionCause::FailedForNow);
                self.backing_off += 1;
                let delay_ms = self.backoff.delay_ms(attempt);
                match self.phase {
                    PlanPhase::Running => {
                        self.commands.push(ScheduleCommand::RetryIn { node: id, delay_ms })
                    }
                    // The process that resumes the run makes the next attempt.
                    PlanPhase::Stopping
                    | PlanPhase::InDoubt
                    | PlanPhase::Aborting
                    | PlanPhase::Done => {}
                    PlanPhase::Halting(_) => {
                        self.change_state(id, NodeTransitionCause::Halted);
                    }
                }
            }
            NodeAttemptEnding::Failed | NodeAttemptEnding::Refused => {
                self.change_state(id, NodeTransitionCause::FailedForGood);
                let steps = Arc::clone(&self.steps);
                let mut lost = vec![id];
                while let Some(one) = lost.pop() {
                    let dependents =
                        steps.get(one.index()).map_or(&[][..], |it| it.dependents.as_slice());
                    for dependent in dependents {
                        if self.change_state(*dependent, NodeTransitionCause::DependencyFailed) {
                            let (node, because_of) = (*dependent, id);
                            self.commands.push(ScheduleCommand::Skip { node, because_of });
                            lost.push(*dependent);
                        }
                    }
                    self.release_resources(one);
                }
                if step.on_fail == OnFail::Halt {
                    self.change_phase(PlanPhase::Halting(id));
                }
            }
            NodeAttemptEnding::InDoubt => {
                self.change_state(id, NodeTransitionCause::BecameInDoubt);
                self.change_phase(PlanPhase::InDoubt);
            }
            NodeAttemptEnding::Cancelled => {
                self.change_state(id, NodeTransitionCause::CallCancelled);
            }
        }
    }

    /// Hands the resources of a node that has ended to their next users; past one that was skipped only when its own
    /// turn would have come, because an earlier user may still run.
    fn release_resources(&mut self, id: NodeId) {
        let steps = Arc::clone(&self.steps);
        let mut ended = vec![id];
        while let Some(one) = ended.pop() {
            let Some(node) = self.nodes.get_mut(one.index()) else { continue };
            if node.has_released || node.users_left > 0 || !node.state.is_final() {
                continue;
            }
            node.has_released = true;
            for follower in steps.get(one.index()).into_iter().flat_map(|step| &step.next_users) {
                if let Some(node) = self.nodes.get_mut(follower.index()) {
                    node.users_left = node.users_left.saturating_sub(1);
                }
                self.unblock(*follower);
                ended.push(*follower);
            }
        }
    }

    /// Turns the plan as a whole another way, unless it is going a more decided one already.
    fn change_phase(&mut self, course: PlanPhase) {
        if course <= self.phase || matches!(self.phase, PlanPhase::Halting(_)) {
            return;
        }
        let cancels = course >= PlanPhase::Aborting && self.phase < PlanPhase::Aborting;
        self.phase = course;
        for place in 0..self.nodes.len() {
            let id = NodeId::at(place);
            match self.nodes.get(place).map(|node| node.state) {
                Some(PlanNodeState::Running) if cancels => {
                    self.commands.push(ScheduleCommand::Cancel { node: id })
                }
                _ if matches!(course, PlanPhase::Halting(_)) => {
                    self.change_state(id, NodeTransitionCause::Halted);
                }
                _ => {}
            }
        }
    }

    fn finish_if_done(&mut self) {
        let waits = self.running > 0 || self.backing_off > 0 || !self.recalls.is_empty();
        let ending = match self.phase {
            PlanPhase::Running | PlanPhase::Stopping if self.unfinished == 0 => {
                PlanEnding::Finished
            }
            PlanPhase::Running if waits || !self.ready.is_empty() => {
                // A tool may be called again later: the driver wakes the schedule then.
                if let Some(at_ms) = self.ready.opens_at_ms()
                    && self.wakes_at_ms.is_none_or(|wakes_at_ms| at_ms < wakes_at_ms)
                {
                    self.wakes_at_ms = Some(at_ms);
                    self.commands.push(ScheduleCommand::WakeAt { at_ms });
                }
                return;
            }
            PlanPhase::Running => {
                let nodes = self.nodes.iter().enumerate();
                let unfinished = nodes.filter(|(_, node)| !node.state.is_final());
                let nodes = unfinished.map(|(place, _)| NodeId::at(place)).collect();
                PlanEnding::Deadlock { nodes }
            }
            _ if self.running > 0 => return,
            PlanPhase::Stopping => PlanEnding::Stopped,
            PlanPhase::InDoubt => PlanEnding::InDoubt,
            PlanPhase::Aborting => PlanEnding::Aborted,
            PlanPhase::Halting(by) => PlanEnding::Halted { by },
            PlanPhase::Done => return,
        };
        self.phase = PlanPhase::Done;
        self.commands.push(ScheduleCommand::Done(ending));
    }
}
