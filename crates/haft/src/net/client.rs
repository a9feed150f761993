//! The HTTP client of one request. It connects to the addresses that it is given and can find no others, follows nothing,
//! keeps nothing and tells servers nothing about the one before.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ErrorCode, ToolError};
use reqwest::dns::{Name, Resolve, Resolving};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::target::Target;
use super::{NET_DIAL_MS, NET_HEADERS_MAX, Networking, Trusted};

/// Where systems keep the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Returns the client of one request, which connects to these addresses of its host and to nothing else.
pub(super) fn client(
    target: &Target,
    addresses: &[IpAddr],
    trusted: &Trusted,
    networking: &Networking,
) -> Result<reqwest::Client, ToolError> {
    let tls = if target.url.scheme() == "https" {
        let tls = trusted.get_or_init(|| tls(networking.authorities.as_ref()));
        tls.clone().map_err(unprepared)?
    } else {
        without_authorities().map_err(unprepared)?
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
        .dns_resolver(Arc::new(NoOtherName))
        .build()
        .map_err(|err| unprepared(err.to_string()))
}

/// Knows no name: those that may be connected to are handed to the client with their addresses.
struct NoOtherName;

impl Resolve for NoOtherName {
    fn resolve(&self, name: Name) -> Resolving {
        let message = format!("{} was not among the names that were judged", name.as_str());
        Box::pin(async move { Err(io::Error::other(message).into()) })
    }
}

pub(super) fn tls(named: Option<&PathBuf>) -> Result<ClientConfig, String> {
    trusting(authorities(named)?)
}

pub(super) fn without_authorities() -> Result<ClientConfig, String> {
    trusting(RootCertStore::empty())
}

fn trusting(authorities: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|err| err.to_string())?;
    Ok(config.with_root_certificates(authorities).with_no_client_auth())
}

fn authorities(named: Option<&PathBuf>) -> Result<RootCertStore, String> {
    let path = match named {
        Some(path) => path.as_path(),
        None => SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists()).ok_or(
            "this system keeps no authorities where they are looked for: install its ca-certificates",
        )?,
    };
    let unreadable = |err: &dyn std::fmt::Display| {
        format!("the authorities in {} cannot be read: {err}", path.display())
    };
    let mut store = RootCertStore::empty();
    // One that this library does not take, such as an ancient one, is no reason to trust none of the others.
    for certificate in CertificateDer::pem_file_iter(path).map_err(|err| unreadable(&err))? {
        let _ = store.add(certificate.map_err(|err| unreadable(&err))?);
    }
    if store.is_empty() {
        return Err(format!("{} holds no authorities", path.display()));
    }
    Ok(store)
}

fn unprepared(why: String) -> ToolError {
    ToolError::new(ErrorCode::Unavailable, format!("the network cannot be used: {why}"))
}
