//! From the questions of the store to SQL, and from PostgreSQL's values to the store's.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::pin::pin;

use futures_util::TryStreamExt as _;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row as PgRow, RowStream};

use super::failure::Trouble;
use super::text::{restored, stored};
use crate::store::{
    Column, ColumnKind, Condition, Row, RowQuery, Table, Tallied, Tally, Value, calls,
};

/// A parameter, with the type that it has for PostgreSQL.
pub(super) enum Parameter {
    Number(i64),
    Text(String),
    Texts(Vec<String>),
}

impl Parameter {
    fn of(value: &Value) -> Self {
        match value {
            Value::Integer(number) => Self::Number(*number),
            Value::Text(text) | Value::Unreadable(text) => Self::Text(stored(text).into_owned()),
            Value::Null => unreachable!("nothing is compared with nothing"),
        }
    }

    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Number(number) => (number, Type::INT8),
            Self::Text(text) => (text, Type::TEXT),
            Self::Texts(texts) => (texts, Type::TEXT_ARRAY),
        }
    }
}

/// A statement that asks.
pub(super) struct Select {
    text: String,
    parameters: Vec<Parameter>,
}

impl Select {
    /// Asks in a session.
    pub(super) async fn ask(&self, db: &Client) -> Result<RowStream, Trouble> {
        let parameters = self.parameters.iter().map(Parameter::typed);
        Ok(db.query_typed_raw(&self.text, parameters).await?)
    }

    /// Returns how a query is asked.
    pub(super) fn rows(query: &RowQuery) -> Self {
        let mut select = Self { text: String::new(), parameters: Vec::new() };
        let filter = select.filter(&query.conditions, query.order == [calls::CHANGE]);
        let descending = if query.is_descending { " DESC" } else { "" };
        let order: Vec<String> =
            query.order.iter().map(|column| format!("{}{descending}", column.name)).collect();
        let order = order.join(", ");
        let limit = match query.rows_max {
            Some(rows_max) => {
                select.parameters.push(Parameter::Number(i64::from(rows_max)));
                format!(" LIMIT ${}", select.parameters.len())
            }
            None => String::new(),
        };
        let (columns, table) = (names(query.columns), query.table.name);
        select.text = match query.bytes_max {
            None => {
                format!("SELECT {columns} FROM haft.{table} WHERE {filter} ORDER BY {order}{limit}")
            }
            // The row that crosses the bound is the last. Nothing has to be unpacked to know how much it holds.
            Some(bytes_max) => format!(
                "SELECT {columns} FROM (\
                 SELECT *, sum(bytes) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM (\
                 SELECT *, {} AS bytes FROM haft.{table} WHERE {filter} ORDER BY {order}{limit}\
                 ) AS found) AS measured WHERE bytes_before < {bytes_max} ORDER BY {order}",
                weight(query.table)
            ),
        };
        select
    }

    /// Returns how rows are counted.
    pub(super) fn tally(tally: &Tally) -> Self {
        let mut select = Self { text: String::new(), parameters: Vec::new() };
        let filter = select.filter(&tally.conditions, false);
        let bytes = match tally.with_bytes {
            true => format!("coalesce(sum({}), 0)::bigint", weight(tally.table)),
            false => "0::bigint".to_owned(),
        };
        let greatest: String =
            tally.greatest.iter().map(|column| format!(", max({})", column.name)).collect();
        let (group, table) = (names(tally.group), tally.table.name);
        select.text = format!(
            "SELECT {group}, count(*), {bytes}{greatest} FROM haft.{table} WHERE {filter} GROUP BY {group}"
        );
        select
    }

    /// Returns how some of the rows that meet the conditions are deleted.
    pub(super) fn delete(table: &Table, conditions: &[Condition], rows_max: u32) -> Self {
        let mut select = Self { text: String::new(), parameters: Vec::new() };
        let filter = select.filter(conditions, false);
        select.parameters.push(Parameter::Number(i64::from(rows_max)));
        let (name, limit) = (table.name, select.parameters.len());
        select.text = format!(
            "DELETE FROM haft.{name} WHERE ctid = ANY (ARRAY(\
             SELECT ctid FROM haft.{name} WHERE {filter} LIMIT ${limit}))"
        );
        select
    }

