//! The MCP front end: offers the tools of a runtime to an MCP client over stdio, in both eras of the protocol, with
//! handshake and without. It turns requests into [`haft::Call`]s, envelopes into results, and questions of the runtime
//! into forms, and deliberately does nothing else: it decides nothing about a call, answers no question for its client,
//! keeps no state of its own that outlives the connection, and leaves signals, configuration and the end of the process
//! to the binary. Nothing of the SDK shows in its interface.
#![deny(missing_docs)]

mod answer;
mod asking;
mod calls;
mod connection;
mod elicit;
mod handler;
mod instructions;
pub mod limits;
mod meta;
mod outputs;
mod panic;
mod passing;
mod progress;
mod question;
mod runs;
mod seal;
mod stdio;
mod suspended;
mod tool;

pub use connection::{Explain, ServeError, Server, serve, serve_stdio};
pub use seal::STATE_KEY_BYTES;
pub use tool::tool_json;
