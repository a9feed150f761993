//! The MCP client: third-party servers, and their tools as tools of haft. The configuration starts, confines and grants each
//! server separately. Servers are not trusted: their messages are bounded, cleaned and described. Their hints about effects
//! count only if the configuration says so. Remote servers are another kind of [`McpTransport`]. The interface has no types of
//! the SDK.

mod call_output;
mod connection;
mod forms;
mod handler;
mod http;
mod http_client;
pub mod limits;
mod naming;
mod oauth;
mod remote_link;
mod schema_cost;
mod server;
mod server_link;
mod servers;
mod stdio_link;
mod tool_list;
mod tools;
mod unsolicited;

pub use forms::FormFiller;
pub use http::RemoteMcpServer;
pub use naming::permission;
pub use oauth::{
    Authorization, LOGIN_ENTROPY_BYTES, Login, LoginError, OAuthOptions, RedirectListener,
    TokenStore,
};
pub use server::{McpServerSpec, McpTransport, ServerFailureRemedy, ToolListCache};
pub use servers::{
    McpServerStatus, McpServerTest, McpServerTools, McpServers, ServerDiscovery, TestedServerTool,
};
