//! What an editor is served with, and when that is put together: before the first session, and not before the editor is
//! answered. So an editor hears in its own window what is in the way, and the next session tries again.

use std::sync::{Arc, Mutex, PoisonError};

use haft::Runtime;
use haft_agent::{AgentHost, AgentRegistry};
use haft_contract::BoxFuture;

/// What an editor is served with.
pub struct AcpServeParts {
    /// The host, made with the editor's asker and watcher.
    pub host: Arc<AgentHost>,
    /// The host's runtime.
    pub runtime: Runtime,
    /// The host's agents.
    pub agents: Arc<AgentRegistry>,
    /// The agent that sessions are begun with.
    pub agent: String,
    /// What the model can read, in tokens.
    pub context_tokens: u64,
    /// Writes a time, in milliseconds since the epoch, as RFC 3339 has it.
    pub format_time: fn(u64) -> String,
    /// What is said in every session that is opened.
    pub notices: Vec<String>,
}

/// Puts together what an editor is served with.
pub trait AcpPartsProvider: Send + Sync {
    /// Returns the parts, or what is in the way and what to do about it: then it is asked again when the editor next
    /// wants a session.
    fn prepare(&self) -> BoxFuture<'_, Result<AcpServeParts, String>>;
}

/// Returns the preparation of parts that are there.
pub fn ready_parts(parts: AcpServeParts) -> Arc<dyn AcpPartsProvider> {
    Arc::new(ReadyAcpParts(Mutex::new(Some(parts))))
}

/// Parts until they are taken.
struct ReadyAcpParts(Mutex<Option<AcpServeParts>>);

impl AcpPartsProvider for ReadyAcpParts {
    fn prepare(&self) -> BoxFuture<'_, Result<AcpServeParts, String>> {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let parts = parts.ok_or_else(|| "another editor is served with these parts".to_owned());
        Box::pin(async move { parts })
    }
}
