//! The part of a journal that records asks. The machine implements it, and says which answer is valid.

use crate::{AskChanges, AskEnd, AskQuery, AskRow, JournalFuture, NewAsk, NewAskAnswer};

/// Records asks and their answers.
///
/// An ask is pending until the first of these: a valid answer, its end by the process that asked, the end of the lease under
/// which its call is made. The same commit removes its contents from the content store.
pub trait AskJournal: Send + Sync + 'static {
    /// Records an ask before a person is asked, as firmly as its call needs: what the owner of a lease survives.
    ///
    /// If the fencing token is over, the answer is [`JournalError::Fenced`](crate::JournalError::Fenced).
    fn open_ask(&self, ask: NewAsk) -> JournalFuture<'_, AskRow>;

    /// Records an answer, if the ask still waits for one and shows what the answer is about. Returns the ask as it is then.
    ///
    /// Else the answer is [`JournalError::AskEnded`](crate::JournalError::AskEnded) with the ask as it ended,
    /// [`JournalError::AskDiffers`](crate::JournalError::AskDiffers) or
    /// [`JournalError::UnknownAsk`](crate::JournalError::UnknownAsk). This needs no lease.
    fn answer_ask(&self, answer: NewAskAnswer) -> JournalFuture<'_, AskRow>;

    /// Ends an ask without an answer, and returns it. One that has ended before stays as it is.
    fn end_ask(&self, ask: &str, end: AskEnd, now_ms: u64) -> JournalFuture<'_, AskRow>;

    /// Records that the process that asked received the answer, and returns the ask with the new input, if the answer has
    /// one. Only the lease of the ask may do so: if it is over, the answer is
    /// [`JournalError::Fenced`](crate::JournalError::Fenced), and the call does not execute.
    fn receive_answer(&self, ask: &str, now_ms: u64)
    -> JournalFuture<'_, (AskRow, Option<String>)>;

    /// Returns the asks that fit the query.
    fn asks(&self, query: AskQuery) -> JournalFuture<'_, Vec<AskRow>>;

    /// Returns all that an ask shows to a person; `None` once it has ended. Its SHA-256 is that of
    /// [`AskRow::shown`].
    fn shown_of_ask(&self, ask: &AskRow) -> JournalFuture<'_, Option<String>>;

    /// Returns what says when asks may have changed.
    fn ask_changes(&self) -> AskChanges;
}
