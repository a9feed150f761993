//! A simulated process of haft that drives one run, with the steps that it takes and the answers that it gets from the journal. The
//! steps themselves are made elsewhere.

use std::collections::BTreeMap;
use std::pin::Pin;

use haft_contract::{AttemptAddress, CallAddress, CallKey, Effect, RunId};
use haft_journal::{
    AskRow, CallRow, CallStatus, Intent, JournalError, Lease, PlannedCall, SettlementVerdict,
};

/// Numbers processes. No number is given twice.
pub(super) type ProcessId = u64;

/// Calls of a process at the same time.
const PARALLEL: usize = 3;

/// One node in so many reads, and one in so many is safe to repeat. The effect of all others must not be repeated.
const READ_ONE_IN: usize = 8;

/// A person is asked about one node in so many.
const ASKED_ONE_IN: usize = 10;

/// A process that drives a run.
pub(super) struct RunProcess {
    pub(super) id: ProcessId,
    pub(super) run: usize,
    pub(super) run_id: RunId,
    pub(super) machine: usize,
    pub(super) lease: Option<Lease>,
    pub(super) nodes: Vec<NodeStanding>,
    /// The permissions to execute, by node.
    pub(super) intents: BTreeMap<usize, Intent>,
    /// The asks that wait, by node.
    pub(super) asks: BTreeMap<usize, WaitingAsk>,
    /// How many nodes are under way.
    pub(super) under_way: usize,
    /// Whether no further node begins.
    pub(super) is_stopping: bool,
    /// Whether another process has the run.
    pub(super) is_replaced: bool,
    /// Whether it gives the run back.
    pub(super) is_closing: bool,
}

/// How a process stands with a node of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeStanding {
    /// It is to be called under this number.
    Open(u32),
    /// It is under way.
    UnderWay(u32),
    /// It was answered.
    Done,
    /// The call of this number is in doubt.
    InDoubt(u32),
}

/// An ask that waits for a person.
#[derive(Clone, Debug)]
pub(super) struct WaitingAsk {
    pub(super) id: String,
    /// The virtual time at which it was opened.
    pub(super) since_ms: u64,
}

/// A step of a process.
pub(super) enum ProcessStep {
    /// Take the lease and read what is recorded.
    Open,
    /// Ask a person about the call of a node.
    OpenAsk(usize),
    /// Look how the ask of a node stands.
    LookAtAsk(usize),
    /// Receive the answer of a person.
    ReceiveReply(usize),
    /// Record that the call of a node was refused.
    Refuse(usize),
    /// Record the intent of a node.
    Intend(usize),
    /// Execute the effect of a node.
    Act(usize),
    /// Record the outcome of a node.
    Settle(usize),
    /// Renew the lease.
    Renew,
    /// Give the run back.
    Close(ActivityEnding),
    /// Receive an answer of the journal.
    Receive(JournalAnswer),
    /// Get a new connection to the journal, or none in time.
    Reconnect(CutOperation),
    /// End, because the journal cannot be reached.
    GiveUp,
}

/// How a process ended, for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ActivityEnding {
    /// All nodes were answered.
    Finished,
    /// These calls are in doubt: their nodes and numbers.
    InDoubt(Vec<(usize, u32)>),
    /// Another process may get further.
    TryAgain,
    /// Too many processes got nowhere.
    Stuck,
}

/// An answer of the journal.
pub(super) enum JournalAnswer {
    Opened(Result<(Lease, Vec<CallRow>), JournalError>),
    Intended(usize, Result<Intent, JournalError>),
    Settled(usize, Result<(), JournalError>),
    Renewed(Result<(), JournalError>),
    Closed(ActivityEnding, Result<(), JournalError>),
    /// About the ask of a node.
    Ask(usize, AskStepAnswer),
}

/// An answer of the journal about an ask.
pub(super) enum AskStepAnswer {
    Opened(Result<Box<AskRow>, JournalError>),
    Seen(Result<Option<Box<AskRow>>, JournalError>),
    Received(Result<Box<AskRow>, JournalError>),
    Refused(Result<(), JournalError>),
}

/// An operation of the journal on its way.
pub(super) type JournalOperation = Pin<Box<dyn Future<Output = JournalAnswer>>>;

/// An operation whose connection broke before its answer came.
pub(super) struct CutOperation {
    pub(super) operation: JournalOperation,
    /// Its number in the store.
    pub(super) cut: u64,
    /// Whether there is a new connection in time.
    pub(super) is_back: bool,
    /// Whether the process had the run when the operation was applied, if it was.
    pub(super) was_owner: Option<bool>,
}

impl ProcessStep {
    /// Returns whether the step needs the journal.
    pub(super) fn asks_journal(&self) -> bool {
        match self {
            Self::Open | Self::Intend(_) | Self::Settle(_) | Self::Renew | Self::Close(_) => true,
            Self::OpenAsk(_) | Self::LookAtAsk(_) | Self::ReceiveReply(_) | Self::Refuse(_) => true,
            Self::Act(_) | Self::Receive(_) | Self::Reconnect(_) | Self::GiveUp => false,
        }
    }
}

impl RunProcess {
    /// Returns the process of a machine that drives a run of so many nodes.
    pub(super) fn new(
        id: ProcessId,
        machine: usize,
        (run, run_id): (usize, RunId),
        nodes: usize,
    ) -> Self {
        Self {
            id,
            run,
            run_id,
            machine,
            lease: None,
            nodes: vec![NodeStanding::Open(1); nodes],
            intents: BTreeMap::new(),
            asks: BTreeMap::new(),
            under_way: 0,
            is_stopping: false,
            is_replaced: false,
            is_closing: false,
        }
    }

