//! The confinement of the processes of a call, and the connections that they made.

use serde::{Deserialize, Serialize};

/// One connection out of a confined process, as its proxy saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboundConnection {
    /// The host's name or address, as it was asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was let through.
    pub admitted: bool,
    /// The address that was dialled, or why none was.
    pub detail: String,
}

/// How strongly a layer was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementLevel {
    /// Not at all.
    None,
    /// By haft, against a process that does not work against it.
    Cooperative,
    /// By the kernel.
    Kernel,
}

/// The confinement that was enforced for the processes of a call, layer by layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the layer of its name")]
pub struct EnforcedConfinement {
    pub filesystem: ConfinementLevel,
    pub network: ConfinementLevel,
    pub processes: ConfinementLevel,
    pub system_calls: ConfinementLevel,
    pub resources: ConfinementLevel,
}

impl EnforcedConfinement {
    /// Nothing was enforced.
    pub const NOTHING: Self = Self {
        filesystem: ConfinementLevel::None,
        network: ConfinementLevel::None,
        processes: ConfinementLevel::None,
        system_calls: ConfinementLevel::None,
        resources: ConfinementLevel::None,
    };

    /// Returns whether the kernel holds every layer.
    pub fn is_full(&self) -> bool {
        let layers =
            [self.filesystem, self.network, self.processes, self.system_calls, self.resources];
        layers.iter().all(|level| *level == ConfinementLevel::Kernel)
    }
}
