//! The HTTP client of one request. It connects to the addresses that it is given and can find no others, follows nothing,
//! keeps nothing and tells servers nothing about the one before.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ErrorCode, ToolError};
use haft_sandbox::proxy::UpstreamProxy;
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::header::HeaderValue;

use super::target::HttpTarget;
use super::{NET_DIAL_MS, NET_HEADERS_MAX};
use crate::network_settings::{NetworkSettings, TlsTrust, tls_config, tls_without_authorities};

/// How a request gets to its host.
pub(super) enum RequestRoute<'a> {
    /// At one of these addresses of the host.
    Direct(&'a [IpAddr]),
    /// Through a proxy at one of these addresses.
    Through(&'a UpstreamProxy, Vec<SocketAddr>),
}

/// Returns the addresses of a proxy, which the user trusts as it is.
pub(super) async fn proxy_addresses(proxy: &UpstreamProxy) -> Result<Vec<SocketAddr>, ToolError> {
    let found = tokio::net::lookup_host((proxy.host(), proxy.port())).await;
    found.map(Iterator::collect).map_err(|err| {
        let message = format!("the proxy {} of this machine has no address: {err}", proxy.host());
        ToolError::new(ErrorCode::Unavailable, message)
    })
}

/// Returns the client of one request, which takes this route and connects to nothing else.
pub(super) fn client(
    target: &HttpTarget,
    route: RequestRoute<'_>,
    trusted: &TlsTrust,
    networking: &NetworkSettings,
) -> Result<reqwest::Client, ToolError> {
    let tls = if target.url.scheme() == "https" {
        let tls = trusted.get_or_init(|| tls_config(networking.authorities.as_ref()));
        tls.clone().map_err(tls_error)?
    } else {
        tls_without_authorities().map_err(tls_error)?
    };
    let builder = match route {
        // The port is the URL's.
        RequestRoute::Direct(addresses) => {
            let with_port = |address: &IpAddr| SocketAddr::new(*address, target.port);
            let addresses: Vec<SocketAddr> = addresses.iter().map(with_port).collect();
            let name = target.host.to_string();
            reqwest::Client::builder().no_proxy().resolve_to_addrs(&name, &addresses)
        }
        RequestRoute::Through(proxy, addresses) => {
            let unusable = |err: &dyn std::fmt::Display| tls_error(format!("its proxy: {err}"));
            let host = proxy.host();
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            let url = format!("http://{host}:{}", proxy.port());
            let mut settings = reqwest::Proxy::all(url).map_err(|err| unusable(&err))?;
            if let Some(authorization) = proxy.authorization() {
                let mut value =
                    HeaderValue::from_str(authorization).map_err(|err| unusable(&err))?;
                value.set_sensitive(true);
                settings = settings.custom_http_auth(value);
            }
            reqwest::Client::builder().proxy(settings).resolve_to_addrs(proxy.host(), &addresses)
        }
    };
    builder
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .http1_only()
        .http1_max_headers(NET_HEADERS_MAX)
        .pool_max_idle_per_host(0)
        .connect_timeout(Duration::from_millis(NET_DIAL_MS))
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
