//! Converts a page to a title and a text that a model reads. The input is the page's bytes, its `Content-Type` and its URL.
//! HTML becomes Markdown of its main content, PDF becomes text, other text is only decoded, and any other file is described.
//! Shows files of a workspace as well: images as images, PDFs and notebooks as text with images.
//!
//! Everything here is a pure function of its input: it fetches nothing, reads no file and no clock. Strangers write pages,
//! and the libraries that parse pages are large. Run [`read_page`] in a separate process without permissions, with
//! [`serve`].
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
mod view;

pub use page::{FetchedPage, PageContent, PageKind};
pub use read::{PageReadError, read_page};
pub use server::{ReaderServeError, serve};
pub use view::{ViewError, ViewForm, ViewRequest, view_file};
