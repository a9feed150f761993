//! The calls of an attempt: how far it has come, and the effects of earlier attempts. Which recorded call
//! may stand in for a new one is decided elsewhere.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use haft_contract::{AttemptAddress, Effect};

use super::Stop;
use super::codec::{self, calls_of_attempt, calls_of_iteration};
use crate::limits::EARLIER_INPUT_CHARS;
use crate::row::parse_effect;
use crate::store::{Column, Reader, Row, RowCondition, RowError, RowQuery, Value, calls};
use crate::{
    AttemptState, CallRow, CallStatus, EarlierEffect, EarlierEffects, RecordedCall,
    SettlementVerdict, UnacknowledgedCall,
};

/// Returns how far an attempt has come.
pub(super) fn attempt(
    reader: &mut dyn Reader,
    scope: &AttemptAddress,
) -> Result<AttemptState, Stop> {
    const COLUMNS: &[Column] = &[
        calls::SEQ,
        calls::EFFECT,
        calls::STATUS,
        calls::VERDICT,
        calls::ACKNOWLEDGED,
        calls::HELD_BACK,
        calls::FINISHED_AT_MS,
        calls::FIRST_KEY,
        calls::CALL_KEY,
    ];
    let mut state = AttemptState::default();
    let mut made = Vec::new();
    each(reader, &calls_of_attempt(scope, COLUMNS), |row| {
        state.last_seq = row.number(calls::SEQ)?;
        let first_key = row.text(calls::FIRST_KEY)?;
        if row.flag(calls::HELD_BACK)? {
            state.was_held_back = true;
            state.calls.entry(first_key).or_default();
        } else {
            let (call_key, seq) = (row.text(calls::CALL_KEY)?, state.last_seq);
            made.push((UnacknowledgedCall { first_key, call_key, seq }, is_unacknowledged(row)?));
        }
        Ok(())
    })?;
    if made.iter().any(|(_, is_unacknowledged)| *is_unacknowledged) {
        // Of the rows of one call the latest counts.
        let mut latest = HashMap::new();
        for (call, is_unacknowledged) in &made {
            latest.insert(&call.call_key, is_unacknowledged.then_some(call));
        }
        state.unacknowledged = latest.into_values().flatten().cloned().collect();
        state.unacknowledged.sort_unstable_by_key(|call| call.seq);
    }
    for (call, _) in made {
        state.calls.entry(call.first_key).or_default().push(call.call_key);
    }
    for keys in state.calls.values_mut() {
        keys.sort_unstable();
        keys.dedup();
    }
    Ok(state)
}

/// Returns whether the driver never received how a `once` call ended. A call in doubt has no answer yet.
fn is_unacknowledged(row: &Row) -> Result<bool, RowError> {
    let status = row.word(calls::STATUS, CallStatus::parse)?;
    let is_in_doubt = status == CallStatus::Unknown && row.is_null(calls::FINISHED_AT_MS);
    Ok(row.word(calls::EFFECT, parse_effect)? == Effect::Once
        && !row.flag(calls::ACKNOWLEDGED)?
        && (is_in_doubt || !row.is_null(calls::VERDICT)))
}

/// Returns all calls of an attempt in short, but for those that were held back.
pub(super) fn recorded(
    reader: &mut dyn Reader,
    scope: &AttemptAddress,
) -> Result<Vec<RecordedCall>, Stop> {
    const COLUMNS: &[Column] =
        &[calls::SEQ, calls::CALL_KEY, calls::EFFECT, calls::STATUS, calls::VERDICT];
    let is_made = RowCondition::Equal(calls::HELD_BACK, false.into());
    let mut recorded = Vec::new();
    each(reader, &calls_of_attempt(scope, COLUMNS).with([is_made]), |row| {
        recorded.push(RecordedCall {
            seq: row.number(calls::SEQ)?,
            call_key: row.text(calls::CALL_KEY)?,
            effect: row.word(calls::EFFECT, parse_effect)?,
            status: row.word(calls::STATUS, CallStatus::parse)?,
            verdict: row.optional_word(calls::VERDICT, SettlementVerdict::parse)?,
        });
        Ok(())
    })?;
    Ok(recorded)
}

/// Returns the latest call of an attempt that its driver named so.
pub(super) fn by_driver_id(
    reader: &mut dyn Reader,
    scope: &AttemptAddress,
    driver_call_id: &str,
) -> Result<Option<CallRow>, Stop> {
    let is_named = RowCondition::Equal(calls::DRIVER_CALL_ID, driver_call_id.into());
    let query = calls_of_attempt(scope, calls::TABLE.columns).with([is_named]);
    let found = reader.select(&query.latest_first(&[calls::SEQ]).at_most(1))?.pop();
    Ok(found.map(|mut row| codec::call_row(&mut row)).transpose()?)
}

/// Returns what earlier attempts did that is not safe to repeat.
pub(super) fn earlier_effects(
    reader: &mut dyn Reader,
    scope: &AttemptAddress,
    calls_max: u32,
) -> Result<EarlierEffects, Stop> {
    const COLUMNS: &[Column] = &[
        calls::TOOL,
        calls::ATTEMPT,
        calls::SEQ,
        calls::STATUS,
        calls::CALL_KEY,
        calls::VERDICT,
        calls::INPUT,
    ];
    let may_have_happened = [
        RowCondition::Below(calls::ATTEMPT, scope.attempt.into()),
        RowCondition::Equal(calls::EFFECT, Effect::Once.as_str().into()),
        RowCondition::Differs(calls::STATUS, CallStatus::Refused.as_str().into()),
        RowCondition::Differs(calls::VERDICT, SettlementVerdict::NotHappened.as_str().into()),
    ];
    let all = calls_of_iteration(scope, &[calls::TOOL]).with(may_have_happened.clone());
    let mut effects = EarlierEffects::default();
    let mut tools = BTreeSet::new();
    each(reader, &all, |row| {
        tools.insert(row.text(calls::TOOL)?);
        effects.total += 1;
        Ok(())
    })?;
    effects.tools = tools.into_iter().collect();
    let first = calls_of_iteration(scope, COLUMNS).with(may_have_happened).at_most(calls_max);
    each(reader, &first, |row| {
        let input = row.text(calls::INPUT)?;
        effects.first.push(EarlierEffect {
            tool: row.text(calls::TOOL)?,
            attempt: row.number(calls::ATTEMPT)?,
            seq: row.number(calls::SEQ)?,
            status: row.word(calls::STATUS, CallStatus::parse)?,
            call_key: row.text(calls::CALL_KEY)?,
            verdict: row.optional_word(calls::VERDICT, SettlementVerdict::parse)?,
            input: input.chars().take(EARLIER_INPUT_CHARS).collect(),
        });
        Ok(())
    })?;
    Ok(effects)
}

/// Shows each row until one makes no sense.
pub(super) fn each(
    reader: &mut dyn Reader,
    query: &RowQuery,
    mut show: impl FnMut(&mut Row) -> Result<(), RowError>,
) -> Result<(), Stop> {
    let mut shown = Ok(());
    reader.scan(query, &mut |mut row| {
        shown = show(&mut row);
        if shown.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(shown?)
}

/// Returns what each row means.
pub(super) fn all<T>(
    reader: &mut dyn Reader,
    query: &RowQuery,
    meaning: impl Fn(&mut Row) -> Result<T, RowError>,
) -> Result<Vec<T>, Stop> {
    let mut found = Vec::new();
    each(reader, query, |row| {
        found.push(meaning(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// Returns the number as a condition compares with it: one that no column holds is like the greatest that one does.
pub(super) fn bound(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
