//! From the questions of the store to SQL, and from SQLite's values to the store's. How SQLite finds rows is fixed here: where
//! its planner could take a wrong index, the statement names the right one.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row as SqliteRow, params_from_iter};

use crate::CallStatus;
use crate::store::{
    Column, ColumnKind, Condition, Row, RowQuery, Table, Tallied, Tally, Value, calls,
};

/// The texts of the statements that were used before, by what they do.
#[derive(Default)]
pub(super) struct Texts(HashMap<Vec<u8>, String>);

impl Texts {
    /// Returns the text of a statement, which is made the first time. `shape` tells it from all others.
    pub(super) fn text(&mut self, shape: Vec<u8>, make: impl FnOnce() -> String) -> &str {
        self.0.entry(shape).or_insert_with(make)
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

/// Returns what tells a statement from others: what it does, to which table, with which columns.
pub(super) fn shape<'a>(
    what: u8,
    table: &Table,
    columns: impl IntoIterator<Item = &'a Column>,
) -> Vec<u8> {
    let mut shape = Vec::with_capacity(48);
    shape.push(what);
    shape.extend(table.name.as_bytes());
    let column = |column: &Column| u8::try_from(column.at).expect("no table has that many columns");
    shape.extend(columns.into_iter().map(column));
    shape
}

/// A value on its way into a statement.
pub(super) struct Bound<'a>(pub(super) &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) | Value::Unreadable(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// Reads the columns of a row from the one after `before` on.
pub(super) fn row(
    row: &SqliteRow<'_>,
    before: usize,
    columns: &'static [Column],
) -> rusqlite::Result<Row> {
    let mut values = Vec::with_capacity(columns.len());
    for place in before..before + columns.len() {
        values.push(value(row.get_ref(place)?));
    }
    Ok(Row::new(columns, values))
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Value::from(text),
            Err(_) => Value::Unreadable(format!("{:?}", String::from_utf8_lossy(text))),
        },
        ValueRef::Real(number) => Value::Unreadable(number.to_string()),
        ValueRef::Blob(bytes) => Value::Unreadable(format!("{} bytes", bytes.len())),
    }
}

/// Shows the rows that a query asks for.
pub(super) fn scan(
    db: &Connection,
    query: &RowQuery,
    visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let Select { text, parameters, columns_before } = select(query);
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params_from_iter(parameters.iter().map(Bound)))?;
    let weighed: Vec<usize> = query
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| query.table.weighed.contains(column))
        .map(|(place, _)| place)
        .collect();
    let mut bytes = 0;
    while let Some(found) = rows.next()? {
        let row = row(found, columns_before, query.columns)?;
        bytes += weighed.iter().map(|place| row.values()[*place].text_bytes()).sum::<usize>();
        let is_full = query.bytes_max.is_some_and(|bytes_max| bytes >= bytes_max);
        if visit(row).is_break() || is_full {
            break;
        }
    }
    Ok(())
}

/// Counts rows.
pub(super) fn tally(db: &Connection, tally: &Tally) -> rusqlite::Result<Vec<Tallied>> {
    let mut parameters = Vec::new();
    let text = tally_text(tally, &mut parameters);
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params_from_iter(parameters.iter().map(Bound)))?;
    let mut found = Vec::new();
    while let Some(group) = rows.next()? {
        let first = tally.group.len();
        let greatest = first + 2..first + 2 + tally.greatest.len();
        found.push(Tallied {
            group: row(group, 0, tally.group)?,
            rows: number(group, first)?,
            bytes: number(group, first + 1)?,
            greatest: greatest.map(|place| group.get(place)).collect::<Result<_, _>>()?,
        });
    }
    Ok(found)
}

fn number(row: &SqliteRow<'_>, place: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(place).map(|number| u64::try_from(number).unwrap_or_default())
}

/// The text of a query, with its parameters in their order.
pub(super) struct Select {
    pub(super) text: String,
    parameters: Vec<Value>,
    /// How many columns come before those that were asked for.
    columns_before: usize,
}

