//! The only place where connections of a confined process are made: to the addresses that
//! `destination.rs` has checked, and to no others. It knows no protocol: refusals are values, which
//! each protocol words in its own way.

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::reserved_range;
use super::connection_log::{
    ConnectionLog, ConnectionTraffic, ProxyOutcome, ProxyProtocol, printable_text,
};
use super::destination::{ConnectionDenial, admitted_addresses};
use super::egress::{EgressDecision, EgressPolicy, HostResolver};
use super::host::{Host, HostError};
use super::limits::ProxyLimits;
use super::upstream::UpstreamProxy;

/// Maximum number of addresses of one name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 4;

/// Judges and makes the connections of one proxy.
pub(super) struct ConnectionGate {
    pub(super) admission: Arc<dyn EgressPolicy>,
    pub(super) resolver: Arc<dyn HostResolver>,
    pub(super) record: Arc<ConnectionLog>,
    pub(super) limits: ProxyLimits,
    /// The proxy outside through which connections are made, if there is one.
    pub(super) upstream: Option<UpstreamProxy>,
}

/// A requested connection, before it was judged.
pub(super) struct ConnectionRequest {
    /// The host as the client sent it.
    pub(super) requested_host: String,
    /// The parsed host.
    pub(super) host: Result<Host, HostError>,
    pub(super) port: u16,
    pub(super) protocol: ProxyProtocol,
}

/// A connection that was admitted and made.
pub(super) struct AdmittedConnection {
    pub(super) host: Host,
    pub(super) upstream: TcpStream,
    pub(super) traffic: Arc<ConnectionTraffic>,
}

impl ConnectionGate {
    /// Judges and makes a connection, and records its outcome.
    pub(super) async fn open_connection(
        &self,
        request: ConnectionRequest,
    ) -> Result<AdmittedConnection, ConnectionDenial> {
        let ConnectionRequest { requested_host: text, host, port, protocol } = request;
        let name = host.as_ref().map_or_else(|_| printable_text(&text), Host::to_string);
        let attempt = self.record.start_attempt(&name, port, protocol);
        let dialled = match host {
            Ok(host) => self.dial(&host, port).await.map(|upstream| (host, upstream)),
            Err(error) => Err(ConnectionDenial::NoHost { text, error }),
        };
        match dialled {
            Ok((host, (upstream, address))) => {
                let traffic = attempt.set_outcome(ProxyOutcome::Admitted { address });
                Ok(AdmittedConnection { host, upstream, traffic })
            }
            Err(denial) => {
                let reason = denial.to_string();
                attempt.set_outcome(if denial.is_refusal() {
                    ProxyOutcome::Refused { reason }
                } else {
                    ProxyOutcome::Failed { reason }
                });
                Err(denial)
            }
        }
    }

    async fn dial(
        &self,
        host: &Host,
        port: u16,
    ) -> Result<(TcpStream, SocketAddr), ConnectionDenial> {
        let dialling = async {
            let name = host.to_string();
            let is_by_name = self.admission.admits(&name, port) == EgressDecision::ByName;
            let upstream = self.upstream.as_ref().filter(|it| is_by_name && it.serves(&name));
            let addresses = admitted_addresses(host, port, &*self.admission, &*self.resolver).await;
            let is_outside = match &addresses {
                Ok(addresses) => addresses.iter().all(|it| reserved_range(*it).is_none()),
                // Where a proxy resolves names, this machine may know none of them.
                Err(denial) => matches!(denial, ConnectionDenial::Unresolved { .. }),
            };
            match upstream.filter(|_| is_outside) {
                Some(upstream) => {
                    let failed =
                        |reason| ConnectionDenial::Upstream { host: host.clone(), port, reason };
                    upstream.connect(host, port).await.map_err(failed)
                }
                None => self.connect(host, port, addresses?).await,
            }
        };
        let too_slow = || {
            let dial_ms = self.limits.dial_ms;
            Err(ConnectionDenial::TooSlow { host: host.clone(), port, dial_ms })
        };
        timeout(self.limits.dial(), dialling).await.unwrap_or_else(|_| too_slow())
    }

    /// Tries addresses in order, each for its share of the time.
    async fn connect(
        &self,
        host: &Host,
        port: u16,
        addresses: Vec<IpAddr>,
    ) -> Result<(TcpStream, SocketAddr), ConnectionDenial> {
        let count = addresses.len().clamp(1, ADDRESSES_MAX);
        let part = self.limits.dial() / u32::try_from(count).unwrap_or(1);
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses.into_iter().take(ADDRESSES_MAX) {
            let address = SocketAddr::new(address, port);
            let connecting = async {
                let stream = timeout(part, TcpStream::connect(address));
                let stream =
                    stream.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                // Small packets are small because the client sent them so; waiting for more would
                // only delay them.
                stream.set_nodelay(true)?;
                io::Result::Ok(stream)
            };
            match connecting.await {
                Ok(upstream) => return Ok((upstream, address)),
                Err(err) => last = err,
            }
        }
        Err(ConnectionDenial::Unreachable { host: host.clone(), port, error: last })
    }
}
