//! The network settings of tools that connect to servers themselves: the resolver of names, and the certificate
//! authorities of encrypted connections. This module does not decide who may connect to which host.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_sandbox::proxy::{HostResolver, SystemHostResolver};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// Where systems keep the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The network settings of tools that connect to servers themselves.
#[derive(Clone)]
pub struct NetworkSettings {
    /// Resolves host names to addresses. The default is the resolver of the system.
    pub resolver: Arc<dyn HostResolver>,
    /// A PEM file with the trusted certificate authorities. By default, haft trusts the authorities of the system.
    pub authorities: Option<PathBuf>,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self { resolver: Arc::new(SystemHostResolver), authorities: None }
    }
}

impl NetworkSettings {
    /// Returns the TLS settings with trusted authorities, for callers that connect themselves.
    ///
    /// # Errors
    ///
    /// Says that the file of authorities does not exist, is not PEM or has no authorities.
    pub fn tls(&self) -> Result<ClientConfig, String> {
        tls_config(self.authorities.as_ref())
    }

    /// Returns TLS settings without trusted authorities, for clients that need TLS settings but do not encrypt.
    ///
    /// # Errors
    ///
    /// Says that the TLS library supports no common protocol version.
    pub fn tls_without_authorities(&self) -> Result<ClientConfig, String> {
        tls_without_authorities()
    }
}

impl fmt::Debug for NetworkSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("NetworkSettings");
        fields.field("authorities", &self.authorities).finish_non_exhaustive()
    }
}

/// The TLS settings for encrypted connections, read at the first such connection.
pub(crate) type TlsTrust = OnceLock<Result<ClientConfig, String>>;

/// Returns TLS settings that trust the authorities of a PEM file, or those of the system without one.
pub(crate) fn tls_config(named: Option<&PathBuf>) -> Result<ClientConfig, String> {
    tls_trusting(authorities(named)?)
}

/// Returns TLS settings that trust no authority.
pub(crate) fn tls_without_authorities() -> Result<ClientConfig, String> {
    tls_trusting(RootCertStore::empty())
}

/// Returns TLS settings that trust these authorities. Fails if the library supports no common protocol version.
fn tls_trusting(authorities: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|err| err.to_string())?;
    Ok(config.with_root_certificates(authorities).with_no_client_auth())
}

/// Reads the certificate authorities of a PEM file. Without a file, it reads the first file of the system that exists.
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
    // The library refuses some old certificates. The others still count.
    for certificate in CertificateDer::pem_file_iter(path).map_err(|err| unreadable(&err))? {
        let _ = store.add(certificate.map_err(|err| unreadable(&err))?);
    }
    if store.is_empty() {
        return Err(format!("{} holds no authorities", path.display()));
    }
    Ok(store)
}
