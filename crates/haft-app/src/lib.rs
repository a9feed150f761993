//! The crate finds and reads `haft.toml`, decides which of its settings hold, and puts tools, journal, rules and sandbox
//! together. It prints nothing and names no option of a command: what a person should know is a [`host::Notice`], and what
//! helps is a [`NextStep`] that a front end words. Environment, clock and working directory come from a
//! [`host::AppHost`].
//!
#![doc = include_str!("../docs/example.md")]

mod agents;
mod app;
mod app_error;
mod credential_reach;
mod deliveries;
mod environment;
mod haft_files;
mod journal_location;
mod layers;
mod listed_rules;
mod loaded_paths;
mod model_choice;
mod network_guard;
mod notify;
mod operator_programs;
mod overrides;
mod password;
mod preset;
mod privileged_keys;
mod program_files;
mod project_rules;
#[cfg(feature = "providers")]
mod providers;
mod running_inspector;
mod state;
mod trust;

// An application in a workspace, and the errors of everything here.
pub use app::{App, AppRun};
pub use app_error::{AppError, AppErrorKind, NextStep, ServerInstall};

// The process that haft runs in: its environment, its files and its identity.
pub mod host;
pub mod host_paths;
pub mod process_identity;
pub mod state_file;
pub use deliveries::Deliveries;
pub use running_inspector::{InspectorPresence, RunningInspector, ask_page};
pub use state::StateDirectory;

// The settings: as they are written, which of them the user trusts, and which hold.
pub mod manifest;
pub mod permission_names;
pub mod settings;
pub use journal_location::JournalLocation;
pub use layers::{UntrustedNames, UntrustedSettings, unconfirmed_user_file};
pub use model_choice::{ModelChoice, no_model_in};
pub use network_guard::NetworkGuardName;
pub use overrides::SettingOverrides;
pub use preset::Preset;
pub use privileged_keys::{SplitManifest, split_privileged};
pub use project_rules::ProjectRuleFile;
pub use trust::TrustStore;
pub mod user_configuration;

// The runtime of these settings, and its tools.
pub mod compose;
pub use credential_reach::credentials_in_reach;
pub use listed_rules::{ListedRule, RuleOrigin, list_rules};
pub mod mcp_servers;
pub mod python;
pub mod records;
pub mod server_package;
pub mod sidecars;
pub mod skills;
pub mod undo;
#[cfg(feature = "providers")]
pub use providers::named_models;

// Text and ids that front ends share.
pub mod calendar;
pub mod id;
pub mod quote;
pub use password::{without_passwords, without_secrets};
