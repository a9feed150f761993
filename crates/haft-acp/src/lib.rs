//! Agents for editors that speak the Agent Client Protocol (ACP), version 1. An [`Editor`] is the observer and the asker of an agent
//! host. [`serve`] lets the editor at the other end begin, load and prompt sessions. Only this crate uses the protocol's SDK, and it
//! converts all types by hand.
//!
//! This crate executes no tool and decides no rule. A prompt becomes a turn of a [`haft_agent::AgentSession`], events become updates,
//! and a question of the pipeline becomes a permission request. The editor's file and terminal methods are not used.
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
