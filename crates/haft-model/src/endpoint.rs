//! The endpoint that settings name: the model, the URL and the variable of the key, checked as far as that is possible
//! without a key. It needs no client.

use url::Url;

use crate::ModelError;
use crate::name::ModelName;
use crate::settings::ModelSettings;

impl ModelSettings {
    /// Returns the provider of the model. Fails if the settings are invalid, as far as that is
    /// visible without a key.
    pub fn check(&self) -> Result<&'static str, ModelError> {
        let endpoint = ProviderEndpoint::of(self).map_err(ModelError::Settings)?;
        Ok(endpoint.name.provider())
    }

    /// Returns the environment variable of the key, if a key is sent. The variable is not read.
    pub fn key_variable(&self) -> Result<Option<String>, ModelError> {
        let endpoint = ProviderEndpoint::of(self).map_err(ModelError::Settings)?;
        Ok(endpoint.variable.map(str::to_owned))
    }
}

/// A provider, its URL, and the environment variable of its key.
pub(crate) struct ProviderEndpoint<'a> {
    pub(crate) name: ModelName,
    pub(crate) base: Url,
    pub(crate) variable: Option<&'a str>,
}

impl ProviderEndpoint<'_> {
    pub(crate) fn of(settings: &ModelSettings) -> Result<ProviderEndpoint<'_>, String> {
        let name = ModelName::parse(&settings.model)?;
        let base = base_url(settings.base_url.as_deref().unwrap_or(name.wire.base_url()))?;
        let usual = if settings.base_url.is_none() { name.wire.key_variable() } else { None };
        let variable = settings.key_variable.as_deref().or(usual);
        // Keys contain lower-case letters. A key that was entered here by mistake must not appear in a
        // message.
        let is_plain = |one: u8| one.is_ascii_uppercase() || one.is_ascii_digit() || one == b'_';
        if !variable.is_none_or(|name| !name.is_empty() && name.bytes().all(is_plain)) {
            let message = "key_variable must be the name of an environment variable, in capitals, and not a key";
            return Err(message.to_owned());
        }
        if variable.is_some() && base.scheme() == "http" && !is_loopback(&base) {
            return Err(format!("a key would go to {base} unencrypted: use https"));
        }
        Ok(ProviderEndpoint { name, base, variable })
    }
}

/// Parses a base URL. One that contains a key is refused without showing it, because URLs appear in
/// messages.
fn base_url(text: &str) -> Result<Url, String> {
    let with_slash = if text.ends_with('/') { text.to_owned() } else { format!("{text}/") };
    let url = Url::parse(&with_slash)
        .map_err(|err| format!("base_url is not a URL ({err}): write it as https://host/v1"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("base_url must begin with https:// or http://".to_owned());
    }
    let has_more = !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some();
    match has_more {
        true => Err("base_url must hold no user, password, query or fragment: a key belongs in the environment variable that key_variable names".to_owned()),
        false => Ok(url),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
