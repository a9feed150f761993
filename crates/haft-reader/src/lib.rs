//! What a page says: its bytes, the type that its server names and its address go in; a title and text that a model reads
//! come out. HTML becomes Markdown of its main content, PDF becomes text, other text is decoded and left as it is, and
//! whatever is no text is described.
//!
//! Everything here is a pure function of its input: nothing is fetched, no file is read, no clock is looked at. Pages are
//! written by strangers, and the libraries that take them apart are large. So [`read_page`] belongs into a process of its own
//! that may do nothing else, and [`serve`] is what such a process runs.
#![deny(missing_docs)]

pub mod charset;
mod describe;
mod html;
pub mod limits;
mod media;
mod page;
mod pdf;
mod read;
mod server;

pub use page::{FetchedPage, PageContent, PageKind};
pub use read::{PageReadError, read_page};
pub use server::{ReaderServeError, serve};
