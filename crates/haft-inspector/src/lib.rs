//! The inspector: pages over the journal, on which a person sees what agents do and did, answers asks, settles calls, takes
//! changes back and edits rules. Each view is a file in `views/`, with its template in `templates/`. The facts come from the
//! functions that the command line uses. The server's guard decides who gets a page; no page contains a secret. Texts of the
//! journal come from outside, so they reach a page as text and never as HTML.
#![deny(missing_docs)]

mod ansi;
mod assets;
mod change;
mod events;
pub mod limits;
mod navigation;
mod page_error;
mod request;
mod response;
mod router;
mod source;
mod text;
mod views;

pub use assets::page_parts;
pub use router::InspectorRouter;
pub use source::InspectorParts;
