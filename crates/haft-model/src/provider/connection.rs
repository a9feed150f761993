//! Turns settings into a target: the URL, the key and the HTTP client. Proxies from the environment
//! are ignored. Redirects are not followed, because they would receive the key, and compression is
//! not requested.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::secret::ProviderKey;
use crate::ModelError;
use crate::endpoint::ProviderEndpoint;
use crate::name::{ModelName, ProviderProtocol};
use crate::settings::{ModelAnswerBounds, ModelSettings};

/// Where systems store their trusted certificate authorities.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// The version of Anthropic's protocol that the client library uses.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The target of a request.
#[derive(Debug)]
pub(super) struct ProviderTarget {
    pub(super) name: ModelName,
    pub(super) url: String,
    /// Host and port, for errors about connecting.
    pub(super) address: String,
    pub(super) client: genai::Client,
    pub(super) secret: Option<ProviderKey>,
    /// The environment variable of the key, or the setting that would name one.
    pub(super) key_place: String,
    pub(super) bounds: ModelAnswerBounds,
    pub(super) takes_images: bool,
}

pub(super) fn prepare(
    settings: &ModelSettings,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<ProviderTarget, ModelError> {
    let place = ProviderEndpoint::of(settings).map_err(ModelError::Settings)?;
    let find = |variable: &str| {
        let (provider, variable) = (place.name.provider().to_owned(), variable.to_owned());
        lookup(&variable).ok_or(ModelError::NoKey { provider, variable })
    };
    let key = place.variable.map(find).transpose()?;
    target(settings, place, key.as_deref()).map_err(ModelError::Settings)
}

fn target(
    settings: &ModelSettings,
    place: ProviderEndpoint<'_>,
    key: Option<&str>,
) -> Result<ProviderTarget, String> {
    let ProviderEndpoint { name, base, variable } = place;
    let key_place = variable.unwrap_or("key_variable").to_owned();
    let secret = key.map(|key| ProviderKey::new(key, &key_place)).transpose()?;
    let path = match name.wire {
        ProviderProtocol::OpenAi => "chat/completions".to_owned(),
        ProviderProtocol::Anthropic => "messages".to_owned(),
        // A dot precedes it: `models:` alone would be parsed as a scheme.
        ProviderProtocol::Gemini => {
            format!("./models/{}:streamGenerateContent?alt=sse", name.model)
        }
        ProviderProtocol::Ollama => "api/chat".to_owned(),
    };
    let url = base.join(&path).map_err(|err| format!("base_url cannot be used: {err}"))?.into();
    let http = http(settings, &name, &base, secret.as_ref())?;
    let client = genai::Client::builder().with_reqwest(http).build();
    let client = client.map_err(|err| format!("cannot prepare to ask models: {err}"))?;
    let host = base.host_str().unwrap_or_default();
    let address = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    // Most models that people run themselves see no images, and their server refuses a request with one.
    let takes_images = settings.images.unwrap_or(name.wire != ProviderProtocol::Ollama);
    let bounds = settings.bounds;
    Ok(ProviderTarget { name, url, address, client, secret, key_place, bounds, takes_images })
}

fn http(
    settings: &ModelSettings,
    name: &ModelName,
    base: &Url,
    secret: Option<&ProviderKey>,
) -> Result<reqwest::Client, String> {
    let mut headers = HeaderMap::new();
    if let Some(secret) = secret {
        let (header, before) = match name.wire {
            ProviderProtocol::OpenAi | ProviderProtocol::Ollama => ("authorization", "Bearer "),
            ProviderProtocol::Anthropic => ("x-api-key", ""),
            ProviderProtocol::Gemini => ("x-goog-api-key", ""),
        };
        headers.insert(HeaderName::from_static(header), secret.header(before)?);
    }
    if name.wire == ProviderProtocol::Anthropic {
        let version = reqwest::header::HeaderValue::from_static(ANTHROPIC_VERSION);
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    let roots = match base.scheme() {
        "https" => authorities(settings.authorities.as_ref())?,
        _ => RootCertStore::empty(),
    };
    let provider = Arc::new(crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|err| format!("cannot prepare encryption: {err}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(headers)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .no_gzip()
        .no_deflate()
        .connect_timeout(settings.bounds.connect)
        .build()
        .map_err(|err| format!("cannot prepare to ask models: {err}"))
}

fn authorities(named: Option<&PathBuf>) -> Result<RootCertStore, String> {
    let path = match named {
        Some(path) => path.as_path(),
        None => SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists()).ok_or(
            "no certificate authorities were found on this system: name a file that contains them",
        )?,
    };
    let unreadable = |err: &dyn std::fmt::Display| {
        format!("cannot read the authorities in {}: {err}", path.display())
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|err| unreadable(&err))? {
        store.add(certificate.map_err(|err| unreadable(&err))?).map_err(|err| unreadable(&err))?;
    }
    Ok(store)
}

#[cfg(test)]
mod tests;
