//! The questions that the proxy asks its owner: whether a host may be reached, and its addresses.
//! The module deliberately contains no rules; the owner supplies them.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Decides where a confined process may connect.
///
/// The proxy resolves, checks addresses and connects. Several connections may ask at the same time.
pub trait EgressPolicy: Send + Sync {
    /// Returns whether a host may be reached at a port.
    ///
    /// The host is in the form that [`Host`](super::Host) prints: a name in lower case without a trailing dot, or an
    /// address in its canonical form without brackets.
    fn admits(&self, host: &str, port: u16) -> EgressDecision;

    /// Returns whether a host that is granted by name may be reached at this address, which is not public.
    ///
    /// By default it may not.
    fn admits_address(&self, _host: &str, _address: IpAddr) -> bool {
        false
    }
}

/// The result of [`EgressPolicy::admits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EgressDecision {
    /// The host is not granted.
    No,
    /// The host is granted at these ports, but not at this one.
    OtherPorts(&'static [u16]),
    /// The host is granted at public addresses only. A name that points to a private address is
    /// refused.
    ByName,
    /// The host is granted at any address, including private, loopback and link-local ones. Addresses of metadata services
    /// are refused all the same.
    AnyAddress,
}

/// A future that resolves to the addresses of a name.
pub type HostResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
///
/// It is called once for each connection, and the connection uses only its addresses.
pub trait HostResolver: Send + Sync {
    /// Returns the addresses of a name, preferred ones first.
    fn resolve<'a>(&'a self, name: &'a str) -> HostResolveFuture<'a>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SystemHostResolver;

impl HostResolver for SystemHostResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> HostResolveFuture<'a> {
        Box::pin(async move {
            // The port does not matter: only the addresses are used.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}
