//! The lists of a journal: calls, runs, snapshots and late outcomes.

use std::collections::{BTreeSet, HashMap};

use haft_contract::{CallAddress, RunId};

use super::Stop;
use super::codec;
use super::lease_state;
use super::recall::{all, bound};
use crate::limits::{QUERY_BYTES_MAX, QUERY_RUNS_MAX};
use crate::short_key::short_key;
use crate::store::{
    Column, Reader, RowCondition, RowQuery, Tally, Value, calls, late_outcomes, runs, snapshots,
};
use crate::{
    CallOrder, CallQuery, CallRow, CallStatus, LateOutcome, RunOrder, RunQuery, RunRow,
    SnapshotNote,
};

/// Returns the calls that a query asks for.
pub(super) fn calls(reader: &mut dyn Reader, query: &CallQuery) -> Result<Vec<CallRow>, Stop> {
    let table = &calls::TABLE;
    let equal =
        |column, value: Option<Value>| value.map(|value| RowCondition::Equal(column, value));
    let conditions = [
        equal(calls::RUN, query.run.as_ref().map(|run| run.as_str().into())),
        equal(calls::NODE, query.node.as_deref().map(Value::from)),
        equal(calls::ITERATION, query.iteration.map(Value::from)),
        equal(calls::ATTEMPT, query.attempt.map(Value::from)),
        equal(calls::SEQ, query.seq.map(Value::from)),
        equal(calls::TOOL, query.tool.as_deref().map(Value::from)),
        status_condition(&query.statuses),
        query.after_change.map(|change| RowCondition::Above(calls::CHANGE, bound(change))),
        query.before_change.map(|change| RowCondition::Below(calls::CHANGE, bound(change))),
    ];
    let asked = RowQuery {
        bytes_max: Some(QUERY_BYTES_MAX),
        ..RowQuery::of(table, table.columns).at_most(query.rows_max())
    };
    let asked = asked.with(conditions.into_iter().flatten());
    let asked = match query.order {
        CallOrder::Address => asked,
        CallOrder::Change => asked.in_order(&[calls::CHANGE]),
        CallOrder::Latest => asked.latest_first(&[calls::CHANGE]),
    };
    all(reader, &asked, codec::call_row)
}

fn status_condition(statuses: &[CallStatus]) -> Option<RowCondition> {
    let words: Vec<Value> = statuses.iter().map(|status| status.as_str().into()).collect();
    match <[Value; 1]>::try_from(words) {
        // A store looks up the open calls in an index.
        Ok([only]) => Some(RowCondition::Equal(calls::STATUS, only)),
        Err(words) if words.is_empty() => None,
        Err(words) => Some(RowCondition::OneOf(calls::STATUS, words)),
    }
}

/// Returns the runs that a query asks for, with what is counted of their calls. Keeping the counts would cost every call a
/// write for the sake of a list that is looked at now and then.
pub(super) fn runs(reader: &mut dyn Reader, query: &RunQuery) -> Result<Vec<RunRow>, Stop> {
    let mut conditions = vec![RowCondition::Equal(runs::IS_BEING_REMOVED, false.into())];
    if let Some(run) = &query.run {
        conditions.push(RowCondition::Equal(runs::ID, run.as_str().into()));
    }
    if let Some(root) = &query.root {
        conditions.push(RowCondition::Equal(runs::ROOT, root.as_str().into()));
    }
    const BEGUN: &[Column] = &[runs::NUMBER];
    const HELD: &[Column] = &[runs::HELD_UNTIL_MS, runs::NUMBER];
    let order = match query.order {
        RunOrder::Begun => BEGUN,
        RunOrder::Held => HELD,
    };
    if let Some(before) = &query.before {
        let Some(row) = reader.get(&runs::TABLE, &codec::run_key(before), order)? else {
            return Ok(Vec::new());
        };
        let values = order.iter().map(|column| row.value(*column).clone()).collect();
        conditions.push(RowCondition::Before(order, values));
    }
    let asked = RowQuery::of(&runs::TABLE, runs::TABLE.columns).with(conditions);
    let asked = asked.latest_first(order).at_most(query.rows_max());
    let mut found = all(reader, &asked, |row| {
        Ok(RunRow {
            holder: lease_state::holder(row)?,
            id: row.word(runs::ID, |text| RunId::parse(text).ok())?,
            front_end: row.text(runs::FRONT_END)?,
            root: row.text(runs::ROOT)?,
            version: row.text(runs::VERSION)?,
            started_at_ms: row.number(runs::STARTED_AT_MS)?,
            settings: row.text(runs::SETTINGS)?,
            held_until_ms: row.number(runs::HELD_UNTIL_MS)?,
            last_call_at_ms: None,
            calls: 0,
            failed: 0,
            refused: 0,
            intended: 0,
            unknown: 0,
        })
    })?;
    if query.without_counts {
        return Ok(found);
    }
    let ids = found.iter().map(|run| run.id.as_str().into()).collect();
    let tally = Tally {
        table: &calls::TABLE,
        conditions: vec![RowCondition::OneOf(calls::RUN, ids)],
        group: &[calls::RUN, calls::STATUS],
        greatest: &[calls::STARTED_AT_MS],
        with_bytes: false,
    };
    let places: HashMap<String, usize> =
        found.iter().enumerate().map(|(place, run)| (run.id.as_str().to_owned(), place)).collect();
    for mut tallied in reader.tally(&tally)? {
        let run = tallied.group.text(calls::RUN)?;
        let Some(run) = places.get(&run).and_then(|place| found.get_mut(*place)) else { continue };
        let latest = tallied.greatest.first().copied().flatten();
        run.last_call_at_ms =
            run.last_call_at_ms.max(latest.and_then(|latest| u64::try_from(latest).ok()));
        run.calls += tallied.rows;
        match tallied.group.word(calls::STATUS, CallStatus::parse)? {
            CallStatus::Failed => run.failed = tallied.rows,
            CallStatus::Refused => run.refused = tallied.rows,
            CallStatus::Intended => run.intended = tallied.rows,
            CallStatus::Unknown => run.unknown = tallied.rows,
            CallStatus::Succeeded => {}
        }
    }
    Ok(found)
}

