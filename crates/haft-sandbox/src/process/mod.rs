//! Running a command so that nothing of it outlives its call.
//!
//! A launcher starts a small helper process, tells it what to run, and gets back a process with its output and its
//! control. The helper is what ties the command's descendants together, whatever they do to leave, and it ends them
//! when the launcher's side goes away. This module deliberately knows no timeouts and no limits on output: the caller
//! has both in hand by reading and killing.

mod command;
#[cfg(target_os = "linux")]
mod control;
mod enforced;
mod error;
mod exit;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod output;

pub use command::Command;
#[cfg(target_os = "linux")]
pub use control::Control;
pub use enforced::{Enforced, Level};
pub use error::{SpawnError, WaitError};
pub use exit::Exit;
#[cfg(target_os = "linux")]
pub use launcher::{Launcher, Process};
#[cfg(target_os = "linux")]
pub use output::Output;
