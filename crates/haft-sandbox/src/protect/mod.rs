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
#[cfg(target_os = "linux")]
pub(crate) use git_config::CONFIG_BYTES_MAX;
pub use names::ProtectedNames;
#[cfg(target_os = "linux")]
pub(crate) use pattern::COMPONENTS_MAX;
pub use report::{Holding, Means, Pin, PinKind, Remedy, SurveyError, Undone};
#[cfg(target_os = "linux")]
pub(crate) use survey::{
    CONTENTS_MAX, COPIES_BYTES_MAX, DIRECTORIES_MAX, HIDDEN_DEPTH_MAX, HIDDEN_FILES_MAX, LOOKS_MAX,
    Moment, NAME_SETS_MAX, SMALL_BYTES_MAX, SMALL_BYTES_TOTAL, UNLOCKED_MAX, moment_of_end, settle,
};
#[cfg(target_os = "linux")]
pub use survey::{Survey, SurveyCache};
#[cfg(target_os = "linux")]
pub(crate) use undo::{COPY_BYTES_MAX, DEPTH_MAX, SLOTS_MAX};
#[cfg(target_os = "linux")]
pub(crate) use worktree::POINTER_BYTES_MAX;
pub use worktree::{Worktree, worktree_directories};
