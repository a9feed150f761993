//! The head of a request to the proxy, and the head that goes on to the server. The name of the host is taken from the
//! request's target alone, as the one that was judged; a Host field that says something else does not go on. No Via is
//! added: servers answer worse because of it, and the client knows its proxy.

use super::fields::{Fields, write_field, write_framing};
use super::{Framing, Head, HeadError, Version, ascii, is_token};
use crate::proxy::Host;

const HTTP_PORT: u16 = 80;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    method: String,
    target: Target,
    version: Version,
    fields: Fields,
    framing: Framing,
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A connection that carries anything.
    Connect(Authority),
    /// One exchange of HTTP.
    Forward {
        /// With whom.
        authority: Authority,
        /// What the server is asked for.
        path: Vec<u8>,
    },
}

/// A host, unchecked, and a port that is not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// As it was sent, with the brackets of an IPv6 address.
    pub host: String,
    /// As it was sent, or that of HTTP.
    pub port: u16,
}

impl RequestHead {
    /// Reads a complete head.
    ///
    /// # Errors
    ///
    /// When it is no request to a proxy, or can be understood in more than one way.
    pub fn parse(head: &Head<'_>) -> Result<RequestHead, HeadError> {
        let line = head.lines().next().unwrap_or_default();
        let mut parts = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HeadError::StartLine);
        };
        let method = ascii(method).filter(|method| is_token(method.as_bytes()));
        let method = method.ok_or(HeadError::StartLine)?.to_owned();
        let version = Version::parse(version)?;
        let target = parse_target(&method, target)?;
        let fields = Fields::parse(head)?;
        if fields.count("host") > 1 {
            return Err(HeadError::Hosts);
        }
        let framing = fields.framing(version)?.unwrap_or(Framing::Empty);
        let has_body = !matches!(framing, Framing::Empty | Framing::Length(0));
        if has_body && matches!(target, Target::Connect(_)) {
            return Err(HeadError::Framing("CONNECT has no body"));
        }
        Ok(RequestHead { method, target, version, fields, framing })
    }

    /// Returns what the request is for.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the method, in the letter case it was sent in.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns how long the body is.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns the head for the server, with the host that was judged. It asks the server to end the connection.
    #[must_use]
    pub fn forwarded(&self, host: &Host) -> Vec<u8> {
        let (authority, path): (&Authority, &[u8]) = match &self.target {
            Target::Connect(authority) => (authority, b"/"),
            Target::Forward { authority, path } => (authority, path),
        };
        let mut bytes = Vec::new();
        bytes.extend_from_slice(self.method.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(path);
        bytes.push(b' ');
        bytes.extend_from_slice(self.version.text().as_bytes());
        bytes.extend_from_slice(b"\r\n");
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

fn parse_target(method: &str, target: &[u8]) -> Result<Target, HeadError> {
    if method == "CONNECT" {
        let authority = parse_authority(target)?;
        let (host, port) = authority.ok_or(HeadError::Target("one without a port"))?;
        return Ok(Target::Connect(Authority { host, port }));
    }
    let rest = strip_scheme(target)?;
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, b""));
    let authority = match parse_authority(authority)? {
        Some((host, port)) => Authority { host, port },
        None => Authority { host: text(authority)?, port: HTTP_PORT },
    };
    // What is outside ASCII goes on as it is: servers take it, and it cannot be mistaken for an end.
    if path.iter().any(|byte| byte.is_ascii_control() || *byte == b'#') {
        return Err(HeadError::Target("one with a fragment or a tab in it"));
    }
    let mut path = path.to_vec();
    match path.first() {
        Some(b'/') => {}
        None if method == "OPTIONS" => path.push(b'*'),
        _ => path.insert(0, b'/'),
    }
    Ok(Target::Forward { authority, path })
}

fn strip_scheme(target: &[u8]) -> Result<&[u8], HeadError> {
    const SCHEME: &[u8] = b"http://";
    match target.split_at_checked(SCHEME.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(SCHEME) => Ok(rest),
        _ if target.starts_with(b"/") || target == b"*" => {
            Err(HeadError::Target("one for a server, and this is a proxy"))
        }
        _ => Err(HeadError::Target("none of plain HTTP")),
    }
}

/// Splits a host from its port; returns nothing if there is no port.
fn parse_authority(authority: &[u8]) -> Result<Option<(String, u16)>, HeadError> {
    if authority.contains(&b'@') {
        return Err(HeadError::Target("one with a user in it"));
    }
    let authority = text(authority)?;
    if authority.ends_with(']') {
        return Ok(None);
    }
    let Some((host, port)) = authority.rsplit_once(':') else { return Ok(None) };
    let is_canonical = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_canonical => Ok(Some((host.to_owned(), port))),
        _ => Err(HeadError::Target("one with a port that is no number from 1 to 65535")),
    }
}

fn text(authority: &[u8]) -> Result<String, HeadError> {
    std::str::from_utf8(authority)
        .map(str::to_owned)
        .map_err(|_| HeadError::Target("one with a host that is no text"))
}
