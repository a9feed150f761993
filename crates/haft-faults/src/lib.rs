//! What tests break haft with: a journal that something stands before, so that it fails, is slow or dies with its process
//! where a test wants it to, and workers that are killed again and again. It is not shipped, and it judges nothing: whether
//! haft kept its word is said by the test.
//!
//! A journal that records no outcome:
//!
//! ```
//! use haft_faults::{Interpose, Interposed, Step, failing};
//! use haft_journal::{Answer, JournalError, MemoryJournal};
//!
//! #[derive(Default)]
//! struct Full(MemoryJournal);
//!
//! impl Interpose for Full {
//!     type Inner = MemoryJournal;
//!
//!     fn inner(&self) -> &MemoryJournal {
//!         &self.0
//!     }
//!
//!     fn around<'a, T: Send + 'a>(
//!         &'a self,
//!         step: Step,
//!         ask: impl FnOnce(&'a MemoryJournal) -> Answer<'a, T>,
//!     ) -> Answer<'a, T> {
//!         match step == Step::Settle {
//!             true => failing(JournalError::Full { path: "journal".into() }),
//!             false => ask(&self.0),
//!         }
//!     }
//! }
//!
//! let journal: Box<dyn haft_journal::Journal> = Box::new(Interposed(Full::default()));
//! ```
#![deny(missing_docs)]

pub mod crash;
mod journal;
mod random;

pub use journal::{Interpose, Interposed, Step, failing};
pub use random::Random;
