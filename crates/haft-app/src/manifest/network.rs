//! The table `[network]` of a manifest: the proxy through which granted hosts are reached. Which hosts are granted is not
//! said here.

use haft_sandbox::proxy::UpstreamProxy;
use serde::Deserialize;

use super::problem::KeyProblem;

/// The values of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSection {
    /// The proxy, instead of the one that the environment names.
    pub proxy: Option<String>,
}

impl NetworkSection {
    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let parsed = self.proxy.as_ref().map(|proxy| UpstreamProxy::parse(proxy, ""));
        let problem = parsed.and_then(Result::err);
        problem.map(|err| ("proxy", err.to_string())).into_iter().collect()
    }
}
