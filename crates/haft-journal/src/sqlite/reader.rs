//! The queries: how rows are found and read back. What they find may have been changed by others, so a row that makes no
//! sense is an error, never a panic.

use haft_contract::{CallId, RunId, Scope};
use rusqlite::types::{Type, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::lease;
use crate::row::{collect_rows, parse_effect};
use crate::{
    AttemptState, CallOrder, CallQuery, CallRow, EarlierEffect, EarlierEffects, LateOutcome,
    RecordedCall, RunQuery, RunRow, SettledBy, SnapshotNote, Status, UnheardCall, Verdict,
};

pub(super) const ATTEMPT: &str = "\
SELECT first_key, group_concat(DISTINCT CASE WHEN status <> 'refused' OR instr(envelope, '\"held_back\":true') = 0 \
THEN call_key END), max(seq), max(status = 'refused' AND instr(envelope, '\"held_back\":true') > 0), \
max(effect = 'once' AND NOT heard AND (status = 'unknown' AND envelope IS NULL OR verdict IS NOT NULL)) FROM calls \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 GROUP BY first_key";

/// Of the rows of one call the latest counts: beside max() SQLite takes the other columns from its row.
pub(super) const UNHEARD: &str = "\
SELECT first_key, call_key, seq FROM (SELECT first_key, call_key, max(seq) AS seq, \
effect = 'once' AND NOT heard AND (status = 'unknown' AND envelope IS NULL OR verdict IS NOT NULL) AS is_unheard FROM calls \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 \
AND NOT (status = 'refused' AND instr(envelope, '\"held_back\":true') > 0) GROUP BY call_key) \
WHERE is_unheard ORDER BY seq";

pub(super) const RECORDED: &str = "\
SELECT seq, call_key, effect, status, verdict FROM calls \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 \
AND NOT (status = 'refused' AND instr(envelope, '\"held_back\":true') > 0) ORDER BY seq";

pub(super) const EARLIER: &str = "\
SELECT tool, attempt, seq, status, call_key, verdict, substr(input, 1, 200) FROM calls \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt < ?4 AND effect = 'once' AND status <> 'refused' \
AND verdict IS NOT 'not_happened' \
ORDER BY attempt, seq";

pub(super) const SNAPSHOTS_OF_RUN: &str = "\
SELECT run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms FROM snapshots \
WHERE run = ?1 ORDER BY number";

pub(super) const SNAPSHOTS_OF_CALL: &str = "\
SELECT run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms FROM snapshots \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 AND seq = ?5 ORDER BY number";

pub(super) const LATE_OUTCOMES: &str = "\
SELECT run, node, iteration, attempt, seq, tool, epoch, status, envelope, finished_at_ms FROM late_outcomes \
WHERE run = ?1 ORDER BY number";

pub(super) const EVERY_LATE_OUTCOME: &str = "\
SELECT run, node, iteration, attempt, seq, tool, epoch, status, envelope, finished_at_ms FROM late_outcomes \
ORDER BY number";

/// What is read of a call behind its change number.
const CALL_COLUMNS: &str = "\
run, node, iteration, attempt, seq, tool, effect, status, started_at_ms, finished_at_ms, \
first_key, call_key, driver_call_id, input, accesses, envelope, epoch, details, verdict, settled_by";

/// The counts are made when they are asked for: keeping them would cost every call a write for the sake of a list
/// that is looked at now and then. The runs are picked first, so that only their calls are counted.
const RUN_COLUMNS: &str = "\
run.id, run.front_end, run.root, run.version, run.started_at_ms, max(call.started_at_ms), count(call.number), \
count(*) FILTER (WHERE call.status = 'failed'), count(*) FILTER (WHERE call.status = 'refused'), \
count(*) FILTER (WHERE call.status = 'intended'), count(*) FILTER (WHERE call.status = 'unknown'), run.settings, \
run.id, run.epoch, run.owner_id, run.owner_place, run.held_since_ms, run.lease_expires_at_ms";

/// Returns how far an attempt has come.
pub(super) fn attempt(db: &Connection, scope: &Scope) -> rusqlite::Result<AttemptState> {
    let Scope { run, node, iteration, attempt } = scope;
    let mut statement = db.prepare_cached(ATTEMPT)?;
    let mut rows = statement.query(params![run.as_str(), node, iteration, attempt])?;
    let mut state = AttemptState::default();
    let mut has_unheard = false;
    while let Some(row) = rows.next()? {
        state.calls.insert(row.get(0)?, keys(row.get(1)?));
        state.last_seq = state.last_seq.max(row.get(2)?);
        state.was_held_back |= row.get::<_, bool>(3)?;
        has_unheard |= row.get::<_, bool>(4)?;
    }
    if has_unheard {
        state.unheard = unheard(db, scope)?;
    }
    Ok(state)
}

/// Takes the keys apart that share a first key.
fn keys(joined: Option<String>) -> Vec<String> {
    let mut keys: Vec<String> =
        joined.iter().flat_map(|keys| keys.split(',')).map(str::to_owned).collect();
    keys.sort_unstable();
    keys
}

fn unheard(db: &Connection, scope: &Scope) -> rusqlite::Result<Vec<UnheardCall>> {
    let Scope { run, node, iteration, attempt } = scope;
    let mut statement = db.prepare_cached(UNHEARD)?;
    let rows = statement.query_map(params![run.as_str(), node, iteration, attempt], |row| {
        Ok(UnheardCall { first_key: row.get(0)?, call_key: row.get(1)?, seq: number(row, 2)? })
    })?;
    rows.collect()
}

/// Returns all calls of an attempt in short.
pub(super) fn recorded(db: &Connection, scope: &Scope) -> rusqlite::Result<Vec<RecordedCall>> {
    let Scope { run, node, iteration, attempt } = scope;
    let mut statement = db.prepare_cached(RECORDED)?;
    let rows = statement.query_map(params![run.as_str(), node, iteration, attempt], |row| {
        Ok(RecordedCall {
            seq: number(row, 0)?,
            call_key: row.get(1)?,
            effect: word(row, 2, parse_effect)?,
            status: word(row, 3, Status::parse)?,
            verdict: optional_word(row, 4, Verdict::parse)?,
        })
    })?;
    rows.collect()
}

/// Returns the latest call of an attempt that its driver named so.
pub(super) fn by_driver_id(
    db: &Connection,
    scope: &Scope,
    driver_call_id: &str,
) -> rusqlite::Result<Option<CallRow>> {
    let Scope { run, node, iteration, attempt } = scope;
    let parameters = params![run.as_str(), driver_call_id, node, iteration, attempt];
    db.prepare_cached(&by_driver_statement())?.query_row(parameters, call_row).optional()
}

/// Returns the text of the query for a call that its driver named.
pub(super) fn by_driver_statement() -> String {
    format!(
        "SELECT coalesce(closed, number), {CALL_COLUMNS} FROM calls INDEXED BY calls_by_driver WHERE run = ?1 AND driver_call_id = ?2 \
         AND node = ?3 AND iteration = ?4 AND attempt = ?5 ORDER BY seq DESC LIMIT 1"
    )
}

/// Returns what earlier attempts did that is not safe to repeat.
pub(super) fn earlier_effects(
    db: &Connection,
    scope: &Scope,
    calls_max: u32,
) -> rusqlite::Result<EarlierEffects> {
    let Scope { run, node, iteration, attempt } = scope;
    let mut statement = db.prepare_cached(EARLIER)?;
    let rows = statement.query_map(params![run.as_str(), node, iteration, attempt], |row| {
        Ok(EarlierEffect {
            tool: row.get(0)?,
            attempt: number(row, 1)?,
            seq: number(row, 2)?,
            status: word(row, 3, Status::parse)?,
            call_key: row.get(4)?,
            verdict: optional_word(row, 5, Verdict::parse)?,
            input: row.get(6)?,
        })
    })?;
    EarlierEffects::collect(rows, calls_max)
}

/// Returns the snapshots of a run.
pub(super) fn snapshots_of_run(
    db: &Connection,
    run: &RunId,
) -> rusqlite::Result<Vec<SnapshotNote>> {
    let mut statement = db.prepare_cached(SNAPSHOTS_OF_RUN)?;
    statement.query_map([run.as_str()], snapshot_row)?.collect()
}

/// Returns the snapshots of a call.
pub(super) fn snapshots_of_call(
    db: &Connection,
    call: &CallId,
) -> rusqlite::Result<Vec<SnapshotNote>> {
    let Scope { run, node, iteration, attempt } = &call.scope;
    let mut statement = db.prepare_cached(SNAPSHOTS_OF_CALL)?;
    let place = params![run.as_str(), node, iteration, attempt, call.seq];
    statement.query_map(place, snapshot_row)?.collect()
}

/// Returns the outcomes of a run that came too late.
pub(super) fn late_outcomes(db: &Connection, run: &RunId) -> rusqlite::Result<Vec<LateOutcome>> {
    let mut statement = db.prepare_cached(LATE_OUTCOMES)?;
    statement.query_map([run.as_str()], late_outcome)?.collect()
}

/// Returns the calls that the query asks for.
pub(super) fn calls(db: &Connection, query: &CallQuery) -> rusqlite::Result<Vec<CallRow>> {
    let (text, parameters) = calls_statement(query);
    let mut statement = db.prepare_cached(&text)?;
    let rows = statement.query_map(params_from_iter(parameters), call_row)?;
    collect_rows(rows, query.rows_max())
}

/// Returns the runs that the query asks for.
pub(super) fn runs(db: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunRow>> {
    let (text, parameters) = runs_statement(query);
    let mut statement = db.prepare_cached(&text)?;
    let rows = statement.query_map(params_from_iter(parameters), run_row)?;
    rows.collect()
}

/// Returns the text and the parameters of a query for calls. Of the few conditions there are few combinations, so the
/// compiled statements are worth keeping.
pub(super) fn calls_statement(query: &CallQuery) -> (String, Vec<Value>) {
    let after_change =
        query.after_change.map_or(0, |change| i64::try_from(change).unwrap_or(i64::MAX));
    let text = match query.order {
        CallOrder::Place => by_place(query),
        CallOrder::Change => by_change(query, "change"),
        CallOrder::Latest => by_change(query, "change DESC"),
    };
    let mut parameters = vec![after_change.into(), query.rows_max().into()];
    parameters.extend(fixed(query).into_iter().map(|(_, value)| value));
    (text, parameters)
}

fn by_place(query: &CallQuery) -> String {
    format!(
        "SELECT coalesce(closed, number), {CALL_COLUMNS} FROM calls WHERE coalesce(closed, number) > ?1 {}\
         ORDER BY run, node, iteration, attempt, seq LIMIT ?2",
        terms(query, &["run", "node", "iteration", "attempt", "seq"])
    )
}

/// Merges what is open, of which there is never much, with all else; an index has either in the order of its changes. No
/// place is looked up in the index of places, whose order would then have to be sorted away: following a long run
/// would cost its whole length each time.
fn by_change(query: &CallQuery, order: &str) -> String {
    let index = if query.run.is_some() { "calls_of_run" } else { "calls_by_change" };
    format!(
        "SELECT number AS change, {CALL_COLUMNS} FROM calls INDEXED BY calls_by_change \
         WHERE closed IS NULL AND number > ?1 {}\
         UNION ALL SELECT closed, {CALL_COLUMNS} FROM calls INDEXED BY {index} WHERE closed > ?1 {}\
         ORDER BY {order} LIMIT ?2",
        terms(query, &[]),
        terms(query, &["run"])
    )
}

/// Returns the columns that must have one value each.
fn fixed(query: &CallQuery) -> Vec<(&'static str, Value)> {
    let run = query.run.as_ref().map(|run| run.as_str().to_owned());
    [
        run.map(|run| ("run", run.into())),
        query.node.clone().map(|node| ("node", node.into())),
        query.iteration.map(|number| ("iteration", number.into())),
        query.attempt.map(|number| ("attempt", number.into())),
        query.seq.map(|number| ("seq", number.into())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the conditions on these columns, whose parameters begin at the third. Only of those `looked_up` SQLite may use
/// an index.
fn terms(query: &CallQuery, looked_up: &[&str]) -> String {
    let term = |((column, _), number): ((&'static str, Value), u32)| {
        let plus = if looked_up.contains(&column) { "" } else { "+" };
        format!("AND {plus}{column} = ?{number} ")
    };
    fixed(query).into_iter().zip(3..).map(term).collect()
}

/// Returns the text and the parameters of a query for runs.
pub(super) fn runs_statement(query: &RunQuery) -> (String, Vec<Value>) {
    let (mut filter, mut parameters) = (String::new(), Vec::new());
    if let Some(run) = &query.run {
        filter.push_str("AND id = ? ");
        parameters.push(run.as_str().to_owned().into());
    }
    if let Some(run) = &query.before {
        filter.push_str("AND number < (SELECT number FROM runs WHERE id = ?) ");
        parameters.push(run.as_str().to_owned().into());
    }
    parameters.push(query.rows_max().into());
    let text = format!(
        "SELECT {RUN_COLUMNS} FROM (SELECT * FROM runs WHERE is_going = 0 {filter}ORDER BY number DESC LIMIT ?) AS run \
         LEFT JOIN calls AS call ON call.run = run.id GROUP BY run.number ORDER BY run.number DESC"
    );
    (text, parameters)
}

/// Returns the text of the query for all calls there are, in the order of their places.
pub(super) fn every_call() -> String {
    format!(
        "SELECT coalesce(closed, number), {CALL_COLUMNS} FROM calls ORDER BY run, node, iteration, attempt, seq"
    )
}

/// Reads a call from the columns of a query for calls.
pub(super) fn call_row(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        change: number(row, 0)?,
        scope: scope(row, 1)?,
        seq: number(row, 5)?,
        tool: row.get(6)?,
        effect: word(row, 7, parse_effect)?,
        status: word(row, 8, Status::parse)?,
        started_at_ms: number(row, 9)?,
        finished_at_ms: optional_number(row, 10)?,
        first_key: row.get(11)?,
        call_key: row.get(12)?,
        driver_call_id: row.get(13)?,
        input: row.get(14)?,
        accesses: row.get(15)?,
        envelope: row.get(16)?,
        epoch: number(row, 17)?,
        details: row.get(18)?,
        verdict: optional_word(row, 19, Verdict::parse)?,
        settled_by: optional_word(row, 20, SettledBy::parse)?,
    })
}

/// Reads an outcome that came too late.
pub(super) fn late_outcome(row: &Row<'_>) -> rusqlite::Result<LateOutcome> {
    Ok(LateOutcome {
        call: CallId { scope: scope(row, 0)?, seq: number(row, 4)? },
        tool: row.get(5)?,
        epoch: number(row, 6)?,
        status: word(row, 7, Status::parse)?,
        envelope: row.get(8)?,
        finished_at_ms: number(row, 9)?,
    })
}

fn snapshot_row(row: &Row<'_>) -> rusqlite::Result<SnapshotNote> {
    Ok(SnapshotNote {
        call: CallId { scope: scope(row, 0)?, seq: number(row, 4)? },
        root: row.get(5)?,
        before: row.get(6)?,
        after: row.get(7)?,
        note: row.get(8)?,
        taken_at_ms: number(row, 9)?,
    })
}

/// Reads a scope from four columns.
fn scope(row: &Row<'_>, first: usize) -> rusqlite::Result<Scope> {
    Ok(Scope {
        run: word(row, first, |text| RunId::parse(text).ok())?,
        node: row.get(first + 1)?,
        iteration: number(row, first + 2)?,
        attempt: number(row, first + 3)?,
    })
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: word(row, 0, |text| RunId::parse(text).ok())?,
        front_end: row.get(1)?,
        root: row.get(2)?,
        version: row.get(3)?,
        started_at_ms: number(row, 4)?,
        last_call_at_ms: optional_number(row, 5)?,
        calls: number(row, 6)?,
        failed: number(row, 7)?,
        refused: number(row, 8)?,
        intended: number(row, 9)?,
        unknown: number(row, 10)?,
        settings: row.get(11)?,
        holder: lease::holder(row, 12)?,
    })
}

/// Reads a column that holds one of a few words.
pub(super) fn word<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    parse(&text).ok_or_else(|| senseless(row, column, text))
}

/// Reads a column that holds such a word or nothing.
pub(super) fn optional_word<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => word(row, column, parse).map(Some),
    }
}

/// Reads a column that holds a number of a narrower kind.
pub(super) fn number<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let value = row.get(column)?;
    T::try_from(value).map_err(|_| senseless(row, column, value))
}

/// Reads a column that holds such a number or nothing.
pub(super) fn optional_number<T: TryFrom<i64>>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    match row.get::<_, Option<i64>>(column)? {
        Some(_) => number(row, column).map(Some),
        None => Ok(None),
    }
}

fn senseless(row: &Row<'_>, column: usize, found: impl std::fmt::Debug) -> rusqlite::Error {
    let name = row.as_ref().column_name(column).unwrap_or("?");
    let reason = format!("column {name} holds {found:?}, of which this haft can make no sense");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, reason.into())
}
