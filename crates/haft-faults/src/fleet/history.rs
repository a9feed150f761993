//! One simulated history: the fleet, the events to come, and the loop that lets them happen. The files beside this one have the engine,
//! the persons, the faults and the processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_contract::RunId;
use haft_journal::JournalMachine;

use crate::SeededRandom;

use super::agenda::Agenda;
use super::machine::FleetMachine;
use super::process::{ActivityEnding, ProcessId, ProcessStep, RunProcess};
use super::reply::PlannedReply;
use super::report::{FleetCounts, FleetFailure, FleetOptions};
use super::shaky_store::ShakyStore;
use super::truth::FleetTruth;

/// Nodes of a run.
const NODES_MIN: u64 = 5;
const NODES_MAX: u64 = 60;

/// Events for each call, after which a history counts as one that does not come to its end.
const EVENTS_PER_CALL_MAX: u64 = 2_000;

/// Something that happens.
pub(super) enum FleetEvent {
    /// The engine gives a run to a machine.
    Dispatch { run: usize },
    /// A process takes a step.
    Step { process: ProcessId, step: ProcessStep },
    /// The engine learns how a process ended.
    Report(ActivityReport),
    /// The engine looks whether it still hears of a process.
    Silence { process: ProcessId, run: usize, machine: usize },
    /// A person settles the calls in doubt of a run.
    Settle { run: usize },
    /// A person answers an ask.
    Reply(PlannedReply),
    /// A machine starts again.
    Boot { machine: usize },
    /// Something breaks.
    Fault,
}

/// The last words of a process to the engine.
pub(super) struct ActivityReport {
    pub(super) process: ProcessId,
    pub(super) run: usize,
    pub(super) machine: usize,
    /// How often the machine had been killed then.
    pub(super) kills: u32,
    pub(super) ending: ActivityEnding,
}

/// A run as the engine knows it.
pub(super) struct SimulatedRun {
    pub(super) id: RunId,
    pub(super) nodes: usize,
    /// The process that the engine counts on.
    pub(super) current: Option<ProcessId>,
    pub(super) state: EngineState,
}

/// How far a run has come for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EngineState {
    /// It was not begun.
    New,
    /// It is driven, or is to be.
    Running,
    /// It waits for a settlement of these calls: their nodes and numbers.
    InDoubt(Vec<(usize, u32)>),
    /// It ended.
    Finished,
}

/// One history.
pub(super) struct FleetHistory {
    pub(super) options: FleetOptions,
    pub(super) random: SeededRandom,
    pub(super) agenda: Agenda<FleetEvent>,
    pub(super) store: ShakyStore,
    pub(super) journal: Arc<JournalMachine<ShakyStore>>,
    pub(super) machines: Vec<FleetMachine>,
    pub(super) processes: BTreeMap<ProcessId, RunProcess>,
    pub(super) processes_started: ProcessId,
    pub(super) runs: Vec<SimulatedRun>,
    /// How many runs were begun, and how many ended or wait for ever.
    pub(super) runs_begun: usize,
    pub(super) runs_over: usize,
    pub(super) truth: FleetTruth,
    pub(super) counts: FleetCounts,
}

impl FleetHistory {
    pub(super) fn new(options: FleetOptions) -> Self {
        let store = ShakyStore::new(options.broken_rule);
        let mut history = Self {
            options,
            random: SeededRandom::new(options.seed),
            agenda: Agenda::new(),
            journal: Arc::new(JournalMachine::over(store.clone())),
            store,
            machines: vec![FleetMachine::new(); options.workers.max(1)],
            processes: BTreeMap::new(),
            processes_started: 0,
            runs: Vec::new(),
            runs_begun: 0,
            runs_over: 0,
            truth: FleetTruth::default(),
            counts: FleetCounts::default(),
        };
        history.add_runs();
        history
    }

    /// Adds runs until they have all calls.
    fn add_runs(&mut self) {
        let mut calls = 0;
        while calls < self.options.calls {
            let nodes = NODES_MIN + self.random.below(NODES_MAX - NODES_MIN + 1);
            let nodes = usize::try_from(nodes).unwrap_or_default();
            let id = RunId::parse(&format!("r{}", self.runs.len()))
                .expect("letters and digits name a run");
            self.runs.push(SimulatedRun { id, nodes, current: None, state: EngineState::New });
            self.truth.add_run(nodes);
            calls += nodes;
        }
    }

    /// Lets the history happen.
    pub(super) fn unfold(mut self) -> Result<FleetCounts, FleetFailure> {
        match self.happen() {
            Ok(()) => {
                self.counts.virtual_ms = self.agenda.now_ms();
                Ok(self.counts)
            }
            Err(reason) => {
                Err(FleetFailure { options: self.options, at_ms: self.agenda.now_ms(), reason })
            }
        }
    }

    fn happen(&mut self) -> Result<(), String> {
        for _ in 0..self.machines.len() {
            self.begin_next_run();
        }
        self.agenda.add_in(0, FleetEvent::Fault);
        let events_max = EVENTS_PER_CALL_MAX * (self.options.calls as u64 + 1);
        let mut events = 0;
        while let Some(event) = self.agenda.take_next() {
            events += 1;
            if events > events_max {
                return Err(format!("the history does not end: {}", self.unfinished()));
            }
            match event {
                FleetEvent::Dispatch { run } => self.dispatch(run),
                FleetEvent::Step { process, step } => self.step(process, step)?,
                FleetEvent::Report(report) => self.hear(report)?,
                FleetEvent::Silence { process, run, machine } => {
                    self.miss(process, run, machine);
                }
                FleetEvent::Settle { run } => self.settle(run)?,
                FleetEvent::Reply(reply) => self.reply(reply)?,
                FleetEvent::Boot { machine } => self.machines[machine].is_up = true,
                FleetEvent::Fault => self.strike(),
            }
        }
        self.check_end()
    }

    /// Says which runs neither ended nor wait.
    pub(super) fn unfinished(&self) -> String {
        let is_unfinished =
            |run: &&SimulatedRun| matches!(run.state, EngineState::New | EngineState::Running);
        let runs: Vec<_> = self.runs.iter().filter(is_unfinished).collect();
        let names: Vec<&str> = runs.iter().take(3).map(|run| run.id.as_str()).collect();
        format!("{} runs neither ended nor wait, the first are {}", runs.len(), names.join(", "))
    }
}
