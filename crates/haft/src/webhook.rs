//! A webhook of the operator: an address that haft posts to for its own purposes. No model controls the address or the
//! proxy, so they are not judged. This module follows no redirect, reads no answer and repeats nothing.

use std::sync::OnceLock;
use std::time::Duration;

use haft_sandbox::proxy::UpstreamProxy;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::network_settings::NetworkSettings;

/// An address of the operator that takes posts. It may be a secret, so there is no `Debug`.
pub struct Webhook {
    url: Url,
    headers: HeaderMap,
    networking: NetworkSettings,
    proxy: Option<UpstreamProxy>,
    /// Made with the first post: the authorities of the system take a while to read.
    client: OnceLock<Result<Client, String>>,
}

/// Why a post was not accepted. The text does not show the address, which may be a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The server answered with a status that is no success.
    #[error("it answered with status {0}")]
    Status(u16),
    /// No answer came in time, in milliseconds.
    #[error("it did not answer within {0} ms")]
    Timeout(u64),
    /// This machine cannot connect to such a server.
    #[error("the network cannot be used: {0}")]
    Network(String),
    /// The server could not be reached, or broke off.
    #[error("it could not be reached: {0}")]
    Unreachable(String),
}

impl WebhookError {
    /// Returns whether the same post may be accepted later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Status(status) => *status == 408 || *status == 429 || *status >= 500,
            Self::Timeout(_) | Self::Unreachable(_) => true,
            Self::Network(_) => false,
        }
    }
}

impl Webhook {
    /// Returns scheme, host and port of an address: the rest may be a secret.
    ///
    /// # Errors
    ///
    /// Says what is wrong with an address that no webhook can have.
    pub fn origin_of(url: &str) -> Result<String, String> {
        let url = Url::parse(url).map_err(|err| format!("expected a URL: {err}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("expected http or https, found {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("expected a URL without a user and a password".to_owned());
        }
        Ok(url.origin().ascii_serialization())
    }

    /// Returns the webhook at an address. Each post has these headers.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the address or a header.
    pub fn new(
        url: &str,
        headers: &[(&str, &str)],
        networking: NetworkSettings,
        proxy: Option<UpstreamProxy>,
    ) -> Result<Self, String> {
        Self::origin_of(url)?;
        let url = Url::parse(url).map_err(|err| err.to_string())?;
        let mut of_all = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|err| format!("a header is not usable: {err}"))?;
            of_all.insert(name, secret(value)?);
        }
        let proxy = proxy.filter(|proxy| proxy.serves(url.host_str().unwrap_or_default()));
        Ok(Self { url, headers: of_all, networking, proxy, client: OnceLock::new() })
    }

    /// Posts a text once.
    ///
    /// # Errors
    ///
    /// Says why the post was not accepted, or that no answer came in time.
    pub async fn post(
        &self,
        headers: &[(&str, &str)],
        body: &str,
        timeout_ms: u64,
    ) -> Result<(), WebhookError> {
        let client = self.client.get_or_init(|| self.open_client()).as_ref();
        let client = client.map_err(|why| WebhookError::Network(why.clone()))?;
        let mut request = client.post(self.url.clone()).headers(self.headers.clone());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = request.timeout(Duration::from_millis(timeout_ms)).body(body.to_owned()).send();
        match sent.await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(WebhookError::Status(answer.status().as_u16())),
            Err(err) if err.is_timeout() => Err(WebhookError::Timeout(timeout_ms)),
            Err(err) => Err(WebhookError::Unreachable(error_text(&err.without_url()))),
        }
    }

    fn open_client(&self) -> Result<Client, String> {
        let tls = match self.url.scheme() {
            "https" => self.networking.tls()?,
            _ => self.networking.tls_without_authorities()?,
        };
        let mut builder = Client::builder().no_proxy();
        if let Some(proxy) = &self.proxy {
            let host = proxy.host();
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            let address = format!("http://{host}:{}", proxy.port());
            let mut route = reqwest::Proxy::all(address).map_err(|err| error_text(&err))?;
            if let Some(authorization) = proxy.authorization() {
                route = route.custom_http_auth(secret(authorization)?);
            }
            builder = builder.proxy(route);
        }
        builder
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|err| error_text(&err))
    }
}

fn secret(value: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(value);
    let mut value =
        value.map_err(|_| "a header has characters that no header can hold".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns an error with its causes: the library's own text names none.
fn error_text(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(deeper) = cause {
        text.push_str(&format!(": {deeper}"));
        cause = deeper.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_only_its_origin() {
        let check = |url: &str, expect: Result<&str, &str>| {
            let found = Webhook::origin_of(url);
            assert_eq!(found.as_deref().map_err(String::as_str), expect, "{url}");
        };
        check("https://hooks.slack.com/services/T0/B0/secret", Ok("https://hooks.slack.com"));
        check("http://127.0.0.1:8080/topic?auth=x", Ok("http://127.0.0.1:8080"));
        check("ftp://example.com", Err("expected http or https, found ftp"));
        check("ntfy.sh/topic", Err("expected a URL: relative URL without a base"));
        check("https://ada:pw@example.com", Err("expected a URL without a user and a password"));
    }

    #[test]
    fn what_may_work_later_is_temporary() {
        let temporary =
            [408, 429, 500, 503].map(|status| WebhookError::Status(status).is_temporary());
        let lasting =
            [301, 400, 403, 404].map(|status| WebhookError::Status(status).is_temporary());
        assert_eq!((temporary, lasting), ([true; 4], [false; 4]));
        assert!(WebhookError::Timeout(1).is_temporary());
    }
}
