//! The true events of a simulated history, apart from the journal: who has each run, which intents were given, and how often each
//! was executed. It finds a broken promise at the step that breaks it.

use std::collections::BTreeMap;

use haft_contract::Effect;
use haft_journal::{AskVerdict, SettlementVerdict};

use super::process::{ProcessId, effect_of};

/// The true events of a history.
#[derive(Default)]
pub(super) struct FleetTruth {
    runs: Vec<RunTruth>,
    /// The first valid answer to each ask that has one.
    replies: BTreeMap<String, AskVerdict>,
}

/// How a process took a run.
#[derive(Clone, Copy)]
pub(super) struct Takeover {
    /// Whether the run was not taken again since.
    pub(super) is_latest: bool,
    /// Whether another process had the run.
    pub(super) was_held: bool,
}

/// The true events of one run.
#[derive(Default)]
pub(super) struct RunTruth {
    /// The latest fencing token.
    token: u64,
    /// The process that has the run.
    owner: Option<ProcessId>,
    pub(super) nodes: Vec<NodeTruth>,
}

/// The true events of one node.
#[derive(Clone, Default)]
pub(super) struct NodeTruth {
    /// The intents that processes received, by their numbers.
    pub(super) intents: BTreeMap<u32, IntentTruth>,
    /// The verdicts of persons, by the numbers of the calls.
    pub(super) verdicts: BTreeMap<u32, SettlementVerdict>,
}

/// One intent that a process received.
#[derive(Clone, Copy)]
pub(super) struct IntentTruth {
    /// How often it was executed.
    pub(super) acts: u32,
    /// Whether the journal refused its outcome.
    pub(super) was_refused: bool,
}

impl NodeTruth {
    /// Returns how often the effect of the node happened.
    pub(super) fn acts(&self) -> u32 {
        self.intents.values().map(|intent| intent.acts).sum()
    }

    /// Returns how often persons had the call executed again.
    pub(super) fn repeats(&self) -> u32 {
        let repeated = self.verdicts.keys().filter(|call| self.is_repeated(**call));
        u32::try_from(repeated.count()).unwrap_or(u32::MAX)
    }

    /// Returns whether a person had this call executed again.
    fn is_repeated(&self, call: u32) -> bool {
        self.verdicts.get(&call).is_some_and(|verdict| *verdict != SettlementVerdict::Happened)
    }
}

impl FleetTruth {
    /// Adds a run of so many nodes.
    pub(super) fn add_run(&mut self, nodes: usize) {
        self.runs
            .push(RunTruth { nodes: vec![NodeTruth::default(); nodes], ..RunTruth::default() });
    }

    pub(super) fn run(&self, run: usize) -> &RunTruth {
        &self.runs[run]
    }

    pub(super) fn is_owner(&self, run: usize, process: ProcessId) -> bool {
        self.runs[run].owner == Some(process)
    }

    /// Notes that a process took a run. An answer that came late does not take the run from a later owner.
    pub(super) fn open(
        &mut self,
        run: usize,
        process: ProcessId,
        token: u64,
    ) -> Result<Takeover, String> {
        let of_run = &mut self.runs[run];
        if token == of_run.token {
            return Err(format!("run r{run}: fencing token {token} was given a second time"));
        }
        let is_latest = token > of_run.token;
        let was_held = is_latest && of_run.owner.is_some();
        if is_latest {
            (of_run.token, of_run.owner) = (token, Some(process));
        }
        Ok(Takeover { is_latest, was_held })
    }

    /// Notes that a process gave a run back.
    pub(super) fn close(&mut self, run: usize, process: ProcessId) {
        if self.is_owner(run, process) {
            self.runs[run].owner = None;
        }
    }

    /// Notes that a process received the permission to execute a call. Of two calls of a node, a person had the earlier one repeated.
    pub(super) fn intend(&mut self, (run, node, seq): (usize, usize, u32)) -> Result<(), String> {
        let of_node = &mut self.runs[run].nodes[node];
        let intent = IntentTruth { acts: 0, was_refused: false };
        // A read leaves no row before it ended, so its number may be used again.
        if effect_of(node) == Effect::Read {
            of_node.intents.insert(seq, intent);
            return Ok(());
        }
        let earlier = of_node.intents.keys().filter(|other| **other != seq);
        let earlier =
            earlier.map(|other| *other.min(&seq)).find(|call| !of_node.is_repeated(*call));
        if let Some(earlier) = earlier.filter(|_| effect_of(node) == Effect::Once) {
            return Err(format!(
                "run r{run}, node n{node}: a call may be executed beside call {earlier}, which may have happened and which no person \
                 had repeated"
            ));
        }
        match of_node.intents.insert(seq, intent) {
            None => Ok(()),
            Some(_) => Err(format!("run r{run}, node n{node}: call {seq} was intended twice")),
        }
    }

    /// Notes that a call is executed.
    pub(super) fn act(&mut self, (run, node, seq): (usize, usize, u32)) -> Result<(), String> {
        let name = || format!("run r{run}, node n{node}: call {seq}");
        let Some(intent) = self.runs[run].nodes[node].intents.get_mut(&seq) else {
            return Err(format!("{} is executed without an intent", name()));
        };
        intent.acts += 1;
        match intent.acts {
            1 => Ok(()),
            _ if effect_of(node) == Effect::Read => {
                intent.acts = 1;
                Ok(())
            }
            times => Err(format!("{} was executed {times} times", name())),
        }
    }

    /// Notes that the journal refused the outcome of a call.
    pub(super) fn refuse(&mut self, (run, node, seq): (usize, usize, u32)) {
        if let Some(intent) = self.runs[run].nodes[node].intents.get_mut(&seq) {
            intent.was_refused = true;
        }
    }

    /// Notes the first valid answer to an ask.
    pub(super) fn note_reply(&mut self, ask: String, verdict: AskVerdict) {
        self.replies.insert(ask, verdict);
    }

    /// Returns the first valid answer to an ask.
    pub(super) fn reply(&self, ask: &str) -> Option<AskVerdict> {
        self.replies.get(ask).copied()
    }

    /// Notes what a person said about a call in doubt.
    pub(super) fn settle(
        &mut self,
        (run, node, seq): (usize, usize, u32),
        verdict: SettlementVerdict,
    ) {
        self.runs[run].nodes[node].verdicts.insert(seq, verdict);
    }
}
