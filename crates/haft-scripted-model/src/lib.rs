//! A model that is a script: a server on this machine that speaks the wires of providers, streams, and answers each request
//! with the next reply that is meant for it. For tests and benchmarks of whatever asks models, through the real client and
//! a real socket; it is not shipped, knows nothing of haft, and is no judge of requests: it keeps them for the test to look at.
//!
//! ```
//! use haft_scripted_model::{Reply, Script, ScriptedServer};
//!
//! let script = Script::of([Reply::new().text("I look.").call("read", serde_json::json!({"path": "a.txt"}))]);
//! let server = ScriptedServer::start(script).unwrap();
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.requests(), []);
//! ```
//!
//! A script may also be a file of JSON, for the program `haft-scripted-model`:
//!
//! ```
//! let script = haft_scripted_model::Script::parse(r#"{"replies": [
//!   {"when": {"system": "You explore"}, "parts": [{"text": "It is in src/lib.rs."}]},
//!   {"parts": [
//!     {"reasoning": "Somebody else shall look."},
//!     {"call": {"tool": "task", "input": {"subagent_type": "explore", "prompt": "Where is it?"}}}
//!   ], "usage": {"input": 900, "output": 40, "cache_read": 800}},
//!   {"when": {"last": "src/lib.rs"}, "parts": [{"text": "Found."}, {"wait_for": {"release": "go"}}, {"text": " Done."}]}
//! ]}"#);
//! assert_eq!(script.unwrap().replies.len(), 3);
//! ```
#![deny(missing_docs)]

mod http;
mod requests;
mod script;
mod server;
mod serving;
mod wire;

pub use script::{Call, Failure, Part, Reply, Script, Stop, Usage, Wait, When};

pub use requests::{Ended, Request};
pub use server::ScriptedServer;
pub use wire::Wire;
