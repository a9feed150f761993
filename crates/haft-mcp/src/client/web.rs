//! The HTTP client for servers that run elsewhere and for those who vouch for their users. It follows no redirect, so that no
//! secret goes where it was not meant to; it uses no proxy of the environment, keeps no cookies, and reads no more than it
//! was told to.

use std::error::Error as _;
use std::time::Duration;

use haft::Networking;
use reqwest::Url;
use serde::de::DeserializeOwned;
use url::Host;

use super::limits::{
    OAUTH_ANSWER_BYTES_MAX, OAUTH_MS_MAX, REMOTE_CONNECT_MS_MAX, REMOTE_HEADERS_MAX,
};

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("more than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Broken(String),
}

/// Returns a client for a server at this address.
pub(super) fn client(networking: &Networking, url: &Url) -> Result<reqwest::Client, String> {
    // What is not encrypted is not to fail for a lack of authorities.
    let tls = match url.scheme() {
        "https" => networking.tls()?,
        _ => networking.tls().or_else(|_| networking.tls_without_authorities())?,
    };
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .http1_max_headers(REMOTE_HEADERS_MAX)
        .connect_timeout(Duration::from_millis(REMOTE_CONNECT_MS_MAX))
        .build()
        .map_err(|err| words(&err))
}

/// Returns the body of an answer, unless it is longer than that.
pub(super) async fn body(
    response: &mut reqwest::Response,
    bytes_max: usize,
) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|err| BodyError::Broken(words(&err)))? {
        if bytes.len().saturating_add(chunk.len()) > bytes_max {
            return Err(BodyError::TooLong(bytes_max));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sends a request that is about who somebody is, and returns the status and the body of the answer.
pub(super) async fn ask(request: reqwest::RequestBuilder) -> Result<(u16, Vec<u8>), String> {
    let request = request.timeout(Duration::from_millis(OAUTH_MS_MAX));
    let mut response = request.send().await.map_err(|err| words(&err))?;
    let body = body(&mut response, OAUTH_ANSWER_BYTES_MAX).await.map_err(|err| err.to_string())?;
    Ok((response.status().as_u16(), body))
}

/// Returns the document at an address; nothing if there is none.
pub(super) async fn document<T: DeserializeOwned>(
    client: &reqwest::Client,
    url: &Url,
) -> Result<Option<T>, String> {
    let (status, body) = ask(client.get(url.clone()).header("accept", "application/json"))
        .await
        .map_err(|err| format!("{url} cannot be read: {err}"))?;
    match status {
        200 => serde_json::from_slice(&body)
            .map(Some)
            .map_err(|err| format!("{url} is not the document that it should be: {err}")),
        // Most servers that do not know a document say so in some way of their own.
        400..500 => Ok(None),
        300..400 => Err(format!("{url} leads elsewhere (HTTP {status}), which is not followed")),
        status => Err(format!("{url} cannot be read: HTTP {status}")),
    }
}

/// Returns whether secrets may go to an address: it is encrypted, or does not leave this machine.
pub(super) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

/// Returns whether an address is one of this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Returns an address that a server names, if it may: one that is safe, and none of this machine or its surroundings unless
/// the server itself is there.
pub(super) fn named_by(server: &Url, named: &str) -> Result<Url, String> {
    let url = Url::parse(named).map_err(|err| format!("{named:?} is no address: {err}"))?;
    let is_near = match url.host() {
        Some(Host::Ipv4(ip)) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        Some(Host::Ipv6(ip)) => {
            ip.is_loopback()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
                || ip.to_ipv4_mapped().is_some()
        }
        Some(Host::Domain(_)) => is_loopback(&url),
        None => return Err(format!("{named:?} has no host")),
    };
    if !is_safe(&url) {
        return Err(format!("{named} is not encrypted: expected one that begins with https://"));
    }
    let is_same_host = url.host() == server.host();
    if is_near && !is_same_host && !is_loopback(server) {
        return Err(format!("{named} is an address of this machine or its network"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a name and a password in it is not used".to_owned());
    }
    Ok(url)
}

/// Returns what went wrong, without the address, which may hold secrets.
pub(super) fn words(err: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = err.source();
    while let Some(err) = cause {
        let text = err.to_string();
        // Some errors repeat what they were caused by.
        if !words.iter().any(|word| word.contains(&text)) {
            words.push(text);
        }
        cause = err.source();
    }
    match (err.is_timeout(), words.is_empty()) {
        (true, _) => "it did not answer in time".to_owned(),
        (false, true) => "the request failed".to_owned(),
        (false, false) => words.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_servers_name_are_encrypted_and_elsewhere() {
        let check = |server: &str, named: &str, is_good: bool| {
            let found = named_by(&Url::parse(server).unwrap(), named);
            assert_eq!(found.is_ok(), is_good, "{server} {named}: {found:?}");
        };
        let elsewhere = "https://mcp.example/mcp";
        check(elsewhere, "https://auth.example/token", true);
        check(elsewhere, "http://auth.example/token", false);
        check(elsewhere, "https://127.0.0.1/token", false);
        check(elsewhere, "https://localhost/token", false);
        check(elsewhere, "https://10.0.0.1/token", false);
        check(elsewhere, "https://[::ffff:10.0.0.1]/token", false);
        check(elsewhere, "https://169.254.169.254/latest", false);
        check(elsewhere, "http://localhost:1/token", false);
        check(elsewhere, "https://user:word@auth.example/", false);
        check(elsewhere, "javascript:alert(1)", false);
        check(elsewhere, "file:///etc/passwd", false);
        check("http://localhost:1/mcp", "http://127.0.0.1:2/token", true);
        check("https://10.0.0.5/mcp", "https://10.0.0.5/token", true);
        check("https://10.0.0.5/mcp", "https://10.0.0.6/token", false);
    }

    #[test]
    fn secrets_stay_encrypted_or_here() {
        for (url, is_good) in [
            ("https://a.example", true),
            ("http://a.example", false),
            ("http://127.0.0.1:8", true),
            ("http://[::1]:8", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), is_good, "{url}");
        }
    }
}
