//! From the questions of a store to SQL. A [`Dialect`] holds what SQLite and PostgreSQL spell in different ways. Executing a
//! statement and reading its rows is done elsewhere.

use std::fmt::Write as _;

use crate::store::{Column, Row, RowCondition, RowQuery, Table, Tallied, Tally, Value};

/// The parts of SQL that databases spell in different ways.
pub(crate) struct Dialect {
    /// The text before the name of a table.
    pub(crate) schema: &'static str,
    /// Returns how a column is read.
    pub(crate) column: fn(Column) -> &'static str,
    /// Returns a value as the text of a statement holds it, if the planner must see it to know which part of an index is meant.
    pub(crate) literal: fn(Column, &Value) -> Option<String>,
    /// The column that says where a row is.
    pub(crate) place: &'static str,
    /// The texts around a query for the places of rows.
    pub(crate) among: [&'static str; 2],
}

/// A statement, with its parameters in their order.
#[derive(Default)]
pub(crate) struct SqlStatement {
    pub(crate) text: String,
    pub(crate) parameters: Vec<Value>,
}

impl SqlStatement {
    /// Adds a parameter, and returns how the text names it.
    pub(crate) fn parameter(&mut self, value: impl Into<Value>) -> String {
        self.parameters.push(value.into());
        format!("${}", self.parameters.len())
    }

    /// Adds a text that was formatted.
    pub(crate) fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a text takes all");
    }

    /// Adds a bound of rows.
    pub(crate) fn push_limit(&mut self, rows_max: Option<u32>) {
        if let Some(rows_max) = rows_max {
            let rows_max = self.parameter(rows_max);
            self.push(format_args!(" LIMIT {rows_max}"));
        }
    }
}

impl Dialect {
    /// Returns a query for `columns`. `index` follows the name of the table, `first` is the first condition, and `name` names the
    /// columns in the other conditions.
    pub(crate) fn select(
        &self,
        query: &RowQuery,
        columns: &str,
        (index, first): (&str, &str),
        name: impl Fn(Column) -> String,
    ) -> SqlStatement {
        let mut statement = SqlStatement::default();
        let (schema, table) = (self.schema, query.table.name);
        statement.push(format_args!("SELECT {columns} FROM {schema}{table}{index} WHERE {first}"));
        self.filter(&mut statement, &query.conditions, name);
        statement.push(format_args!(" ORDER BY {}", self.order(query)));
        statement.push_limit(query.rows_max);
        statement
    }