/// Returns how SQLite is asked.
pub(super) fn select(query: &RowQuery) -> Select {
    if *query.table == calls::TABLE && query.order == [calls::CHANGE] {
        return select_by_change(query);
    }
    let mut parameters = Vec::new();
    let columns = names(query.columns, query.table);
    let mut text = format!("SELECT {columns} FROM {}{}", query.table.name, index_of(query));
    let is_open = is_only_open(query);
    let filter = filter(&query.conditions, &mut parameters, |column| {
        let name = name(column, query.table);
        if is_open { format!("+{name}") } else { name.to_owned() }
    });
    let filter = [is_open.then(|| "closed IS NULL".to_owned())].into_iter().flatten().chain(filter);
    push_filter(&mut text, filter);
    let descending = if query.is_descending { " DESC" } else { "" };
    let order: Vec<String> = query
        .order
        .iter()
        .map(|column| format!("{}{descending}", name(*column, query.table)))
        .collect();
    write!(text, " ORDER BY {}", order.join(", ")).expect("a text takes all");
    push_limit(&mut text, query, &mut parameters);
    Select { text, parameters, columns_before: 0 }
}

/// The number of a row is the change number that recorded the call. `closed` is that of the latest change since the call was no
/// longer open; an open one has none. So what is open, of which there is never much, is merged with all else; an
/// index has either in the order of its changes. No other column is looked up in an index, whose order would
/// then have to be sorted away: following a long run would cost its whole length each time.
fn select_by_change(query: &RowQuery) -> Select {
    let since = query.conditions.iter().find_map(|condition| match condition {
        Condition::Above(calls::CHANGE, since) => Some(since.clone()),
        _ => None,
    });
    let since = since.unwrap_or(Value::Integer(0));
    let others = |condition: &&Condition| !matches!(condition, Condition::Above(calls::CHANGE, _));
    let others: Vec<Condition> = query.conditions.iter().filter(others).cloned().collect();
    let has_run = query.equal(calls::RUN).is_some();
    let mut parameters = Vec::new();
    let mut half = |change: &str, begin: &str, index: &str, looks_up_run: bool| {
        parameters.push(since.clone());
        let columns: Vec<&str> = query
            .columns
            .iter()
            .map(|column| if *column == calls::CHANGE { change } else { column.name })
            .collect();
        let mut text = format!(
            "SELECT {change}, {} FROM calls INDEXED BY {index} WHERE {begin}{change} > ?",
            columns.join(", ")
        );
        for term in filter(&others, &mut parameters, |column| match column {
            calls::RUN if looks_up_run => "run".to_owned(),
            other => format!("+{}", other.name),
        }) {
            write!(text, " AND {term}").expect("a text takes all");
        }
        text
    };
    let mut text = String::new();
    if may_be_open(&query.conditions) {
        text = half("number", "closed IS NULL AND ", "calls_by_change", false);
        text.push_str(" UNION ALL ");
    }
    let index = if has_run { "calls_of_run" } else { "calls_by_change" };
    text.push_str(&half("closed", "", index, has_run));
    text.push_str(if query.is_descending { " ORDER BY 1 DESC" } else { " ORDER BY 1" });
    push_limit(&mut text, query, &mut parameters);
    Select { text, parameters, columns_before: 1 }
}

/// Returns whether an open call may fulfil the conditions.
fn may_be_open(conditions: &[Condition]) -> bool {
    let intended = Value::from(CallStatus::Intended.as_str());
    conditions.iter().all(|condition| match condition {
        Condition::Equal(calls::STATUS, status) => *status == intended,
        Condition::OneOf(calls::STATUS, statuses) => statuses.contains(&intended),
        _ => true,
    })
}

/// Returns whether only open calls are asked for.
fn is_only_open(query: &RowQuery) -> bool {
    *query.table == calls::TABLE
        && query.equal(calls::STATUS) == Some(&CallStatus::Intended.as_str().into())
}

/// Returns which index is used, where the planner might take another.
fn index_of(query: &RowQuery) -> &'static str {
    if is_only_open(query) {
        " INDEXED BY calls_by_change"
    } else if *query.table == calls::TABLE && query.equal(calls::DRIVER_CALL_ID).is_some() {
        " INDEXED BY calls_by_driver"
    } else {
        ""
    }
}

