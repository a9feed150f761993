//! Agents for editors that speak the Agent Client Protocol (ACP), version 1. An [`Editor`] is what an agent host tells and
//! asks; [`serve`] lets the editor at the other end begin, load and prompt sessions. The only crate that names the
//! protocol's SDK: everything is converted by hand.
//!
//! Nothing is executed here and no rule is decided: a prompt becomes a turn of a [`haft_agent::AgentSession`], what happens in it
//! becomes updates, and a question of the pipeline becomes a request for permission. The editor's own files and terminals
//! are not used.
#![deny(missing_docs)]

mod advice;
mod call_content;
mod connection;
mod diffs;
mod editor;
mod elicit;
mod errors;
pub mod limits;
mod modes;
mod open_session;
mod permission;
mod preparation;
mod prompt;
mod replay;
mod sessions;
mod transport;
mod updates;

pub use connection::{AcpServeError, serve};
pub use editor::Editor;
pub use preparation::{AcpPartsProvider, AcpServeParts, ready_parts};
