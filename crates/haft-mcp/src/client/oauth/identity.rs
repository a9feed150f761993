//! What haft is to one that vouches for users: what was agreed on, what is written down at an address, or what it is told
//! now.

use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

use super::asker::Asker;
use super::authorization::OAuthOptions;
use super::discovery::IssuerMetadata;
use super::token::{ClientIdentity, ClientMethod};
use crate::client::http_client::{send_oauth_request, shown_reason};

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// Returns what haft is there.
pub(super) async fn identity(
    asker: &Asker,
    issuer: &IssuerMetadata,
    options: &OAuthOptions,
    (redirect_uri, scopes): (&str, &[String]),
) -> Result<ClientIdentity, String> {
    if let Some(id) = &options.client_id {
        let secret = options.client_secret.clone();
        let method = if secret.is_some() { secret_method(issuer) } else { ClientMethod::None };
        return Ok(ClientIdentity { id: id.clone(), secret, method });
    }
    if let Some(id) = &options.client_metadata_url
        && issuer.client_id_metadata_document_supported
    {
        return Ok(ClientIdentity { id: id.clone(), secret: None, method: ClientMethod::None });
    }
    let Some(endpoint) = &issuer.registration_endpoint else {
        return Err(format!(
            "{} lets no program introduce itself: agree with whoever runs it on a client id, and write \
             oauth = {{ client_id = \"…\" }} into the server's table",
            issuer.issuer
        ));
    };
    let endpoint = asker.named(endpoint)?;
    register(asker, &endpoint, issuer, (redirect_uri, scopes)).await
}

async fn register(
    asker: &Asker,
    endpoint: &Url,
    issuer: &IssuerMetadata,
    (redirect_uri, scopes): (&str, &[String]),
) -> Result<ClientIdentity, String> {
    let method = wanted_method(issuer);
    let mut about = json!({
        "client_name": "haft",
        "application_type": "native",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.name(),
    });
    if !scopes.is_empty()
        && let Some(about) = about.as_object_mut()
    {
        about.insert("scope".to_owned(), scopes.join(" ").into());
    }
    let name = &issuer.issuer;
    let not_taken = |err: String| format!("{name} does not take haft as a client: {err}");
    let request = asker
        .post(endpoint)
        .await
        .map_err(not_taken)?
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .body(about.to_string());
    let (status, body) = send_oauth_request(request).await.map_err(not_taken)?;
    if !matches!(status, 200 | 201) {
        let said = shown_reason(&String::from_utf8_lossy(&body));
        return Err(not_taken(format!("HTTP {status}: {said}")));
    }
    let registered: Registered = serde_json::from_slice(&body)
        .map_err(|_| format!("{name} answered a registration with what is none"))?;
    let named = registered.token_endpoint_auth_method.as_deref();
    let method = match (named, &registered.client_secret) {
        (Some(named), _) => ClientMethod::named(named).ok_or_else(|| {
            format!("{name} wants haft to show who it is in a way that haft has not")
        })?,
        (None, Some(_)) if method == ClientMethod::None => secret_method(issuer),
        (None, Some(_)) => method,
        (None, None) => ClientMethod::None,
    };
    Ok(ClientIdentity { id: registered.client_id, secret: registered.client_secret, method })
}

/// Returns how haft would like to show who it is: not at all, because a program on somebody's machine keeps no secret.
fn wanted_method(issuer: &IssuerMetadata) -> ClientMethod {
    match &issuer.token_endpoint_auth_methods_supported {
        Some(methods) if !methods.iter().any(|method| method == "none") => secret_method(issuer),
        Some(_) | None => ClientMethod::None,
    }
}

/// Returns how a secret is shown.
fn secret_method(issuer: &IssuerMetadata) -> ClientMethod {
    let methods = issuer.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
    let takes = |method: ClientMethod| methods.iter().any(|name| name == method.name());
    if takes(ClientMethod::Post) && !takes(ClientMethod::Basic) {
        ClientMethod::Post
    } else {
        ClientMethod::Basic
    }
}
