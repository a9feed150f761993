//! A stored login, and the requests for tokens: with a code, and with a refresh token. Tokens are never part of an error, and
//! no type here can be logged.

use reqwest::{Method, Url};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::login_requests::LoginRequests;
use crate::client::http_client::{send_oauth_request, shown_reason};

/// Longest token, in bytes; also what fits into a header everywhere.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientIdentity {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: ClientMethod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientMethod {
    None,
    /// The secret is in a header.
    Basic,
    /// The secret is in the body.
    Post,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) resource: String,
    pub(super) client: ClientIdentity,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    pub(super) scopes: Vec<String>,
    #[serde(default)]
    pub(super) missing_scopes: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    token_type: String,
    pub(super) refresh_token: Option<String>,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
    error_description: Option<String>,
}

impl ClientMethod {
    /// Returns the name that the protocol has for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post].into_iter().find(|method| method.name() == name)
    }
}

impl Tokens {
    /// Returns what the token allows; as much as was asked for where nothing is said of it.
    pub(super) fn scopes(&self, asked: &[String]) -> Vec<String> {
        match &self.scope {
            Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
            None => asked.to_vec(),
        }
    }
}

pub(super) async fn request(
    asker: &LoginRequests,
    endpoint: &Url,
    identity: &ClientIdentity,
    fields: &[(&str, &str)],
) -> Result<Tokens, String> {
    let host = endpoint.host_str().unwrap_or_default();
    let no_token = |err: String| format!("{host} gave no token: {err}");
    let mut request = asker.request(Method::POST, endpoint).await.map_err(no_token)?;
    let form = {
        // The serializer is not `Send`, so it ends before the request is sent.
        let mut form = form_urlencoded::Serializer::new(String::new());
        // Some authorization servers look for the id here, even if the header has it.
        form.extend_pairs(fields).append_pair("client_id", &identity.id);
        match (identity.method, &identity.secret) {
            (ClientMethod::Basic, Some(secret)) => {
                // The id and the secret are form-encoded before they are joined.
                let encode = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                request = request.basic_auth(encode(&identity.id), Some(encode(secret)));
            }
            (ClientMethod::Post, Some(secret)) => {
                form.append_pair("client_secret", secret);
            }
            (ClientMethod::None | ClientMethod::Basic | ClientMethod::Post, _) => {}
        }
        form.finish()
    };
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(form);
    let (status, body) = send_oauth_request(request).await.map_err(no_token)?;
    if status != 200 {
        return Err(no_token(match serde_json::from_slice::<TokenRefusal>(&body) {
            Ok(TokenRefusal { error, error_description }) => {
                refusal_text(&error, error_description)
            }
            Err(_) => format!("HTTP {status}"),
        }));
    }
    let tokens: Tokens = serde_json::from_slice(&body)
        // The body may hold a token, so no part of it is shown.
        .map_err(|_| format!("{host} answered with what is no token"))?;
    if !tokens.token_type.eq_ignore_ascii_case("bearer") {
        return Err(format!("{host} gave a token of a kind that haft does not use"));
    }
    let is_good = |token: &String| {
        let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        (1..=TOKEN_BYTES_MAX).contains(&token.len()) && is_plain
    };
    if !is_good(&tokens.access_token) || !tokens.refresh_token.iter().all(is_good) {
        return Err(format!("{host} gave a token that no header can carry"));
    }
    Ok(tokens)
}

/// Returns the text of a refusal, whose parts come from those who refused.
pub(super) fn refusal_text(error: &str, description: Option<String>) -> String {
    let description = description.map(|text| format!(": {text}")).unwrap_or_default();
    shown_reason(&format!("{error}{description}"))
}
