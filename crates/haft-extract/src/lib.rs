//! What a page says: its bytes, the type that its server names and its address go in; a title and text that a model reads
//! come out. HTML becomes Markdown of its main content, PDF becomes text, other text is decoded and left as it is, and
//! whatever is no text is described.
//!
//! Everything here is a pure function of its input: nothing is fetched, no file is read, no clock is looked at. Pages are
//! written by strangers, and the libraries that take them apart are large. So [`extract`] belongs into a process of its own
//! that may do nothing else, and [`serve`] is what such a process runs; [`extract_crudely`] takes a page apart without any
//! of those libraries, in one pass and without recursion, and may run anywhere.
#![deny(missing_docs)]

pub mod charset;
pub mod crude;
mod describe;
mod extract;
mod html;
pub mod limits;
mod media;
mod page;
mod pdf;
mod worker;

pub use extract::{ExtractError, extract, extract_crudely};
pub use page::{Extracted, Kind, Page};
pub use worker::{ServeError, serve};
