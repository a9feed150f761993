//! The MCP client: servers of other people, and their tools as tools of haft. A server is a principal of its own, which is
//! started, confined and granted what it gets by whoever configures it; it is trusted in nothing. What it says is bounded,
//! cleaned and described; what it says of the effects of its tools is believed only where the configuration says so. Remote
//! servers are another kind of [`Connect`]; nothing of the SDK shows in the interface.

mod answer;
mod connection;
mod forms;
mod handler;
mod http;
pub mod limits;
mod link;
mod listing;
mod naming;
mod oauth;
mod schema_steps;
mod server;
mod servers;
mod tools;
mod unasked;
mod way;
mod web;

pub use forms::Forms;
pub use http::Remote;
pub use naming::permission;
pub use oauth::{
    Authorization, LOGIN_ENTROPY_BYTES, Login, LoginError, OAuthOptions, RedirectListener,
    TokenStore,
};
pub use server::{Advice, Connect, ListingCache, ServerSpec};
pub use servers::{KnownServer, McpServers, ServerTools, Trial, TriedTool};
