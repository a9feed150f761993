//! The answers of a journal, which come later.

use haft_contract::BoxFuture;

use crate::JournalError;

/// The answer of a method of a journal.
pub type JournalFuture<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// The end of a record that is on its way: whether it was made, as durably as was promised.
pub type CommitFuture = BoxFuture<'static, Result<(), JournalError>>;
