//! A scripted model: a local server that speaks providers' protocols, streams, and answers each
//! request with the next matching reply. It is for tests and benchmarks of code that asks models,
//! through the real client and a real socket. It is not shipped, knows nothing of haft, and does
//! not judge requests: it records them for the test.
//!
//! ```
//! use haft_scripted_model::{ScriptedReply, ModelScript, ScriptedServer};
//!
//! let script = ModelScript::from_replies([ScriptedReply::new().text("I look.").call("read", serde_json::json!({"path": "a.txt"}))]);
//! let server = ScriptedServer::start(script).unwrap();
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.requests(), []);
//! ```
//!
//! A script can also be a JSON file, for the program `haft-scripted-model`:
//!
//! ```
//! let script = haft_scripted_model::ModelScript::parse(r#"{"replies": [
//!   {"when": {"system": "You explore"}, "parts": [{"text": "It is in src/lib.rs."}]},
//!   {"parts": [
//!     {"reasoning": "Another agent should look."},
//!     {"call": {"tool": "task", "input": {"subagent_type": "explore", "prompt": "Where is it?"}}}
//!   ], "usage": {"input": 900, "output": 40, "cache_read": 800}},
//!   {"when": {"last": "src/lib.rs"}, "parts": [{"text": "Found."}, {"wait_for": {"release": "go"}}, {"text": " Done."}]}
//! ]}"#);
//! assert_eq!(script.unwrap().replies.len(), 3);
//! ```
#![deny(missing_docs)]

mod connection;
mod http;
mod requests;
mod script;
mod server;
mod shared;
mod wire;

pub use script::{
    ModelScript, ReplyCondition, ReplyPart, ReplyStopReason, ReplyWait, ScriptedFailure,
    ScriptedReply, ScriptedToolCall, ScriptedUsage,
};

pub use requests::{RecordedModelRequest, ReplyEnd};
pub use server::ScriptedServer;
pub use wire::WireProtocol;