    /// Returns the columns in whose order the rows of a query come.
    pub(crate) fn order(&self, query: &RowQuery) -> String {
        let descending = if query.is_descending { " DESC" } else { "" };
        let columns = query.order.iter().map(|column| (self.column)(*column));
        columns.map(|name| format!("{name}{descending}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns a query that counts rows: the group first, then the rows, the bytes and the greatest numbers.
    pub(crate) fn tally(&self, tally: &Tally) -> SqlStatement {
        let mut statement = SqlStatement::default();
        let bytes = if tally.with_bytes { weight(tally.table) } else { "0".to_owned() };
        let greatest = tally.greatest.iter().map(|column| (self.column)(*column));
        let greatest: String = greatest.map(|name| format!(", max({name})")).collect();
        let (group, schema, table) = (self.names(tally.group), self.schema, tally.table.name);
        statement.push(format_args!(
            "SELECT {group}, count(*), CAST(coalesce(sum({bytes}), 0) AS bigint){greatest} \
             FROM {schema}{table} WHERE true"
        ));
        self.filter(&mut statement, &tally.conditions, |column| (self.column)(column).to_owned());
        statement.push(format_args!(" GROUP BY {group}"));
        statement
    }

    /// Returns a statement that deletes some of the rows that meet the conditions.
    pub(crate) fn delete(
        &self,
        table: &Table,
        conditions: &[RowCondition],
        rows_max: u32,
    ) -> SqlStatement {
        let mut statement = SqlStatement::default();
        let Self { schema, place, among: [before, after], .. } = self;
        let name = table.name;
        statement.push(format_args!(
            "DELETE FROM {schema}{name} WHERE {place} {before}SELECT {place} FROM {schema}{name} WHERE true"
        ));
        self.filter(&mut statement, conditions, |column| (self.column)(column).to_owned());
        statement.push_limit(Some(rows_max));
        statement.text.push_str(after);
        statement
    }

    /// Adds the conditions, each behind an `AND`.
    pub(crate) fn filter(
        &self,
        statement: &mut SqlStatement,
        conditions: &[RowCondition],
        name: impl Fn(Column) -> String,
    ) {
        let value = |statement: &mut SqlStatement, column: Column, value: &Value| {
            (self.literal)(column, value).unwrap_or_else(|| statement.parameter(value.clone()))
        };
        for condition in conditions {
            let (column, operator, wanted) = match condition {
                RowCondition::Equal(column, Value::Null) => {
                    statement.push(format_args!(" AND {} IS NULL", name(*column)));
                    continue;
                }
                RowCondition::Differs(column, Value::Null) => {
                    statement.push(format_args!(" AND {} IS NOT NULL", name(*column)));
                    continue;
                }
                RowCondition::OneOf(column, values) => {
                    let Some(last) = values.last() else {
                        statement.text.push_str(" AND false");
                        continue;
                    };
                    // The last value is repeated up to a power of two, so that there are few texts to compile.
                    let repeated = values.len().next_power_of_two() - values.len();
                    let values = values.iter().chain(std::iter::repeat_n(last, repeated));
                    let values: Vec<String> =
                        values.map(|value| statement.parameter(value.clone())).collect();
                    let column = name(*column);
                    statement.push(format_args!(" AND {column} IN ({})", values.join(", ")));
                    continue;
                }
                RowCondition::Behind(columns, values) | RowCondition::Before(columns, values) => {
                    let is_behind = matches!(condition, RowCondition::Behind(..));
                    let operator = if is_behind { ">" } else { "<" };
                    let pairs = columns.iter().zip(values);
                    let values: Vec<String> =
                        pairs.map(|(column, bound)| value(statement, *column, bound)).collect();
                    let columns: Vec<String> = columns.iter().map(|column| name(*column)).collect();
                    let (columns, values) = (columns.join(", "), values.join(", "));
                    statement.push(format_args!(" AND ({columns}) {operator} ({values})"));
                    continue;
                }
                RowCondition::Equal(column, value) => (*column, "=", value),
                RowCondition::Differs(column, value) => (*column, "IS DISTINCT FROM", value),
                RowCondition::Above(column, value) => (*column, ">", value),
                RowCondition::AtLeast(column, value) => (*column, ">=", value),
                RowCondition::Below(column, value) => (*column, "<", value),
                RowCondition::AtMost(column, value) => (*column, "<=", value),
            };
            let wanted = value(statement, column, wanted);
            statement.push(format_args!(" AND {} {operator} {wanted}", name(column)));
        }
    }

    /// Returns how columns are read.
    pub(crate) fn names(&self, columns: &[Column]) -> String {
        columns.iter().map(|column| (self.column)(*column)).collect::<Vec<_>>().join(", ")
    }
}

/// Returns how many bytes the texts of a row have that count.
pub(crate) fn weight(table: &Table) -> String {
    let weights = table.weighed.iter();
    let weights = weights.map(|column| format!("coalesce(octet_length({}), 0)", column.name));
    let weights: Vec<String> = weights.collect();
    if weights.is_empty() { "0".to_owned() } else { weights.join(" + ") }
}

/// Returns the answer of a query that counts, from one of its rows.
pub(crate) fn tallied(group: Row, numbers: &[Option<i64>]) -> Tallied {
    let count = |place: usize| {
        let number = numbers.get(place).copied().flatten().unwrap_or_default();
        u64::try_from(number).unwrap_or_default()
    };
    let greatest = numbers.get(2..).unwrap_or_default().to_vec();
    Tallied { group, rows: count(0), bytes: count(1), greatest }
}
