//! Runs a command so that none of its processes outlives the call.
//!
//! A launcher starts one small helper process, its zygote, and asks it for one supervisor per
//! command. It sends the command to the supervisor and returns a process with its output and its
//! control. The supervisor keeps track of the command's descendants, even of those that try to
//! leave, and kills them when the launcher's side closes. The confinement is set up behind the
//! supervisor; this module only passes it on. It deliberately has no timeouts and no output limits:
//! the caller enforces both by reading and killing.

mod command;
#[cfg(target_os = "linux")]
mod control;
mod enforcement;
mod error;
#[cfg(target_os = "linux")]
mod helper_socket;
#[cfg(target_os = "linux")]
mod hidden_paths;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod missing_layers;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pending_reconciliation;
#[cfg(target_os = "linux")]
mod recovery;
#[cfg(target_os = "linux")]
mod zygote;

pub use command::SandboxCommand;
#[cfg(target_os = "linux")]
pub use control::ProcessControl;
pub use enforcement::{Enforcement, EnforcementLevel};
pub use error::{MissingLayer, SandboxLayer, SpawnError, WaitError};
#[cfg(target_os = "linux")]
pub use launcher::{Launcher, SandboxProcess};
#[cfg(target_os = "linux")]
pub use output::ProcessOutput;
#[cfg(target_os = "linux")]
pub use recovery::RecoveryReport;
