//! The head of a request to the proxy, and the head that is forwarded to the server. The host is
//! taken only from the request's target, because that is the host that was judged; a different Host
//! field is not forwarded. No Via field is added: servers answer worse because of it, and the
//! client knows its proxy.

use super::fields::{HeaderFields, write_field, write_framing};
use super::{HttpBodyFraming, HttpHead, HttpHeadError, HttpVersion, ascii, is_token};
use crate::proxy::Host;

const HTTP_PORT: u16 = 80;

const SCHEME: &[u8] = b"http://";

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    method: String,
    target: RequestTarget,
    version: HttpVersion,
    fields: HeaderFields,
    framing: HttpBodyFraming,
}

/// The purpose of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    /// A tunnel that carries any bytes.
    Connect(RequestAuthority),
    /// One exchange of HTTP.
    Forward {
        /// The server.
        authority: RequestAuthority,
        /// The path for the server.
        path: Vec<u8>,
    },
}

/// A host, unchecked, and a port that is not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAuthority {
    /// The host as it was sent, with the brackets of an IPv6 address.
    pub host: String,
    /// The port as it was sent, or HTTP's default.
    pub port: u16,
}

impl RequestHead {
    /// Parses a complete head.
    ///
    /// # Errors
    ///
    /// If it is not a request to a proxy, or is ambiguous.
    pub fn parse(head: &HttpHead<'_>) -> Result<RequestHead, HttpHeadError> {
        let line = head.lines().next().unwrap_or_default();
        let mut parts = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HttpHeadError::StartLine);
        };
        let method = ascii(method).filter(|method| is_token(method.as_bytes()));
        let method = method.ok_or(HttpHeadError::StartLine)?.to_owned();
        let version = HttpVersion::parse(version)?;
        let target = if method == "CONNECT" {
            let authority = parse_authority(target)?;
            let (host, port) = authority.ok_or(HttpHeadError::Target("one without a port"))?;
            RequestTarget::Connect(RequestAuthority { host, port })
        } else {
            let rest = match target.split_at_checked(SCHEME.len()) {
                Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => rest,
                _ if target.starts_with(b"/") || target == b"*" => {
                    return Err(HttpHeadError::Target("one for a server, and this is a proxy"));
                }
                _ => return Err(HttpHeadError::Target("not one of plain HTTP")),
            };
            let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
            let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, b""));
            let authority = match parse_authority(authority)? {
                Some((host, port)) => RequestAuthority { host, port },
                None => RequestAuthority { host: text(authority)?, port: HTTP_PORT },
            };
            // Bytes outside ASCII are forwarded: servers accept them, and they cannot be mistaken
            // for an end.
            if path.iter().any(|byte| byte.is_ascii_control() || *byte == b'#') {
                return Err(HttpHeadError::Target("one with a fragment or a tab in it"));
            }
            let mut path = path.to_vec();
            match path.first() {
                Some(b'/') => {}
                None if method == "OPTIONS" => path.push(b'*'),
                _ => path.insert(0, b'/'),
            }
            RequestTarget::Forward { authority, path }
        };
        let fields = HeaderFields::parse(head)?;
        if fields.count("host") > 1 {
            return Err(HttpHeadError::Hosts);
        }
        let framing = fields.framing(version)?.unwrap_or(HttpBodyFraming::Empty);
        let has_body = !matches!(framing, HttpBodyFraming::Empty | HttpBodyFraming::Length(0));
        if has_body && matches!(target, RequestTarget::Connect(_)) {
            return Err(HttpHeadError::Framing("CONNECT has no body"));
        }
        Ok(RequestHead { method, target, version, fields, framing })
    }

    /// Returns the purpose of the request.
    #[must_use]
    pub fn target(&self) -> &RequestTarget {
        &self.target
    }

    /// Returns the method, in the letter case in which it was sent.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the length of the body.
    #[must_use]
    pub fn framing(&self) -> HttpBodyFraming {
        self.framing
    }

    /// Returns the head for the server, with the host that was judged. It asks the server to close
    /// the connection.
    #[must_use]
    pub fn forwarded(&self, host: &Host) -> Vec<u8> {
        let (authority, path): (&RequestAuthority, &[u8]) = match &self.target {
            RequestTarget::Connect(authority) => (authority, b"/"),
            RequestTarget::Forward { authority, path } => (authority, path),
        };
        let version = self.version.text().as_bytes();
        let mut bytes = [self.method.as_bytes(), b" ", path, b" ", version, b"\r\n"].concat();
        let name = match authority.port {
            HTTP_PORT => host.bracketed(),
            port => format!("{}:{port}", host.bracketed()),
        };
        write_field(&mut bytes, "Host", name.as_bytes());
        self.fields.write_forwarded(&mut bytes);
        write_framing(&mut bytes, self.framing);
        write_field(&mut bytes, "Connection", b"close");
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

/// Splits a host from its port; returns `None` if there is no port.
fn parse_authority(authority: &[u8]) -> Result<Option<(String, u16)>, HttpHeadError> {
    if authority.contains(&b'@') {
        return Err(HttpHeadError::Target("one with a user in it"));
    }
    let authority = text(authority)?;
    if authority.ends_with(']') {
        return Ok(None);
    }
    let Some((host, port)) = authority.rsplit_once(':') else { return Ok(None) };
    let is_canonical = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_canonical => Ok(Some((host.to_owned(), port))),
        _ => Err(HttpHeadError::Target("one whose port is not a number from 1 to 65535")),
    }
}

fn text(authority: &[u8]) -> Result<String, HttpHeadError> {
    std::str::from_utf8(authority)
        .map(str::to_owned)
        .map_err(|_| HttpHeadError::Target("one whose host is not text"))
}
