//! Reads the two messages of a SOCKS5 client and writes the answers (RFC 1928): no authentication, CONNECT only. It works
//! on whatever bytes have arrived, reports the first byte that is wrong as soon as it is there, and does no I/O.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first byte of every message.
pub const VERSION: u8 = 5;

const METHOD_NONE: u8 = 0;
const COMMAND_CONNECT: u8 = 1;
const KIND_IPV4: u8 = 1;
const KIND_NAME: u8 = 3;
const KIND_IPV6: u8 = 4;

/// The answer to a greeting that offers to go without authentication.
pub const ACCEPTED: &[u8] = &[VERSION, METHOD_NONE];
/// The answer to a greeting that does not.
pub const NO_METHOD: &[u8] = &[VERSION, 0xff];

/// Where a client wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// To what.
    pub destination: Destination,
    /// At which port; never 0.
    pub port: u16,
}

/// A name as it was sent, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Unchecked, and with replacement characters for what is no UTF-8.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocksError {
    /// Another version of the protocol.
    #[error("SOCKS version {0} is not spoken here; use version 5")]
    Version(u8),
    /// The client insists on authentication.
    #[error("the SOCKS client offers no connection without authentication; configure no user")]
    Method,
    /// BIND or UDP.
    #[error("SOCKS command {0} is not offered; only CONNECT (1) is")]
    Command(u8),
    /// The reserved byte is used.
    #[error("the reserved byte of the SOCKS request is {0}; send 0")]
    Reserved(u8),
    /// Neither IPv4 nor IPv6 nor a name.
    #[error("SOCKS address type {0} is unknown; use 1, 3 or 4")]
    AddressKind(u8),
    /// Nobody listens there.
    #[error("SOCKS port 0 cannot be connected to; name another")]
    Port,
}

/// What a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The connection stands.
    Succeeded,
    /// The request makes no sense.
    GeneralFailure,
    /// The host is not granted.
    NotAllowed,
    /// Nothing answers.
    HostUnreachable,
    /// The port is closed.
    ConnectionRefused,
    /// Neither BIND nor UDP is offered.
    CommandNotSupported,
    /// There are names, IPv4 and IPv6.
    AddressKindNotSupported,
}

/// Reads a greeting and returns how many bytes it has, or nothing while it is not all there.
///
/// # Errors
///
/// When it is of another version, or does not offer to go without authentication.
pub fn parse_greeting(bytes: &[u8]) -> Result<Option<usize>, SocksError> {
    let mut message = Message { rest: bytes };
    let Some([version]) = message.take() else { return Ok(None) };
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let Some([count]) = message.take() else { return Ok(None) };
    let Some(methods) = message.rest.get(..usize::from(count)) else { return Ok(None) };
    if !methods.contains(&METHOD_NONE) {
        return Err(SocksError::Method);
    }
    Ok(Some(2 + methods.len()))
}

/// Reads a request and returns how many bytes it has, or nothing while it is not all there.
///
/// # Errors
///
/// When it asks for something that is not offered.
pub fn parse_request(bytes: &[u8]) -> Result<Option<(Request, usize)>, SocksError> {
    let mut message = Message { rest: bytes };
    let Some(kind) = read_start(&mut message)? else { return Ok(None) };
    let Some(destination) = read_destination(&mut message, kind)? else { return Ok(None) };
    let Some(port) = message.take().map(u16::from_be_bytes) else { return Ok(None) };
    if port == 0 {
        return Err(SocksError::Port);
    }
    let length = bytes.len().saturating_sub(message.rest.len());
    Ok(Some((Request { destination, port }, length)))
}

/// Reads up to the kind of address and returns it.
fn read_start(message: &mut Message<'_>) -> Result<Option<u8>, SocksError> {
    let Some([version]) = message.take() else { return Ok(None) };
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let Some([command]) = message.take() else { return Ok(None) };
    if command != COMMAND_CONNECT {
        return Err(SocksError::Command(command));
    }
    let Some([reserved]) = message.take() else { return Ok(None) };
    if reserved != 0 {
        return Err(SocksError::Reserved(reserved));
    }
    Ok(message.take().map(|[kind]| kind))
}

fn read_destination(
    message: &mut Message<'_>,
    kind: u8,
) -> Result<Option<Destination>, SocksError> {
    let address = match kind {
        KIND_IPV4 => message.take().map(|octets: [u8; 4]| Ipv4Addr::from(octets).into()),
        KIND_IPV6 => message.take().map(|octets: [u8; 16]| Ipv6Addr::from(octets).into()),
        KIND_NAME => return Ok(message.take_name().map(Destination::Name)),
        other => return Err(SocksError::AddressKind(other)),
    };
    Ok(address.map(Destination::Address))
}

impl SocksError {
    /// Returns what a client that sent this is answered.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        let reply = match self {
            SocksError::Method => return NO_METHOD.to_vec(),
            SocksError::Command(_) => Reply::CommandNotSupported,
            SocksError::AddressKind(_) => Reply::AddressKindNotSupported,
            SocksError::Version(_) | SocksError::Reserved(_) | SocksError::Port => {
                Reply::GeneralFailure
            }
        };
        reply.bytes().to_vec()
    }
}

impl Reply {
    /// Returns the bytes of the reply. They name no bound address: the host's network is no business of the client.
    #[must_use]
    pub fn bytes(self) -> [u8; 10] {
        [VERSION, self.code(), 0, KIND_IPV4, 0, 0, 0, 0, 0, 0]
    }

    fn code(self) -> u8 {
        match self {
            Reply::Succeeded => 0,
            Reply::GeneralFailure => 1,
            Reply::NotAllowed => 2,
            Reply::HostUnreachable => 4,
            Reply::ConnectionRefused => 5,
            Reply::CommandNotSupported => 7,
            Reply::AddressKindNotSupported => 8,
        }
    }
}

/// The unread rest of a message.
struct Message<'a> {
    rest: &'a [u8],
}

impl Message<'_> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.rest.split_first_chunk::<LENGTH>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn take_name(&mut self) -> Option<String> {
        let [length] = self.take()?;
        let (name, rest) = self.rest.split_at_checked(usize::from(length))?;
        self.rest = rest;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}
