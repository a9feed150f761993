//! Parses the two messages of a SOCKS5 client and writes the answers (RFC 1928): no authentication,
//! CONNECT only. It parses the bytes that have arrived, reports the first wrong byte as soon as
//! possible, and performs no I/O.

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

/// The answer to a greeting that offers to connect without authentication.
pub const ACCEPTED: &[u8] = &[VERSION, METHOD_NONE];
/// The answer to a greeting that requires authentication.
pub const NO_METHOD: &[u8] = &[VERSION, 0xff];

/// The destination of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocksRequest {
    /// The host.
    pub destination: SocksDestination,
    /// The port; never 0.
    pub port: u16,
}

/// A name as it was sent, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocksDestination {
    /// Unchecked, with replacement characters for bytes that are not UTF-8.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// An error in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocksError {
    /// Another version of the protocol.
    #[error("SOCKS version {0} is not spoken here; use version 5")]
    Version(u8),
    /// The client requires authentication.
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
    /// The port is 0.
    #[error("SOCKS port 0 cannot be connected to; name another")]
    Port,
}

/// The reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksReply {
    /// The connection is established.
    Succeeded,
    /// The request is invalid.
    GeneralFailure,
    /// The host is not granted.
    NotAllowed,
    /// The host does not answer.
    HostUnreachable,
    /// The port is closed.
    ConnectionRefused,
    /// Neither BIND nor UDP is offered.
    CommandNotSupported,
    /// Only names, IPv4 and IPv6 are supported.
    AddressKindNotSupported,
}

/// Parses a greeting and returns its length, or `None` if it is incomplete.
///
/// # Errors
///
/// If it has another version, or does not offer to connect without authentication.
pub fn parse_greeting(bytes: &[u8]) -> Result<Option<usize>, SocksError> {
    let mut message = SocksMessage { rest: bytes };
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

/// Parses a request and returns its length, or `None` if it is incomplete.
///
/// # Errors
///
/// If it requests something that is not supported.
pub fn parse_request(bytes: &[u8]) -> Result<Option<(SocksRequest, usize)>, SocksError> {
    let mut message = SocksMessage { rest: bytes };
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
    let Some([kind]) = message.take() else { return Ok(None) };
    let destination = match kind {
        KIND_IPV4 => message
            .take()
            .map(|octets: [u8; 4]| SocksDestination::Address(Ipv4Addr::from(octets).into())),
        KIND_IPV6 => message
            .take()
            .map(|octets: [u8; 16]| SocksDestination::Address(Ipv6Addr::from(octets).into())),
        KIND_NAME => {
            let Some([length]) = message.take() else { return Ok(None) };
            let name = message.rest.split_off(..usize::from(length));
            name.map(|name| SocksDestination::Name(String::from_utf8_lossy(name).into_owned()))
        }
        other => return Err(SocksError::AddressKind(other)),
    };
    let Some(destination) = destination else { return Ok(None) };
    let Some(port) = message.take().map(u16::from_be_bytes) else { return Ok(None) };
    if port == 0 {
        return Err(SocksError::Port);
    }
    let length = bytes.len().saturating_sub(message.rest.len());
    Ok(Some((SocksRequest { destination, port }, length)))
}

impl SocksError {
    /// Returns the reply to a client that sent this.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        let reply = match self {
            SocksError::Method => return NO_METHOD.to_vec(),
            SocksError::Command(_) => SocksReply::CommandNotSupported,
            SocksError::AddressKind(_) => SocksReply::AddressKindNotSupported,
            SocksError::Version(_) | SocksError::Reserved(_) | SocksError::Port => {
                SocksReply::GeneralFailure
            }
        };
        reply.bytes().to_vec()
    }
}

impl SocksReply {
    /// Returns the bytes of the reply. They contain no bound address, because the client does not
    /// need to know the host's network.
    #[must_use]
    pub fn bytes(self) -> [u8; 10] {
        let code = match self {
            SocksReply::Succeeded => 0,
            SocksReply::GeneralFailure => 1,
            SocksReply::NotAllowed => 2,
            SocksReply::HostUnreachable => 4,
            SocksReply::ConnectionRefused => 5,
            SocksReply::CommandNotSupported => 7,
            SocksReply::AddressKindNotSupported => 8,
        };
        [VERSION, code, 0, KIND_IPV4, 0, 0, 0, 0, 0, 0]
    }
}

/// The unread rest of a message.
struct SocksMessage<'a> {
    rest: &'a [u8],
}

impl SocksMessage<'_> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (taken, rest) = self.rest.split_first_chunk::<LENGTH>()?;
        self.rest = rest;
        Some(*taken)
    }
}
