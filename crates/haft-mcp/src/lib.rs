//! MCP, from both sides. [`McpServers`] is the client: servers of other people, whose tools become tools of haft. The rest is
//! the front end: it offers the tools of a runtime to MCP clients over standard streams and HTTP, in both eras of the protocol,
//! with handshake and without. It turns requests into [`haft::Call`]s, envelopes into results, and questions of the runtime
//! into forms, and deliberately does nothing else: it decides nothing about a call, answers no question for its client,
//! keeps no state of its own that outlives the connection, and leaves signals, configuration and the end of the process
//! to the binary. Nothing of the SDK shows in its interface.
#![deny(missing_docs)]

mod answer;
mod asking;
mod calls;
mod client;
mod connection;
mod content;
mod conversation;
mod counterpart;
mod elicit;
mod handler;
mod inquiry;
mod instructions;
mod levels;
pub mod limits;
mod list_changes;
mod meta;
mod offerings;
mod outputs;
mod panic;
mod passing;
mod progress;
mod prompts;
mod question;
mod runs;
mod seal;
mod stdio;
mod streamable;
mod subscribed;
mod suspended;
mod tool;

pub use client::{
    Advice, Authorization, Connect, Forms, KnownServer, LOGIN_ENTROPY_BYTES, ListingCache, Login,
    LoginError, McpServers, OAuthOptions, RedirectListener, Remote, ServerSpec, ServerTools,
    TokenStore, Trial, TriedTool, limits as client_limits, permission as server_permission,
};
pub use connection::{Explain, ServeError, Server, serve, serve_stdio};
pub use offerings::{
    Completed, Offered, OfferedContents, OfferedPrompt, Offerings, PromptArgument, Prompted,
};
pub use seal::STATE_KEY_BYTES;
pub use streamable::{HttpEndpoint, HttpServer, Open};
pub use tool::tool_json;
