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
    // Written once for each request, by whichever of the tool's futures makes it; read when the tool has ended.
    connections: Mutex<ListedConnections>,
}

#[derive(Default)]
struct ListedConnections {
    listed: Vec<OutboundConnection>,
    unlisted: u64,
}

impl CallConnectionLog {
    pub(super) fn record_connected(&self, target: &HttpTarget, address: Option<SocketAddr>) {
        let address = address.map_or_else(String::new, |address| address.to_string());
        self.add(target, true, address);
    }

    pub(super) fn record_failed(&self, target: &HttpTarget, why: &str) {
        self.add(target, false, why.to_owned());
    }

    pub(super) fn record_refused(&self, target: &HttpTarget, denial: &ConnectionDenial) {
        self.add(target, false, denial.to_string());
    }

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
