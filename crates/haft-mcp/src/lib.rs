//! MCP, from both sides. [`McpServers`] is the client: third-party servers, whose tools become tools of haft. The rest is
//! the front end: it offers the tools of a runtime to MCP clients over standard streams and HTTP, in both eras of the protocol,
//! with handshake and without. It turns requests into [`haft::Call`]s, envelopes into results, and questions of the runtime
//! into forms. It decides nothing about a call, and answers no question for its client. It keeps no state beyond the
//! connection. Signals, configuration and the end of the process belong to the binary. The interface has no types of the SDK.
#![deny(missing_docs)]

mod advice;
mod approval_form;
mod ask_channel;
mod background_calls;
mod call_limiter;
mod call_result;
mod client;
mod client_requests;
mod connection;
mod content;
mod elicit;
mod handler;
mod in_flight_call;
mod instructions;
pub mod limits;
mod log_levels;
mod meta;
mod output_resources;
mod panic;
mod pending_ask;
mod progress;
mod prompts;
mod question_form;
mod request_state;
mod resource_provider;
mod resource_subscriptions;
mod runs;
mod server_parts;
mod skill_prompts;
mod stdio;
mod streamable_http;
mod suspended_calls;
mod tool;

pub use advice::plain_advice;
pub use client::{
    Authorization, FormFiller, LOGIN_ENTROPY_BYTES, Login, LoginError, McpServerSpec,
    McpServerStatus, McpServerTest, McpServerTools, McpServers, McpTransport, OAuthOptions,
    RedirectListener, RemoteMcpServer, ServerDiscovery, ServerFailureRemedy, TestedServerTool,
    TokenStore, ToolListCache, limits as client_limits, permission as server_permission,
};
pub use connection::{McpServeError, serve, serve_stdio};
pub use request_state::STATE_KEY_BYTES;
pub use resource_provider::{
    McpCompletion, McpPrompt, McpPromptArgument, McpPromptResult, McpResource, McpResourceContents,
    McpResourceProvider,
};
pub use server_parts::{
    AskPageFinder, McpServerFactory, McpServerParts, McpTaskHost, RefusalAdviser, RunErrorExplainer,
};
pub use streamable_http::{HttpEndpoint, HttpServer};
pub use tool::tool_json;
