//! The versions of the schema, and how a database gets from one to the next. A version is never skipped and never
//! taken back.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::failure;
use crate::JournalError;

/// The steps from each version to the next; the version of a database is how many of them it has taken.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
];

/// Marks a database as a journal of haft: the letters of its name.
const APPLICATION_ID: i64 = 0x6861_6674;

/// Returns whether the database is up to date, or says why it can never be.
pub(super) fn is_current(db: &mut Connection, path: &Path) -> Result<bool, JournalError> {
    let transaction = db.transaction().map_err(|err| failure::journal_error(path, &err))?;
    missing_steps(&transaction, path).map(<[_]>::is_empty)
}

/// Brings the database up to date.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), JournalError> {
    let fail = |err| failure::journal_error(path, &err);
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    // Counted under the lock: another process may have come first.
    for step in missing_steps(&transaction, path)? {
        transaction.execute_batch(step).map_err(fail)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
    transaction.pragma_update(None, "user_version", newest()).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// Returns the version that this haft writes.
fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Returns the steps that the database has not taken yet, or says why it is not one that can take them. All of this
/// is read in one transaction: between two, another process may bring the database up to date, and what was read
/// before and after that makes no journal.
fn missing_steps(
    db: &Transaction<'_>,
    path: &Path,
) -> Result<&'static [&'static str], JournalError> {
    let number = |text| {
        let value: rusqlite::Result<i64> = db.query_row(text, [], |row| row.get(0));
        value.map_err(|err| failure::journal_error(path, &err))
    };
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let is_new =
        application == 0 && version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0;
    if application != APPLICATION_ID && !is_new {
        let reason = "it is an SQLite database of another program".to_owned();
        return Err(JournalError::NotAJournal { path: path.to_owned(), reason });
    }
    let steps = usize::try_from(version).ok().and_then(|taken| STEPS.get(taken..));
    steps.ok_or_else(|| JournalError::NewerSchema {
        path: path.to_owned(),
        found: version,
        supported: newest(),
    })
}