/// Returns the text of a statement that counts rows.
pub(super) fn tally_text(tally: &Tally, parameters: &mut Vec<Value>) -> String {
    let group = names(tally.group, tally.table);
    let weights = tally.table.weighed.iter();
    let weights = weights.map(|column| format!("coalesce(octet_length({}), 0)", column.name));
    let weights: Vec<String> = weights.collect();
    let bytes = match tally.with_bytes && !weights.is_empty() {
        true => format!("sum({})", weights.join(" + ")),
        false => "0".to_owned(),
    };
    let greatest =
        tally.greatest.iter().map(|column| format!(", max({})", name(*column, tally.table)));
    let greatest: String = greatest.collect();
    let mut text = format!("SELECT {group}, count(*), {bytes}{greatest} FROM {}", tally.table.name);
    let terms =
        filter(&tally.conditions, parameters, |column| name(column, tally.table).to_owned());
    push_filter(&mut text, terms.into_iter());
    write!(text, " GROUP BY {group}").expect("a text takes all");
    text
}

/// Returns a condition each, with its parameters.
pub(super) fn filter(
    conditions: &[Condition],
    parameters: &mut Vec<Value>,
    name: impl Fn(Column) -> String,
) -> Vec<String> {
    let mut term = |condition: &Condition| match condition {
        Condition::Equal(column, Value::Null) => format!("{} IS NULL", name(*column)),
        Condition::Differs(column, Value::Null) => format!("{} IS NOT NULL", name(*column)),
        Condition::Equal(column, value) => match (column.kind, value) {
            // The planner has to see which part of an index is meant.
            (ColumnKind::Flag, Value::Integer(flag)) => format!("{} = {flag}", name(*column)),
            _ => compared(*column, "=", value, parameters, &name),
        },
        Condition::Differs(column, value) => compared(*column, "IS NOT", value, parameters, &name),
        Condition::Above(column, value) => compared(*column, ">", value, parameters, &name),
        Condition::AtLeast(column, value) => compared(*column, ">=", value, parameters, &name),
        Condition::Below(column, value) => compared(*column, "<", value, parameters, &name),
        Condition::AtMost(column, value) => compared(*column, "<=", value, parameters, &name),
        Condition::OneOf(column, values) => {
            let Some(last) = values.last() else { return "0".to_owned() };
            // So that there are few texts to compile, the last value is repeated up to a power of two.
            let count = values.len().next_power_of_two();
            parameters.extend(values.iter().cloned());
            parameters.extend(std::iter::repeat_n(last.clone(), count - values.len()));
            format!("{} IN ({})", name(*column), placeholders(count))
        }
        Condition::Behind(columns, values) => {
            parameters.extend(values.iter().cloned());
            let columns: Vec<String> = columns.iter().map(|column| name(*column)).collect();
            format!("({}) > ({})", columns.join(", "), placeholders(values.len()))
        }
    };
    conditions.iter().map(&mut term).collect()
}

fn compared(
    column: Column,
    operator: &str,
    value: &Value,
    parameters: &mut Vec<Value>,
    name: impl Fn(Column) -> String,
) -> String {
    parameters.push(value.clone());
    format!("{} {operator} ?", name(column))
}

fn push_filter(text: &mut String, terms: impl Iterator<Item = String>) {
    for (place, term) in terms.enumerate() {
        let begin = if place == 0 { "WHERE" } else { "AND" };
        write!(text, " {begin} {term}").expect("a text takes all");
    }
}

fn push_limit(text: &mut String, query: &RowQuery, parameters: &mut Vec<Value>) {
    if let Some(rows_max) = query.rows_max {
        text.push_str(" LIMIT ?");
        parameters.push(rows_max.into());
    }
}

pub(super) fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

fn names(columns: &[Column], table: &Table) -> String {
    let names: Vec<&str> = columns.iter().map(|column| name(*column, table)).collect();
    names.join(", ")
}

/// Returns how a column is read.
fn name(column: Column, table: &Table) -> &'static str {
    match column {
        calls::CHANGE if *table == calls::TABLE => "coalesce(closed, number)",
        other => other.name,
    }
}
