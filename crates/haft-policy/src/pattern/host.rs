//! Patterns over host names: exact, or all below a domain. Names are not resolved and addresses not computed with.

use super::PatternFault;

/// A host pattern.
#[derive(Clone, Debug)]
pub(crate) enum HostPattern {
    Any,
    Exact(String),
    /// All hosts below a domain, not the domain itself. Kept with its leading dot.
    Below(String),
}

impl HostPattern {
    pub(crate) fn compile(text: &str) -> Result<Self, PatternFault> {
        if text == "*" {
            return Ok(Self::Any);
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

    /// Returns whether the pattern is this very host rather than a domain above it.
    pub(crate) fn spells(&self, host: &str) -> bool {
        match self {
            Self::Exact(exact) => normal_host(host) == *exact,
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
        }
    }
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
