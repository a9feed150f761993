//! The MCP client: servers of other people, and their tools as tools of haft. A server is a principal of its own, which is
//! started, confined and granted what it gets by whoever configures it; it is trusted in nothing. What it says is bounded,
//! cleaned and described; what it says of the effects of its tools is believed only where the configuration says so. Remote
//! servers are another kind of [`McpTransport`]; nothing of the SDK shows in the interface.

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
pub use servers::{McpServerStatus, McpServerTest, McpServerTools, McpServers, TestedServerTool};
