//! The host names and addresses that a client may request, in the one spelling that grants are
//! compared with. It is strict: alternative spellings of an address that some resolver would accept
//! are refused, and clients must encode names in other scripts. It resolves nothing.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const NAME_CHARS_MAX: usize = 253;
pub(crate) const LABEL_CHARS_MAX: usize = 63;

/// A host in its canonical spelling, which is also its printed form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host(HostKind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum HostKind {
    /// Lower case, no trailing dot.
    Name(String),
    /// Never an IPv4 address in IPv6 form.
    Address(IpAddr),
}

/// A text is not a host that can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The host is empty.
    #[error("the host is empty; name one")]
    Empty,
    /// The name, or a label of it, is longer than DNS allows.
    #[error(
        "the host name is too long; a name has at most {NAME_CHARS_MAX} characters, and \
         {LABEL_CHARS_MAX} between two dots"
    )]
    TooLong,
    /// Two dots follow one another, or the name begins with a dot.
    #[error("the host name has an empty label; put characters between the dots")]
    EmptyLabel,
    /// A character is not allowed in host names.
    #[error(
        "the host name has the character {0:?}; only a-z, 0-9, `.` and `-` are taken, and names in \
         other scripts in their encoded form (xn--…)"
    )]
    Character(char),
    /// A number is not an address in canonical spelling.
    #[error(
        "the host looks like a number and is no canonical address; write four decimal numbers \
         without leading zeros"
    )]
    Number,
    /// Brackets or colons belong to something that is not an IPv6 address.
    #[error(
        "the host is no IPv6 address; write it in brackets, as in [2001:db8::1], without a zone"
    )]
    Ipv6,
    /// An IPv4 address is written as IPv6.
    #[error("the host is an IPv4 address written as IPv6; write {0}")]
    Mapped(Ipv4Addr),
}

impl Host {
    /// Parses a name, an IPv4 address or an IPv6 address without brackets.
    ///
    /// # Errors
    ///
    /// If the text is none of these, or an address in an unusual spelling.
    ///
    /// # Example
    ///
    /// ```
    /// use haft_sandbox::proxy::Host;
    ///
    /// assert_eq!(Host::parse("Example.ORG.").map(|host| host.to_string()), Ok("example.org".to_owned()));
    /// assert!(Host::parse("0x7f.1").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Host, HostError> {
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().map_err(|_| HostError::Ipv6)?;
            return Host::from_address(IpAddr::V6(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        // Some resolver would read a name with such a last label as a number. No top-level domain is
        // a number.
        let is_number = name.rsplit('.').next().is_some_and(|label| {
            match label.strip_prefix("0x").or_else(|| label.strip_prefix("0X")) {
                Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
                None => !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()),
            }
        });
        if is_number {
            // A trailing dot does not belong to an address.
            let address: Ipv4Addr = text.parse().map_err(|_| HostError::Number)?;
            return Ok(Host(HostKind::Address(IpAddr::V4(address))));
        }
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        let is_allowed =
            |character: char| character.is_ascii_alphanumeric() || ".-".contains(character);
        if let Some(character) = name.chars().find(|character| !is_allowed(*character)) {
            return Err(HostError::Character(character));
        }
        if name.split('.').any(str::is_empty) {
            return Err(HostError::EmptyLabel);
        }
        let is_long = |label: &str| label.len() > LABEL_CHARS_MAX;
        if name.len() > NAME_CHARS_MAX || name.split('.').any(is_long) {
            return Err(HostError::TooLong);
        }
        Ok(Host(HostKind::Name(name.to_ascii_lowercase())))
    }

    /// Parses the host of `host:port`, where an IPv6 address is in brackets.
    ///
    /// # Errors
    ///
    /// As for [`Host::parse`], and if the brackets are missing or contain something else.
    pub fn parse_bracketed(text: &str) -> Result<Host, HostError> {
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match inner {
            Some(inner) if inner.contains(':') => Host::parse(inner),
            Some(_) => Err(HostError::Ipv6),
            None if text.contains([':', '[', ']']) => Err(HostError::Ipv6),
            None => Host::parse(text),
        }
    }

    /// Returns an address as a host.
    ///
    /// # Errors
    ///
    /// If it is an IPv4 address written as IPv6, because an address has only one spelling.
    pub fn from_address(address: IpAddr) -> Result<Host, HostError> {
        if let IpAddr::V6(v6) = address
            && let Some(v4) = v6.to_ipv4_mapped()
        {
            return Err(HostError::Mapped(v4));
        }
        Ok(Host(HostKind::Address(address)))
    }

    /// Returns the address, if the host is an address.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match &self.0 {
            HostKind::Name(_) => None,
            HostKind::Address(address) => Some(*address),
        }
    }

    /// Returns the host as it is written before `:port`, with IPv6 addresses in brackets.
    #[must_use]
    pub fn bracketed(&self) -> String {
        match &self.0 {
            HostKind::Name(name) => name.clone(),
            HostKind::Address(IpAddr::V4(address)) => address.to_string(),
            HostKind::Address(IpAddr::V6(address)) => format!("[{address}]"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HostKind::Name(name) => formatter.write_str(name),
            HostKind::Address(address) => address.fmt(formatter),
        }
    }
}
