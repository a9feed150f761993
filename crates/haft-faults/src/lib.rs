//! Fault injection for tests of haft: a journal with an interceptor, which can fail, be slow or die
//! with its process at a chosen point, workers that are killed repeatedly, and a simulated fleet. It is not
//! shipped. The tests decide whether haft kept its guarantees; only the fleet knows them itself.
//!
//! A journal that records no outcome:
//!
//! ```
//! use haft_faults::{JournalInterceptor, InterceptedJournal, JournalMethod, failing_answer};
//! use haft_journal::{JournalFuture, JournalError, MemoryJournal};
//!
//! #[derive(Default)]
//! struct Full(MemoryJournal);
//!
//! impl JournalInterceptor for Full {
//!     type Inner = MemoryJournal;
//!
//!     fn inner(&self) -> &MemoryJournal {
//!         &self.0
//!     }
//!
//!     fn around<'a, T: Send + 'a>(
//!         &'a self,
//!         step: JournalMethod,
//!         ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
//!     ) -> JournalFuture<'a, T> {
//!         match step == JournalMethod::Settle {
//!             true => failing_answer(JournalError::Full { path: "journal".into() }),
//!             false => ask(&self.0),
//!         }
//!     }
//! }
//!
//! let journal: Box<dyn haft_journal::Journal> = Box::new(InterceptedJournal(Full::default()));
//! ```
#![deny(missing_docs)]

pub mod crash;
pub mod fleet;
mod journal;
mod random;

pub use journal::{InterceptedJournal, JournalInterceptor, JournalMethod, failing_answer};
pub use random::SeededRandom;
