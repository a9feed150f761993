//! The login to one server: its tokens are sent to that server alone, renewed once when it takes them no more, and kept by
//! the store that it was given.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use haft::NetworkSettings;
use reqwest::Url;

use super::challenge::Challenge;
use super::login_requests::LoginRequests;
use super::token::{Kept, request};
use crate::client::http_client;

/// Stores the tokens of one server. They are secrets: only their user may read the store.
pub trait TokenStore: Send + Sync {
    /// Returns the stored text.
    fn get(&self) -> Option<String>;

    /// Replaces the stored text.
    fn put(&self, text: &str) -> io::Result<()>;

    /// Removes the stored text.
    fn remove(&self) -> io::Result<()>;
}

/// The configuration of logins to one server.
#[derive(Clone, Default)]
pub struct OAuthOptions {
    /// The client id of haft there, if it has one.
    pub client_id: Option<String>,
    /// The secret of that client.
    pub client_secret: Option<String>,
    /// The address of a document that describes haft as a client.
    pub client_metadata_url: Option<String>,
    /// The scopes of a token, instead of those that the server names.
    pub scopes: Vec<String>,
}

/// The logins to one server.
pub struct Authorization {
    pub(super) asker: LoginRequests,
    pub(super) options: OAuthOptions,
    store: Arc<dyn TokenStore>,
    // Written by requests that are refused, and read by the next login of this process.
    pub(super) challenged: Mutex<Option<Challenge>>,
    // Held while a token is renewed, so that each is renewed once.
    renewing: tokio::sync::Mutex<()>,
}

impl Authorization {
    /// Returns the logins to a server, or why none can be.
    pub fn new(
        server: &str,
        networking: &NetworkSettings,
        options: OAuthOptions,
        store: Arc<dyn TokenStore>,
    ) -> Result<Self, String> {
        let server =
            Url::parse(server).map_err(|err| format!("{server:?} is no address: {err}"))?;
        if !http_client::is_safe(&server) {
            return Err(format!("a token would go to {server} unencrypted: use https"));
        }
        let asker = LoginRequests::new(server, networking.clone())?;
        let (challenged, renewing) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { asker, options, store, challenged, renewing })
    }

    /// Returns whether there is a login.
    pub fn is_logged_in(&self) -> bool {
        self.kept().is_some()
    }

    /// Returns whether the server refused a request since the last login.
    pub fn is_login_needed(&self) -> bool {
        self.challenged.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Forgets the login.
    pub fn log_out(&self) -> io::Result<()> {
        self.store.remove()
    }

    /// Returns the token that goes with a request.
    pub(in crate::client) fn token(&self) -> Option<String> {
        Some(self.kept()?.access_token)
    }

    pub(in crate::client) fn refused(&self, challenge: Option<Challenge>) {
        let challenge = challenge.unwrap_or_default();
        if challenge.is_scope_missing
            && let Some(mut kept) = self.kept()
        {
            let missing = challenge.scopes.iter().filter(|scope| !kept.scopes.contains(scope));
            let missing: Vec<String> = missing.cloned().collect();
            if missing != kept.missing_scopes {
                kept.missing_scopes = missing;
                // Without it the next login asks for too little, and is refused like this one.
                let _ = self.keep(&kept);
            }
        }
        *self.challenged.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge);
    }

    /// Returns another token in place of one that the server does not take, if there is one.
    pub(in crate::client) async fn renewed(&self, used: &str) -> Option<String> {
        let _renewing = self.renewing.lock().await;
        let kept = self.kept()?;
        // Another call, or another process, was faster.
        if kept.access_token != used {
            return Some(kept.access_token);
        }
        let renewal = async {
            let refresh_token =
                kept.refresh_token.as_deref().ok_or("there is none to renew it with")?;
            let endpoint = self.asker.named(&kept.token_endpoint)?;
            let fields = [
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh_token),
                ("resource", &kept.resource),
            ];
            let tokens = request(&self.asker, &endpoint, &kept.client, &fields).await?;
            let mut renewed = kept.clone();
            renewed.scopes = tokens.scopes(&kept.scopes);
            renewed.access_token = tokens.access_token;
            // A token that is not replaced stays valid.
            renewed.refresh_token = tokens.refresh_token.or_else(|| kept.refresh_token.clone());
            self.keep(&renewed).map_err(|err| format!("it cannot be kept: {err}"))?;
            Ok::<_, String>(renewed.access_token)
        };
        match renewal.await {
            Ok(token) => Some(token),
            Err(why) => {
                tracing::debug!(why, "the token of an MCP server was not renewed");
                self.kept().map(|kept| kept.access_token).filter(|token| token != used)
            }
        }
    }

    pub(super) fn kept(&self) -> Option<Kept> {
        // A login in the format of another version does not count.
        serde_json::from_str(&self.store.get()?).ok()
    }

    pub(super) fn keep(&self, kept: &Kept) -> io::Result<()> {
        self.store.put(&serde_json::to_string(kept)?)
    }
}
