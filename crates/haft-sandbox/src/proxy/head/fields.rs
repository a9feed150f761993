//! The header fields of a head: which of them are forwarded, and the body's length. Fields that
//! concern only one connection are not forwarded. Values are never changed.

use super::{FIELDS_MAX, HttpBodyFraming, HttpHead, HttpHeadError, HttpVersion, ascii, is_token};

/// Fields that concern one connection, or that are written anew.
const NOT_FORWARDED: &[&str] = &[
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderFields(Vec<HeaderField>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct HeaderField {
    /// The name as it was spelled.
    name: String,
    value: Vec<u8>,
}

impl HeaderFields {
    /// Parses all lines except the first.
    pub(super) fn parse(head: &HttpHead<'_>) -> Result<HeaderFields, HttpHeadError> {
        let mut fields = Vec::new();
        for line in head.lines().skip(1) {
            if fields.len() >= FIELDS_MAX {
                return Err(HttpHeadError::TooLong { bytes_max: head.length() });
            }
            fields.push(HeaderField::parse(line)?);
        }
        Ok(HeaderFields(fields))
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.values(name).count()
    }

    /// Returns the body's length according to the fields, or `None` if they do not tell.
    pub(super) fn framing(
        &self,
        version: HttpVersion,
    ) -> Result<Option<HttpBodyFraming>, HttpHeadError> {
        let mut encodings = self.values("transfer-encoding");
        let mut lengths = self.values("content-length");
        match (encodings.next(), lengths.next()) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(HttpHeadError::Framing("both Transfer-Encoding and Content-Length are there"))
            }
            (Some(encoding), None) => {
                let is_chunked = encoding.eq_ignore_ascii_case(b"chunked");
                if !is_chunked || encodings.next().is_some() {
                    return Err(HttpHeadError::Framing(
                        "the only accepted Transfer-Encoding is chunked",
                    ));
                }
                if version == HttpVersion::Http10 {
                    return Err(HttpHeadError::Framing("HTTP/1.0 has no Transfer-Encoding"));
                }
                Ok(Some(HttpBodyFraming::Chunked))
            }
            (None, Some(length)) => {
                if lengths.next().is_some() {
                    return Err(HttpHeadError::Framing("there is more than one Content-Length"));
                }
                // A length is digits only: no sign, no list.
                let length = ascii(length)
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|text| text.parse().ok());
                length
                    .map(|length| Some(HttpBodyFraming::Length(length)))
                    .ok_or(HttpHeadError::Framing("Content-Length is not a number of bytes"))
            }
        }
    }

    /// Appends the forwarded fields.
    pub(super) fn write_forwarded(&self, bytes: &mut Vec<u8>) {
        let named: Vec<&[u8]> =
            self.values("connection").flat_map(|value| value.split(|byte| *byte == b',')).collect();
        let stays = |name: &str| {
            let is_name = |other: &[u8]| other.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            NOT_FORWARDED.iter().any(|other| other.eq_ignore_ascii_case(name))
                || named.iter().any(|other| is_name(other))
        };
        for field in self.0.iter().filter(|field| !stays(&field.name)) {
            write_field(bytes, &field.name, &field.value);
        }
    }

    /// Returns the values of all fields with this name.
    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let is_named = move |field: &&HeaderField| field.name.eq_ignore_ascii_case(name);
        self.0.iter().filter(is_named).map(|field| field.value.as_slice())
    }
}

impl HeaderField {
    fn parse(line: &[u8]) -> Result<HeaderField, HttpHeadError> {
        let colon = line.iter().position(|byte| *byte == b':').ok_or(HttpHeadError::Field)?;
        let (name, rest) = line.split_at_checked(colon).ok_or(HttpHeadError::Field)?;
        // No space is allowed before the name or the colon: such a line would continue the one
        // before.
        let name =
            ascii(name).filter(|name| is_token(name.as_bytes())).ok_or(HttpHeadError::Field)?;
        let value = rest.strip_prefix(b":").unwrap_or_default().trim_ascii();
        Ok(HeaderField { name: name.to_owned(), value: value.to_vec() })
    }
}

/// Appends a field.
pub(super) fn write_field(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
}

/// Appends the field with the body's length.
pub(super) fn write_framing(bytes: &mut Vec<u8>, framing: HttpBodyFraming) {
    match framing {
        HttpBodyFraming::Empty | HttpBodyFraming::UntilEnd => {}
        HttpBodyFraming::Length(length) => {
            write_field(bytes, "Content-Length", length.to_string().as_bytes());
        }
        HttpBodyFraming::Chunked => write_field(bytes, "Transfer-Encoding", b"chunked"),
    }
}
