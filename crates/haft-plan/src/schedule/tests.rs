//! Plans of random shapes with random outcomes, run by a simulation that ends calls in any order, and compared with a model
//! that runs one node after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;

/// Most happenings of one simulation; a plan of the sizes here needs far fewer.
const HAPPENINGS_MAX: usize = 5_000;

/// A node whose outcomes are known beforehand.
#[derive(Clone, Debug)]
struct Scripted {
    depends_on: Vec<NodeId>,
    attempts_max: u32,
    /// How many of its attempts fail before one would not.
    fails: u32,
    /// How often it is repeated after an iteration that succeeded.
    repeats: u32,
    how: NodeAttemptEnding,
    on_fail: OnFail,
    tool: usize,
    resource: Option<usize>,
}

/// When the world outside interferes.
#[derive(Clone, Copy, Debug)]
enum Interference {
    None,
    Stop(usize),
    Abort(usize),
}

#[derive(Clone, Debug)]
struct Story {
    nodes: Vec<Scripted>,
    parallel: usize,
    of_tools: Vec<PlanToolBounds>,
    interference: Interference,
    /// Decides which of several things happens next.
    chance: u64,
}

fn node(place: usize) -> impl Strategy<Value = Scripted> {
    let how = prop_oneof![
        12 => Just(NodeAttemptEnding::Failed),
        2 => Just(NodeAttemptEnding::Refused),
        1 => Just(NodeAttemptEnding::InDoubt),
    ];
    let on_fail = prop_oneof![6 => Just(OnFail::Continue), 1 => Just(OnFail::Halt)];
    let fails = prop_oneof![3 => Just(0_u32), 2 => 1_u32..4];
    let repeats = prop_oneof![3 => Just(0_u32), 1 => 1_u32..4];
    let numbers = (1_u32..4, fails, repeats, 0_usize..3);
    let resource = proptest::option::weighted(0.3, 0_usize..2);
    let earlier = proptest::collection::btree_set(0..place.max(1), 0..=place.min(3));
    (earlier, numbers, how, on_fail, resource).prop_map(
        |(depends_on, (attempts_max, fails, repeats, tool), how, on_fail, resource)| Scripted {
            depends_on: depends_on.into_iter().map(NodeId::at).collect(),
            attempts_max,
            fails,
            repeats,
            how,
            on_fail,
            tool,
            resource,
        },
    )
}

fn story() -> impl Strategy<Value = Story> {
    let bounds = (0_u32..4, 0_u32..4).prop_map(|(at_once, per_minute)| PlanToolBounds {
        at_once: NonZeroU32::new(at_once),
        per_minute: NonZeroU32::new(per_minute * 3),
    });
    let interference = prop_oneof![
        6 => Just(Interference::None),
        1 => (0_usize..20).prop_map(Interference::Stop),
        1 => (0_usize..20).prop_map(Interference::Abort),
    ];
    let nodes = (1_usize..24).prop_flat_map(|count| (0..count).map(node).collect::<Vec<_>>());
    let of_tools = proptest::collection::vec(bounds, 3);
    (nodes, 1_usize..6, of_tools, interference, any::<u64>()).prop_map(
        |(nodes, parallel, of_tools, interference, chance)| Story {
            nodes,
            parallel,
            of_tools,
            interference,
            chance,
        },
    )
}

/// Makes a story one in which nothing keeps any node from its own end.
fn undisturbed(mut story: Story) -> Story {
    story.interference = Interference::None;
    for node in &mut story.nodes {
        node.on_fail = OnFail::Continue;
        if node.how == NodeAttemptEnding::InDoubt {
            node.how = NodeAttemptEnding::Failed;
        }
    }
    story
}

/// The result of each node when one is run after the other: its state, and the lowest node because of which it was
/// skipped.
fn model(story: &Story) -> Vec<(PlanNodeState, Option<NodeId>)> {
    let mut ends: Vec<(PlanNodeState, Option<NodeId>)> = Vec::new();
    for (place, node) in story.nodes.iter().enumerate() {
        let lost = node.depends_on.iter().filter_map(|id| match ends[id.index()] {
            (PlanNodeState::Failed, _) => Some(*id),
            (PlanNodeState::Skipped, because_of) => because_of,
            _ => None,
        });
        let end = match (lost.min(), node.fails) {
            (Some(root), _) => (PlanNodeState::Skipped, Some(root)),
            (None, 0) => (PlanNodeState::Succeeded, None),
            (None, _) if node.how == NodeAttemptEnding::InDoubt => (PlanNodeState::InDoubt, None),
            (None, fails) if node.how == NodeAttemptEnding::Failed && fails < node.attempts_max => {
                (PlanNodeState::Succeeded, None)
            }
            (None, _) => (PlanNodeState::Failed, None),
        };
        assert_eq!(place, ends.len());
        ends.push(end);
    }
    ends
}

