//! The allowed addresses of a connection. It asks the egress policy about the host, resolves its
//! name once, and checks every address. It makes no connection. The caller must connect only to the
//! returned addresses, because a name could resolve differently the second time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use super::address::reserved_range;
use super::connection_log::printable_text;
use super::egress::{EgressDecision, EgressPolicy, HostResolver};
use super::host::{Host, HostError};

/// A connection was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionDenial {
    /// The requested text is not a host.
    #[error("{error} (asked for {})", printable_text(.text))]
    NoHost {
        /// The text as requested.
        text: String,
        /// The reason.
        error: HostError,
    },
    /// The host is not granted.
    #[error(
        "host {host} is not granted to this call; the user can grant it, or the tool can declare it in \
         requires.net.hosts"
    )]
    NotGranted {
        /// The host.
        host: Host,
    },
    /// The host is granted, but not at this port.
    #[error(
        "port {port} of host {host} is not granted to this call: a host granted by name is reachable at \
         {}; use one of these",
        .ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ")
    )]
    OtherPorts {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// The ports at which it is granted.
        ports: &'static [u16],
    },
    /// The name leads only to addresses that are not public.
    #[error(
        "host {host} is granted by name, and its address is {range}; addresses that are not public \
         have to be granted as such"
    )]
    Reserved {
        /// The host.
        host: Host,
        /// The range that the address is reserved for.
        range: &'static str,
    },
    /// The name has no address.
    #[error("host {host} has no address: {reason}; check the name")]
    Unresolved {
        /// The host.
        host: Host,
        /// The resolver's error.
        reason: String,
    },
    /// Connecting failed at every address that was tried.
    #[error("cannot connect to {host} port {port}: {error}")]
    Unreachable {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// The error.
        error: io::Error,
    },
    /// No connection was made in time.
    #[error("host {host} port {port} did not answer in {dial_ms} ms; try again later")]
    TooSlow {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// The time waited, in milliseconds.
        dial_ms: u64,
    },
}

/// Returns the addresses of a host that may be connected to at a port, preferred ones first. The
/// list is never empty.
///
/// # Errors
///
/// If the host is not granted at the port, if it has no address, or if all of its addresses are
/// blocked for hosts that are granted by name.
pub async fn admitted_addresses(
    host: &Host,
    port: u16,
    admission: &dyn EgressPolicy,
    resolver: &dyn HostResolver,
) -> Result<Vec<IpAddr>, ConnectionDenial> {
    let admitted = admission.admits(&host.to_string(), port);
    match admitted {
        EgressDecision::No => return Err(ConnectionDenial::NotGranted { host: host.clone() }),
        EgressDecision::OtherPorts(ports) => {
            return Err(ConnectionDenial::OtherPorts { host: host.clone(), port, ports });
        }
        EgressDecision::ByName | EgressDecision::AnyAddress => {}
    }
    let addresses = match host.address() {
        Some(address) => vec![address],
        None => {
            let unresolved =
                |reason: String| ConnectionDenial::Unresolved { host: host.clone(), reason };
            let addresses = resolver.resolve(&host.to_string()).await;
            let addresses = addresses.map_err(|err| unresolved(err.to_string()))?;
            if addresses.is_empty() {
                return Err(unresolved("the resolver found none".to_owned()));
            }
            addresses
        }
    };
    permitted(host, addresses, admitted)
}

/// Returns the addresses that may be connected to. If a name has public and other addresses, only
/// the public ones remain. An attacker gains nothing from the others, because they are never
/// connected to.
pub(super) fn permitted(
    host: &Host,
    addresses: Vec<IpAddr>,
    admitted: EgressDecision,
) -> Result<Vec<IpAddr>, ConnectionDenial> {
    if admitted == EgressDecision::AnyAddress {
        return Ok(addresses);
    }
    let mut refused = "unknown";
    let mut public = Vec::new();
    // An address leads to the same place in each of its forms.
    for address in addresses.into_iter().map(|address| address.to_canonical()) {
        match reserved_range(address).or_else(|| local_range(address)) {
            Some(range) => refused = range,
            None => public.push(address),
        }
    }
    if public.is_empty() {
        return Err(ConnectionDenial::Reserved { host: host.clone(), range: refused });
    }
    Ok(public)
}

/// Returns the range name of an address of this machine, whose services listen there as on its
/// loopback interface.
///
/// Asks the kernel for the source address of packets to it; none are sent. A packet to oneself
/// comes from the same address.
pub(super) fn local_range(address: IpAddr) -> Option<&'static str> {
    /// Any port but 0; nothing is sent to it.
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

impl ConnectionDenial {
    /// Returns whether the connection was not allowed. Otherwise it failed.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            ConnectionDenial::NoHost { .. }
            | ConnectionDenial::NotGranted { .. }
            | ConnectionDenial::OtherPorts { .. }
            | ConnectionDenial::Reserved { .. } => true,
            ConnectionDenial::Unresolved { .. }
            | ConnectionDenial::Unreachable { .. }
            | ConnectionDenial::TooSlow { .. } => false,
        }
    }
}
