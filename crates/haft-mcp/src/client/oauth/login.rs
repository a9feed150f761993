//! One login: an address that a person opens, and the exchange of the returned code for a token. A response is used only if it
//! belongs to this login and comes from the authorization server that was asked.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};

use super::authorization::Authorization;
use super::challenge::{Challenge, challenge};
use super::discovery::{IssuerMetadata, discover};
use super::identity::identity;
use super::token::{ClientIdentity, Kept, refusal_text, request};
use crate::client::http_client::shown_reason;
use crate::client::limits::OAUTH_MS_MAX;

/// Random bytes that one login needs.
pub const LOGIN_ENTROPY_BYTES: usize = 64;
/// The scope that makes a token renewable, if the authorization server knows it.
const RENEWABLE_SCOPE: &str = "offline_access";

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server, or the one who vouches for its users, does not offer what is needed.
    #[error("{0}")]
    NotOffered(String),
    /// The authorization server or the person refused.
    #[error("{0}")]
    Refused(String),
    /// The response does not belong to this login.
    #[error("{0}")]
    Foreign(String),
    /// The token cannot be kept.
    #[error("the login cannot be kept: {0}")]
    NotKept(std::io::Error),
}

/// A login that a person has to take part in.
pub struct Login {
    /// The address that the person opens.
    pub url: String,
    authorization: Arc<Authorization>,
    issuer: IssuerMetadata,
    resource: String,
    identity: ClientIdentity,
    redirect_uri: String,
    scopes: Vec<String>,
    verifier: String,
    state: String,
}

impl Authorization {
    /// Begins a login, whose end comes to `redirect_uri`. The bytes are random and used for nothing else.
    pub async fn begin_login(
        self: &Arc<Self>,
        redirect_uri: &str,
        entropy: [u8; LOGIN_ENTROPY_BYTES],
    ) -> Result<Login, LoginError> {
        let known = self.challenged.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let challenge = match known {
            Some(challenge) => challenge,
            // The server is asked without a token, so that it returns its challenge.
            None => match self.asker.request(Method::POST, &self.asker.server).await {
                Err(_) => Challenge::default(),
                Ok(request) => {
                    let request = request
                        .timeout(Duration::from_millis(OAUTH_MS_MAX))
                        .header("content-type", "application/json")
                        .header("accept", "application/json, text/event-stream")
                        .body(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
                    let response = request.send().await.ok();
                    let response = response.filter(|response| response.status().as_u16() == 401);
                    let challenge = response.and_then(|response| challenge(response.headers()));
                    challenge.unwrap_or_default()
                }
            },
        };
        let found = discover(&self.asker, &challenge).await;
        let found = found.map_err(LoginError::NotOffered)?;
        let scopes = self.scopes(&challenge, &found.scopes, &found.issuer);
        let redirected = (redirect_uri, scopes.as_slice());
        let identity = identity(&self.asker, &found.issuer, &self.options, redirected).await;
        let (verifier, state) = entropy.split_at(LOGIN_ENTROPY_BYTES / 2);
        let mut login = Login {
            url: String::new(),
            authorization: Arc::clone(self),
            issuer: found.issuer,
            resource: found.resource,
            identity: identity.map_err(LoginError::NotOffered)?,
            redirect_uri: redirect_uri.to_owned(),
            scopes,
            verifier: BASE64_URL_SAFE_NO_PAD.encode(verifier),
            state: BASE64_URL_SAFE_NO_PAD.encode(state),
        };
        let code_challenge =
            BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(login.verifier.as_bytes()));
        let url = self.asker.named(&login.issuer.authorization_endpoint);
        let mut url = url.map_err(LoginError::NotOffered)?;
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &login.identity.id)
                .append_pair("redirect_uri", redirect_uri)
                .append_pair("state", &login.state)
                .append_pair("code_challenge", &code_challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &login.resource);
            if !login.scopes.is_empty() {
                query.append_pair("scope", &login.scopes.join(" "));
            }
        }
        login.url = url.into();
        Ok(login)
    }

    /// Returns what a token is to allow: what the configuration says, else what the server wants, else what it knows; and
    /// what the token before allowed, where that was too little.
    fn scopes(
        &self,
        challenge: &Challenge,
        known: &[String],
        issuer: &IssuerMetadata,
    ) -> Vec<String> {
        let mut scopes = match (self.options.scopes.is_empty(), challenge.scopes.is_empty()) {
            (false, _) => self.options.scopes.clone(),
            (true, false) => challenge.scopes.clone(),
            (true, true) => known.to_vec(),
        };
        let kept = self.kept().filter(|kept| kept.issuer == issuer.issuer);
        if let Some(kept) =
            kept.filter(|kept| challenge.is_scope_missing || !kept.missing_scopes.is_empty())
        {
            scopes.extend(kept.scopes.into_iter().chain(kept.missing_scopes));
        }
        if !scopes.is_empty() && issuer.scopes_supported.iter().any(|one| one == RENEWABLE_SCOPE) {
            scopes.push(RENEWABLE_SCOPE.to_owned());
        }
        let mut seen = Vec::new();
        for scope in scopes {
            if !seen.contains(&scope) {
                seen.push(scope);
            }
        }
        seen
    }
}

