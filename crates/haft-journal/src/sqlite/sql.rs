//! From the questions of the store to SQL, and from SQLite's values to the store's. How SQLite finds rows is fixed here: where
//! its planner could take a wrong index, the statement names the right one.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row as SqliteRow, params_from_iter};

use crate::CallStatus;
use crate::sql::{Dialect, SqlStatement, tallied};
use crate::store::{
    Column, ColumnKind, Row, RowCondition, RowQuery, Table, Tallied, Tally, Value, calls,
};

/// Flags are spelled out.
pub(super) const DIALECT: Dialect = Dialect {
    schema: "",
    column: |column| match column {
        calls::CHANGE => "coalesce(closed, number)",
        other => other.name,
    },
    literal: |column, value| match (column.kind, value) {
        (ColumnKind::Flag, Value::Integer(flag)) => Some(flag.to_string()),
        _ => None,
    },
    place: "rowid",
    among: ["IN (", ")"],
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

/// Reads the first columns of a row.
pub(super) fn row(row: &SqliteRow<'_>, columns: &'static [Column]) -> rusqlite::Result<Row> {
    let mut values = Vec::with_capacity(columns.len());
    for place in 0..columns.len() {
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
    let SqlStatement { text, parameters } = select(query);
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
        let row = row(found, query.columns)?;
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
    let SqlStatement { text, parameters } = DIALECT.tally(tally);
    let mut statement = db.prepare_cached(&text)?;
    let mut rows = statement.query(params_from_iter(parameters.iter().map(Bound)))?;
    let mut found = Vec::new();
    while let Some(group) = rows.next()? {
        let numbers = tally.group.len()..group.as_ref().column_count();
        let numbers = numbers.map(|place| group.get(place)).collect::<Result<Vec<_>, _>>()?;
        found.push(tallied(row(group, tally.group)?, &numbers));
    }
    Ok(found)
}

/// Returns how SQLite is asked.
pub(super) fn select(query: &RowQuery) -> SqlStatement {
    if *query.table == calls::TABLE && query.order == [calls::CHANGE] {
        return select_by_change(query);
    }
    let intended = Value::from(CallStatus::Intended.as_str());
    let is_call = *query.table == calls::TABLE;
    let is_open = is_call && query.equal(calls::STATUS) == Some(&intended);
    let found = if is_open {
        (" INDEXED BY calls_by_change", "closed IS NULL")
    } else if is_call && query.equal(calls::DRIVER_CALL_ID).is_some() {
        (" INDEXED BY calls_by_driver", "true")
    } else {
        ("", "true")
    };
    DIALECT.select(query, &DIALECT.names(query.columns), found, |column| {
        let name = (DIALECT.column)(column);
        if is_open { format!("+{name}") } else { name.to_owned() }
    })
}

/// The number of a row is the change number that recorded the call. `closed` is that of the latest change since the call was no
/// longer open; an open one has none. So what is open, of which there is never much, is merged with all else; an
/// index has either in the order of its changes. No other column is looked up in an index, whose order would
/// then have to be sorted away: following a long run would cost its whole length each time.
fn select_by_change(query: &RowQuery) -> SqlStatement {
    let (bounds, others): (Vec<RowCondition>, Vec<RowCondition>) =
        query.conditions.iter().cloned().partition(|condition| {
            matches!(
                condition,
                RowCondition::Above(calls::CHANGE, _) | RowCondition::Below(calls::CHANGE, _)
            )
        });
    let mut since = Value::Integer(0);
    let mut until = None;
    for bound in bounds {
        match bound {
            RowCondition::Above(_, above) => since = above,
            RowCondition::Below(_, below) => until = Some(below),
            _ => {}
        }
    }
    let half = |statement: &mut SqlStatement,
                change: &str,
                (index, begin): (&str, &str),
                looks_up_run: bool| {
        let columns = query.columns.iter();
        let columns: Vec<&str> = columns
            .map(|column| if *column == calls::CHANGE { change } else { column.name })
            .collect();
        let (columns, since) = (columns.join(", "), statement.parameter(since.clone()));
        statement.push(format_args!(
            "SELECT {columns}, {change} FROM calls INDEXED BY {index} WHERE {begin}{change} > {since}"
        ));
        if let Some(until) = &until {
            let until = statement.parameter(until.clone());
            statement.push(format_args!(" AND {change} < {until}"));
        }
        DIALECT.filter(statement, &others, |column| match column {
            calls::RUN if looks_up_run => "run".to_owned(),
            other => format!("+{}", other.name),
        });
    };
    let mut statement = SqlStatement::default();
    let intended = Value::from(CallStatus::Intended.as_str());
    let may_be_open = others.iter().all(|condition| match condition {
        RowCondition::Equal(calls::STATUS, status) => *status == intended,
        RowCondition::OneOf(calls::STATUS, statuses) => statuses.contains(&intended),
        _ => true,
    });
    if may_be_open {
        half(&mut statement, "number", ("calls_by_change", "closed IS NULL AND "), false);
        statement.text.push_str(" UNION ALL ");
    }
    let has_run = query.equal(calls::RUN).is_some();
    let index = if has_run { "calls_of_run" } else { "calls_by_change" };
    half(&mut statement, "closed", (index, ""), has_run);
    let descending = if query.is_descending { " DESC" } else { "" };
    statement.push(format_args!(" ORDER BY {}{descending}", query.columns.len() + 1));
    statement.push_limit(query.rows_max);
    statement
}

pub(super) fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}
