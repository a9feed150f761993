//! Rows of values. Other programs may have changed a row, so a value that makes no sense is an error that
//! names its column, never a panic.

use super::{Column, Value};

/// Says which column of a row makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column} holds {found}, of which this haft can make no sense")]
pub struct RowError {
    /// The column.
    pub column: &'static str,
    /// The value that was found.
    pub found: String,
}

/// A row, or the part of it that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    columns: &'static [Column],
    values: Vec<Value>,
}

impl Row {
    /// Returns the row that has these values in these columns.
    pub fn new(columns: &'static [Column], values: Vec<Value>) -> Self {
        debug_assert_eq!(columns.len(), values.len(), "a row has a value for each column");
        Self { columns, values }
    }

    /// Returns the values in the order of the columns that were asked for.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    fn place(&self, column: Column) -> usize {
        let place = self.columns.iter().position(|other| other.at == column.at);
        place.expect("only columns that were asked for are read")
    }

    /// Returns what a column holds.
    pub fn value(&self, column: Column) -> &Value {
        &self.values[self.place(column)]
    }

    /// Returns whether a column holds nothing.
    pub(crate) fn is_null(&self, column: Column) -> bool {
        *self.value(column) == Value::Null
    }

    /// Takes a text out of the row.
    pub(crate) fn text(&mut self, column: Column) -> Result<String, RowError> {
        self.optional_text(column)?.ok_or_else(|| self.senseless(column))
    }

    /// Takes a text out of the row, if there is one.
    pub(crate) fn optional_text(&mut self, column: Column) -> Result<Option<String>, RowError> {
        let place = self.place(column);
        match &mut self.values[place] {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(std::mem::take(text))),
            Value::Integer(_) | Value::Unreadable(_) => Err(self.senseless(column)),
        }
    }

    /// Returns a number of a kind that may be narrower than a column.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: Column) -> Result<T, RowError> {
        self.optional_number(column)?.ok_or_else(|| self.senseless(column))
    }

    /// Returns such a number, if there is one.
    pub(crate) fn optional_number<T: TryFrom<i64>>(
        &self,
        column: Column,
    ) -> Result<Option<T>, RowError> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Integer(number) => {
                T::try_from(*number).map(Some).map_err(|_| self.senseless(column))
            }
            Value::Text(_) | Value::Unreadable(_) => Err(self.senseless(column)),
        }
    }

    /// Returns a flag.
    pub(crate) fn flag(&self, column: Column) -> Result<bool, RowError> {
        Ok(self.number::<i64>(column)? != 0)
    }

    /// Returns what a word of a closed list, or an id, stands for.
    pub(crate) fn word<T>(
        &self,
        column: Column,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, RowError> {
        self.optional_word(column, parse)?.ok_or_else(|| self.senseless(column))
    }

    /// Returns what such a word stands for, if there is one.
    pub(crate) fn optional_word<T>(
        &self,
        column: Column,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, RowError> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Text(text) => parse(text).map(Some).ok_or_else(|| self.senseless(column)),
            Value::Integer(_) | Value::Unreadable(_) => Err(self.senseless(column)),
        }
    }

    fn senseless(&self, column: Column) -> RowError {
        let found = match self.value(column) {
            Value::Null => "nothing".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => format!("{text:?}"),
            Value::Unreadable(text) => text.clone(),
        };
        RowError { column: column.name, found }
    }
}
