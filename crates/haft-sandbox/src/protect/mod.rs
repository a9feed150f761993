//! Names that can be read and not changed, wherever they lie in a writable directory: what they are, where they exist,
//! and how what appears under them is undone. It deliberately mounts nothing: whoever confines a command holds the pins.

mod builtin;
mod error;
mod fold;
#[cfg(target_os = "linux")]
mod git_config;
mod names;
mod pattern;
#[cfg(target_os = "linux")]
mod survey;
#[cfg(target_os = "linux")]
mod undo;
#[cfg(target_os = "linux")]
mod worktree;

pub use error::ProtectedNameError;
pub use names::ProtectedNames;
#[cfg(target_os = "linux")]
pub use survey::{Holding, Means, Pin, PinKind, Remedy, Survey, SurveyCache, SurveyError, Undone};
#[cfg(target_os = "linux")]
pub use worktree::{Worktree, worktree_directories};
