//! The one place where connections of a confined process are made: to the addresses that `destination.rs` found and
//! judged, and to no others. It deliberately speaks no protocol: refusals are values, which each protocol phrases in its
//! way.

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::admission::{Admission, Resolver};
use super::destination::{Denial, admitted_addresses};
use super::host::{Host, HostError};
use super::limits::Limits;
use super::record::{Outcome, Protocol, Record, Traffic, shown};

/// Addresses of one name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 4;

/// Judges and makes the connections of one proxy.
pub(super) struct Gate {
    pub(super) admission: Arc<dyn Admission>,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) record: Arc<Record>,
    pub(super) limits: Limits,
}

/// A connection that was asked for, before it was judged.
pub(super) struct Wanted {
    /// As it was sent.
    pub(super) text: String,
    /// What was understood.
    pub(super) host: Result<Host, HostError>,
    pub(super) port: u16,
    pub(super) protocol: Protocol,
}

/// A connection that was admitted and made.
pub(super) struct Passed {
    pub(super) host: Host,
    pub(super) upstream: TcpStream,
    pub(super) traffic: Arc<Traffic>,
}

impl Gate {
    /// Judges and makes a connection, and records what became of it.
    pub(super) async fn pass(&self, wanted: Wanted) -> Result<Passed, Denial> {
        let Wanted { text, host, port, protocol } = wanted;
        let name = host.as_ref().map_or_else(|_| shown(&text), Host::to_string);
        let attempt = self.record.start(&name, port, protocol);
        let dialled = match host {
            Ok(host) => self.dial(&host, port).await.map(|upstream| (host, upstream)),
            Err(error) => Err(Denial::NoHost { text, error }),
        };
        match dialled {
            Ok((host, (upstream, address))) => {
                let traffic = attempt.settle(Outcome::Admitted { address });
                Ok(Passed { host, upstream, traffic })
            }
            Err(denial) => {
                attempt.settle(denial.outcome());
                Err(denial)
            }
        }
    }

    async fn dial(&self, host: &Host, port: u16) -> Result<(TcpStream, SocketAddr), Denial> {
        let dialling = async {
            let addresses =
                admitted_addresses(host, port, &*self.admission, &*self.resolver).await?;
            self.connect(host, port, addresses).await
        };
        let too_slow = || {
            let dial_ms = self.limits.dial_ms;
            Err(Denial::TooSlow { host: host.clone(), port, dial_ms })
        };
        timeout(self.limits.dial(), dialling).await.unwrap_or_else(|_| too_slow())
    }

    /// Tries addresses in their order, each for its part of the time.
    async fn connect(
        &self,
        host: &Host,
        port: u16,
        addresses: Vec<IpAddr>,
    ) -> Result<(TcpStream, SocketAddr), Denial> {
        let count = addresses.len().clamp(1, ADDRESSES_MAX);
        let part = self.limits.dial() / u32::try_from(count).unwrap_or(1);
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses.into_iter().take(ADDRESSES_MAX) {
            let address = SocketAddr::new(address, port);
            match connect_within(part, address).await {
                Ok(upstream) => return Ok((upstream, address)),
                Err(err) => last = err,
            }
        }
        Err(Denial::Unreachable { host: host.clone(), port, error: last })
    }
}

async fn connect_within(time: Duration, address: SocketAddr) -> io::Result<TcpStream> {
    let connecting = timeout(time, TcpStream::connect(address));
    let stream = connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    // What is small is small because the client sent it so: waiting for more would only delay it.
    stream.set_nodelay(true)?;
    Ok(stream)
}