impl Login {
    /// Returns who vouches for the person.
    pub fn issuer(&self) -> &str {
        &self.issuer.issuer
    }

    /// Returns what the token is to allow.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns whether an address that came back belongs to this login.
    pub fn is_answer(&self, redirected: &str) -> bool {
        Answer::read(redirected).is_ok_and(|answer| answer.state == self.state)
    }

    /// Ends the login with the address that the person was sent to.
    pub async fn finish(&self, redirected: &str) -> Result<(), LoginError> {
        let code = self.code(redirected)?;
        let authorization = &self.authorization;
        let endpoint = authorization.asker.named(&self.issuer.token_endpoint);
        let endpoint = endpoint.map_err(LoginError::NotOffered)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &self.verifier),
            ("resource", &self.resource),
        ];
        let tokens = request(&authorization.asker, &endpoint, &self.identity, &fields).await;
        let tokens = tokens.map_err(LoginError::Refused)?;
        let kept = Kept {
            issuer: self.issuer.issuer.clone(),
            token_endpoint: self.issuer.token_endpoint.clone(),
            resource: self.resource.clone(),
            client: self.identity.clone(),
            scopes: tokens.scopes(&self.scopes),
            missing_scopes: Vec::new(),
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
        };
        authorization.keep(&kept).map_err(LoginError::NotKept)?;
        *authorization.challenged.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn code(&self, redirected: &str) -> Result<String, LoginError> {
        let answer = Answer::read(redirected).map_err(LoginError::Foreign)?;
        if answer.state != self.state {
            let message = "the address belongs to another login, or to none";
            return Err(LoginError::Foreign(message.to_owned()));
        }
        let expected = &self.issuer.issuer;
        match answer.issuer {
            Some(issuer) if issuer != *expected => {
                let message =
                    format!("the answer comes from {issuer:?}, and {expected:?} was asked");
                return Err(LoginError::Foreign(shown_reason(&message)));
            }
            None if self.issuer.authorization_response_iss_parameter_supported => {
                let message = format!(
                    "the answer does not say that it comes from {expected:?}, as it should"
                );
                return Err(LoginError::Foreign(message));
            }
            Some(_) | None => {}
        }
        answer.code.map_err(|why| LoginError::Refused(format!("{expected} did not agree: {why}")))
    }
}

struct Answer {
    state: String,
    issuer: Option<String>,
    code: Result<String, String>,
}

impl Answer {
    fn read(redirected: &str) -> Result<Self, String> {
        let url = Url::parse(redirected.trim()).map_err(
            |_| "that is no address: expected the whole one that the browser was sent to",
        )?;
        let field = |name: &str| {
            url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let state = field("state").ok_or("the address has no state: expected the whole one")?;
        let code = match (field("code"), field("error")) {
            (_, Some(error)) => Err(refusal_text(&error, field("error_description"))),
            (Some(code), None) => Ok(code),
            (None, None) => {
                return Err("the address has no code: expected the whole one".to_owned());
            }
        };
        Ok(Self { state, issuer: field("iss"), code })
    }
}