    pub(super) fn begin_node(&mut self, node: usize, seq: u32) {
        self.nodes[node] = NodeStanding::UnderWay(seq);
        self.under_way += 1;
    }

    pub(super) fn end_node(&mut self, node: usize, standing: NodeStanding) {
        self.nodes[node] = standing;
        self.under_way -= 1;
    }

    /// Returns the ask of a node.
    pub(super) fn waiting_ask(&self, node: usize) -> Result<WaitingAsk, String> {
        let waiting = self.asks.get(&node).cloned();
        waiting.ok_or_else(|| format!("process {} has no ask of n{node}", self.id))
    }

    /// Returns the number of the call of a node that is under way.
    pub(super) fn seq_under_way(&self, node: usize) -> u32 {
        match self.nodes[node] {
            NodeStanding::UnderWay(seq) => seq,
            NodeStanding::Open(_) | NodeStanding::Done | NodeStanding::InDoubt(_) => 0,
        }
    }

    /// Returns the next node that can begin.
    pub(super) fn next_node(&self) -> Option<(usize, u32)> {
        if self.is_stopping || self.is_replaced || self.under_way >= PARALLEL {
            return None;
        }
        let open = |(node, standing): (usize, &NodeStanding)| match standing {
            NodeStanding::Open(seq) => Some((node, *seq)),
            NodeStanding::UnderWay(_) | NodeStanding::Done | NodeStanding::InDoubt(_) => None,
        };
        self.nodes.iter().enumerate().find_map(open)
    }

    /// Returns how the process ends if nothing is under way any more.
    pub(super) fn ending(&self) -> ActivityEnding {
        let is_done = |standing: &NodeStanding| *standing == NodeStanding::Done;
        if self.is_replaced {
            return ActivityEnding::TryAgain;
        }
        if self.nodes.iter().all(is_done) {
            return ActivityEnding::Finished;
        }
        let in_doubt = |(node, standing): (usize, &NodeStanding)| match standing {
            NodeStanding::InDoubt(seq) => Some((node, *seq)),
            NodeStanding::Open(_) | NodeStanding::UnderWay(_) | NodeStanding::Done => None,
        };
        let doubts: Vec<_> = self.nodes.iter().enumerate().filter_map(in_doubt).collect();
        match self.is_stopping || doubts.is_empty() {
            true => ActivityEnding::TryAgain,
            false => ActivityEnding::InDoubt(doubts),
        }
    }

    /// Takes over what is recorded of the run, as a driver of plans does. Returns how many answers were recalled.
    pub(super) fn recall(&mut self, mut rows: Vec<CallRow>, repeats_doubts: bool) -> u64 {
        // Of two rows of one call the later one counts.
        rows.sort_by_key(|row| row.seq);
        for row in rows {
            let Some(node) = node_of(&row) else { continue };
            let Some(standing) = self.nodes.get_mut(node) else { continue };
            // A process that took the run meanwhile makes this call.
            self.is_replaced |= row.status == CallStatus::Intended;
            *standing = match (row.status, row.verdict) {
                (CallStatus::Failed, Some(SettlementVerdict::NotHappened))
                | (CallStatus::Unknown, Some(SettlementVerdict::Retry)) => {
                    NodeStanding::Open(row.seq + 1)
                }
                (CallStatus::Unknown, _) if row.effect != Effect::Once || repeats_doubts => {
                    NodeStanding::Open(row.seq + 1)
                }
                (CallStatus::Unknown | CallStatus::Intended, _) => NodeStanding::InDoubt(row.seq),
                (CallStatus::Succeeded | CallStatus::Failed | CallStatus::Refused, _) => {
                    NodeStanding::Done
                }
            };
        }
        self.nodes.iter().filter(|standing| **standing == NodeStanding::Done).count() as u64
    }

    /// Returns the call of a node under its number.
    pub(super) fn planned_call(&self, node: usize, now_ms: u64) -> Option<PlannedCall> {
        let (lease, NodeStanding::UnderWay(seq)) = (self.lease.as_ref()?, *self.nodes.get(node)?)
        else {
            return None;
        };
        let scope = scope_of(&self.run_id, node);
        let input = format!("{{\"node\":{node}}}");
        let key = CallKey::of_first_call(&scope, TOOL, &input);
        Some(PlannedCall {
            id: CallAddress { scope, seq },
            fencing_token: lease.fencing_token,
            tool: TOOL.to_owned(),
            effect: effect_of(node),
            first_key: key,
            call_key: key,
            input,
            accesses: "[]".to_owned(),
            driver_call_id: None,
            started_at_ms: now_ms,
            announces_effects: false,
        })
    }
}

/// The tool that all nodes call.
const TOOL: &str = "fleet.act";

/// Returns the effect of a node.
pub(super) fn effect_of(node: usize) -> Effect {
    match node % READ_ONE_IN {
        0 => Effect::Read,
        1 => Effect::Idempotent,
        _ => Effect::Once,
    }
}

/// Returns whether a person is asked about a node.
pub(super) fn is_asked(node: usize) -> bool {
    node % ASKED_ONE_IN == ASKED_ONE_IN - 1
}

/// Returns the only attempt of a node.
pub(super) fn scope_of(run: &RunId, node: usize) -> AttemptAddress {
    AttemptAddress { run: run.clone(), node: format!("n{node}"), iteration: 0, attempt: 1 }
}

/// Returns the node of a recorded call.
pub(super) fn node_of(row: &CallRow) -> Option<usize> {
    row.scope.node.strip_prefix('n')?.parse().ok()
}
