//! Whatever is done to them, in whatever order, the file and the memory journal answer alike.

use haft_contract::{Effect, Scope};
use haft_journal::{
    CallOrder, CallQuery, Intent, Journal, JournalError, MemoryJournal, RunQuery, SqliteJournal,
    Status,
};
use proptest::prelude::*;

use crate::fixture::{call, outcome, run, scope};

#[derive(Clone, Debug)]
enum Step {
    Begin { run: usize },
    Intend { place: Place, effect: Effect },
    Settle { which: usize, status: Status },
    Refuse { place: Place, status: Status },
    Ask { place: Place, order: CallOrder, after_change: Option<u64>, limit: u32 },
}

#[derive(Clone, Debug)]
struct Place {
    run: usize,
    attempt: u32,
    seq: u32,
}

impl Place {
    fn scope(&self) -> Scope {
        Scope { attempt: self.attempt, ..scope(RUNS[self.run]) }
    }
}

const RUNS: [&str; 3] = ["a", "b", "c"];

fn place() -> impl Strategy<Value = Place> {
    (0..RUNS.len(), 1..3_u32, 1..6_u32).prop_map(|(run, attempt, seq)| Place { run, attempt, seq })
}

fn step() -> impl Strategy<Value = Step> {
    let effect = prop::sample::select(vec![Effect::Read, Effect::Idempotent, Effect::Once]);
    let status = prop::sample::select(Status::ALL.to_vec());
    let order = prop::sample::select(vec![CallOrder::Place, CallOrder::Change, CallOrder::Latest]);
    prop_oneof![
        1 => (0..RUNS.len()).prop_map(|run| Step::Begin { run }),
        4 => (place(), effect).prop_map(|(place, effect)| Step::Intend { place, effect }),
        4 => (0..8_usize, status.clone()).prop_map(|(which, status)| Step::Settle { which, status }),
        1 => (place(), status).prop_map(|(place, status)| Step::Refuse { place, status }),
        2 => (place(), order, prop::option::of(0..20_u64), 0..6_u32).prop_map(
            |(place, order, after_change, limit)| Step::Ask { place, order, after_change, limit }
        ),
    ]
}

/// Takes the steps and returns everything that the journal answered.
async fn answers(journal: &dyn Journal, steps: &[Step]) -> Vec<String> {
    let mut intents: Vec<Intent> = Vec::new();
    let mut answers = Vec::new();
    for step in steps.iter().cloned() {
        answers.push(match step {
            Step::Begin { run: number } => told(journal.begin_run(run(RUNS[number])).await),
            Step::Intend { place, effect } => {
                let intent = journal.intend(call(&place.scope(), place.seq, effect)).await;
                told(intent.map(|intent| intents.push(intent)))
            }
            Step::Settle { which, status } if which < intents.len() => {
                told(journal.settle(intents.swap_remove(which), outcome(status)).await)
            }
            Step::Settle { .. } => "nothing to settle".to_owned(),
            Step::Refuse { place, status } => {
                let planned = call(&place.scope(), place.seq, Effect::Once);
                told(journal.refuse(planned, outcome(status)).await)
            }
            Step::Ask { place, order, after_change, limit } => {
                let run = place.scope().run;
                let query =
                    CallQuery { order, after_change, limit, ..CallQuery::of_run(run.clone()) };
                let state = journal.attempt(&place.scope()).await.unwrap();
                let runs = RunQuery { limit, ..RunQuery::default() };
                format!(
                    "{:?} {:?} {:?} {:?}",
                    journal.calls(query).await.unwrap(),
                    journal.runs(runs).await.unwrap(),
                    state.last_seq,
                    state.occurrences.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
                )
            }
        });
    }
    answers.push(format!("{:?}", journal.calls(CallQuery::default()).await.unwrap()));
    answers
}

fn told(result: Result<(), JournalError>) -> String {
    result.map_or_else(|err| err.to_string(), |()| "done".to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_and_memory_answer_alike(steps in prop::collection::vec(step(), 1..40)) {
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
