//! What the proxy asks of its owner: whether a host may be reached, and which addresses it has. It deliberately knows no
//! rules: whoever starts the proxy brings them.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Decides where a confined process may connect.
///
/// Resolving, checking addresses and connecting are the proxy's. Several connections may ask at the same time.
pub trait Admission: Send + Sync {
    /// Returns whether a host may be reached at a port.
    ///
    /// The host is in the form that [`Host`](super::Host) prints: a name in lower case without a trailing dot, or an
    /// address in its canonical form without brackets.
    fn admits(&self, host: &str, port: u16) -> Admitted;
}

/// An answer of [`Admission::admits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admitted {
    /// The host is not granted.
    No,
    /// The host is granted, at these ports and not at this one.
    OtherPorts(&'static [u16]),
    /// The host is granted, at public addresses only: a name whose owner points it at a private address reaches nothing.
    ByName,
    /// The host is granted whatever its address, private, loopback and link-local addresses included.
    AnyAddress,
}

/// The addresses of a name, once they are known.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
///
/// It is asked once for each connection, and what it answers is what is connected to.
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a name, the preferred ones first.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The port is of no consequence: only addresses are wanted.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}
