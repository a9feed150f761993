//! The URLs that may be asked for, and the host that a URL is judged by. Names are not resolved here.

use haft_contract::{ErrorCode, ToolError};
use url::{Host, Url};

use super::URL_CHARS_MAX;

/// Reads a URL that may be asked for.
pub(crate) fn parse_url(text: &str) -> Result<Url, ToolError> {
    let invalid = |message: String| ToolError::new(ErrorCode::InvalidInput, message);
    let url = Url::parse(text.trim()).map_err(|err| {
        // The message does not repeat a text that is not a URL: it may hold a password.
        invalid(format!("url: {err}: expected an address such as https://example.org/page"))
    })?;
    let advice = match url.scheme() {
        "file" => ": use read for a file in the workspace",
        _ => "",
    };
    check_url(&url).map_err(|why| invalid(format!("url: {why}{advice}")))?;
    Ok(url)
}

/// Says why a URL cannot be asked for, if so. The URL is not repeated where it may hold a secret.
pub(super) fn check_url(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("expected http or https, found {}", url.scheme()));
    }
    // Encoding makes a URL longer, and a server chooses the length of its redirects and results.
    let characters = url.as_str().len();
    if characters > URL_CHARS_MAX {
        return Err(format!(
            "expected at most {URL_CHARS_MAX} characters in its encoded form, found {characters}"
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or a password, and neither is ever sent: leave them out"
            .to_owned());
    }
    Ok(())
}

/// Returns the host that a URL is judged by: as it is asked for, without a port, brackets and a final dot.
pub(crate) fn host_of(url: &Url) -> Result<String, ToolError> {
    match url.host() {
        Some(Host::Domain(name)) => Ok(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Some(Host::Ipv4(address)) => Ok(address.to_string()),
        Some(Host::Ipv6(address)) => Ok(address.to_string()),
        None => Err(ToolError::new(ErrorCode::InvalidInput, "url: it names no host")),
    }
}
