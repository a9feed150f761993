//! Events of a runtime that a person who is elsewhere may want to know: a call that waits for an answer, the end of a run,
//! and calls in doubt. The runtime reports an event after its row is in the journal. It never waits for a delivery.

use haft_contract::{BoxFuture, CallAddress};
use haft_journal::{AskRow, RunRow};
use tokio_util::sync::CancellationToken;

use crate::ask::ShownAsk;

/// An event of a runtime.
#[derive(Clone, Debug)]
pub enum RuntimeEvent {
    /// A call waits for the answer of a person. This process made the call.
    Ask(Box<AskOpened>),
    /// This process gave a run back, because nothing in it uses the run any more.
    RunEnded(Box<RunRow>),
    /// These calls may or may not have happened. A person has to settle them.
    InDoubt(Vec<CallAddress>),
}

/// An ask that this process opened.
#[derive(Clone, Debug)]
pub struct AskOpened {
    /// Its row in the journal.
    pub row: AskRow,
    /// Its subject without contents: bodies are size and SHA-256.
    pub summary: ShownAsk,
    /// Cancelled when the ask has ended, whatever the end is.
    pub ended: CancellationToken,
}

/// Receives the events of a runtime.
pub trait RuntimeEventObserver: Send + Sync {
    /// Takes an event over. The future ends when the event is taken over and not when it is delivered: the runtime waits for it.
    fn on_event(&self, event: RuntimeEvent) -> BoxFuture<'_, ()>;
}
