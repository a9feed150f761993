//! The network as one call reaches it: a request at a time, to hosts that the call was granted. A name is resolved once, its
//! addresses are judged, and those that were judged are what is connected to. Nothing is kept between two requests: no
//! cookies, no connections, no credentials; a redirect is an answer like any other, and proxies of the environment are not
//! used.

mod addresses;
mod answer;
mod client;
mod led;
mod record;
mod target;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_contract::{
    BoxFuture, ErrorCode, Method, Net, NetRequest, NetResponse, ToolError, ToolId,
};
use haft_policy::{HostScope, is_local_host};
use haft_sandbox::proxy::{self, Admission, Denial, Resolver, SystemResolver, admitted_addresses};
use serde_json::Value;
use tokio_rustls::rustls::ClientConfig;
use tokio_util::sync::CancellationToken;

pub use self::addresses::AddressError;
use self::answer::{Body, answered};
use self::client::client;
pub(crate) use self::record::NetRecord;
use self::target::Target;
use crate::session::SessionState;
use crate::shell::GrantedHosts;

/// Milliseconds for resolving the name of a host, and as many again for connecting to it.
pub(crate) const NET_DIAL_MS: u64 = proxy::DIAL_MS;
/// Header fields of one answer.
pub(crate) const NET_HEADERS_MAX: usize = 200;
/// Connections of one call that its envelope lists.
pub(crate) const NET_CONNECTIONS_LISTED_MAX: usize = 100;

/// How tools that use the network by themselves get there.
#[derive(Clone)]
pub struct Networking {
    /// Finds the addresses of names.
    pub resolver: Arc<dyn Resolver>,
    /// The authorities that servers are trusted by, as a file of PEM; without it, those of the system.
    pub authorities: Option<PathBuf>,
}

impl Default for Networking {
    fn default() -> Self {
        Self { resolver: Arc::new(SystemResolver), authorities: None }
    }
}

impl Networking {
    /// Returns what encrypted connections trust, for those who connect by themselves.
    pub fn tls(&self) -> Result<ClientConfig, String> {
        client::tls(self.authorities.as_ref())
    }

    /// Returns what trusts nobody, for connections that are not encrypted.
    pub fn tls_without_authorities(&self) -> Result<ClientConfig, String> {
        client::without_authorities()
    }
}

impl fmt::Debug for Networking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Networking");
        fields.field("authorities", &self.authorities).finish_non_exhaustive()
    }
}

/// What encrypted connections trust, read with the first of them.
pub(crate) type Trusted = OnceLock<Result<ClientConfig, String>>;

/// The network of one call.
pub(crate) struct GrantedNet {
    pub(crate) session: Arc<SessionState>,
    pub(crate) tool: ToolId,
    pub(crate) hosts: Arc<HostScope>,
    /// The hosts that the call declared and that were judged with it.
    pub(crate) judged: Vec<String>,
    /// The call's input, which watchdogs are told again when it is led elsewhere; nothing where no host is granted.
    pub(crate) input: Value,
    pub(crate) record: Arc<NetRecord>,
    /// Cancelled when the call is to stop.
    pub(crate) stop: CancellationToken,
    /// The time that the call has, in milliseconds.
    pub(crate) timeout_ms: u64,
}

impl Net for GrantedNet {
    fn send(&self, request: NetRequest) -> BoxFuture<'_, Result<NetResponse, ToolError>> {
        Box::pin(async move {
            let target = Target::parse(&request.url)?;
            let answer = async {
                if self.is_led(&target) {
                    self.judge_led(&target).await?;
                }
                self.exchange(target, request).await
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err(stopped(self.timeout_ms)),
                answer = answer => answer,
            }
        })
    }
}

impl GrantedNet {
    async fn exchange(
        &self,
        target: Target,
        request: NetRequest,
    ) -> Result<NetResponse, ToolError> {
        let shared = &self.session.shared;
        let networking = &shared.parts.networking;
        let admission = GrantedHosts(Arc::clone(&self.hosts));
        let found = self.addresses(&target, &admission, &*networking.resolver).await;
        let addresses = found.map_err(|denial| {
            self.record.refused(&target, &denial);
            if self.is_led(&target) { led::denied(&denial) } else { denied(&denial) }
        })?;
        let client = client(&target, &addresses, &shared.trusted, networking)?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let mut sending = client.request(method, target.url.clone());
        for (name, value) in &request.headers {
            sending = sending.header(name, value);
        }
        if let Some(body) = request.body {
            sending = sending.body(body);
        }
        match sending.send().await {
            Ok(response) => {
                self.record.connected(&target, response.remote_addr());
                let (status, headers) = answered(&response);
                let body = Box::new(Body {
                    response,
                    stop: self.stop.clone(),
                    timeout_ms: self.timeout_ms,
                });
                Ok(NetResponse { status, headers, body })
            }
            Err(err) => {
                let err = answer::failed(&target, err);
                self.record.failed(&target, &err.message);
                Err(err)
            }
        }
    }

    async fn addresses(
        &self,
        target: &Target,
        admission: &dyn Admission,
        resolver: &dyn Resolver,
    ) -> Result<Vec<std::net::IpAddr>, Denial> {
        let Target { host, port, .. } = target;
        let finding = admitted_addresses(host, *port, admission, resolver);
        let found = tokio::time::timeout(Duration::from_millis(NET_DIAL_MS), finding).await;
        found.unwrap_or_else(|_| {
            Err(Denial::TooSlow { host: host.clone(), port: *port, dial_ms: NET_DIAL_MS })
        })
    }
}

/// Returns the error of a call that is stopped while it waits for the network. Whoever stopped it says why.
fn stopped(timeout_ms: u64) -> ToolError {
    let message =
        format!("the call was stopped while it waited for the network; it has {timeout_ms} ms");
    ToolError::new(ErrorCode::ToolTimeout, message)
}

fn denied(denial: &Denial) -> ToolError {
    let code = match denial {
        Denial::NoHost { .. } => ErrorCode::InvalidInput,
        Denial::NotGranted { .. } | Denial::OtherPorts { .. } | Denial::Reserved { .. } => {
            ErrorCode::CapabilityDenied
        }
        _ => ErrorCode::Unavailable,
    };
    let message = match denial {
        Denial::Reserved { host, .. } | Denial::OtherPorts { host, .. }
            if is_local_host(&host.to_string()) =>
        {
            format!(
                "host {host} is one of this machine or its networks, which are reached only where they are named: \
                 --allow-host {host}, or a rule that allows net.fetch \"{host}\""
            )
        }
        denial => denial.to_string(),
    };
    ToolError::new(code, message)
}
