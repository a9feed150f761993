//! A screen that several writers share: a view, and the questions to the person.

use haft_contract::BoxFuture;

/// A view on the terminal that makes room for questions.
pub(crate) trait SharedScreen: Send + Sync {
    /// Returns once the view leaves the terminal to a question.
    fn release_terminal(&self) -> BoxFuture<'_, ()>;
    /// Takes the terminal back.
    fn reclaim_terminal(&self);
}