fn schedule(story: &Story, recorded: &[Vec<u32>]) -> PlanSchedule {
    let mut last_users: BTreeMap<usize, usize> = BTreeMap::new();
    let mut steps: Vec<ScheduledNode> = Vec::new();
    for (place, node) in story.nodes.iter().enumerate() {
        for earlier in &node.depends_on {
            steps[earlier.index()].dependents.push(NodeId::at(place));
        }
        if let Some(before) = node.resource.and_then(|name| last_users.insert(name, place)) {
            steps[before].next_users.push(NodeId::at(place));
        }
        steps.push(ScheduledNode {
            depends_on: node.depends_on.clone(),
            attempts_max: node.attempts_max,
            on_fail: node.on_fail,
            tool: node.tool,
            attempts_recorded: recorded.get(place).cloned().unwrap_or_default(),
            ..ScheduledNode::default()
        });
    }
    let bounds = PlanBounds {
        parallel: NonZeroUsize::new(story.parallel).unwrap(),
        ..PlanBounds::default()
    };
    PlanSchedule::of_steps(steps, &bounds, story.of_tools.clone())
}

/// The world that a schedule commands.
struct Simulation<'s> {
    story: &'s Story,
    schedule: PlanSchedule,
    /// For each node and iteration, the attempts that ended before.
    recorded: Vec<Vec<u32>>,
    /// The iteration and the attempt of each node that runs.
    running: BTreeMap<NodeId, (u32, u32)>,
    cancelled: BTreeSet<NodeId>,
    timers: Vec<(u64, ScheduleEvent)>,
    starts: Vec<Vec<u64>>,
    ended: Vec<Vec<u32>>,
    skipped: BTreeSet<NodeId>,
    ending: Option<PlanEnding>,
    has_turned: bool,
    now_ms: u64,
    chance: u64,
}

impl<'s> Simulation<'s> {
    fn new(story: &'s Story, recorded: Vec<Vec<u32>>) -> Self {
        Self {
            schedule: schedule(story, &recorded),
            running: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            timers: Vec::new(),
            starts: vec![Vec::new(); story.of_tools.len()],
            ended: recorded.clone(),
            skipped: BTreeSet::new(),
            ending: None,
            has_turned: false,
            now_ms: 0,
            chance: story.chance,
            recorded,
            story,
        }
    }

    /// Runs until it is done, or has taken in so many happenings.
    fn run(mut self, happenings_max: usize) -> Self {
        self.feed(ScheduleEvent::PlanStarted);
        for count in 0..happenings_max {
            if self.ending.is_some() {
                return self;
            }
            match self.story.interference {
                Interference::Stop(at) if at == count => self.turn(ScheduleEvent::StopRequested),
                Interference::Abort(at) if at == count => self.turn(ScheduleEvent::AbortRequested),
                _ => self.step(),
            }
        }
        assert!(happenings_max < HAPPENINGS_MAX, "the plan does not come to an end");
        self
    }

    fn turn(&mut self, happening: ScheduleEvent) {
        self.has_turned = true;
        self.feed(happening);
    }

    /// Lets one of the things happen that can happen next.
    fn step(&mut self) {
        let choices = self.running.len() + usize::from(!self.timers.is_empty());
        assert!(choices > 0, "nothing can happen, and it is not done");
        let choice = self.draw(choices);
        match self.running.iter().nth(choice).map(|(id, place)| (*id, *place)) {
            Some((id, (iteration, attempt))) => self.end(id, iteration, attempt),
            None => {
                let first = self.timers.iter().enumerate().min_by_key(|(_, (at, _))| *at);
                let place = first.map(|(place, _)| place).unwrap();
                let (at_ms, happening) = self.timers.swap_remove(place);
                self.now_ms = self.now_ms.max(at_ms);
                self.feed(happening);
            }
        }
    }

