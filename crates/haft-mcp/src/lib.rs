//! The MCP front end: offers the tools of a runtime to an MCP client over stdio, in both eras of the protocol, with
//! handshake and without. It turns requests into [`haft::Call`]s and envelopes into results, and deliberately does
//! nothing else: it decides nothing about a call, keeps no state of its own that outlives the connection, and leaves
//! signals, configuration and the end of the process to the binary. Nothing of the SDK shows in its interface.
#![deny(missing_docs)]

mod answer;
mod calls;
mod connection;
mod handler;
mod instructions;
pub mod limits;
mod meta;
mod outputs;
mod panic;
mod progress;
mod runs;
mod stdio;
mod tool;

pub use connection::{ServeError, Server, serve, serve_stdio};
pub use tool::tool_json;
