//! The places of connections. Each needs one, and clients without the token could otherwise occupy all of them. This module
//! only decides which connection loses its place; another one accepts and serves them.

use std::future::pending;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::limits::{PEER_CONNECTIONS_MAX, TOKEN_MS_MAX};

/// A connection, as the decision about its place sees it.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    peer: IpAddr,
    /// Whether a request of it was admitted.
    is_proven: AtomicBool,
    /// Closes it, because its place is needed.
    pub(crate) closed: CancellationToken,
}

impl ClientConnection {
    /// Keeps the connection: a request of it was admitted.
    pub(crate) fn set_proven(&self) {
        self.is_proven.store(true, Ordering::Relaxed);
    }

    /// Waits until the connection was open for too long without an admitted request.
    pub(crate) async fn wait_unproven(&self) {
        sleep(Duration::from_millis(TOKEN_MS_MAX)).await;
        if self.is_proven.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
    }
}

/// The open connections of which no request was admitted yet, oldest first. Clients without the token could otherwise
/// occupy every place.
#[derive(Debug, Default)]
pub(crate) struct UnprovenConnections {
    /// Only the task that accepts connections reads and writes it.
    list: Mutex<Vec<Weak<ClientConnection>>>,
}

impl UnprovenConnections {
    /// Adds a connection. If its peer has too many of this kind, the oldest of them is closed.
    pub(crate) fn add(&self, peer: IpAddr) -> Arc<ClientConnection> {
        let of_peer: Vec<_> = self.open().into_iter().filter(|it| it.peer == peer).collect();
        if let Some(oldest) = of_peer.first().filter(|_| of_peer.len() >= PEER_CONNECTIONS_MAX) {
            oldest.closed.cancel();
        }
        let client = Arc::new(ClientConnection {
            peer,
            is_proven: AtomicBool::new(false),
            closed: CancellationToken::new(),
        });
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(Arc::downgrade(&client));
        client
    }

    /// Closes the oldest connection, if there is one.
    pub(crate) fn close_oldest(&self) {
        if let Some(oldest) = self.open().first() {
            oldest.closed.cancel();
        }
    }

    /// Returns the connections that are still open and unproven, and forgets the others.
    fn open(&self) -> Vec<Arc<ClientConnection>> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |client: &Arc<ClientConnection>| {
            !client.is_proven.load(Ordering::Relaxed) && !client.closed.is_cancelled()
        };
        let open: Vec<_> = list.iter().filter_map(Weak::upgrade).filter(is_open).collect();
        *list = open.iter().map(Arc::downgrade).collect();
        open
    }
}
