//! The head of a server's response, and the head that is forwarded to the client. The connection
//! ends with the response, so that each request is judged on a separate connection. A switch of
//! protocols is refused; clients that need one use CONNECT.

use super::fields::{HeaderFields, write_field, write_framing};
use super::{HttpBodyFraming, HttpHead, HttpHeadError, HttpVersion, ascii};

const SWITCHING_PROTOCOLS: u16 = 101;

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    version: HttpVersion,
    status: u16,
    reason: Vec<u8>,
    fields: HeaderFields,
    framing: Option<HttpBodyFraming>,
}

impl ResponseHead {
    /// Parses a complete head.
    ///
    /// # Errors
    ///
    /// If it is not the head of a response, or is ambiguous.
    pub fn parse(head: &HttpHead<'_>) -> Result<ResponseHead, HttpHeadError> {
        let line = head.lines().next().unwrap_or_default();
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let version = HttpVersion::parse(parts.next().unwrap_or_default())?;
        let status = parts.next().and_then(|text| {
            let is_number = text.len() == 3 && text.iter().all(u8::is_ascii_digit);
            ascii(text).filter(|_| is_number)?.parse().ok().filter(|status| *status >= 100)
        });
        let status = status.ok_or(HttpHeadError::StartLine)?;
        if status == SWITCHING_PROTOCOLS {
            return Err(HttpHeadError::Upgrade);
        }
        // Servers omit the reason, with or without the space before it.
        let reason = parts.next().unwrap_or_default().to_vec();
        let fields = HeaderFields::parse(head)?;
        let framing = fields.framing(version)?;
        Ok(ResponseHead { version, status, reason, fields, framing })
    }

    /// Returns whether this is an interim response, before the final one.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Returns the length of the body, in a response to a request with `method`.
    #[must_use]
    pub fn body(&self, request_method: &str) -> HttpBodyFraming {
        if request_method == "HEAD" || self.is_interim() || matches!(self.status, 204 | 304) {
            return HttpBodyFraming::Empty;
        }
        self.framing.unwrap_or(HttpBodyFraming::UntilEnd)
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
