//! Agents for editors that speak the Agent Client Protocol (ACP), version 1. An [`Editor`] is what an agent host tells and
//! asks; [`serve`] lets the editor at the other end begin, load and prompt sessions. The only crate that names the
//! protocol's SDK: everything is converted by hand.
//!
//! Nothing is executed here and no rule is decided: a prompt becomes a turn of a [`haft_agent::Chat`], what happens in it
//! becomes updates, and a question of the pipeline becomes a request for permission. The editor's own files and terminals
//! are not used.
#![deny(missing_docs)]

mod changes;
mod connection;
mod editor;
mod elicit;
mod failure;
pub mod limits;
mod modes;
mod open;
mod permission;
mod preparation;
mod prompt;
mod replay;
mod sessions;
mod shown;
mod transport;
mod updates;

pub use connection::{ServeError, serve};
pub use editor::Editor;
pub use preparation::{Prepare, ServeParts, ready};
