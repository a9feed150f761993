//! The strengths of the network guard as they are written in flags and manifests. What each refuses is the policy
//! crate's affair.

use clap::ValueEnum;
use haft_policy::NetworkGuard;
use serde::Deserialize;

/// How much the guard in front of commands refuses by name while they have no network, in the order of strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Guard {
    /// Nothing: the kernel sandbox alone keeps commands from the network
    Kernel,
    /// The usual programs that download, addresses that begin with http, and git with its remotes
    #[default]
    Standard,
    /// A long list of programs and everything that looks like an address
    Strict,
}

impl Guard {
    /// Returns the name as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

impl From<Guard> for NetworkGuard {
    fn from(guard: Guard) -> Self {
        match guard {
            Guard::Kernel => Self::Kernel,
            Guard::Standard => Self::Standard,
            Guard::Strict => Self::Strict,
        }
    }
}