    fn draw(&mut self, choices: usize) -> usize {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.chance >> 33).unwrap() % choices
    }

    fn end(&mut self, id: NodeId, iteration: u32, attempt: u32) {
        self.running.remove(&id);
        self.now_ms += 10;
        let script = &self.story.nodes[id.index()];
        let how = if self.cancelled.remove(&id) {
            NodeAttemptEnding::Cancelled
        } else if attempt <= script.fails {
            script.how
        } else if iteration < script.repeats {
            NodeAttemptEnding::Repeats
        } else {
            NodeAttemptEnding::Succeeded
        };
        if !matches!(how, NodeAttemptEnding::Cancelled | NodeAttemptEnding::InDoubt) {
            let ended = &mut self.ended[id.index()];
            let place = usize::try_from(iteration).unwrap();
            ended.resize(ended.len().max(place + 1), 0);
            ended[place] = ended[place].max(attempt);
        }
        let halts = how == NodeAttemptEnding::Refused
            || how == NodeAttemptEnding::Failed && attempt == script.attempts_max;
        self.has_turned |=
            how == NodeAttemptEnding::InDoubt || halts && script.on_fail == OnFail::Halt;
        self.feed(ScheduleEvent::AttemptEnded { node: id, how });
    }

    fn feed(&mut self, happening: ScheduleEvent) {
        for command in self.schedule.handle(happening, self.now_ms) {
            assert_eq!(self.ending, None, "{command:?} after the end");
            match command {
                ScheduleCommand::Start { node, iteration, attempt } => {
                    self.start(node, iteration, attempt);
                }
                ScheduleCommand::RetryIn { node, delay_ms } => {
                    self.timers.push((self.now_ms + delay_ms, ScheduleEvent::RetryDue { node }));
                }
                ScheduleCommand::WakeAt { at_ms } => {
                    self.timers.push((at_ms, ScheduleEvent::WakeDue))
                }
                ScheduleCommand::Skip { node, because_of } => {
                    assert!(self.skipped.insert(node) && because_of < node);
                }
                ScheduleCommand::Cancel { node } => assert!(self.cancelled.insert(node)),
                ScheduleCommand::Wait { node, .. } => {
                    assert!(!self.running.contains_key(&node), "node {node} runs and waits");
                }
                ScheduleCommand::Done(ending) => self.ending = Some(ending),
            }
        }
    }

    fn is_recorded(&self, id: NodeId, (iteration, attempt): (u32, u32)) -> bool {
        let recorded = self.recorded[id.index()].get(usize::try_from(iteration).unwrap());
        attempt <= recorded.copied().unwrap_or_default()
    }

    /// Takes a start down, and holds it against everything that was promised.
    fn start(&mut self, id: NodeId, iteration: u32, attempt: u32) {
        let nodes = &self.story.nodes;
        let script = &nodes[id.index()];
        assert!(!self.has_turned, "node {id} starts though nothing more was to start");
        let states: Vec<PlanNodeState> = self.schedule.states().collect();
        let has_succeeded = |id: &NodeId| states[id.index()] == PlanNodeState::Succeeded;
        assert!(script.depends_on.iter().all(has_succeeded), "node {id} starts too early");
        let is_recorded = self.is_recorded(id, (iteration, attempt));
        if let Some(name) = script.resource {
            let users = nodes.iter().enumerate().take(id.index());
            let mut earlier = users.filter(|(_, node)| node.resource == Some(name));
            assert!(earlier.all(|(place, _)| states[place].is_final()), "node {id} overtakes");
        }
        if !is_recorded {
            let is_recalled = |(id, place): (&NodeId, &(u32, u32))| self.is_recorded(*id, *place);
            assert!(
                !self.running.iter().any(is_recalled),
                "node {id} starts before the past is known"
            );
            self.check_bounds(script.tool);
        }
        assert!(attempt <= script.attempts_max);
        assert!(iteration <= script.repeats);
        assert_eq!(self.running.insert(id, (iteration, attempt)), None, "node {id} runs twice");
        assert!(self.running.len() <= self.story.parallel);
    }

    fn check_bounds(&mut self, tool: usize) {
        let bounds = self.story.of_tools[tool];
        let is_of_tool = |(id, place): &(&NodeId, &(u32, u32))| {
            self.story.nodes[id.index()].tool == tool && !self.is_recorded(**id, **place)
        };
        let running = self.running.iter().filter(is_of_tool).count();
        if let Some(most) = bounds.at_once {
            assert!(running < usize::try_from(most.get()).unwrap());
        }
        let starts = &mut self.starts[tool];
        starts.push(self.now_ms);
        if let Some(most) = bounds.per_minute {
            let recent = starts.iter().filter(|at_ms| **at_ms + 60_000 > self.now_ms).count();
            assert!(recent <= usize::try_from(most.get()).unwrap());
        }
    }

    fn ends(&self) -> Vec<(PlanNodeState, Option<NodeId>)> {
        let causes = self.schedule.causes(self.ending.as_ref().unwrap());
        self.schedule.states().zip(causes).collect()
    }
}

