//! Resolves the host of a URL from an outside party, for callers that connect by themselves. The host is resolved once
//! and judged as the hosts of calls are. The caller must connect to the judged addresses. This module opens no
//! connection.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use haft_sandbox::proxy::{ConnectionDenial, EgressDecision, EgressPolicy, admitted_addresses};

use super::NET_DIAL_MS;
use super::target::HttpTarget;
use crate::network_settings::NetworkSettings;

/// Why a host has no address that may be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It has addresses, and none of them is public.
    #[error("{host} is at an address that is not public ({range})")]
    NotPublic {
        /// The host.
        host: String,
        /// The purpose for which the address is reserved.
        range: &'static str,
    },
    /// The host has no address, or is not a valid host.
    #[error("{0}")]
    Unknown(String),
}

impl NetworkSettings {
    /// Returns the public addresses of a URL's host, and never none.
    ///
    /// # Errors
    ///
    /// Says that the URL is not valid, that the host has no address in time, or that an address is not
    /// public.
    pub async fn public_addresses(&self, url: &str) -> Result<Vec<SocketAddr>, AddressError> {
        let target = HttpTarget::parse(url).map_err(|err| AddressError::Unknown(err.message))?;
        let addresses =
            self.addresses(&target, &AllowAnyHost).await.map_err(|denial| match denial {
                ConnectionDenial::Reserved { host, range, .. } => {
                    AddressError::NotPublic { host: host.to_string(), range }
                }
                denial => AddressError::Unknown(denial.to_string()),
            })?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, target.port)).collect())
    }

    /// Resolves the host of a request, and returns the addresses that the policy admits.
    ///
    /// The denial says that the policy admits none, or that resolving took longer than [`NET_DIAL_MS`].
    pub(super) async fn addresses(
        &self,
        target: &HttpTarget,
        admission: &dyn EgressPolicy,
    ) -> Result<Vec<IpAddr>, ConnectionDenial> {
        let HttpTarget { host, port, .. } = target;
        let finding = admitted_addresses(host, *port, admission, &*self.resolver);
        let found = tokio::time::timeout(Duration::from_millis(NET_DIAL_MS), finding).await;
        found.unwrap_or_else(|_| {
            Err(ConnectionDenial::TooSlow { host: host.clone(), port: *port, dial_ms: NET_DIAL_MS })
        })
    }
}

/// Grants whatever host is named, at public addresses.
struct AllowAnyHost;

impl EgressPolicy for AllowAnyHost {
    fn admits(&self, _: &str, _: u16) -> EgressDecision {
        EgressDecision::ByName
    }
}
