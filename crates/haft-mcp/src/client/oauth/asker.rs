//! Requests about who somebody is, each to the one whom it is for: the server, or whoever it names. What a public server names is
//! asked at public addresses only, and at those that were judged: else a server could have haft ask around in the network
//! that it runs in.

use haft::{AddressError, Networking};
use reqwest::{Method, RequestBuilder, Url};
use serde::de::DeserializeOwned;

use crate::client::http_client::{
    self, http_client, http_client_at, is_loopback, send_oauth_request,
};

/// Asks a server, and those whom it names.
pub(super) struct Asker {
    server: Url,
    networking: Networking,
}

impl Asker {
    /// Returns what asks a server and those whom it names.
    pub(super) fn new(server: Url, networking: Networking) -> Result<Self, String> {
        // What is wrong with the authorities is said before anything is asked.
        http_client(&networking, &server)?;
        Ok(Self { server, networking })
    }

    /// Returns where the server is.
    pub(super) fn server(&self) -> &Url {
        &self.server
    }

    /// Returns an address that the server names, if it may.
    pub(super) fn named(&self, named: &str) -> Result<Url, String> {
        http_client::check_named_url(&self.server, named)
    }

    /// Returns a request for what can be read at an address.
    pub(super) async fn get(&self, url: &Url) -> Result<RequestBuilder, String> {
        self.request(Method::GET, url).await
    }

    /// Returns a request that tells something.
    pub(super) async fn post(&self, url: &Url) -> Result<RequestBuilder, String> {
        self.request(Method::POST, url).await
    }

    /// Returns the document at an address; nothing if there is none.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        url: &Url,
    ) -> Result<Option<T>, String> {
        let unread = |err: String| format!("{url} cannot be read: {err}");
        let request = self.get(url).await.map_err(unread)?.header("accept", "application/json");
        let (status, body) = send_oauth_request(request).await.map_err(unread)?;
        match status {
            200 => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|err| format!("{url} is not the document that it should be: {err}")),
            // Most servers that do not know a document say so in some way of their own.
            400..500 => Ok(None),
            300..400 => {
                Err(format!("{url} leads elsewhere (HTTP {status}), which is not followed"))
            }
            status => Err(unread(format!("HTTP {status}"))),
        }
    }

    async fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, String> {
        Ok(self.client(url).await?.request(method, url.clone()))
    }

    /// Returns the client for an address.
    async fn client(&self, url: &Url) -> Result<reqwest::Client, String> {
        // Where the server itself is was said by whoever configured it.
        if url.host() == self.server.host() || is_loopback(&self.server) {
            return http_client(&self.networking, url);
        }
        match self.networking.public_addresses(url.as_str()).await {
            Ok(addresses) => http_client_at(&self.networking, url, &addresses),
            // A server within a network has its users vouched for there.
            Err(AddressError::NotPublic { .. }) if self.is_near().await => {
                http_client(&self.networking, url)
            }
            Err(err) => Err(err.to_string()),
        }
    }

    /// Returns whether the server is at no public address.
    async fn is_near(&self) -> bool {
        let found = self.networking.public_addresses(self.server.as_str()).await;
        matches!(found, Err(AddressError::NotPublic { .. }))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::sync::Arc;

    use haft_sandbox::proxy::{HostResolveFuture, HostResolver};

    use super::*;

    /// Names and where they lead.
    struct Names;

    impl HostResolver for Names {
        fn resolve<'a>(&'a self, name: &'a str) -> HostResolveFuture<'a> {
            let address = match name {
                "public.example" | "vouches.example" => "93.184.216.34",
                "corp.example" | "sso.corp.example" => "10.0.0.5",
                "loopback.example" => "127.0.0.1",
                "metadata.example" => "169.254.169.254",
                _ => return Box::pin(async { Err(io::Error::other("there is no such name")) }),
            };
            Box::pin(async move { Ok(vec![address.parse::<IpAddr>().unwrap()]) })
        }
    }

    async fn check(server: &str, asked: &str, expect: Result<(), &str>) {
        let networking = Networking { resolver: Arc::new(Names), ..Networking::default() };
        let asker = Asker::new(Url::parse(server).unwrap(), networking).unwrap();
        let found = asker.get(&Url::parse(asked).unwrap()).await.map(|_| ());
        assert_eq!(found, expect.map_err(str::to_owned), "{server} {asked}");
    }

    #[tokio::test]
    async fn a_public_server_names_nobody_within_the_network() {
        let public = "https://public.example/mcp";
        check(public, "https://public.example/.well-known/x", Ok(())).await;
        check(public, "https://vouches.example/token", Ok(())).await;
        for (host, range) in [
            ("loopback.example", "loopback"),
            ("sso.corp.example", "private"),
            ("metadata.example", "link-local"),
            ("100.64.0.1", "shared by customers of a provider"),
        ] {
            let why = format!("{host} is at an address that is not public ({range})");
            check(public, &format!("https://{host}/token"), Err(&why)).await;
        }
        let unknown = "host nowhere.example has no address: there is no such name; check the name";
        check(public, "https://nowhere.example/", Err(unknown)).await;
    }

    #[tokio::test]
    async fn a_server_within_a_network_names_others_there() {
        let corp = "https://corp.example/mcp";
        check(corp, "https://sso.corp.example/token", Ok(())).await;
        check(corp, "https://vouches.example/token", Ok(())).await;
        check("http://127.0.0.1:1/mcp", "http://localhost:2/token", Ok(())).await;
    }
}
