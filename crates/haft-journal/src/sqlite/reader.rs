//! The queries: how rows are found and read back. What they find may have been changed by others, so a row that makes no
//! sense is an error, never a panic.

use haft_contract::{Effect, RunId, Scope};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Row, params, params_from_iter};

use crate::row::collect_rows;
use crate::{AttemptState, CallOrder, CallQuery, CallRow, RunQuery, RunRow, Status};

pub(super) const ATTEMPT: &str = "\
SELECT first_key, count(*), max(seq) FROM calls \
WHERE run = ?1 AND node = ?2 AND iteration = ?3 AND attempt = ?4 GROUP BY first_key";

const CALL_COLUMNS: &str = "\
change, run, node, iteration, attempt, seq, tool, effect, status, started_at_ms, finished_at_ms, \
first_key, call_key, driver_call_id, input, accesses, envelope";

/// The counts are made when they are asked for: keeping them would cost every call a write for the sake of a list
/// that is looked at now and then. The runs are picked first, so that only their calls are counted.
const RUN_COLUMNS: &str = "\
run.id, run.front_end, run.root, run.version, run.started_at_ms, max(call.started_at_ms), count(call.change), \
count(*) FILTER (WHERE call.status = 'failed'), count(*) FILTER (WHERE call.status = 'refused'), \
count(*) FILTER (WHERE call.status = 'intended'), count(*) FILTER (WHERE call.status = 'unknown')";

/// Returns how far an attempt has come.
pub(super) fn attempt(db: &Connection, scope: &Scope) -> rusqlite::Result<AttemptState> {
    let Scope { run, node, iteration, attempt } = scope;
    let mut statement = db.prepare_cached(ATTEMPT)?;
    let mut rows = statement.query(params![run.as_str(), node, iteration, attempt])?;
    let mut state = AttemptState::default();
    while let Some(row) = rows.next()? {
        state.occurrences.insert(row.get(0)?, row.get(1)?);
        state.last_seq = state.last_seq.max(row.get(2)?);
    }
    Ok(state)
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
    // The plus keeps SQLite from looking a place up in the index of places, whose order would then have to be sorted
    // away: following a long run would cost its whole length each time.
    let (plus, order) = match query.order {
        CallOrder::Place => ("", "run, node, iteration, attempt, seq"),
        CallOrder::Change => ("+", "change"),
        CallOrder::Latest => ("+", "change DESC"),
    };
    let run = query.run.as_ref().map(|run| run.as_str().to_owned());
    let after_change = query.after_change.map(|change| i64::try_from(change).unwrap_or(i64::MAX));
    let conditions: Vec<(String, Value)> = [
        run.map(|run| ("run = ?".to_owned(), run.into())),
        query.node.clone().map(|node| (format!("{plus}node = ?"), node.into())),
        query.iteration.map(|number| (format!("{plus}iteration = ?"), number.into())),
        query.attempt.map(|number| (format!("{plus}attempt = ?"), number.into())),
        query.seq.map(|number| (format!("{plus}seq = ?"), number.into())),
        after_change.map(|change| ("change > ?".to_owned(), change.into())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (conditions, mut parameters): (Vec<String>, Vec<Value>) = conditions.into_iter().unzip();
    let filter = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE {} ", conditions.join(" AND "))
    };
    parameters.push(query.rows_max().into());
    (format!("SELECT {CALL_COLUMNS} FROM calls {filter}ORDER BY {order} LIMIT ?"), parameters)
}

/// Returns the text and the parameters of a query for runs.
pub(super) fn runs_statement(query: &RunQuery) -> (String, Vec<Value>) {
    let limit = query.rows_max().into();
    let (filter, parameters) = match &query.run {
        Some(run) => ("WHERE id = ? ", vec![run.as_str().to_owned().into(), limit]),
        None => ("", vec![limit]),
    };
    let text = format!(
        "SELECT {RUN_COLUMNS} FROM (SELECT * FROM runs {filter}ORDER BY number DESC LIMIT ?) AS run \
         LEFT JOIN calls AS call ON call.run = run.id GROUP BY run.number ORDER BY run.number DESC"
    );
    (text, parameters)
}

fn call_row(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        change: number(row, 0)?,
        scope: Scope {
            run: word(row, 1, |text| RunId::parse(text).ok())?,
            node: row.get(2)?,
            iteration: number(row, 3)?,
            attempt: number(row, 4)?,
        },
        seq: number(row, 5)?,
        tool: row.get(6)?,
        effect: word(row, 7, parse_effect)?,
        status: word(row, 8, parse_status)?,
        started_at_ms: number(row, 9)?,
        finished_at_ms: optional_number(row, 10)?,
        first_key: row.get(11)?,
        call_key: row.get(12)?,
        driver_call_id: row.get(13)?,
        input: row.get(14)?,
        accesses: row.get(15)?,
        envelope: row.get(16)?,
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
    })
}

fn parse_effect(text: &str) -> Option<Effect> {
    [Effect::Read, Effect::Idempotent, Effect::Once]
        .into_iter()
        .find(|effect| effect.as_str() == text)
}

fn parse_status(text: &str) -> Option<Status> {
    Status::ALL.into_iter().find(|status| status.as_str() == text)
}

fn word<T>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    parse(&text).ok_or_else(|| senseless(row, column, text))
}

fn number<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let value = row.get(column)?;
    T::try_from(value).map_err(|_| senseless(row, column, value))
}

fn optional_number<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
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
