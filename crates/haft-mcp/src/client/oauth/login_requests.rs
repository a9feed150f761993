//! Requests of a login, each to the server or to an authorization server that it names. If the server is public, haft connects
//! only to public addresses, and only to those that it checked. Otherwise a server could have haft send requests within the
//! network that haft runs in.

use haft::{AddressError, NetworkSettings};
use reqwest::{Method, RequestBuilder, Url};
use serde::de::DeserializeOwned;

use crate::client::http_client::{
    self, http_client, http_client_at, is_loopback, send_oauth_request,
};

/// Sends requests to a server, and to authorization servers that it names.
pub(super) struct LoginRequests {
    pub(super) server: Url,
    networking: NetworkSettings,
}

impl LoginRequests {
    pub(super) fn new(server: Url, networking: NetworkSettings) -> Result<Self, String> {
        // An error in the certificate authorities is reported before the first request.
        http_client(&networking, &server)?;
        Ok(Self { server, networking })
    }

    /// Returns an address that the server names, if it may.
    pub(super) fn named(&self, named: &str) -> Result<Url, String> {
        http_client::check_named_url(&self.server, named)
    }

    /// Returns the document at an address; nothing if there is none.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        url: &Url,
    ) -> Result<Option<T>, String> {
        let unread = |err: String| format!("{url} cannot be read: {err}");
        let request = self
            .request(Method::GET, url)
            .await
            .map_err(unread)?
            .header("accept", "application/json");
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

    pub(super) async fn request(
        &self,
        method: Method,
        url: &Url,
    ) -> Result<RequestBuilder, String> {
        let networking = &self.networking;
        // The user configured the address of the server itself.
        let client = if url.host() == self.server.host() || is_loopback(&self.server) {
            http_client(networking, url)?
        } else {
            match networking.public_addresses(url.as_str()).await {
                Ok(addresses) => http_client_at(networking, url, &addresses)?,
                Err(err @ AddressError::NotPublic { .. }) => {
                    // A server within a network can have its authorization server there.
                    let found = networking.public_addresses(self.server.as_str()).await;
                    let Err(AddressError::NotPublic { .. }) = found else {
                        return Err(err.to_string());
                    };
                    http_client(networking, url)?
                }
                Err(err) => return Err(err.to_string()),
            }
        };
        Ok(client.request(method, url.clone()))
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
        let networking =
            NetworkSettings { resolver: Arc::new(Names), ..NetworkSettings::default() };
        let asker = LoginRequests::new(Url::parse(server).unwrap(), networking).unwrap();
        let found = asker.request(Method::GET, &Url::parse(asked).unwrap()).await.map(|_| ());
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
            ("100.64.0.1", "shared by customers of a provider"),
        ] {
            let why = format!("{host} is at an address that is not public ({range})");
            check(public, &format!("https://{host}/token"), Err(&why)).await;
        }
        let metadata =
            "host metadata.example leads to the metadata service of a cloud, which no call reaches";
        check(public, "https://metadata.example/token", Err(metadata)).await;
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
