//! The parts of a served editor. They are prepared for its first session, after the connection is initialised. So the editor shows why
//! the preparation failed, and the next session tries again.

use std::sync::{Arc, Mutex, PoisonError};

use haft::Runtime;
use haft_agent::{AgentHost, AgentRegistry};
use haft_contract::BoxFuture;

/// The parts of a served editor.
pub struct AcpServeParts {
    /// The host, made with the editor's asker and watcher.
    pub host: Arc<AgentHost>,
    /// The host's runtime.
    pub runtime: Runtime,
    /// The host's agents.
    pub agents: Arc<AgentRegistry>,
    /// The agent of new sessions.
    pub agent: String,
    /// The context of the model, in tokens.
    pub context_tokens: u64,
    /// Formats a time in milliseconds since the epoch as RFC 3339.
    pub format_time: fn(u64) -> String,
    /// The notices in every opened session.
    pub notices: Vec<String>,
}

/// Prepares the parts of a served editor.
pub trait AcpPartsProvider: Send + Sync {
    /// Returns the parts, or the problem and its remedy. After a failure, the next session of the editor calls this again.
    fn prepare(&self) -> BoxFuture<'_, Result<AcpServeParts, String>>;
}

/// Returns a provider of existing parts.
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
