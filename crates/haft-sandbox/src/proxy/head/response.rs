//! The head of a server's response, and the head that goes on to the client: the connection ends with the response, so
//! that each request is judged on a connection of its own. It deliberately takes no switch of protocols; what wants one
//! goes through CONNECT.

use super::fields::{Fields, write_field, write_framing};
use super::{Framing, Head, HeadError, Version, ascii};

const SWITCHING_PROTOCOLS: u16 = 101;

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    version: Version,
    status: u16,
    reason: Vec<u8>,
    fields: Fields,
    framing: Option<Framing>,
}

impl ResponseHead {
    /// Reads a complete head.
    ///
    /// # Errors
    ///
    /// When it is no head of a response, or can be understood in more than one way.
    pub fn parse(head: &Head<'_>) -> Result<ResponseHead, HeadError> {
        let line = head.lines().next().unwrap_or_default();
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let version = Version::parse(parts.next().unwrap_or_default())?;
        let status = parts.next().and_then(parse_status).ok_or(HeadError::StartLine)?;
        if status == SWITCHING_PROTOCOLS {
            return Err(HeadError::Upgrade);
        }
        // Servers leave out the reason, with or without the space before it.
        let reason = parts.next().unwrap_or_default().to_vec();
        let fields = Fields::parse(head)?;
        let framing = fields.framing(version)?;
        Ok(ResponseHead { version, status, reason, fields, framing })
    }

    /// Returns whether the actual response is still to come.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Returns how long the body is, in a response to such a request.
    #[must_use]
    pub fn body(&self, request_method: &str) -> Framing {
        if request_method == "HEAD" || self.is_interim() || matches!(self.status, 204 | 304) {
            return Framing::Empty;
        }
        self.framing.unwrap_or(Framing::UntilEnd)
    }

    /// Returns the head for the client.
    #[must_use]
    pub fn forwarded(&self) -> Vec<u8> {
        let mut bytes = format!("{} {:03} ", self.version.text(), self.status).into_bytes();
        bytes.extend_from_slice(&self.reason);
        bytes.extend_from_slice(b"\r\n");
        self.fields.write_forwarded(&mut bytes);
        if let Some(framing) = self.framing {
            write_framing(&mut bytes, framing);
        }
        if !self.is_interim() {
            write_field(&mut bytes, "Connection", b"close");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

fn parse_status(text: &[u8]) -> Option<u16> {
    let is_number = text.len() == 3 && text.iter().all(u8::is_ascii_digit);
    let status: u16 = ascii(text).filter(|_| is_number)?.parse().ok()?;
    (status >= 100).then_some(status)
}
