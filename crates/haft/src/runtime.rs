//! A runtime: the parts that all calls share, and the runs that this process makes calls in.

use std::sync::{Arc, Mutex, PoisonError};

use haft_journal::{Journal, JournalError};

use crate::background::ServerProcesses;
use crate::catalog::Catalog;
use crate::connection::Connection;
use crate::connection_state::ConnectionOptions;
use crate::recover::{self, RunRecovery};
use crate::registry::Registry;
use crate::roots::WorkspaceRoots;
use crate::run::RunRegistry;
use crate::shared::{RuntimeError, RuntimeParts, RuntimeShared};

/// The state that all calls share. Cloning is cheap.
#[derive(Clone)]
pub struct Runtime(Arc<RuntimeState>);

/// The state that clones of the runtime share.
struct RuntimeState {
    /// The parts that all calls share.
    shared: Arc<RuntimeShared>,
    /// The runs in which this process makes calls.
    runs: Arc<RunRegistry>,
    /// Programs that the operator named, which end with the runtime: added to while it is put together.
    server_processes: Mutex<Vec<ServerProcesses>>,
}

impl Runtime {
    /// Returns a runtime of these parts.
    ///
    /// # Errors
    ///
    /// Names a rule, a pattern or a requirement that is not valid. Nothing is opened or started yet.
    pub fn new(parts: RuntimeParts) -> Result<Self, RuntimeError> {
        let shared = Arc::new(RuntimeShared::new(parts)?);
        let runs = Arc::new(RunRegistry::new(Arc::clone(&shared)));
        Ok(Self(Arc::new(RuntimeState { shared, runs, server_processes: Mutex::default() })))
    }

    /// Returns the current tools. The returned registry never changes.
    pub fn registry(&self) -> Arc<Registry> {
        self.0.shared.catalog.registry()
    }

    /// Returns the catalog, which replaces the tools while calls run and reports such changes.
    pub fn catalog(&self) -> &Catalog {
        &self.0.shared.catalog
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.0.shared.parts.journal
    }

    /// Returns the directories that calls may reach.
    pub fn roots(&self) -> &WorkspaceRoots {
        &self.0.shared.parts.roots
    }

    /// Registers servers that the operator named. [`shut_down`](Self::shut_down) ends them.
    pub fn register_server_processes(&self, extensions: ServerProcesses) {
        self.0.server_processes.lock().unwrap_or_else(PoisonError::into_inner).push(extensions);
    }

    /// Takes over the runs of dead processes, and marks their open calls as in doubt. If the files show the outcome
    /// of a call, haft settles it. haft also reverts changes of their programs at protected paths. Front ends call
    /// this when they start. From this call on, calls wait until the future has ended; all else may go on.
    ///
    /// # Errors
    ///
    /// Fails if the journal fails. Runs that were recovered before the error stay recovered.
    pub fn recover(
        &self,
    ) -> impl Future<Output = Result<RunRecovery, JournalError>> + Send + use<> {
        let runs = Arc::clone(&self.0.runs);
        let begun = Arc::clone(&runs.recovering).try_lock_owned();
        async move {
            let _recovering = match begun {
                Ok(begun) => begun,
                // Another recovery is under way.
                Err(_) => Arc::clone(&runs.recovering).lock_owned().await,
            };
            recover::recover_runs(&runs).await
        }
    }

    /// Ends the background processes and releases the leases of this process, so that others can resume the runs at
    /// once. Front ends call this when they exit. Otherwise other processes wait until they know that this process is
    /// gone. Changes of background processes at protected paths may then stay until a process recovers the runs.
    pub async fn shut_down(&self) {
        self.0.shared.processes.end_all().await;
        let extensions = std::mem::take(
            &mut *self.0.server_processes.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for extensions in extensions {
            extensions.end_all().await;
        }
        self.0.runs.release_all_leases().await;
        if let Some(snapshots) = &self.0.shared.parts.snapshots {
            snapshots.finish().await;
        }
    }

    /// Opens a connection for one front end.
    ///
    /// # Errors
    ///
    /// Says that the connection's name or one of its rules is not valid.
    pub fn open_connection(&self, options: ConnectionOptions) -> Result<Connection, RuntimeError> {
        Connection::open(Arc::clone(&self.0.runs), options)
    }
}
