//! Where a connection may lead: a host is asked for at the admission, its name is resolved once, and every address is
//! checked, so that what was checked can be connected to. It makes no connection: whoever makes one uses the addresses that
//! are returned here and no others, or else a name that changes its mind leads elsewhere.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use super::address::reserved_range;
use super::admission::{Admission, Admitted, Resolver};
use super::host::{Host, HostError};
use super::record::{Outcome, shown};

/// Why a connection was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// What was asked for is no host.
    #[error("{error} (asked for {})", shown(.text))]
    NoHost {
        /// As it was asked for.
        text: String,
        /// What is wrong with it.
        error: HostError,
    },
    /// The host is not granted.
    #[error(
        "host {host} is not granted to this call; allow it with requires.net.hosts or \
         --allow-host {host}"
    )]
    NotGranted {
        /// The host.
        host: Host,
    },
    /// The host is granted, and not at this port.
    #[error(
        "port {port} of host {host} is not granted to this call: a host granted by name is reachable at \
         {}; use one of these",
        listed(.ports)
    )]
    OtherPorts {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// The ports at which it is granted.
        ports: &'static [u16],
    },
    /// The name leads to addresses that are not public, and to no others.
    #[error(
        "host {host} is granted by name, and its address is {range}; addresses that are not public \
         have to be granted as such"
    )]
    Reserved {
        /// The host.
        host: Host,
        /// What the address is reserved for.
        range: &'static str,
    },
    /// The name has no address.
    #[error("host {host} has no address: {reason}; check the name")]
    Unresolved {
        /// The host.
        host: Host,
        /// What the resolver said.
        reason: String,
    },
    /// Nothing could be connected to at the addresses that were tried.
    #[error("cannot connect to {host} port {port}: {error}")]
    Unreachable {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// What happened.
        error: io::Error,
    },
    /// There was no connection in time.
    #[error("host {host} port {port} did not answer in {dial_ms} ms; try again later")]
    TooSlow {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// How long was waited, in milliseconds.
        dial_ms: u64,
    },
}

/// Returns the addresses of a host that may be connected to at a port, the preferred ones first, and never none.
///
/// # Errors
///
/// When the host is not granted at the port, when it has no address, and when all that it has are kept from hosts that are
/// granted by name.
pub async fn admitted_addresses(
    host: &Host,
    port: u16,
    admission: &dyn Admission,
    resolver: &dyn Resolver,
) -> Result<Vec<IpAddr>, Denial> {
    let admitted = admission.admits(&host.to_string(), port);
    match admitted {
        Admitted::No => return Err(Denial::NotGranted { host: host.clone() }),
        Admitted::OtherPorts(ports) => {
            return Err(Denial::OtherPorts { host: host.clone(), port, ports });
        }
        Admitted::ByName | Admitted::AnyAddress => {}
    }
    permitted(host, resolved(host, resolver).await?, admitted)
}

async fn resolved(host: &Host, resolver: &dyn Resolver) -> Result<Vec<IpAddr>, Denial> {
    let unresolved = |reason: String| Denial::Unresolved { host: host.clone(), reason };
    if let Some(address) = host.address() {
        return Ok(vec![address]);
    }
    let addresses = resolver.resolve(&host.to_string()).await;
    let addresses = addresses.map_err(|err| unresolved(err.to_string()))?;
    if addresses.is_empty() {
        return Err(unresolved("the resolver found none".to_owned()));
    }
    Ok(addresses)
}

/// Returns those addresses that may be connected to. Of a name that has public and other addresses the public ones stay:
/// the others are never connected to, so there is nothing to gain from them.
pub(super) fn permitted(
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
pub(super) fn own_range(address: IpAddr) -> Option<&'static str> {
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

fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ")
}

impl Denial {
    pub(super) fn outcome(&self) -> Outcome {
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
