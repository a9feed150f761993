//! The strengths of the network guard as flags and manifests spell them. The policy crate decides which commands each
//! of them refuses.

use haft_policy::NetworkGuard;
use serde::Deserialize;

/// How much the guard in front of commands refuses by name while they have no network, in the order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkGuardName {
    /// Nothing: the kernel sandbox alone keeps commands from the network
    Kernel,
    /// The usual programs that download, addresses that begin with http, and git with its remotes
    Standard,
    /// A long list of programs and everything that looks like an address
    Strict,
}

impl NetworkGuardName {
    /// All strengths, in order.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Standard, Self::Strict];

    /// Returns the strength of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guard| guard.name() == name)
    }

    /// Returns what is refused, in words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Kernel => "Nothing: the kernel sandbox alone keeps commands from the network",
            Self::Standard => {
                "The usual programs that download, addresses that begin with http, and git with its remotes"
            }
            Self::Strict => "A long list of programs and everything that looks like an address",
        }
    }

    /// Returns the name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

impl From<NetworkGuardName> for NetworkGuard {
    fn from(guard: NetworkGuardName) -> Self {
        match guard {
            NetworkGuardName::Kernel => Self::Kernel,
            NetworkGuardName::Standard => Self::Standard,
            NetworkGuardName::Strict => Self::Strict,
        }
    }
}
