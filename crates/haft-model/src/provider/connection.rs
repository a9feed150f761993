//! Settings in, something that can be asked out: the URL, the key and the HTTP client. Proxies are not taken from the
//! environment, redirects are not followed (a key would go along), and no compression is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::Settings;
use super::attempt::Target;
use super::name::{ModelName, Wire};
use super::secret::Secret;
use crate::ModelError;

/// Where systems keep the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// The version of Anthropic's wire that the client library speaks.
const ANTHROPIC_VERSION: &str = "2023-06-01";

pub(super) fn prepare(
    settings: &Settings,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Target, ModelError> {
    let Place { name, base, variable } = place(settings).map_err(ModelError::Settings)?;
    let find = |variable: &str| {
        let (provider, variable) = (name.provider().to_owned(), variable.to_owned());
        lookup(&variable).ok_or(ModelError::NoKey { provider, variable })
    };
    let key = variable.map(find).transpose()?;
    let place = Place { name, base, variable };
    target(settings, place, key.as_deref()).map_err(ModelError::Settings)
}

/// Returns the provider of the settings' model, if nothing is wrong with them that can be seen without a key.
pub(super) fn check(settings: &Settings) -> Result<&'static str, ModelError> {
    place(settings).map(|place| place.name.provider()).map_err(ModelError::Settings)
}

/// Returns the name of the variable that holds the key of the settings' model, if there is one.
pub(super) fn key_variable(settings: &Settings) -> Result<Option<String>, ModelError> {
    place(settings).map(|place| place.variable.map(str::to_owned)).map_err(ModelError::Settings)
}

/// Who is asked, where, and which environment variable holds the key.
struct Place<'a> {
    name: ModelName,
    base: Url,
    variable: Option<&'a str>,
}

fn place(settings: &Settings) -> Result<Place<'_>, String> {
    let name = ModelName::parse(&settings.model)?;
    let base = base_url(settings.base_url.as_deref().unwrap_or(name.wire.base_url()))?;
    let usual = if settings.base_url.is_none() { name.wire.key_variable() } else { None };
    let variable = settings.key_variable.as_deref().or(usual);
    // Keys hold small letters. One that was put here by mistake must not become part of a message.
    let is_plain = |one: u8| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_';
    if !variable.is_none_or(|name| !name.is_empty() && name.bytes().all(is_plain)) {
        let message =
            "key_variable must be the name of an environment variable, in capitals, and not a key";
        return Err(message.to_owned());
    }
    if variable.is_some() && base.scheme() == "http" && !is_loopback(&base) {
        return Err(format!("a key would go to {base} unencrypted: use https"));
    }
    Ok(Place { name, base, variable })
}

fn target(settings: &Settings, place: Place<'_>, key: Option<&str>) -> Result<Target, String> {
    let Place { name, base, variable } = place;
    let key_place = variable.unwrap_or("key_variable").to_owned();
    let secret = key.map(|key| Secret::new(key, &key_place)).transpose()?;
    let url = endpoint(&base, &name)?;
    let http = http(settings, &name, &base, secret.as_ref())?;
    let client = genai::Client::builder().with_reqwest(http).build();
    let client = client.map_err(|err| format!("cannot prepare to ask models: {err}"))?;
    let address = address(&base);
    Ok(Target { name, url, address, client, secret, key_place, bounds: settings.bounds })
}

/// Reads a base URL. One with a key in it is refused unseen, because URLs get into messages.
fn base_url(text: &str) -> Result<Url, String> {
    let with_slash = if text.ends_with('/') { text.to_owned() } else { format!("{text}/") };
    let url = Url::parse(&with_slash)
        .map_err(|err| format!("base_url is no URL ({err}): write it as https://host/v1"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("base_url must begin with https:// or http://".to_owned());
    }
    let has_more = !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some();
    match has_more {
        true => Err("base_url must hold no user, password, query or fragment: a key belongs into the environment variable that key_variable names".to_owned()),
        false => Ok(url),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn address(base: &Url) -> String {
    let host = base.host_str().unwrap_or_default();
    base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn endpoint(base: &Url, name: &ModelName) -> Result<String, String> {
    let path = match name.wire {
        Wire::OpenAi => "chat/completions".to_owned(),
        Wire::Anthropic => "messages".to_owned(),
        // A dot before it: `models:` alone would be read as a scheme.
        Wire::Gemini => format!("./models/{}:streamGenerateContent?alt=sse", name.model),
        Wire::Ollama => "api/chat".to_owned(),
    };
    let url = base.join(&path).map_err(|err| format!("base_url cannot be used: {err}"))?;
    Ok(url.into())
}

fn http(
    settings: &Settings,
    name: &ModelName,
    base: &Url,
    secret: Option<&Secret>,
) -> Result<reqwest::Client, String> {
    let mut headers = HeaderMap::new();
    if let Some(secret) = secret {
        let (header, before) = match name.wire {
            Wire::OpenAi | Wire::Ollama => ("authorization", "Bearer "),
            Wire::Anthropic => ("x-api-key", ""),
            Wire::Gemini => ("x-goog-api-key", ""),
        };
        headers.insert(HeaderName::from_static(header), secret.header(before)?);
    }
    if name.wire == Wire::Anthropic {
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
            "this system keeps no authorities where they are looked for: name a file of them",
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
