//! The crate finds and reads `haft.toml`, decides which of its settings hold, and puts tools, journal, rules and sandbox
//! together. It prints nothing and names no option of a command: what a person should know is a [`host::Notice`], and what
//! helps is a [`app_error::NextStep`] that a front end words. Environment, clock and working directory come from a
//! [`host::AppHost`].
//!
#![doc = include_str!("../docs/example.md")]

pub mod agents;
mod app;
pub mod app_error;
pub mod calendar;
pub mod compose;
pub mod environment;
pub mod haft_files;
pub mod host;
pub mod host_paths;
pub mod id;
pub mod journal_location;
pub mod manifest;
pub mod mcp_servers;
pub mod model_choice;
pub mod network_guard;
pub mod overrides;
pub mod owner;
pub mod password;
pub mod permission_names;
pub mod preset;
pub mod privileged_keys;
pub mod project_rules;
#[cfg(feature = "providers")]
pub mod providers;
pub mod python;
pub mod quote;
pub mod settings;
pub mod sidecars;
pub mod skills;
pub mod state;
pub mod state_file;
pub mod trust;

pub use app::{App, AppRun};
