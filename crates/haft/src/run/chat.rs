//! What a run does for the chat that it is of: it is taken before anything is said, and what is said is recorded under its
//! lease. What is said is the driver's business.

use std::sync::atomic::Ordering;

use haft_journal::{ChatFirmness, ChatRecord, JournalError, Lease, MessageId};

use super::{Run, RunError};

impl Run {
    /// Takes the run now instead of with its first call. If somebody else has it, the error says who.
    ///
    /// It stays this process's for as long as this or a clone of it is there. If it is taken away all the same, as from a
    /// machine that slept, calls fail from then on like everything else that is done in it, until it is opened again.
    pub async fn open(&self) -> Result<(), RunError> {
        self.state.tenure().await?;
        self.state.is_opened.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Records what is said in the chat of the run, all of it or nothing: see
    /// [`Chats::record_chat`](haft_journal::Chats::record_chat).
    ///
    /// A run that was taken away is not taken anew for this: others may have spoken since, and what follows would not be an
    /// answer to that.
    pub async fn record_chat(
        &self,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Result<(), RunError> {
        let lease = self.lease_held()?;
        let journal = &self.state.session.shared.parts.journal;
        self.heeded(journal.record_chat(&lease, records, firmness).await)
    }

    /// Sets a message of the chat and all later ones aside, and returns how many. The run is not taken anew for this either.
    pub async fn rewind_chat(&self, from: &MessageId, at_ms: u64) -> Result<u64, RunError> {
        let lease = self.lease_held()?;
        let journal = &self.state.session.shared.parts.journal;
        self.heeded(journal.rewind_chat(&lease, from, at_ms).await)
    }

    fn lease_held(&self) -> Result<Lease, RunError> {
        let lease = self.state.attempts.lease_held();
        lease.ok_or_else(|| RunError::NotOpen { run: self.state.id.clone() })
    }

    /// Heeds it when the journal says that the run was taken away.
    fn heeded<T>(&self, result: Result<T, JournalError>) -> Result<T, RunError> {
        result.map_err(|err| {
            let err = RunError::from(err);
            self.state.heed(&err);
            err
        })
    }
}
