//! The connections that one call made by itself, for its envelope, in the same form as the connections of commands.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use haft_contract::OutboundConnection;
use haft_sandbox::proxy::ConnectionDenial;

use super::NET_CONNECTIONS_LISTED_MAX;
use super::target::HttpTarget;

/// The connections of one call.
#[derive(Default)]
pub(crate) struct CallConnectionLog {
    /// Written once for each request, by whichever of the tool's futures makes it; read when the tool has ended.
    connections: Mutex<ListedConnections>,
}

/// The connections of one call, in order, of which the envelope lists the first ones.
#[derive(Default)]
struct ListedConnections {
    /// The first connections, at most [`NET_CONNECTIONS_LISTED_MAX`].
    listed: Vec<OutboundConnection>,
    /// The number of connections after these.
    unlisted: u64,
}

impl CallConnectionLog {
    /// Adds a connection that was made. The address is missing if the client does not know it.
    pub(super) fn record_connected(&self, target: &HttpTarget, address: Option<SocketAddr>) {
        let address = address.map_or_else(String::new, |address| address.to_string());
        self.add(target, true, address);
    }

    /// Adds a connection that could not be made.
    pub(super) fn record_failed(&self, target: &HttpTarget, why: &str) {
        self.add(target, false, why.to_owned());
    }

    /// Adds a connection that haft did not allow.
    pub(super) fn record_refused(&self, target: &HttpTarget, denial: &ConnectionDenial) {
        self.add(target, false, denial.to_string());
    }

    /// Adds a connection, or counts it if the list is full.
    fn add(&self, target: &HttpTarget, admitted: bool, detail: String) {
        let mut made = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if made.listed.len() >= NET_CONNECTIONS_LISTED_MAX {
            made.unlisted += 1;
            return;
        }
        let (host, port) = (target.host.to_string(), target.port);
        made.listed.push(OutboundConnection { host, port, admitted, detail });
    }

    /// Returns the connections, and how many there were beyond these.
    pub(crate) fn take(&self) -> (Vec<OutboundConnection>, u64) {
        let made =
            std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        (made.listed, made.unlisted)
    }
}