proptest! {
    #[test]
    fn what_becomes_of_nodes_does_not_depend_on_order(story in story()) {
        let story = undisturbed(story);
        let simulation = Simulation::new(&story, vec![Vec::new(); story.nodes.len()]).run(HAPPENINGS_MAX);
        prop_assert_eq!(&simulation.ending, &Some(PlanEnding::Finished));
        prop_assert_eq!(simulation.ends(), model(&story));
    }

    #[test]
    fn a_plan_that_was_killed_ends_as_if_it_was_not(story in story(), happenings in 0_usize..40) {
        let story = undisturbed(story);
        let nothing = vec![Vec::new(); story.nodes.len()];
        let recorded = Simulation::new(&story, nothing).run(happenings).ended;
        let simulation = Simulation::new(&story, recorded).run(HAPPENINGS_MAX);
        prop_assert_eq!(simulation.ends(), model(&story));
    }

    #[test]
    fn a_plan_that_is_stopped_or_halted_ends_truly(story in story()) {
        let simulation = Simulation::new(&story, vec![Vec::new(); story.nodes.len()]).run(HAPPENINGS_MAX);
        let ends = simulation.ends();
        for (place, ((state, _), (modelled, _))) in ends.iter().zip(model(&story)).enumerate() {
            match state {
                PlanNodeState::Succeeded | PlanNodeState::Failed | PlanNodeState::Skipped | PlanNodeState::InDoubt => {
                    prop_assert_eq!(*state, modelled, "node {}", place);
                }
                PlanNodeState::Running => prop_assert!(false, "node {} still runs", place),
                PlanNodeState::Waiting | PlanNodeState::Ready | PlanNodeState::BackingOff | PlanNodeState::Cancelled => {}
            }
        }
        let has = |state: PlanNodeState| ends.iter().any(|(one, _)| *one == state);
        match simulation.ending.unwrap() {
            PlanEnding::Finished => prop_assert!(ends.iter().all(|(state, _)| state.is_final())),
            PlanEnding::Halted { by } => {
                prop_assert_eq!(ends[by.index()].0, PlanNodeState::Failed);
                prop_assert_eq!(story.nodes[by.index()].on_fail, OnFail::Halt);
                prop_assert!(ends.iter().all(|(state, _)| state.is_final()));
                let is_halted = |(state, cause): &(PlanNodeState, Option<NodeId>)| {
                    *state != PlanNodeState::Cancelled || *cause == Some(by)
                };
                prop_assert!(ends.iter().all(is_halted));
            }
            PlanEnding::InDoubt => prop_assert!(has(PlanNodeState::InDoubt)),
            PlanEnding::Stopped => {
                prop_assert!(matches!(story.interference, Interference::Stop(_)));
            }
            PlanEnding::Aborted => {
                prop_assert!(matches!(story.interference, Interference::Abort(_)));
            }
            PlanEnding::Deadlock { .. } => prop_assert!(false, "a plan without circles has no deadlock"),
        }
    }
}