    /// Executes a statement that answers no rows, and returns how many it was about.
    pub(super) async fn execute(&self, db: &Client) -> Result<u64, Trouble> {
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::typed).collect();
        Ok(db.execute_typed(&self.text, &parameters).await?)
    }

    /// Returns the conditions. The index that follows a run is of the expression `run || ''`: see the schema.
    fn filter(&mut self, conditions: &[Condition], follows_run: bool) -> String {
        let mut text = "true".to_owned();
        for condition in conditions {
            text.push_str(" AND ");
            match condition {
                Condition::Equal(column, value) => {
                    let is_followed = follows_run && *column == calls::RUN;
                    let operator = if *value == Value::Null { "IS" } else { "=" };
                    let followed = if is_followed { " || ''" } else { "" };
                    let value = self.value(*column, value);
                    write!(text, "{}{followed} {operator} {value}", column.name)
                }
                Condition::Differs(column, value) => {
                    let value = self.value(*column, value);
                    write!(text, "{} IS DISTINCT FROM {value}", column.name)
                }
                Condition::Above(column, value) => self.compare(&mut text, *column, ">", value),
                Condition::AtLeast(column, value) => self.compare(&mut text, *column, ">=", value),
                Condition::Below(column, value) => self.compare(&mut text, *column, "<", value),
                Condition::AtMost(column, value) => self.compare(&mut text, *column, "<=", value),
                Condition::OneOf(column, values) => {
                    let texts = values.iter().filter_map(|value| match value {
                        Value::Text(text) => Some(stored(text).into_owned()),
                        Value::Null | Value::Integer(_) | Value::Unreadable(_) => None,
                    });
                    self.parameters.push(Parameter::Texts(texts.collect()));
                    write!(text, "{} = ANY (${})", column.name, self.parameters.len())
                }
                Condition::Behind(columns, values) => {
                    let values: Vec<String> = columns
                        .iter()
                        .zip(values)
                        .map(|(column, value)| self.value(*column, value))
                        .collect();
                    write!(text, "({}) > ({})", names(columns), values.join(", "))
                }
            }
            .expect("a text takes all");
        }
        text
    }

    fn compare(
        &mut self,
        text: &mut String,
        column: Column,
        operator: &str,
        value: &Value,
    ) -> std::fmt::Result {
        let value = self.value(column, value);
        write!(text, "{} {operator} {value}", column.name)
    }

    /// Returns how a value is written. Words and flags are spelled out, so that the planner sees which part of an index is
    /// meant.
    fn value(&mut self, column: Column, value: &Value) -> String {
        match (column.kind, value) {
            (_, Value::Null) => "NULL".to_owned(),
            (ColumnKind::Flag, Value::Integer(flag)) => (*flag != 0).to_string(),
            (ColumnKind::Word, Value::Text(word)) => format!("'{}'", word.replace('\'', "''")),
            (_, value) => {
                self.parameters.push(Parameter::of(value));
                format!("${}", self.parameters.len())
            }
        }
    }
}

/// Shows rows as they come.
pub(super) async fn show(
    rows: RowStream,
    columns: &'static [Column],
    visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let mut rows = pin!(rows);
    while let Some(found) = rows.try_next().await? {
        if visit(row(&found, 0, columns)?).is_break() {
            break;
        }
    }
    Ok(())
}

/// Reads what was counted.
pub(super) async fn tallied(rows: RowStream, tally: &Tally) -> Result<Vec<Tallied>, Trouble> {
    let mut rows = pin!(rows);
    let mut found = Vec::new();
    while let Some(group) = rows.try_next().await? {
        let first = tally.group.len();
        let number = |place| -> Result<u64, Trouble> {
            Ok(u64::try_from(group.try_get::<_, i64>(place)?).unwrap_or_default())
        };
        let greatest = first + 2..first + 2 + tally.greatest.len();
        found.push(Tallied {
            group: row(&group, 0, tally.group)?,
            rows: number(first)?,
            bytes: number(first + 1)?,
            greatest: greatest.map(|place| group.try_get(place)).collect::<Result<_, _>>()?,
        });
    }
    Ok(found)
}

/// Reads the columns of a row from the one after `before` on.
pub(super) fn row(row: &PgRow, before: usize, columns: &'static [Column]) -> Result<Row, Trouble> {
    let mut values = Vec::with_capacity(columns.len());
    for (place, column) in (before..).zip(columns) {
        values.push(match column.kind {
            ColumnKind::Integer => row.try_get::<_, Option<i64>>(place)?.map(Value::Integer),
            ColumnKind::Flag => row.try_get::<_, Option<bool>>(place)?.map(Value::from),
            ColumnKind::Text | ColumnKind::Word => {
                row.try_get::<_, Option<String>>(place)?.map(|text| Value::Text(restored(text)))
            }
        });
    }
    let values = values.into_iter().map(|value| value.unwrap_or(Value::Null)).collect();
    Ok(Row::new(columns, values))
}

/// The values of one column for many rows, as an array.
pub(super) enum Array {
    Numbers(Vec<Option<i64>>),
    Flags(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

impl Array {
    pub(super) fn of<'a>(column: Column, values: impl Iterator<Item = &'a Value>) -> Self {
        let number = |value: &Value| match value {
            Value::Integer(number) => Some(*number),
            Value::Null | Value::Text(_) | Value::Unreadable(_) => None,
        };
        match column.kind {
            ColumnKind::Integer => Self::Numbers(values.map(number).collect()),
            ColumnKind::Flag => {
                Self::Flags(values.map(|value| number(value).map(|flag| flag != 0)).collect())
            }
            ColumnKind::Text | ColumnKind::Word => Self::Texts(
                values
                    .map(|value| match value {
                        Value::Text(text) => Some(stored(text).into_owned()),
                        Value::Null | Value::Integer(_) | Value::Unreadable(_) => None,
                    })
                    .collect(),
            ),
        }
    }

    pub(super) fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Numbers(numbers) => numbers,
            Self::Flags(flags) => flags,
            Self::Texts(texts) => texts,
        }
    }
}

/// Returns a table of arrays: one for each column, from the first parameter on.
pub(super) fn unnested<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    let types = (1..).zip(columns).map(|(number, column)| match column.kind {
        ColumnKind::Integer => format!("${number}::bigint[]"),
        ColumnKind::Flag => format!("${number}::boolean[]"),
        ColumnKind::Text | ColumnKind::Word => format!("${number}::text[]"),
    });
    format!("unnest({}) WITH ORDINALITY", types.collect::<Vec<_>>().join(", "))
}

pub(super) fn names(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Returns how much a row weighs.
fn weight(table: &Table) -> String {
    let weights = table.weighed.iter();
    let weights = weights.map(|column| format!("coalesce(octet_length({}), 0)", column.name));
    let weights: Vec<String> = weights.collect();
    if weights.is_empty() { "0".to_owned() } else { weights.join(" + ") }
}
