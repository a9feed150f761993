//! The listeners of haft itself, which no call reaches, whatever hosts are granted to it. A listener has a mark: an abstract
//! socket whose name is its address. All processes of this machine see the mark, and the kernel removes it with the process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};

/// The mark of a listener. Dropping it removes the mark.
#[derive(Debug)]
pub struct OwnListener(#[expect(dead_code, reason = "it is only kept open")] UnixDatagram);

impl OwnListener {
    /// Marks an address that this process listens on. No call of haft on this machine reaches it from now on.
    ///
    /// # Errors
    ///
    /// Fails if the mark cannot be made, for one because another process has made it.
    pub fn mark(address: SocketAddr) -> io::Result<Self> {
        Ok(Self(UnixDatagram::bind_addr(&mark_of(address)?)?))
    }
}

/// Returns whether haft listens at a port of this address.
pub(super) fn is_own_listener(address: IpAddr, port: u16) -> bool {
    let address = address.to_canonical();
    let is_marked = |address: IpAddr| {
        let mark = mark_of(SocketAddr::new(address, port));
        mark.and_then(|mark| UnixDatagram::unbound()?.connect_addr(&mark)).is_ok()
    };
    if is_marked(address) {
        return true;
    }
    // An address that this process could listen at is one of this machine.
    if UdpSocket::bind((address, 0)).is_err() {
        return false;
    }
    // A socket for all addresses of IPv6 usually gets connections of IPv4 too.
    let all = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    // A connection to no address in particular leads to the loopback address.
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let loopback = loopback.into_iter().filter(|_| address.is_unspecified());
    all.into_iter().chain(loopback).any(is_marked)
}

fn mark_of(address: SocketAddr) -> io::Result<UnixAddress> {
    let (ip, port) = (address.ip().to_canonical(), address.port());
    UnixAddress::from_abstract_name(format!("haft-listener {ip} {port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_seen_at_each_address_that_leads_there() {
        let marked = |address: &str, port| is_own_listener(address.parse().unwrap(), port);
        // Ports below 1,024 are those of no other test.
        let one = OwnListener::mark("127.0.0.1:11".parse().unwrap()).unwrap();
        assert!(marked("127.0.0.1", 11) && marked("::ffff:127.0.0.1", 11) && marked("0.0.0.0", 11));
        assert!(!marked("127.0.0.1", 12) && !marked("127.0.0.2", 11) && !marked("192.0.2.7", 11));
        assert!(OwnListener::mark("127.0.0.1:11".parse().unwrap()).is_err());
        drop(one);
        assert!(!marked("127.0.0.1", 11));
        let _all = OwnListener::mark("0.0.0.0:13".parse().unwrap()).unwrap();
        assert!(marked("127.0.0.1", 13) && marked("127.9.9.9", 13));
        assert!(!marked("192.0.2.7", 13));
        let _six = OwnListener::mark("[::]:17".parse().unwrap()).unwrap();
        assert!(marked("::1", 17) && marked("127.0.0.1", 17));
    }
}
