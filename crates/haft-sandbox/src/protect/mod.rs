//! Protected paths: names that can be read but not changed, wherever they are in a writable
//! directory. This module defines them, finds them, and reverts changes to them. It deliberately
//! mounts nothing: the confinement holds the protective mounts.
//!
//! The steps around one command, in order:
//!
//! | step | file |
//! |---|---|
//! | define the patterns | `protected_paths`, with `pattern`, `fold` and the defaults in `builtin` |
//! | register the scan with the open scans of this process | `scan/concurrent_scans` |
//! | scan the writable directories | `scan/traversal`, with `result`, `directory`, `repository_shape`, `cache` |
//! | decide about the names that rules may concern | `path_rules`, whose answers the caller gives |
//! | find other names of protected hidden and denied files | `scan/hard_links` |
//! | find other mounts of what rules deny | `scan/other_mounts` |
//! | copy the content that may have to be restored | `scan/protected_copies` |
//! | choose the read-only mounts; `confine` mounts them | `scan/protective_mounts` |
//! | save the scan, in case this process is killed | `scan/recovery_entry` |
//! | after the command: scan again and compare (reconciliation) | `scan/reconcile` |
//! | decide whether a new file may stay | `scan/new_entry`, with `git_config` |
//! | remove new files and restore the previous ones | `revert` |
//! | return the changes | `report` |
//!
//! `scan/mod.rs` calls the steps from registration to mounts.

mod builtin;
mod error;
mod fold;
mod git_config;
mod path_rules;
mod pattern;
mod protected_paths;
mod report;
mod revert;
mod scan;
mod worktree;

pub use builtin::{OBEYED_NAMES, ObeyedNames};
pub use error::ProtectedPathError;
pub use path_rules::{PathAccess, PathRules, RuledPath, RuledPaths};
pub use protected_paths::ProtectedPaths;
pub use report::{
    ProtectionMode, ProtectiveMount, ProtectiveMountKind, RevertResult, RevertedChange, ScanError,
    ScanOptions,
};
pub use scan::{ProtectedPathScan, ScanCache};
pub(crate) use scan::{end_time, reconcile_interrupted};
pub use worktree::{LinkedWorktree, worktree_directories};
