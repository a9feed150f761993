//! The HTTP client of one request. It connects to the addresses that it is given and can find no others, follows nothing,
//! keeps nothing and tells servers nothing about the one before.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ErrorCode, ToolError};
use reqwest::dns::{Name, Resolve, Resolving};

use super::target::HttpTarget;
use super::{NET_DIAL_MS, NET_HEADERS_MAX};
use crate::network_settings::{NetworkSettings, TlsTrust, tls_config, tls_without_authorities};

/// Returns the client of one request, which connects to these addresses of its host and to nothing else.
pub(super) fn client(
    target: &HttpTarget,
    addresses: &[IpAddr],
    trusted: &TlsTrust,
    networking: &NetworkSettings,
) -> Result<reqwest::Client, ToolError> {
    let tls = if target.url.scheme() == "https" {
        let tls = trusted.get_or_init(|| tls_config(networking.authorities.as_ref()));
        tls.clone().map_err(tls_error)?
    } else {
        tls_without_authorities().map_err(tls_error)?
    };
    // The port is the URL's.
    let addresses: Vec<SocketAddr> =
        addresses.iter().map(|address| SocketAddr::new(*address, target.port)).collect();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .http1_max_headers(NET_HEADERS_MAX)
        .pool_max_idle_per_host(0)
        .connect_timeout(Duration::from_millis(NET_DIAL_MS))
        .resolve_to_addrs(&target.host.to_string(), &addresses)
        .dns_resolver(Arc::new(NoNameResolver))
        .build()
        .map_err(|err| tls_error(err.to_string()))
}

/// Knows no name: those that may be connected to are handed to the client with their addresses.
struct NoNameResolver;

impl Resolve for NoNameResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let message = format!("{} was not among the names that were judged", name.as_str());
        Box::pin(async move { Err(io::Error::other(message).into()) })
    }
}

/// Returns the error of a client that cannot be built.
fn tls_error(why: String) -> ToolError {
    ToolError::new(ErrorCode::Unavailable, format!("the network cannot be used: {why}"))
}
