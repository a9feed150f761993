//! The resources of which one client is told the changes.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::{ErrorData, Peer, RoleServer};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::limits::SUBSCRIPTIONS_MAX;

/// The subscriptions of an older client. A newer client names all of them once, when it begins to listen.
#[derive(Default)]
pub(crate) struct ResourceSubscriptions {
    uris: watch::Sender<BTreeSet<String>>,
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
        let mut is_full = false;
        self.uris.send_if_modified(|uris| {
            is_full = uris.len() >= SUBSCRIPTIONS_MAX && !uris.contains(&uri);
            !is_full && uris.insert(uri)
        });
        if is_full {
            let message =
                format!("{SUBSCRIPTIONS_MAX} resources are subscribed to, which is the limit");
            return Err(ErrorData::invalid_params(message, None));
        }
        let subscribed = self.uris.subscribe();
        self.forwarding_task.get_or_init(|| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                let mut changes = changes;
                while let Some(uri) = next_change(&mut changes).await {
                    if !subscribed.borrow().contains(&uri) {
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
        self.uris.send_if_modified(|uris| uris.remove(uri));
    }
}

/// Returns the next resource that changes; `None` when nothing will tell of changes any more.
pub(crate) async fn next_change(changes: &mut Receiver<String>) -> Option<String> {
    loop {
        match changes.recv().await {
            Ok(uri) => return Some(uri),
            // A slow reader misses some changes; it is told the next change of the same resource.
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
