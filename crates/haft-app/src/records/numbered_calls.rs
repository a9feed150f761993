//! The number of a call in its run: 1 for the call that began first. A run of one attempt numbers its calls as they are
//! numbered already. In a run of several tasks, the number says which call is meant without naming the task.

use std::collections::HashMap;

use haft_contract::{CallAddress, RunId};
use haft_journal::{CallOrder, CallQuery, Journal, JournalError};

/// Returns the number of each call of a run.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn numbers_of_calls(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<HashMap<CallAddress, usize>, JournalError> {
    let calls = calls_in_order(journal, run).await?;
    Ok(calls.into_iter().enumerate().map(|(place, call)| (call, place + 1)).collect())
}

/// Returns the call of a run that has a number, if there is one.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_call_of_number(
    journal: &dyn Journal,
    run: &RunId,
    number: usize,
) -> Result<Option<CallAddress>, JournalError> {
    let mut calls = calls_in_order(journal, run).await?;
    let place = number.checked_sub(1).filter(|place| *place < calls.len());
    Ok(place.map(|place| calls.swap_remove(place)))
}

/// Returns the calls of a run, the one that began first first.
async fn calls_in_order(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Vec<CallAddress>, JournalError> {
    let mut found: Vec<(u64, CallAddress)> = Vec::new();
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(run.clone()) };
    loop {
        let page = journal.calls(query.clone()).await?;
        let Some(last) = page.last() else { break };
        query.after_change = Some(last.change);
        found.extend(page.iter().map(|call| (call.started_at_ms, call.id())));
    }
    let is_one_attempt = found
        .windows(2)
        .all(|pair| matches!(pair, [(_, one), (_, other)] if one.scope == other.scope));
    if is_one_attempt {
        found.sort_by_key(|(_, call)| call.seq);
    } else {
        let place = |call: &CallAddress| {
            let scope = &call.scope;
            (scope.node.clone(), scope.iteration, scope.attempt, call.seq)
        };
        found.sort_by(|(one_ms, one), (other_ms, other)| {
            one_ms.cmp(other_ms).then_with(|| place(one).cmp(&place(other)))
        });
    }
    // A call that was settled while the pages were read is on two of them.
    found.dedup_by(|one, other| one.1 == other.1);
    Ok(found.into_iter().map(|(_, call)| call).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::work::tests::{begin, record_call};
    use haft_journal::MemoryJournal;

    #[tokio::test]
    async fn calls_are_numbered_as_they_began() {
        let journal = MemoryJournal::new();
        let lease = begin(&journal, "r1", "cli", 1_000).await;
        for (node, at_ms) in [("n1", 30), ("n0", 20), ("n0", 40)] {
            record_call(&journal, &lease, node, ("read", "{}"), at_ms).await;
        }
        let run = RunId::parse("r1").unwrap();
        let mut spelled = Vec::new();
        for number in 0..5 {
            let call = find_call_of_number(&journal, &run, number).await.unwrap();
            spelled.push(call.map_or("-".to_owned(), |call| call.to_string()));
        }
        assert_eq!(spelled, ["-", "r1/n0/0/1/1", "r1/n1/0/1/1", "r1/n0/0/1/2", "-"]);
        let numbers = numbers_of_calls(&journal, &run).await.unwrap();
        assert_eq!(numbers.len(), 3);
    }
}
