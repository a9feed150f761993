//! Whatever is done to them, in whatever order and by whomever, the file and the memory journal answer alike, and what they
//! hold afterwards is sound.

use std::collections::BTreeMap;

use haft_contract::{AttemptAddress, CallAddress, Effect};
use haft_journal::{
    CallOrder, CallQuery, CallStatus, Intent, Journal, JournalError, Lease, LeaseRequest,
    MemoryJournal, Retention, RunQuery, SettledBy, Settlement, SettlementVerdict, SnapshotNote,
    SqliteJournal,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{call, outcome, request, run, scope};

#[derive(Clone, Debug)]
enum Step {
    Open { run: usize, request: LeaseRequest },
    Renew { lease: usize, request: LeaseRequest },
    Close { lease: usize },
    Abandon { holder: usize },
    Intend { lease: usize, place: Place, effect: Effect },
    Amend { intent: usize },
    Settle { intent: usize, status: CallStatus },
    Refuse { lease: usize, place: Place, status: CallStatus },
    Resolve { place: Place, verdict: SettlementVerdict, by: SettledBy },
    Note { place: Place, root: &'static str },
    Prune { retention: Retention },
    Ask { place: Place, order: CallOrder, after_change: Option<u64>, limit: u32 },
}

#[derive(Clone, Debug)]
struct Place {
    run: usize,
    attempt: u32,
    seq: u32,
}

impl Place {
    fn scope(&self) -> AttemptAddress {
        AttemptAddress { attempt: self.attempt, ..scope(RUNS[self.run]) }
    }

    fn id(&self) -> CallAddress {
        CallAddress { scope: self.scope(), seq: self.seq }
    }
}

const RUNS: [&str; 2] = ["a", "b"];

fn place() -> impl Strategy<Value = Place> {
    (0..RUNS.len(), 1..3_u32, 1..5_u32).prop_map(|(run, attempt, seq)| Place { run, attempt, seq })
}

/// Claims of few owners at times near each other, so that leases run out and change hands.
fn any_claim() -> impl Strategy<Value = LeaseRequest> {
    (select(vec!["one", "two", "three"]), 0..6_u64, 0..3_u64).prop_map(|(owner, now, lasts)| {
        LeaseRequest { now_ms: now * 1_000, lasts_ms: lasts * 1_000, ..request(owner) }
    })
}

fn retention() -> impl Strategy<Value = Retention> {
    (prop::option::of(0..4_000_u64), prop::option::of(0..600_u64), any::<bool>()).prop_map(
        |(before_ms, bytes_max, keeps_in_doubt)| Retention { before_ms, bytes_max, keeps_in_doubt },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let effect = select(vec![Effect::Read, Effect::Idempotent, Effect::Once]);
    let status = select(CallStatus::ALL.to_vec());
    let verdict = select(SettlementVerdict::ALL.to_vec());
    let by = select(SettledBy::ALL.to_vec());
    let order = select(vec![CallOrder::Address, CallOrder::Change, CallOrder::Latest]);
    prop_oneof![
        6 => (0..RUNS.len(), any_claim()).prop_map(|(run, request)| Step::Open { run, request }),
        1 => (0..8_usize, any_claim()).prop_map(|(lease, request)| Step::Renew { lease, request }),
        1 => (0..8_usize).prop_map(|lease| Step::Close { lease }),
        2 => (0..2_usize).prop_map(|holder| Step::Abandon { holder }),
        8 => (0..8_usize, place(), effect).prop_map(|(lease, place, effect)| {
            Step::Intend { lease, place, effect }
        }),
        1 => (0..8_usize).prop_map(|intent| Step::Amend { intent }),
        4 => (0..8_usize, status.clone()).prop_map(|(intent, status)| Step::Settle { intent, status }),
        1 => (0..8_usize, place(), status).prop_map(|(lease, place, status)| {
            Step::Refuse { lease, place, status }
        }),
        4 => (place(), verdict, by).prop_map(|(place, verdict, by)| Step::Resolve { place, verdict, by }),
        1 => (place(), select(vec!["/a", "/b"])).prop_map(|(place, root)| Step::Note { place, root }),
        1 => retention().prop_map(|retention| Step::Prune { retention }),
        2 => (place(), order, prop::option::of(0..20_u64), 0..6_u32).prop_map(
            |(place, order, after_change, limit)| Step::Ask { place, order, after_change, limit }
        ),
    ]
}

/// A journal with what its users have in their hands.
struct Users<'a> {
    journal: &'a dyn Journal,
    leases: Vec<Lease>,
    intents: Vec<Intent>,
}

impl Users<'_> {
    /// Takes a step and returns what the journal answered.
    async fn take(&mut self, step: Step) -> String {
        match step {
            Step::Open { .. } | Step::Renew { .. } | Step::Close { .. } | Step::Abandon { .. } => {
                self.move_lease(step).await
            }
            Step::Intend { .. }
            | Step::Amend { .. }
            | Step::Settle { .. }
            | Step::Refuse { .. } => self.record(step).await,
            Step::Resolve { place, verdict, by } => {
                let settlement = Settlement {
                    call: place.id(),
                    verdict,
                    by,
                    envelope: outcome(verdict.status()).envelope,
                    settled_at_ms: 4_000,
                };
                told(self.journal.resolve(settlement).await)
            }
            Step::Note { place, root } => {
                let note = SnapshotNote {
                    call: place.id(),
                    root: root.to_owned(),
                    before: None,
                    after: Some(self.leases.len().to_string()),
                    note: None,
                    taken_at_ms: 5_000,
                    repositories: Vec::new(),
                };
                told(self.journal.note_snapshot(note).await)
            }
            Step::Prune { retention } => told(self.journal.prune(retention).await),
            Step::Ask { place, order, after_change, limit } => {
                let of_run = CallQuery::of_run(place.scope().run);
                let query = CallQuery { order, after_change, limit, ..of_run };
                self.ask(&place, query).await
            }
        }
    }

    async fn move_lease(&mut self, step: Step) -> String {
        let journal = self.journal;
        match step {
            Step::Open { run: number, request } => {
                let lease = journal.open_run(run(RUNS[number]), request).await;
                told(lease.inspect(|lease| self.leases.push(lease.clone())))
            }
            Step::Renew { lease, request } => match self.lease(lease) {
                Some(lease) => told(journal.renew_lease(lease, request).await),
                None => "no lease".to_owned(),
            },
            Step::Close { lease } => match self.lease(lease) {
                Some(lease) => told(journal.close_run(lease).await),
                None => "no lease".to_owned(),
            },
            Step::Abandon { holder } => {
                match journal.lease_holders().await.unwrap().get(holder).cloned() {
                    Some(holder) => told(journal.abandon_run(holder).await),
                    None => "no holder".to_owned(),
                }
            }
            other => panic!("{other:?} moves no lease"),
        }
    }

    async fn record(&mut self, step: Step) -> String {
        match step {
            Step::Intend { lease, place, effect } => {
                let mut planned = call(&place.scope(), place.seq, effect);
                planned.fencing_token = self.lease(lease).map_or(1, |lease| lease.fencing_token);
                planned.driver_call_id = (place.seq % 2 == 0).then(|| "driver".to_owned());
                let intent = self.journal.intend(planned).await;
                told(intent.map(|intent| self.intents.push(intent)))
            }
            Step::Amend { intent } => match self.intents.get(intent) {
                Some(intent) => told(self.journal.amend(intent, r#"{"after":1}"#.to_owned()).await),
                None => "nothing to amend".to_owned(),
            },
            Step::Settle { intent, status } if intent < self.intents.len() => {
                let intent = self.intents.swap_remove(intent);
                told(self.journal.settle(intent, outcome(status)).await)
            }
            Step::Settle { .. } => "nothing to settle".to_owned(),
            Step::Refuse { lease, place, status } => {
                let mut planned = call(&place.scope(), place.seq, Effect::Once);
                planned.fencing_token = self.lease(lease).map_or(1, |lease| lease.fencing_token);
                told(self.journal.refuse(planned, outcome(status)).await)
            }
            other => panic!("{other:?} records no call"),
        }
    }

    /// Returns one of the leases that were given, over or not.
    fn lease(&self, number: usize) -> Option<Lease> {
        self.leases.iter().rev().nth(number).cloned()
    }

    async fn ask(&self, place: &Place, query: CallQuery) -> String {
        let (journal, scope) = (self.journal, place.scope());
        let state = journal.attempt_state(&scope).await.unwrap();
        let runs = RunQuery { limit: query.limit, ..RunQuery::default() };
        let answers = [
            told(journal.calls(query).await),
            told(journal.runs(runs).await),
            told(journal.lease_holders().await),
            told(journal.recorded_calls(&scope).await),
            told(journal.by_driver_id(&scope, "driver").await),
            told(journal.earlier_effects(&scope, 2).await),
            told(journal.snapshots(&scope.run, None).await),
            told(journal.snapshots(&scope.run, Some(&place.id())).await),
            told(journal.late_outcomes(&scope.run).await),
            format!(
                "{} {} {:?} {:?}",
                state.last_seq,
                state.was_held_back,
                state.unacknowledged,
                state.calls.iter().collect::<BTreeMap<_, _>>()
            ),
        ];
        answers.join("\n")
    }
}

/// Takes the steps and returns everything that the journal answered.
async fn answers(journal: &dyn Journal, steps: &[Step]) -> Vec<String> {
    let mut users = Users { journal, leases: Vec::new(), intents: Vec::new() };
    let mut answers = Vec::new();
    for step in steps.iter().cloned() {
        answers.push(users.take(step).await);
    }
    answers.push(format!("{:?}", journal.calls(CallQuery::default()).await.unwrap()));
    assert_eq!(journal.verify().await.unwrap(), [], "after {answers:#?}");
    answers
}

fn told<T: std::fmt::Debug>(result: Result<T, JournalError>) -> String {
    result.map_or_else(|err| err.to_string(), |answer| format!("{answer:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_and_memory_answer_alike(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = SqliteJournal::open(directory.path().join("journal.db")).unwrap();
        let memory = MemoryJournal::new();
        prop_assert_eq!(
            runtime.block_on(answers(&file, &steps)),
            runtime.block_on(answers(&memory, &steps))
        );
    }
}
