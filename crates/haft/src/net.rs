//! The network of one call: one request at a time, to granted hosts. haft resolves a name once, judges its addresses, and
//! connects only to judged addresses. It keeps no cookies, connections or credentials between two requests. It does not
//! follow redirects itself, and uses no proxy but the one that it is given.

mod addresses;
mod client;
mod connection_log;
mod redirect;
mod response;
mod target;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_contract::{
    BoxFuture, ErrorCode, Method, Net, NetRequest, NetResponse, Remedy, ToolError, ToolId,
};
use haft_policy::{HostScope, is_local_host};
use haft_sandbox::proxy::{
    self, ConnectionDenial, EgressDecision, EgressPolicy as _, reserved_range,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::addresses::AddressError;
use self::client::{RequestRoute, client, proxy_addresses};
pub(crate) use self::connection_log::CallConnectionLog;
use self::response::{ResponseBody, status_and_headers};
use self::target::HttpTarget;
use crate::connection_state::ConnectionState;
use crate::shell::GrantedHosts;

/// Time to resolve a host, and once more to connect to it, in milliseconds.
///
/// Limit (web): the host counts as unreachable.
pub(crate) const NET_DIAL_MS: u64 = proxy::DIAL_MS;
/// Header fields of an answer.
///
/// Limit (web): the answer is refused.
pub(crate) const NET_HEADERS_MAX: usize = 200;
/// Connections of one call that its envelope lists.
pub(crate) const NET_CONNECTIONS_LISTED_MAX: usize = 100;

/// The network of one call.
pub(crate) struct GrantedNet {
    /// The connection of the call. Its rules judge redirects.
    pub(crate) connection: Arc<ConnectionState>,
    /// The tool that sends the requests.
    pub(crate) tool: ToolId,
    /// The hosts that the call may reach.
    pub(crate) hosts: Arc<HostScope>,
    /// The hosts that the call declared and that were judged with it.
    pub(crate) declared_hosts: Vec<String>,
    /// The call's input, for watchdogs that judge a redirect; null if no host is granted.
    pub(crate) redirect_input: Value,
    /// The connections of the call, for its envelope.
    pub(crate) connection_log: Arc<CallConnectionLog>,
    /// Cancelled when the call is to stop.
    pub(crate) stop: CancellationToken,
    /// The time that the call has, in milliseconds.
    pub(crate) timeout_ms: u64,
}

impl Net for GrantedNet {
    fn send(&self, request: NetRequest) -> BoxFuture<'_, Result<NetResponse, ToolError>> {
        Box::pin(async move {
            let target = HttpTarget::parse(&request.url)?;
            let answer = async {
                if self.is_redirect(&target) {
                    self.judge_redirect(&target).await?;
                }
                self.exchange(target, request).await
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => Err(stopped_error(self.timeout_ms)),
                answer = answer => answer,
            }
        })
    }
}

impl GrantedNet {
    /// Resolves the host, sends the request and returns the head of the response. The log lists the connection, also if
    /// it failed.
    async fn exchange(
        &self,
        target: HttpTarget,
        request: NetRequest,
    ) -> Result<NetResponse, ToolError> {
        let shared = &self.connection.shared;
        let networking = &shared.parts.networking;
        let admission = GrantedHosts(Arc::clone(&self.hosts));
        let name = target.host.to_string();
        let is_by_name = admission.admits(&name, target.port) == EgressDecision::ByName;
        let upstream = shared.parts.sandbox.upstream.as_ref();
        let upstream = upstream.filter(|upstream| is_by_name && upstream.serves(&name));
        let found = match networking.addresses(&target, &admission).await {
            // Where a proxy resolves names, this machine may know none of them.
            Err(ConnectionDenial::Unresolved { .. }) if upstream.is_some() => Ok(Vec::new()),
            found => found,
        };
        let addresses = found.map_err(|denial| {
            self.connection_log.record_refused(&target, &denial);
            if self.is_redirect(&target) {
                redirect::redirect_denied_error(&denial)
            } else {
                denied_error(&denial)
            }
        })?;
        let route = match upstream {
            Some(proxy) if addresses.iter().all(|it| reserved_range(*it).is_none()) => {
                RequestRoute::Through(proxy, proxy_addresses(proxy).await?)
            }
            Some(_) | None => RequestRoute::Direct(&addresses),
        };
        let client = client(&target, route, &shared.tls_trust, networking)?;
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
                self.connection_log.record_connected(&target, response.remote_addr());
                let (status, headers) = status_and_headers(&response);
                let body = Box::new(ResponseBody {
                    response,
                    stop: self.stop.clone(),
                    timeout_ms: self.timeout_ms,
                });
                Ok(NetResponse { status, headers, body })
            }
            Err(err) => {
                let err = response::request_error(&target, err);
                self.connection_log.record_failed(&target, &err.message);
                Err(err)
            }
        }
    }
}

/// Returns the error of a call that is stopped while it waits for the network. The pipeline adds why it was stopped.
fn stopped_error(timeout_ms: u64) -> ToolError {
    let message =
        format!("the call was stopped while it waited for the network; it has {timeout_ms} ms");
    ToolError::new(ErrorCode::ToolTimeout, message)
}

/// Returns the error for a host that was not reached. It names the setting that would allow the host.
fn denied_error(denial: &ConnectionDenial) -> ToolError {
    let code = match denial {
        ConnectionDenial::NoHost { .. } => ErrorCode::InvalidInput,
        ConnectionDenial::NotGranted { .. }
        | ConnectionDenial::OtherPorts { .. }
        | ConnectionDenial::Reserved { .. }
        | ConnectionDenial::Metadata { .. }
        | ConnectionDenial::OwnListener { .. } => ErrorCode::CapabilityDenied,
        _ => ErrorCode::Unavailable,
    };
    let message = match denial {
        ConnectionDenial::Reserved { host, .. } | ConnectionDenial::OtherPorts { host, .. }
            if is_local_host(&host.to_string()) =>
        {
            format!(
                "host {host} is one of this machine or its networks, which are reached only where they are \
                 granted by name"
            )
        }
        denial => denial.to_string(),
    };
    let err = ToolError::new(code, message);
    match denial {
        ConnectionDenial::NotGranted { host } | ConnectionDenial::OtherPorts { host, .. } => {
            err.with_remedy(Remedy::AllowHost(host.to_string()))
        }
        ConnectionDenial::Reserved { host, address, .. } => err
            .with_remedy(Remedy::AllowHost(host.to_string()))
            .with_remedy(Remedy::AllowHost(address.to_string())),
        _ => err,
    }
}
