//! The identity of haft at an authorization server: a configured client id, the address of a document, or a registration.

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::authorization::OAuthOptions;
use super::discovery::IssuerMetadata;
use super::login_requests::LoginRequests;
use super::token::{ClientIdentity, ClientMethod};
use crate::client::http_client::{send_oauth_request, shown_reason};

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// Returns the identity of haft; registers it if necessary.
pub(super) async fn identity(
    asker: &LoginRequests,
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
            "{} lets no program introduce itself: get a client id from its operator, and write \
             oauth = {{ client_id = \"…\" }} into the server's table",
            issuer.issuer
        ));
    };
    let endpoint = asker.named(endpoint)?;
    // haft prefers not to authenticate, because a program on a user's machine keeps no secret.
    let method = match &issuer.token_endpoint_auth_methods_supported {
        Some(methods) if !methods.iter().any(|method| method == "none") => secret_method(issuer),
        Some(_) | None => ClientMethod::None,
    };
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
        .request(Method::POST, &endpoint)
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
