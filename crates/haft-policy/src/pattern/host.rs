//! Patterns over hosts: exact, all below a domain, or a range of addresses. Names are not resolved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::PatternFault;

/// A host pattern.
#[derive(Clone, Debug)]
pub(crate) enum HostPattern {
    Any,
    Exact(String),
    /// All hosts below a domain, not the domain itself. Kept with its leading dot.
    Below(String),
    /// All addresses that begin with these bits.
    Range {
        network: IpAddr,
        bits: u32,
    },
}

/// Fewest bits that the name of a range of IPv4 addresses gives.
const IPV4_BITS_MIN: u32 = 8;
/// Fewest bits that the name of a range of IPv6 addresses gives. Unique local addresses share seven.
const IPV6_BITS_MIN: u32 = 7;

impl HostPattern {
    pub(crate) fn compile(text: &str) -> Result<Self, PatternFault> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some((address, bits)) = text.split_once('/') {
            return range(address, bits).ok_or(PatternFault::Host);
        }
        let (is_below, name) = match text.strip_prefix("*.") {
            Some(domain) => (true, domain),
            None => (false, text),
        };
        let name = normal_host(name);
        let is_good =
            |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_' | ':');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_good) {
            return Err(PatternFault::Host);
        }
        Ok(if is_below { Self::Below(format!(".{name}")) } else { Self::Exact(name) })
    }

    /// Returns whether the pattern is this very host, or a range of addresses with it, rather than a domain above it.
    pub(crate) fn spells(&self, host: &str) -> bool {
        match self {
            Self::Exact(exact) => normal_host(host) == *exact,
            Self::Range { .. } => self.fit(host).is_some(),
            Self::Any | Self::Below(_) => false,
        }
    }

    /// Returns how many bytes of the host the pattern spells out, or `None` if it does not match. They count from the
    /// end, since that is where host names are specific.
    pub(crate) fn fit(&self, host: &str) -> Option<usize> {
        let host = normal_host(host);
        match self {
            Self::Any => Some(0),
            Self::Exact(exact) => (host == *exact).then_some(exact.len()),
            Self::Below(domain) => {
                let label = host.strip_suffix(domain.as_str())?;
                (!label.is_empty()).then_some(domain.len())
            }
            Self::Range { network, bits } => {
                let address = host.parse::<IpAddr>().ok()?.to_canonical();
                let shared_bits = match (network, address) {
                    (IpAddr::V4(network), IpAddr::V4(address)) => {
                        (network.to_bits() ^ address.to_bits()).leading_zeros()
                    }
                    (IpAddr::V6(network), IpAddr::V6(address)) => {
                        (network.to_bits() ^ address.to_bits()).leading_zeros()
                    }
                    (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
                };
                // A longer prefix is more specific, and the address itself is the most specific.
                (shared_bits >= *bits).then(|| usize::try_from(*bits / u8::BITS).unwrap_or(0))
            }
        }
    }
}

/// Returns the pattern of a range such as `10.0.0.0/8`; `None` for one that is not valid, or that is too wide to name
/// anything.
fn range(address: &str, bits: &str) -> Option<HostPattern> {
    let network = address.parse::<IpAddr>().ok()?.to_canonical();
    let bits = bits.parse::<u32>().ok()?;
    let allowed = match network {
        IpAddr::V4(_) => IPV4_BITS_MIN..=Ipv4Addr::BITS,
        IpAddr::V6(_) => IPV6_BITS_MIN..=Ipv6Addr::BITS,
    };
    allowed.contains(&bits).then_some(HostPattern::Range { network, bits })
}

/// Returns the host in lower case, without brackets, port and final dot.
pub(crate) fn normal_host(host: &str) -> String {
    let name = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, _)) => address,
        None => match host.split_once(':') {
            // An IPv6 address contains colons, and has no port without brackets.
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        },
    };
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
