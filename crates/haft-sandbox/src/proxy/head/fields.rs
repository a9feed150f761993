//! The header fields of a head: which go on to the other side, and what they say about the body. Fields that concern one
//! connection only stay here. It deliberately changes no value.

use super::{FIELDS_MAX, Framing, Head, HeadError, Version, ascii, is_token};

/// Fields that are about one connection, or that are written anew.
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
pub(super) struct Fields(Vec<Field>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    /// As it was spelled.
    name: String,
    value: Vec<u8>,
}

impl Fields {
    /// Reads all lines but the first.
    pub(super) fn parse(head: &Head<'_>) -> Result<Fields, HeadError> {
        let mut fields = Vec::new();
        for line in head.lines().skip(1) {
            if fields.len() >= FIELDS_MAX {
                return Err(HeadError::TooLong { bytes_max: head.length() });
            }
            fields.push(Field::parse(line)?);
        }
        Ok(Fields(fields))
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.values(name).count()
    }

    /// Returns what the fields say about the body, and nothing if they are silent.
    pub(super) fn framing(&self, version: Version) -> Result<Option<Framing>, HeadError> {
        let mut encodings = self.values("transfer-encoding");
        let mut lengths = self.values("content-length");
        match (encodings.next(), lengths.next()) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(HeadError::Framing("both Transfer-Encoding and Content-Length are there"))
            }
            (Some(encoding), None) => {
                let is_chunked = encoding.eq_ignore_ascii_case(b"chunked");
                if !is_chunked || encodings.next().is_some() {
                    return Err(HeadError::Framing("the only Transfer-Encoding taken is chunked"));
                }
                if version == Version::Http10 {
                    return Err(HeadError::Framing("HTTP/1.0 has no Transfer-Encoding"));
                }
                Ok(Some(Framing::Chunked))
            }
            (None, Some(length)) => {
                if lengths.next().is_some() {
                    return Err(HeadError::Framing("Content-Length is there more than once"));
                }
                parse_length(length).map(|length| Some(Framing::Length(length)))
            }
        }
    }

    /// Appends the fields that go on to the other side.
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

    /// Returns the values of all fields of a name.
    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let is_named = move |field: &&Field| field.name.eq_ignore_ascii_case(name);
        self.0.iter().filter(is_named).map(|field| field.value.as_slice())
    }
}

impl Field {
    fn parse(line: &[u8]) -> Result<Field, HeadError> {
        let colon = line.iter().position(|byte| *byte == b':').ok_or(HeadError::Field)?;
        let (name, rest) = line.split_at_checked(colon).ok_or(HeadError::Field)?;
        // Neither a space before the colon nor one before the name: the line would belong to the one before.
        let name = ascii(name).filter(|name| is_token(name.as_bytes())).ok_or(HeadError::Field)?;
        let value = rest.strip_prefix(b":").unwrap_or_default().trim_ascii();
        Ok(Field { name: name.to_owned(), value: value.to_vec() })
    }
}

/// Appends a field.
pub(super) fn write_field(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

/// Appends the field that says how long the body is.
pub(super) fn write_framing(bytes: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::Empty | Framing::UntilEnd => {}
        Framing::Length(length) => {
            write_field(bytes, "Content-Length", length.to_string().as_bytes());
        }
        Framing::Chunked => write_field(bytes, "Transfer-Encoding", b"chunked"),
    }
}

/// Reads a length, which is digits only: no sign, no list.
fn parse_length(value: &[u8]) -> Result<u64, HeadError> {
    ascii(value)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(HeadError::Framing("Content-Length is no number of bytes"))
}
