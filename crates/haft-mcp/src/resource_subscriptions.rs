//! The resources that one client wants to hear the changes of.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::task::AbortOnDropHandle;

use crate::limits::SUBSCRIPTIONS_MAX;

/// What an older client has subscribed to. Who listens in the newer era says so once, with all of it.
#[derive(Default)]
pub(crate) struct ResourceSubscriptions {
    // Written by requests of the client, read with each change; the lock is held for a look-up.
    uris: Arc<Mutex<BTreeSet<String>>>,
    /// Passes changes on from the first subscription to the end of the connection.
    forwarding_task: OnceLock<AbortOnDropHandle<()>>,
}

impl ResourceSubscriptions {
    /// Lets the client hear of changes of a resource.
    pub(crate) fn add(
        &self,
        uri: String,
        peer: Peer<RoleServer>,
        changes: Receiver<String>,
    ) -> Result<(), ErrorData> {
        let mut uris = lock(&self.uris);
        if uris.len() >= SUBSCRIPTIONS_MAX && !uris.contains(&uri) {
            let message =
                format!("{SUBSCRIPTIONS_MAX} resources are subscribed to, which is the limit");
            return Err(ErrorData::invalid_params(message, None));
        }
        uris.insert(uri);
        let subscribed = Arc::clone(&self.uris);
        self.forwarding_task.get_or_init(|| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                let mut changes = changes;
                while let Some(uri) = next_change(&mut changes).await {
                    if !lock(&subscribed).contains(&uri) {
                        continue;
                    }
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(update).await.is_err() {
                        return;
                    }
                }
            }))
        });
        Ok(())
    }

    /// Lets the client hear no more of a resource.
    pub(crate) fn remove(&self, uri: &str) {
        lock(&self.uris).remove(uri);
    }
}

/// Returns the next resource that changes; `None` when nothing will tell of changes any more.
pub(crate) async fn next_change(changes: &mut Receiver<String>) -> Option<String> {
    loop {
        match changes.recv().await {
            Ok(uri) => return Some(uri),
            // Whoever reads slowly misses some; the next change of the same resource is told.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

/// Returns the next resource that changes. It never ends where nothing tells of changes.
pub(crate) async fn next_change_or_pending(changes: &mut Option<Receiver<String>>) -> String {
    if let Some(told) = changes
        && let Some(uri) = next_change(told).await
    {
        return uri;
    }
    *changes = None;
    std::future::pending().await
}

fn lock(uris: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    uris.lock().unwrap_or_else(PoisonError::into_inner)
}
