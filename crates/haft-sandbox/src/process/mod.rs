//! Runs a command so that none of its processes outlives the call.
//!
//! A launcher starts one small helper process, its zygote, and asks it for one supervisor per
//! command. It sends the command to the supervisor and returns a process with its output and its
//! control. The supervisor keeps track of the command's descendants, even of those that try to
//! leave, and kills them when the launcher's side closes. The confinement is set up behind the
//! supervisor; this module only passes it on. It deliberately has no timeouts and no output limits:
//! the caller enforces both by reading and killing.

mod command;
mod control;
mod enforcement;
mod error;
mod helper_socket;
mod hidden_paths;
mod launcher;
mod missing_layers;
mod output;
mod path_guard;
mod pending_reconciliation;
mod recovery;
mod ruled_view;
mod zygote;

pub use command::SandboxCommand;
pub use control::ProcessControl;
pub use enforcement::{Enforcement, EnforcementLevel};
pub use error::{MissingLayer, SandboxLayer, SpawnError, WaitError};
pub use launcher::{Launcher, SandboxProcess};
pub use output::ProcessOutput;
pub use path_guard::PathGuard;
pub use recovery::RecoveryReport;
