//! Names that can be read and not changed, wherever they lie in a writable directory: what they are, where they exist,
//! and how what appears under them is undone. It deliberately mounts nothing: whoever confines a command holds the pins.

mod builtin;
mod error;
mod fold;
#[cfg(target_os = "linux")]
mod git_config;
mod names;
mod pattern;
mod report;
#[cfg(target_os = "linux")]
mod survey;
#[cfg(target_os = "linux")]
mod undo;
mod worktree;

pub use error::ProtectedNameError;
pub use names::ProtectedNames;
pub use report::{Holding, Means, Pin, PinKind, Remedy, SurveyError, Undone};
#[cfg(target_os = "linux")]
pub use survey::{Survey, SurveyCache};
pub use worktree::{Worktree, worktree_directories};
