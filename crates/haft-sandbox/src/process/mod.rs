//! Running a command so that nothing of it outlives its call.
//!
//! A launcher starts one small helper process, its zygote, and asks it for a supervisor for each command. It tells the
//! supervisor what to run, and gets back a process with its output and its control. The supervisor is what ties the
//! command's descendants together, whatever they do to leave, and it ends them when the launcher's side goes away. What
//! confines a command is set up beyond the supervisor; here it is only passed on. This module deliberately knows no timeouts and no limits on output: the caller
//! has both in hand by reading and killing.

mod command;
#[cfg(target_os = "linux")]
mod control;
mod enforced;
mod error;
mod exit;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod hidden;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod missing;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod protection;
#[cfg(target_os = "linux")]
mod underway;
#[cfg(target_os = "linux")]
mod zygote;

pub use command::{CHANNEL_DESCRIPTOR, Channel, Command};
#[cfg(target_os = "linux")]
pub use control::Control;
#[cfg(target_os = "linux")]
pub(crate) use control::{BURY_MS_MAX, KILL_MS_MAX};
pub use enforced::{Enforced, Level};
pub use error::{Layer, Missing, SpawnError, WaitError};
pub use exit::{Exceeded, Exit};
#[cfg(target_os = "linux")]
pub(crate) use hidden::PATHS_MAX;
#[cfg(target_os = "linux")]
pub(crate) use launcher::{ANSWER_MS_MAX, ATTEMPTS_MAX};
#[cfg(target_os = "linux")]
pub use launcher::{Launcher, Process};
#[cfg(target_os = "linux")]
pub use output::Output;
#[cfg(target_os = "linux")]
pub use underway::Leftovers;
#[cfg(target_os = "linux")]
pub(crate) use underway::{LEFT_WAIT_MS_MAX, NOTE_BYTES_MAX, Note, UNDERWAY_MAX};
