//! The one place where connections of a confined process are judged and made. A host is asked for at the admission, its
//! name is resolved once, every address is checked, and what was checked is what is connected to. It deliberately speaks
//! no protocol: refusals are values, which each protocol phrases in its way.

#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::reserved_range;
use super::admission::{Admission, Admitted, Resolver};
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

/// Why a connection was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Denial {
    #[error("{error} (asked for {})", shown(.text))]
    NoHost { text: String, error: HostError },
    #[error(
        "host {host} is not granted to this call; allow it with requires.net.hosts or \
         --allow-host {host}"
    )]
    NotGranted { host: Host },
    #[error(
        "port {port} of host {host} is not granted to this call: a host granted by name is reachable at \
         {}; use one of these",
        listed(.ports)
    )]
    OtherPorts { host: Host, port: u16, ports: &'static [u16] },
    #[error(
        "host {host} is granted by name, and its address is {range}; addresses that are not public \
         have to be granted as such"
    )]
    Reserved { host: Host, range: &'static str },
    #[error("host {host} has no address: {reason}; check the name")]
    Unresolved { host: Host, reason: String },
    #[error("cannot connect to {host} port {port}: {error}")]
    Unreachable { host: Host, port: u16, error: io::Error },
    #[error("host {host} port {port} did not answer in {dial_ms} ms; try again later")]
    TooSlow { host: Host, port: u16, dial_ms: u64 },
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
        let admitted = self.admission.admits(&host.to_string(), port);
        match admitted {
            Admitted::No => return Err(Denial::NotGranted { host: host.clone() }),
            Admitted::OtherPorts(ports) => {
                return Err(Denial::OtherPorts { host: host.clone(), port, ports });
            }
            Admitted::ByName | Admitted::AnyAddress => {}
        }
        let dialling = async {
            let addresses = permitted(host, self.addresses(host).await?, admitted)?;
            self.connect(host, port, addresses).await
        };
        let too_slow = || {
            let dial_ms = self.limits.dial_ms;
            Err(Denial::TooSlow { host: host.clone(), port, dial_ms })
        };
        timeout(self.limits.dial(), dialling).await.unwrap_or_else(|_| too_slow())
    }

    async fn addresses(&self, host: &Host) -> Result<Vec<IpAddr>, Denial> {
        let unresolved = |reason: String| Denial::Unresolved { host: host.clone(), reason };
        if let Some(address) = host.address() {
            return Ok(vec![address]);
        }
        let addresses = self.resolver.resolve(&host.to_string()).await;
        let addresses = addresses.map_err(|err| unresolved(err.to_string()))?;
        if addresses.is_empty() {
            return Err(unresolved("the resolver found none".to_owned()));
        }
        Ok(addresses)
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

impl Denial {
    fn outcome(&self) -> Outcome {
        let reason = self.to_string();
        match self {
            Denial::NoHost { .. }
            | Denial::NotGranted { .. }
            | Denial::OtherPorts { .. }
            | Denial::Reserved { .. } => Outcome::Refused { reason },
            Denial::Unresolved { .. } | Denial::Unreachable { .. } | Denial::TooSlow { .. } => {
                Outcome::Failed { reason }
            }
        }
    }
}

fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ")
}

/// Returns the addresses that may be connected to. Of a name that has public and other addresses the public ones stay:
/// the others are never connected to, so there is nothing to gain from them.
fn permitted(
    host: &Host,
    addresses: Vec<IpAddr>,
    admitted: Admitted,
) -> Result<Vec<IpAddr>, Denial> {
    if admitted == Admitted::AnyAddress {
        return Ok(addresses);
    }
    let mut refused = "unknown";
    let mut public = Vec::new();
    // Which of its forms an address was resolved to makes no difference to where it leads.
    for address in addresses.into_iter().map(|address| address.to_canonical()) {
        match reserved_range(address).or_else(|| own_range(address)) {
            Some(range) => refused = range,
            None => public.push(address),
        }
    }
    if public.is_empty() {
        return Err(Denial::Reserved { host: host.clone(), range: refused });
    }
    Ok(public)
}

/// Returns what to call an address of this machine, whose services listen there as on its loopback interface.
///
/// The kernel is asked which address packets would come from; none are sent. A packet to oneself comes from oneself.
fn own_range(address: IpAddr) -> Option<&'static str> {
    /// Any but 0; nothing is sent to it.
    const PORT: u16 = 9;
    let any = match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let Ok(socket) = UdpSocket::bind((any, 0)) else { return Some("not known to be elsewhere") };
    // Without a route there is nothing to protect: connecting fails in the same way.
    socket.connect((address, PORT)).ok()?;
    let is_elsewhere = socket.local_addr().is_ok_and(|source| source.ip() != address);
    (!is_elsewhere).then_some("one of this machine")
}

async fn connect_within(time: Duration, address: SocketAddr) -> io::Result<TcpStream> {
    let connecting = timeout(time, TcpStream::connect(address));
    let stream = connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    // What is small is small because the client sent it so: waiting for more would only delay it.
    stream.set_nodelay(true)?;
    Ok(stream)
}
