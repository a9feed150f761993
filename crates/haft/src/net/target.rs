//! Parses the URL of a request, with its host in the one spelling that grants use. Refuses ambiguous URLs, and URLs
//! that would send a user name or a password.

use std::net::IpAddr;

use haft_contract::{ErrorCode, ToolError};
use haft_sandbox::proxy::Host;
use reqwest::Url;

/// Where a request goes.
pub(super) struct HttpTarget {
    /// The URL with the host in its normal spelling.
    pub(super) url: Url,
    /// The host in the spelling that grants and rules use.
    pub(super) host: Host,
    /// The port of the URL, or the usual one of its scheme.
    pub(super) port: u16,
}

impl HttpTarget {
    /// Parses a URL. Fails if it is not http or https, contains a user name or a password, or names no valid host.
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        // The text is not repeated here and below: it may hold a password.
        let mut url = Url::parse(text).map_err(|err| {
            invalid(format!("what is to be asked is no URL ({err}): write it as https://host/path"))
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            return Err(invalid(format!(
                "a URL of {scheme}: cannot be asked: expected http or https"
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message =
                "the URL holds a user name or a password, and neither is ever sent: leave them out";
            return Err(invalid(message.to_owned()));
        }
        let parsed = match url.host() {
            Some(url::Host::Domain(name)) => Host::parse(name),
            Some(url::Host::Ipv4(address)) => Host::from_address(IpAddr::V4(address)),
            Some(url::Host::Ipv6(address)) => Host::from_address(IpAddr::V6(address)),
            None => Host::parse(""),
        };
        let host = parsed.map_err(|err| invalid(format!("its host cannot be asked: {err}")))?;
        // With a final dot, a comparison of names would treat the host as a different one.
        url.set_host(Some(&host.bracketed()))
            .map_err(|err| invalid(format!("its host cannot be asked: {err}")))?;
        let port = url.port_or_known_default();
        let port = port.ok_or_else(|| invalid("the URL names no port".to_owned()))?;
        Ok(Self { url, host, port })
    }
}

/// Returns the error of a URL that cannot be used.
fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
}
