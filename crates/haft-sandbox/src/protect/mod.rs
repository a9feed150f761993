//! Protected paths: names that can be read but not changed, wherever they are in a writable
//! directory. This module defines them, finds them, and reverts changes to them. It deliberately
//! mounts nothing: the confinement holds the protective mounts.

mod builtin;
mod error;
mod fold;
#[cfg(target_os = "linux")]
mod git_config;
mod pattern;
mod protected_paths;
mod report;
#[cfg(target_os = "linux")]
mod revert;
#[cfg(target_os = "linux")]
mod scan;
mod worktree;

pub use error::ProtectedPathError;
pub use protected_paths::ProtectedPaths;
pub use report::{
    ProtectionMode, ProtectiveMount, ProtectiveMountKind, RevertResult, RevertedChange, ScanError,
    ScanOptions,
};
#[cfg(target_os = "linux")]
pub(crate) use scan::{FileTime, end_time, reconcile_interrupted};
#[cfg(target_os = "linux")]
pub use scan::{ProtectedPathScan, ScanCache};
pub use worktree::{LinkedWorktree, worktree_directories};
