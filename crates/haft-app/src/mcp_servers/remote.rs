//! Servers that run elsewhere: how each is reached, what it is told about who asks, and where its login is kept. Nothing is
//! sent from here.

use std::path::Path;
use std::sync::Arc;

use haft::NetworkSettings;
use haft_mcp::{Authorization, OAuthOptions, RemoteMcpServer};

use super::tokens::LoginFile;
use super::value_of;
use crate::host::AppHost;
use crate::manifest::ServerEntry;

/// The variable that names the authorities that encrypted connections trust, as for every program.
const AUTHORITIES: &str = "SSL_CERT_FILE";

/// Returns how a server is reached, or what keeps it from that.
pub(super) fn remote(
    name: &str,
    entry: &ServerEntry,
    logins: &Path,
    host: &AppHost,
) -> Result<RemoteMcpServer, String> {
    let url = entry.url.clone().unwrap_or_default();
    let mut headers = Vec::new();
    for (name, value) in &entry.headers.0 {
        headers.push((name.clone(), text_of(value_of(value, host)?)?));
    }
    if let Some(variable) = &entry.token_variable {
        let token = host.variable(variable).ok_or_else(|| {
            format!(
                "it is to be sent the token in {variable}, which is not set: export {variable}=…"
            )
        })?;
        headers.push(("authorization".to_owned(), format!("Bearer {}", text_of(token)?)));
    }
    let says_who = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    let authorization = match headers.iter().any(says_who) {
        true => None,
        // One that is not encrypted can do without, too, and says so when it cannot.
        false => authorization(name, entry, logins, host).ok(),
    };
    let networking = networking(host);
    Ok(RemoteMcpServer { url, headers, networking, authorization })
}

/// Returns the logins to a server, or why there are none.
///
/// # Errors
///
/// Fails if the server is a program, if a value of its entry cannot be read from the environment, and if the network settings
/// cannot be used. The error does not show values.
pub fn authorization(
    name: &str,
    entry: &ServerEntry,
    logins: &Path,
    host: &AppHost,
) -> Result<Arc<Authorization>, String> {
    let url = entry.url.as_deref().ok_or_else(|| {
        format!("server {name} is a program of this machine, which takes no login")
    })?;
    let secret =
        entry.oauth.client_secret.as_ref().map(|value| value_of(value, host)).transpose()?;
    let options = OAuthOptions {
        client_id: entry.oauth.client_id.clone(),
        client_secret: secret.map(text_of).transpose()?,
        client_metadata_url: entry.oauth.client_metadata_url.clone(),
        scopes: entry.oauth.scopes.clone(),
    };
    let store = Arc::new(LoginFile::new(logins, name, url));
    Authorization::new(url, &networking(host), options, store).map(Arc::new)
}

/// Returns the network settings for servers of the user, with the authorities that the environment names.
pub(crate) fn networking(host: &AppHost) -> NetworkSettings {
    let authorities = host.variable_if_set(AUTHORITIES);
    NetworkSettings { authorities: authorities.map(Into::into), ..NetworkSettings::default() }
}

/// Returns a value as text. The error does not show the value.
fn text_of(value: std::ffi::OsString) -> Result<String, String> {
    // The value may be a secret, and is not shown.
    value.into_string().map_err(|_| "one of its values is no text".to_owned())
}
