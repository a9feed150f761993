//! The allowed addresses of a connection. It asks the egress policy about the host, resolves its
//! name once, and checks every address. It makes no connection. The caller must connect only to the
//! returned addresses, because a name could resolve differently the second time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use super::address::{is_metadata_address, reserved_range};
use super::connection_log::printable_text;
use super::egress::{EgressDecision, EgressPolicy, HostResolver};
use super::host::{Host, HostError};
use super::own_listener::is_own_listener;

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
        "host {host} is granted by name, and its address {address} is {range}; it is reached only if this very host \
         is granted, and {address} or a range with it as well"
    )]
    Reserved {
        /// The host.
        host: Host,
        /// The address.
        address: IpAddr,
        /// The range that the address is reserved for.
        range: &'static str,
    },
    /// The host leads to the metadata service of a cloud, which no call reaches.
    #[error("host {host} leads to the metadata service of a cloud, which no call reaches")]
    Metadata {
        /// The host.
        host: Host,
    },
    /// haft itself listens there: an agent must not reach the pages on which people decide about it.
    #[error("haft itself listens on port {port} of {host}, which no call reaches")]
    OwnListener {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
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
    /// The proxy outside made no connection.
    #[error("cannot connect to {host} port {port}: {reason}")]
    Upstream {
        /// The host.
        host: Host,
        /// The port.
        port: u16,
        /// The reason.
        reason: String,
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
/// If the host is not granted at the port, if it has no address, if all of its addresses are
/// blocked for hosts that are granted by name, or if haft itself listens there.
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
    let mut permitted = permitted(host, addresses, admitted, admission)?;
    permitted.retain(|address| !is_own_listener(*address, port));
    if permitted.is_empty() {
        return Err(ConnectionDenial::OwnListener { host: host.clone(), port });
    }
    Ok(permitted)
}

/// Returns the addresses that may be connected to. If a name has public and other addresses, only
/// the public ones remain. An attacker gains nothing from the others, because they are never
/// connected to.
pub(super) fn permitted(
    host: &Host,
    addresses: Vec<IpAddr>,
    admitted: EgressDecision,
    admission: &dyn EgressPolicy,
) -> Result<Vec<IpAddr>, ConnectionDenial> {
    let name = host.to_string();
    let mut denial = ConnectionDenial::Metadata { host: host.clone() };
    let mut public = Vec::new();
    let mut named = Vec::new();
    // An address leads to the same place in each of its forms.
    for given in addresses {
        let address = given.to_canonical();
        if is_metadata_address(address) {
            continue;
        }
        if admitted == EgressDecision::AnyAddress {
            public.push(given);
            continue;
        }
        match reserved_range(address).or_else(|| local_range(address)) {
            None => public.push(address),
            Some(_) if admission.admits_address(&name, address) => named.push(address),
            Some(range) => {
                denial = ConnectionDenial::Reserved { host: host.clone(), address, range }
            }
        }
    }
    let permitted = if public.is_empty() { named } else { public };
    if permitted.is_empty() { Err(denial) } else { Ok(permitted) }
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
            | ConnectionDenial::Reserved { .. }
            | ConnectionDenial::Metadata { .. }
            | ConnectionDenial::OwnListener { .. } => true,
            ConnectionDenial::Unresolved { .. }
            | ConnectionDenial::Unreachable { .. }
            | ConnectionDenial::Upstream { .. }
            | ConnectionDenial::TooSlow { .. } => false,
        }
    }
}
