//! What one call connected to by itself, for its envelope: the same as is said of the connections of commands.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use haft_contract::Connection;
use haft_sandbox::proxy::Denial;

use super::NET_CONNECTIONS_LISTED_MAX;
use super::target::Target;

/// The connections of one call.
#[derive(Default)]
pub(crate) struct NetRecord {
    // Written once for each request, by whichever of the tool's futures makes it; read when the tool has ended.
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    listed: Vec<Connection>,
    unlisted: u64,
}

impl NetRecord {
    pub(super) fn connected(&self, target: &Target, address: Option<SocketAddr>) {
        let address = address.map_or_else(String::new, |address| address.to_string());
        self.add(target, true, address);
    }

    pub(super) fn failed(&self, target: &Target, why: &str) {
        self.add(target, false, why.to_owned());
    }

    pub(super) fn refused(&self, target: &Target, denial: &Denial) {
        self.add(target, false, denial.to_string());
    }

    fn add(&self, target: &Target, admitted: bool, detail: String) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.listed.len() >= NET_CONNECTIONS_LISTED_MAX {
            made.unlisted += 1;
            return;
        }
        let (host, port) = (target.host.to_string(), target.port);
        made.listed.push(Connection { host, port, admitted, detail });
    }

    /// Returns the connections, and how many there were beyond these.
    pub(crate) fn take(&self) -> (Vec<Connection>, u64) {
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        (made.listed, made.unlisted)
    }
}
