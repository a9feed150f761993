//! How PostgreSQL is asked, and how values get into it and back.

use std::error::Error;
use std::ops::ControlFlow;
use std::pin::pin;

use futures_util::TryStreamExt as _;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row as PgRow, RowStream};

use super::failure::Trouble;
use super::text::{restored, stored};
use crate::sql::{Dialect, SqlStatement, tallied, weight};
use crate::store::{Column, ColumnKind, Row, RowQuery, Tallied, Tally, Value, calls};

/// Flags and words are spelled out. A single `IN` would not find rows by their places.
pub(super) const DIALECT: Dialect = Dialect {
    schema: "haft.",
    column: |column| column.name,
    literal: |column, value| match (column.kind, value) {
        (ColumnKind::Flag, Value::Integer(flag)) => Some((*flag != 0).to_string()),
        (ColumnKind::Word, Value::Text(word)) => Some(format!("'{}'", word.replace('\'', "''"))),
        _ => None,
    },
    place: "ctid",
    among: ["= ANY (ARRAY(", "))"],
};

/// A parameter of a statement.
pub(super) type SqlParameter<'a> = Box<dyn ToSql + Sync + 'a>;

/// Returns the parameters of a statement, each with the type that it has for PostgreSQL.
fn parameters(statement: &SqlStatement) -> impl Iterator<Item = (SqlParameter<'_>, Type)> {
    statement.parameters.iter().map(|value| -> (SqlParameter<'_>, Type) {
        match value {
            Value::Integer(number) => (Box::new(number), Type::INT8),
            Value::Text(text) | Value::Unreadable(text) => (Box::new(stored(text)), Type::TEXT),
            Value::Null => unreachable!("nothing is compared with nothing"),
        }
    })
}

/// Returns the values of one column for many rows, as an array.
pub(super) fn array<'a>(
    column: Column,
    values: impl Iterator<Item = &'a Value>,
) -> SqlParameter<'a> {
    let number = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        Value::Null | Value::Text(_) | Value::Unreadable(_) => None,
    };
    let text = |value: &'a Value| match value {
        Value::Text(text) => Some(stored(text)),
        Value::Null | Value::Integer(_) | Value::Unreadable(_) => None,
    };
    match column.kind {
        ColumnKind::Integer => Box::new(values.map(number).collect::<Vec<_>>()),
        ColumnKind::Flag => {
            let flag = |value: &Value| number(value).map(|flag| flag != 0);
            Box::new(values.map(flag).collect::<Vec<_>>())
        }
        ColumnKind::Text | ColumnKind::Word => Box::new(values.map(text).collect::<Vec<_>>()),
    }
}

/// A value that was found.
struct Found(Value);

impl<'a> FromSql<'a> for Found {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *of {
            Type::INT8 => Value::Integer(i64::from_sql(of, raw)?),
            Type::BOOL => bool::from_sql(of, raw)?.into(),
            _ => Value::Text(restored(String::from_sql(of, raw)?)),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8, Type::BOOL, Type::TEXT].contains(of)
    }
}

/// Returns how rows are asked for.
fn select(query: &RowQuery) -> SqlStatement {
    // The index that follows a run is of the expression `run || ''`: see the schema.
    let follows_run = query.order == [calls::CHANGE];
    let name = |column: Column| match column {
        calls::RUN if follows_run => "run || ''".to_owned(),
        other => other.name.to_owned(),
    };
    let columns = DIALECT.names(query.columns);
    let Some(bytes_max) = query.bytes_max else {
        return DIALECT.select(query, &columns, ("", "true"), name);
    };
    let measured = format!("*, {} AS bytes", weight(query.table));
    let SqlStatement { text, parameters } = DIALECT.select(query, &measured, ("", "true"), name);
    let order = DIALECT.order(query);
    // The row that crosses the bound is the last. Nothing has to be unpacked to know how much it holds.
    let text = format!(
        "SELECT {columns} FROM (\
         SELECT *, sum(bytes) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM (\
         {text}) AS found) AS measured WHERE bytes_before < {bytes_max} ORDER BY {order}"
    );
    SqlStatement { text, parameters }
}

async fn ask(db: &Client, statement: &SqlStatement) -> Result<RowStream, Trouble> {
    Ok(db.query_typed_raw(&statement.text, parameters(statement)).await?)
}

/// Executes a statement that answers no rows, and returns how many it was about.
pub(super) async fn execute(db: &Client, statement: &SqlStatement) -> Result<u64, Trouble> {
    let parameters: Vec<_> = parameters(statement).collect();
    let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
        parameters.iter().map(|(value, of)| (&**value, of.clone())).collect();
    Ok(db.execute_typed(&statement.text, &parameters).await?)
}

/// Shows the rows that a query asks for, as they come. The futures are sent together: `begun` first.
pub(super) async fn scan(
    db: &Client,
    begun: impl Future<Output = Result<(), Trouble>>,
    query: &RowQuery,
    visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let statement = select(query);
    let (begun, rows) = tokio::join!(biased; begun, ask(db, &statement));
    begun?;
    let mut rows = pin!(rows?);
    while let Some(found) = rows.try_next().await? {
        if visit(row(&found, 0, query.columns)?).is_break() {
            break;
        }
    }
    Ok(())
}

/// Counts rows. The futures are sent together: `begun` first.
pub(super) async fn tally(
    db: &Client,
    begun: impl Future<Output = Result<(), Trouble>>,
    tally: &Tally,
) -> Result<Vec<Tallied>, Trouble> {
    let statement = DIALECT.tally(tally);
    let (begun, rows) = tokio::join!(biased; begun, ask(db, &statement));
    begun?;
    let mut rows = pin!(rows?);
    let mut found = Vec::new();
    while let Some(group) = rows.try_next().await? {
        let numbers = tally.group.len()..group.len();
        let numbers = numbers.map(|place| group.try_get(place)).collect::<Result<Vec<_>, _>>()?;
        found.push(tallied(row(&group, 0, tally.group)?, &numbers));
    }
    Ok(found)
}

/// Reads the columns of a row from the one after `before` on.
pub(super) fn row(row: &PgRow, before: usize, columns: &'static [Column]) -> Result<Row, Trouble> {
    let places = before..before + columns.len();
    let values = places.map(|place| Ok(row.try_get::<_, Found>(place)?.0));
    Ok(Row::new(columns, values.collect::<Result<_, Trouble>>()?))
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