/// Returns the runs whose short key or whose id begins with a text, in the order of their ids.
pub(super) fn runs_beginning_with(
    reader: &mut dyn Reader,
    beginning: &str,
) -> Result<Vec<RunId>, Stop> {
    if beginning.is_empty() {
        return Ok(Vec::new());
    }
    let end = format!("{beginning}{}", char::MAX);
    let mut found = BTreeSet::new();
    let by_short_key: (Column, &[Column]) = (runs::SHORT_KEY, &[runs::SHORT_KEY, runs::ID]);
    for (column, order) in [by_short_key, (runs::ID, &[runs::ID])] {
        let query = RowQuery::of(&runs::TABLE, &[runs::ID]).with([
            RowCondition::AtLeast(column, beginning.into()),
            RowCondition::Below(column, end.as_str().into()),
            RowCondition::Equal(runs::IS_BEING_REMOVED, false.into()),
        ]);
        let query = query.in_order(order).at_most(QUERY_RUNS_MAX);
        found
            .extend(all(reader, &query, |row| row.word(runs::ID, |text| RunId::parse(text).ok()))?);
    }
    Ok(found.into_iter().collect())
}

/// Returns how many characters the short key of a run has in common with that of the most similar other run; `None` if there is no
/// other run. The most similar ones are its neighbours in the order of the keys.
pub(super) fn shared_key_chars(reader: &mut dyn Reader, id: &RunId) -> Result<Option<usize>, Stop> {
    const ORDER: &[Column] = &[runs::SHORT_KEY, runs::ID];
    let key = short_key(id);
    let query = || RowQuery::of(&runs::TABLE, &[runs::SHORT_KEY]).at_most(1);
    let neighbours = [
        query().with([
            RowCondition::Equal(runs::SHORT_KEY, key.into()),
            RowCondition::Differs(runs::ID, id.as_str().into()),
        ]),
        query().with([RowCondition::Below(runs::SHORT_KEY, key.into())]).latest_first(ORDER),
        query().with([RowCondition::Above(runs::SHORT_KEY, key.into())]).in_order(ORDER),
    ];
    let mut shared = None;
    for neighbour in neighbours {
        for other in all(reader, &neighbour, |row| row.text(runs::SHORT_KEY))? {
            let both = key.chars().zip(other.chars());
            shared = shared.max(Some(both.take_while(|(one, other)| one == other).count()));
        }
    }
    Ok(shared)
}

/// Returns the snapshots of a run, or of one call of it.
pub(super) fn snapshots(
    reader: &mut dyn Reader,
    run: &RunId,
    call: Option<&CallAddress>,
) -> Result<Vec<SnapshotNote>, Stop> {
    let address =
        [snapshots::RUN, snapshots::NODE, snapshots::ITERATION, snapshots::ATTEMPT, snapshots::SEQ];
    let conditions: Vec<RowCondition> = match call {
        None => vec![RowCondition::Equal(snapshots::RUN, run.as_str().into())],
        Some(call) => address
            .into_iter()
            .zip(codec::call_key(call))
            .map(|(column, value)| RowCondition::Equal(column, value))
            .collect(),
    };
    let query = RowQuery::of(&snapshots::TABLE, snapshots::TABLE.columns).with(conditions);
    all(reader, &query.in_order(&[snapshots::NUMBER]), codec::snapshot_note)
}

/// Returns the outcomes of a run that came too late.
pub(super) fn late_outcomes(
    reader: &mut dyn Reader,
    run: &RunId,
) -> Result<Vec<LateOutcome>, Stop> {
    let of_run = RowCondition::Equal(late_outcomes::RUN, run.as_str().into());
    let query = RowQuery::of(&late_outcomes::TABLE, late_outcomes::TABLE.columns).with([of_run]);
    all(reader, &query, codec::late_outcome)
}