/// Which transitions there are, and which of them the simulations go through.
#[test]
fn every_transition_is_tested() {
    const STATES: [PlanNodeState; 9] = [
        PlanNodeState::Waiting,
        PlanNodeState::Ready,
        PlanNodeState::Running,
        PlanNodeState::BackingOff,
        PlanNodeState::Succeeded,
        PlanNodeState::Failed,
        PlanNodeState::Skipped,
        PlanNodeState::Cancelled,
        PlanNodeState::InDoubt,
    ];
    const CAUSES: [NodeTransitionCause; 12] = [
        NodeTransitionCause::Unblocked,
        NodeTransitionCause::Started,
        NodeTransitionCause::Answered,
        NodeTransitionCause::Repeated,
        NodeTransitionCause::FailedForNow,
        NodeTransitionCause::FailedBefore,
        NodeTransitionCause::RetryDue,
        NodeTransitionCause::FailedForGood,
        NodeTransitionCause::BecameInDoubt,
        NodeTransitionCause::CallCancelled,
        NodeTransitionCause::DependencyFailed,
        NodeTransitionCause::Halted,
    ];
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for round in 0..2_000 {
        let story = story().new_tree(&mut runner).unwrap().current();
        let nothing = vec![Vec::new(); story.nodes.len()];
        let recorded = Simulation::new(&story, nothing).run(round % 40).ended;
        seen.extend(Simulation::new(&story, recorded).run(HAPPENINGS_MAX).schedule.seen);
    }
    let mut table = String::new();
    for state in STATES {
        for cause in CAUSES {
            if let Some(to) = state.after(cause) {
                let mark = if seen.contains(&(state, cause)) { "tested" } else { "NOT TESTED" };
                table.push_str(&format!("{state:?} + {cause:?} -> {to:?}: {mark}\n"));
            }
        }
    }
    expect![[r#"
        Waiting + Unblocked -> Ready: tested
        Waiting + DependencyFailed -> Skipped: tested
        Waiting + Halted -> Cancelled: tested
        Ready + Started -> Running: tested
        Ready + Halted -> Cancelled: tested
        Running + Answered -> Succeeded: tested
        Running + Repeated -> Ready: tested
        Running + FailedForNow -> BackingOff: tested
        Running + FailedBefore -> Ready: tested
        Running + FailedForGood -> Failed: tested
        Running + BecameInDoubt -> InDoubt: tested
        Running + CallCancelled -> Cancelled: tested
        BackingOff + RetryDue -> Ready: tested
        BackingOff + Halted -> Cancelled: tested
    "#]]
    .assert_eq(&table);
}

fn plain(depends_on: &[usize]) -> Scripted {
    Scripted {
        depends_on: depends_on.iter().map(|place| NodeId::at(*place)).collect(),
        attempts_max: 1,
        fails: 0,
        repeats: 0,
        how: NodeAttemptEnding::Failed,
        on_fail: OnFail::Continue,
        tool: 0,
        resource: None,
    }
}

fn plain_story(nodes: Vec<Scripted>, parallel: usize) -> Story {
    let of_tools = vec![PlanToolBounds::default()];
    Story { nodes, parallel, of_tools, interference: Interference::None, chance: 1 }
}

#[test]
fn nodes_that_wait_for_one_another_are_a_deadlock() {
    let mut circle = plain_story(vec![plain(&[]), plain(&[0]), plain(&[])], 4);
    let steps = |story: &Story| {
        let schedule = schedule(story, &[]);
        let mut steps = schedule.steps.to_vec();
        // No checked plan has such an edge.
        steps[1].depends_on.push(NodeId::new(2));
        steps[2].depends_on.push(NodeId::new(1));
        steps[1].dependents.push(NodeId::new(2));
        steps[2].dependents.push(NodeId::new(1));
        steps
    };
    circle.parallel = 1;
    let mut schedule = PlanSchedule::of_steps(
        steps(&circle),
        &PlanBounds::default(),
        vec![PlanToolBounds::default()],
    );
    let id = NodeId::new(0);
    assert_eq!(
        schedule.handle(ScheduleEvent::PlanStarted, 0),
        [ScheduleCommand::Start { node: id, iteration: 0, attempt: 1 }]
    );
    let ended = ScheduleEvent::AttemptEnded { node: id, how: NodeAttemptEnding::Succeeded };
    let nodes = vec![NodeId::new(1), NodeId::new(2)];
    assert_eq!(schedule.handle(ended, 0), [ScheduleCommand::Done(PlanEnding::Deadlock { nodes })]);
}

#[test]
fn the_lowest_id_starts_first() {
    let story = plain_story((0..5).map(|_| plain(&[])).collect(), 2);
    let mut schedule = schedule(&story, &[]);
    let start =
        |number| ScheduleCommand::Start { node: NodeId::new(number), iteration: 0, attempt: 1 };
    assert_eq!(schedule.handle(ScheduleEvent::PlanStarted, 0), [start(0), start(1)]);
    let ended = |number| ScheduleEvent::AttemptEnded {
        node: NodeId::new(number),
        how: NodeAttemptEnding::Succeeded,
    };
    assert_eq!(schedule.handle(ended(1), 0), [start(2)]);
    assert_eq!(schedule.handle(ended(1), 0), [], "what has ended cannot end again");
    assert_eq!(schedule.handle(ended(0), 0), [start(3)]);
}

#[test]
fn a_resource_goes_past_a_skipped_node_in_its_turn() {
    let mut nodes = vec![plain(&[]), plain(&[]), plain(&[0]), plain(&[])];
    nodes[0].fails = 1;
    for user in &mut nodes[1..] {
        user.resource = Some(0);
    }
    let mut schedule = schedule(&plain_story(nodes, 4), &[]);
    let id = NodeId::new;
    let start = |number| ScheduleCommand::Start { node: id(number), iteration: 0, attempt: 1 };
    let ended = |number, how| ScheduleEvent::AttemptEnded { node: id(number), how };
    assert_eq!(schedule.handle(ScheduleEvent::PlanStarted, 0), [start(0), start(1)]);
    let skip = ScheduleCommand::Skip { node: id(2), because_of: id(0) };
    assert_eq!(
        schedule.handle(ended(0, NodeAttemptEnding::Failed), 0),
        [skip],
        "node 1 still uses it"
    );
    assert_eq!(schedule.handle(ended(1, NodeAttemptEnding::Succeeded), 0), [start(3)]);
}

#[test]
fn a_rate_is_kept_and_waited_for() {
    let mut story = plain_story((0..3).map(|_| plain(&[])).collect(), 8);
    story.of_tools = vec![PlanToolBounds { at_once: None, per_minute: NonZeroU32::new(2) }];
    let mut schedule = schedule(&story, &[]);
    let start =
        |number| ScheduleCommand::Start { node: NodeId::new(number), iteration: 0, attempt: 1 };
    let begun = schedule.handle(ScheduleEvent::PlanStarted, 5);
    let most = NonZeroU32::new(2).unwrap();
    let hindrance = NodeStartBlocker::PerMinute { most, opens_at_ms: 60_005 };
    let wait = ScheduleCommand::Wait { node: NodeId::new(2), hindrance };
    assert_eq!(begun, [start(0), start(1), wait, ScheduleCommand::WakeAt { at_ms: 60_005 }]);
    assert_eq!(
        schedule.handle(ScheduleEvent::WakeDue, 60_004),
        [ScheduleCommand::WakeAt { at_ms: 60_005 }]
    );
    assert_eq!(schedule.handle(ScheduleEvent::WakeDue, 60_005), [start(2)]);
}

#[test]
fn times_between_attempts_grow_to_their_bound() {
    let check = |expect: Expect| {
        let delays =
            (1..=8).map(|attempt| NodeRetryBackoff::default().delay_ms(attempt).to_string());
        expect.assert_eq(&delays.collect::<Vec<_>>().join(" "));
    };
    check(expect!["1000 2000 4000 8000 16000 32000 60000 60000"]);
    assert_eq!(
        NodeRetryBackoff::default().delay_ms(u32::MAX),
        crate::drive_limits::RETRY_DELAY_MAX_MS
    );
}

#[test]
fn more_nodes_than_the_bound_never_run_at_once() {
    let count = PARALLEL_MAX.get() + 1;
    let story = plain_story((0..count).map(|_| plain(&[])).collect(), count);
    assert_eq!(
        schedule(&story, &[]).handle(ScheduleEvent::PlanStarted, 0).len(),
        PARALLEL_MAX.get()
    );
}

#[test]
fn large_plans_of_all_shapes_end() {
    let count = 10_000;
    let fan_out = (0..count).map(|place| plain(if place == 0 { &[] } else { &[0] }));
    let chain = (0..count).map(|place: usize| match place.checked_sub(1) {
        Some(before) => plain(&[before]),
        None => plain(&[]),
    });
    for nodes in [fan_out.collect::<Vec<_>>(), chain.collect()] {
        let story = plain_story(nodes, 16);
        let mut schedule = schedule(&story, &[]);
        let mut started: std::collections::VecDeque<ScheduleCommand> =
            schedule.handle(ScheduleEvent::PlanStarted, 0).into();
        let mut count_ended = 0;
        while let Some(ScheduleCommand::Start { node, .. }) = started.pop_front() {
            count_ended += 1;
            let ended = ScheduleEvent::AttemptEnded { node, how: NodeAttemptEnding::Succeeded };
            started.extend(schedule.handle(ended, 0));
        }
        assert_eq!(count_ended, count);
        assert!(schedule.states().all(|state| state == PlanNodeState::Succeeded));
    }
}
