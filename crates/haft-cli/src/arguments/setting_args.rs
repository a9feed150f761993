//! The settings that every command takes, and the values that clap reads them into.

use std::ffi::OsString;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::Args;
use clap::builder::{BoolishValueParser, TypedValueParser};
use haft_contract::limits::{OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};
use haft_tools::Profile;

use crate::arguments::named_values::named_values;
use haft_app::{NetworkGuardName, Preset, SettingOverrides};

/// Where calls come from and how far they may go. A flag comes before the environment, and that before the manifest.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingArgs {
    /// Directory that calls may reach, where relative paths start
    ///
    /// Without it, the directory of haft.toml, else the working directory.
    #[arg(long, global = true, value_name = "DIR", env = "HAFT_ROOT", hide_env_values = true)]
    pub(crate) root: Option<PathBuf>,

    /// Manifest to use instead of the haft.toml found from the working directory
    ///
    /// A manifest that is named like this is trusted.
    #[arg(long, global = true, value_name = "FILE", env = "HAFT_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,

    /// Journal to use instead of the one in the state directory
    ///
    /// A file, or the URL of a PostgreSQL database: postgres://user@host/database. A password is better kept out of the
    /// command line, which others can see: set HAFT_DB.
    #[arg(long, global = true, value_name = "FILE|URL", env = "HAFT_DB", hide_env_values = true)]
    pub(crate) db: Option<OsString>,

    /// Shapes of the tools: those of the agent tool contract, or the five Smithers tools
    #[arg(
        long,
        global = true,
        value_parser = named_values([
            ("contract", "The locked tools and the extensions", Profile::Contract),
            (
                "smithers",
                "The five Smithers tools with their exact schemas and messages",
                Profile::Smithers,
            ),
        ]),
        env = "HAFT_PROFILE",
        hide_env_values = true
    )]
    pub(crate) profile: Option<Profile>,

    /// Tools to offer, of those of the profile (can be repeated, or separated by commas)
    #[arg(
        long,
        global = true,
        value_name = "TOOL",
        value_delimiter = ',',
        env = "HAFT_TOOLS",
        hide_env_values = true
    )]
    pub(crate) tools: Vec<String>,

    /// Directory of Python tools to offer, besides those of the manifest (can be repeated)
    ///
    /// Its files are run by the python3 on PATH; another interpreter is named in the manifest, in [[python]].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) python: Vec<PathBuf>,

    /// Rules that hold where the manifest has none
    #[arg(
        long,
        global = true,
        value_parser = preset_parser(),
        env = "HAFT_PRESET",
        hide_env_values = true
    )]
    pub(crate) preset: Option<Preset>,

    /// Allow every call of a tool for this session (can be repeated)
    ///
    /// A deny rule of the manifest still holds.
    #[arg(long, global = true, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,

    /// Let commands use the network
    #[arg(
        long,
        global = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        env = "HAFT_ALLOW_NETWORK",
        hide_env_values = true
    )]
    pub(crate) allow_network: Option<bool>,

    /// Host that tools may reach, and commands through a proxy (can be repeated)
    ///
    /// A name such as docs.rs, or a pattern such as *.crates.io. An address of this machine or its networks, such as
    /// 127.0.0.1 or localhost, must be given as it is, or as a range such as 10.0.0.0/8. A deny rule of the manifest still
    /// holds.
    #[arg(long, global = true, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,

    /// File or directory outside the roots that calls may read (can be repeated)
    ///
    /// It is the value of {ad-hoc} in patterns of a manifest, of tools and of rules. Calls may read it without a further rule.
    /// To let calls change it, name {ad-hoc} under fs.write of requires in haft.toml.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ad_hoc: Vec<PathBuf>,

    /// How many commands are refused by name while they have no network
    #[arg(
        long,
        global = true,
        value_parser = named_values(NetworkGuardName::ALL.map(|it| (it.name(), it.summary(), it))),
        value_name = "STRENGTH",
        env = "HAFT_NETWORK_GUARD",
        hide_env_values = true
    )]
    pub(crate) network_guard: Option<NetworkGuardName>,

    /// Run commands without the kernel sandbox
    ///
    /// They can then do whatever you can: read credentials, change files anywhere, use the network. Every answer says
    /// that nothing was enforced. A manifest cannot set it.
    #[arg(
        long,
        global = true,
        value_parser = BoolishValueParser::new(),
        env = "HAFT_UNSAFE_NO_SANDBOX",
        hide_env_values = true
    )]
    pub(crate) unsafe_no_sandbox: bool,

    /// Record nothing by which changes of the workspace could be shown (haft diff) and undone (haft undo)
    #[arg(
        long,
        global = true,
        value_parser = BoolishValueParser::new(),
        env = "HAFT_NO_SNAPSHOTS",
        hide_env_values = true
    )]
    pub(crate) no_snapshots: bool,

    /// Longest output of a call, and largest file, content or patch
    #[arg(
        long,
        global = true,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u64).range(1..=OUTPUT_BYTES_MAX as u64),
        env = "HAFT_OUTPUT_BYTES",
        hide_env_values = true
    )]
    pub(crate) output_bytes: Option<u64>,

    /// Time for a call that asks for none itself
    #[arg(
        long,
        global = true,
        value_name = "MS",
        value_parser = clap::value_parser!(u64).range(1..=TIMEOUT_MS_MAX),
        env = "HAFT_TIMEOUT_MS",
        hide_env_values = true
    )]
    pub(crate) timeout_ms: Option<u64>,

    /// Print JSON for programs to read
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,

    /// When to colour messages
    #[arg(
        long,
        global = true,
        value_parser = named_values([
            ("auto", "On a terminal, unless NO_COLOR is set", ColorChoice::Auto),
            ("always", "Also into files and pipes", ColorChoice::Always),
            ("never", "Nowhere", ColorChoice::Never),
        ]),
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) color: ColorChoice,
}

impl SettingArgs {
    /// Returns the settings that come before those of the manifest.
    pub(crate) fn overrides(&self) -> SettingOverrides {
        SettingOverrides {
            root: self.root.clone(),
            config: self.config.clone(),
            db: self.db.clone(),
            profile: self.profile,
            tools: self.tools.clone(),
            python: self.python.clone(),
            preset: self.preset,
            allow: self.allow.clone(),
            allow_network: self.allow_network,
            allow_host: self.allow_host.clone(),
            ad_hoc: self.ad_hoc.clone(),
            network_guard: self.network_guard,
            unsafe_no_sandbox: self.unsafe_no_sandbox,
            no_snapshots: self.no_snapshots,
            output_bytes: self.output_bytes,
            timeout_ms: self.timeout_ms,
        }
    }
}

/// Returns the parser of presets.
pub(crate) fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    named_values(Preset::ALL.map(|it| (it.name(), it.summary(), it)))
}
