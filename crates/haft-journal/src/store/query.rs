//! Queries for the rows of a table. A store may answer by looking at every row: [`RowCondition::holds`] and [`Tally::count`] say
//! what
//! the answer is. A database translates the question instead.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{Column, Row, StoreFailure, Table, Value};

/// Something that a row must fulfil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowCondition {
    /// The column holds this. Nothing is equal to nothing.
    Equal(Column, Value),
    /// The column holds something else, or nothing.
    Differs(Column, Value),
    /// The column holds one of these.
    OneOf(Column, Vec<Value>),
    /// The column holds more.
    Above(Column, Value),
    /// The column holds this or more.
    AtLeast(Column, Value),
    /// The column holds less.
    Below(Column, Value),
    /// The column holds this or less.
    AtMost(Column, Value),
    /// The columns, compared one after the other, hold more.
    Behind(&'static [Column], Vec<Value>),
    /// The columns, compared one after the other, hold less.
    Before(&'static [Column], Vec<Value>),
}

impl RowCondition {
    /// Returns whether a row fulfils it, of which `value` returns the columns. Nothing is neither more nor less than anything.
    pub fn holds<'a>(&self, value: impl Fn(Column) -> &'a Value) -> bool {
        match self {
            Self::Equal(column, wanted) => value(*column) == wanted,
            Self::Differs(column, unwanted) => value(*column) != unwanted,
            Self::OneOf(column, wanted) => wanted.contains(value(*column)),
            Self::Above(column, bound) => value(*column) > bound && *value(*column) != Value::Null,
            Self::AtLeast(column, bound) => {
                value(*column) >= bound && *value(*column) != Value::Null
            }
            Self::Below(column, bound) => value(*column) < bound && *value(*column) != Value::Null,
            Self::AtMost(column, bound) => {
                value(*column) <= bound && *value(*column) != Value::Null
            }
            Self::Behind(columns, bounds) => {
                columns.iter().map(|column| value(*column)).gt(bounds.iter())
            }
            Self::Before(columns, bounds) => {
                columns.iter().map(|column| value(*column)).lt(bounds.iter())
            }
        }
    }
}

/// Asks for rows of a table: those that fulfil every condition.
#[derive(Clone, Debug)]
pub struct RowQuery {
    /// The table.
    pub table: &'static Table,
    /// The columns that are wanted of each row.
    pub columns: &'static [Column],
    /// The conditions that each row must fulfil.
    pub conditions: Vec<RowCondition>,
    /// The columns in whose order the rows come.
    pub order: &'static [Column],
    /// Whether the greatest comes first.
    pub is_descending: bool,
    /// Answers no more rows than this.
    pub rows_max: Option<u32>,
    /// The answer ends with the row that crosses this many bytes of what the table [weighs](Table::weighed).
    pub bytes_max: Option<usize>,
}

impl RowQuery {
    /// Asks for all rows of a table, in the order of its key.
    pub fn of(table: &'static Table, columns: &'static [Column]) -> Self {
        Self {
            table,
            columns,
            conditions: Vec::new(),
            order: table.key,
            is_descending: false,
            rows_max: None,
            bytes_max: None,
        }
    }

    /// Adds conditions.
    #[must_use]
    pub fn with(mut self, conditions: impl IntoIterator<Item = RowCondition>) -> Self {
        self.conditions.extend(conditions);
        self
    }

    /// Returns the query in this order.
    #[must_use]
    pub(crate) fn in_order(self, order: &'static [Column]) -> Self {
        Self { order, ..self }
    }

    /// Returns the query in this order, the greatest first.
    #[must_use]
    pub(crate) fn latest_first(self, order: &'static [Column]) -> Self {
        Self { order, is_descending: true, ..self }
    }

    /// Returns the query for no more rows than this.
    #[must_use]
    pub(crate) fn at_most(self, rows_max: u32) -> Self {
        Self { rows_max: Some(rows_max), ..self }
    }

    /// Shows the answer, found among rows that have all columns of the table. A store calls this that has all rows at hand.
    pub fn answer<'a>(
        &self,
        rows: impl Iterator<Item = &'a Vec<Value>>,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) {
        let values = |row: &[Value], columns: &[Column]| -> Vec<Value> {
            columns.iter().map(|column| row[column.at].clone()).collect()
        };
        let fits = |row: &&Vec<Value>| {
            self.conditions.iter().all(|condition| condition.holds(|column| &row[column.at]))
        };
        let mut found: Vec<&Vec<Value>> = rows.filter(fits).collect();
        found.sort_by_cached_key(|row| values(row, self.order));
        if self.is_descending {
            found.reverse();
        }
        let rows_max =
            self.rows_max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        let mut bytes = 0;
        for row in found.into_iter().take(rows_max) {
            let weighed = self.table.weighed.iter();
            bytes += weighed.map(|column| row[column.at].text_bytes()).sum::<usize>();
            let is_full = self.bytes_max.is_some_and(|bytes_max| bytes >= bytes_max);
            if visit(Row::new(self.columns, values(row, self.columns))).is_break() || is_full {
                break;
            }
        }
    }

    /// Returns what a column must be equal to, if that is a condition.
    pub fn equal(&self, column: Column) -> Option<&Value> {
        self.conditions.iter().find_map(|condition| match condition {
            RowCondition::Equal(of, value) if of.at == column.at => Some(value),
            _ => None,
        })
    }
}

/// The counts of a group of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallied {
    /// The values that the rows have in common.
    pub group: Row,
    /// How many they are.
    pub rows: u64,
    /// The greatest numbers, in the order in which they were asked for.
    pub greatest: Vec<Option<i64>>,
    /// How many bytes their texts have, of those that the table [weighs](Table::weighed); 0 if that was not asked.
    pub bytes: u64,
}

/// Asks for counts.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The table.
    pub table: &'static Table,
    /// The conditions that each row must fulfil.
    pub conditions: Vec<RowCondition>,
    /// Rows that have the same values here are counted together.
    pub group: &'static [Column],
    /// Numbers of which the greatest are wanted.
    pub greatest: &'static [Column],
    /// Whether the bytes of the rows are wanted.
    pub with_bytes: bool,
}

impl Tally {
    /// Counts by looking at each row.
    pub fn count(
        &self,
        scan: impl FnOnce(&RowQuery, &mut dyn FnMut(Row) -> ControlFlow<()>) -> Result<(), StoreFailure>,
    ) -> Result<Vec<Tallied>, StoreFailure> {
        let mut groups: BTreeMap<Vec<Value>, Tallied> = BTreeMap::new();
        let query =
            RowQuery::of(self.table, self.table.columns).with(self.conditions.iter().cloned());
        scan(&query, &mut |row| {
            let group: Vec<Value> =
                self.group.iter().map(|column| row.value(*column).clone()).collect();
            let tallied = groups.entry(group.clone()).or_insert_with(|| Tallied {
                group: Row::new(self.group, group),
                rows: 0,
                greatest: vec![None; self.greatest.len()],
                bytes: 0,
            });
            tallied.rows += 1;
            for (greatest, column) in tallied.greatest.iter_mut().zip(self.greatest) {
                if let Value::Integer(number) = row.value(*column) {
                    *greatest = (*greatest).max(Some(*number));
                }
            }
            let weight: usize =
                self.table.weighed.iter().map(|column| row.value(*column).text_bytes()).sum();
            if self.with_bytes {
                tallied.bytes += u64::try_from(weight).unwrap_or(u64::MAX);
            }
            ControlFlow::Continue(())
        })?;
        Ok(groups.into_values().collect())
    }
}
