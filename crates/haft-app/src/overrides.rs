//! The settings that a front end makes for one process. They come before the manifest, and the manifest before the defaults.

use std::ffi::OsString;
use std::path::PathBuf;

use haft_tools::Profile;

use crate::network_guard::NetworkGuardName;
use crate::preset::Preset;

/// The settings of one process that come before those of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingOverrides {
    /// The directory that calls may reach, where relative paths start.
    pub root: Option<PathBuf>,
    /// The manifest to use instead of the one found from the working directory; it is trusted.
    pub config: Option<PathBuf>,
    /// The journal: a file, or the URL of a database.
    pub db: Option<OsString>,
    /// The shapes of the tools.
    pub profile: Option<Profile>,
    /// The tools to offer; all of the profile if there is none.
    pub tools: Vec<String>,
    /// Directories of Python tools, besides those of the manifest.
    pub python: Vec<PathBuf>,
    /// The rules that hold where the manifest has none.
    pub preset: Option<Preset>,
    /// Tools whose every call is allowed.
    pub allow: Vec<String>,
    /// Whether commands get the ordinary network.
    pub allow_network: Option<bool>,
    /// Hosts that tools and commands may reach.
    pub allow_host: Vec<String>,
    /// Files and directories outside the roots that calls may read.
    pub ad_hoc: Vec<PathBuf>,
    /// How many commands are refused by name while they have no network.
    pub network_guard: Option<NetworkGuardName>,
    /// Whether commands run without the kernel sandbox.
    pub unsafe_no_sandbox: bool,
    /// Whether nothing is recorded by which changes could be undone.
    pub no_snapshots: bool,
    /// The longest output of a call, in bytes.
    pub output_bytes: Option<u64>,
    /// The time for a call that asks for none itself, in milliseconds.
    pub timeout_ms: Option<u64>,
}
