//! The command line: the settings that every command takes, and which commands there are. What a command takes itself
//! stands in its own file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use haft_contract::limits::{OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};

use crate::command::acp::AcpArgs;
use crate::command::agent::AgentArgs;
use crate::command::agents::AgentsArgs;
use crate::command::call::CallArgs;
use crate::command::completions::CompletionsArgs;
use crate::command::diff::DiffArgs;
use crate::command::do_request::DoArgs;
use crate::command::doctor::DoctorArgs;
use crate::command::init::InitArgs;
use crate::command::mcp_servers::McpArgs;
use crate::command::plan::PlanArgs;
use crate::command::policy::PolicyArgs;
use crate::command::registry::RegistryArgs;
use crate::command::resume::ResumeArgs;
use crate::command::run::RunArgs;
use crate::command::runs::RunsArgs;
use crate::command::serve::ServeArgs;
use crate::command::sessions::SessionsArgs;
use crate::command::skills::SkillsArgs;
use crate::command::tools::ToolsArgs;
use crate::command::trust::TrustArgs;
use crate::command::undo::UndoArgs;
use crate::output::Color;
use haft_app::network_guard::NetworkGuardName;
use haft_app::overrides::SettingOverrides;
use haft_app::preset::Preset;

/// Run the tools of AI agents
///
/// Every call is validated, checked against capabilities and permissions, written to a journal, executed within its
/// limits and answered with one envelope, whatever front end it comes from.
#[derive(Parser)]
#[command(name = "haft", version, max_term_width = 100, after_long_help = EXIT_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const EXIT_HELP: &str = "\
Exit status:
  0   done
  1   the call failed
  2   the command line, the configuration or the input is not usable
  3   the call was refused
  4   it is not known whether the effect of the call happened
  5   partly undone: some of what was to be undone stays (haft undo)
  6   the tools on offer cannot do what was asked (haft plan make, haft do)
  70  haft itself is at fault

Files:
  haft.toml in the working directory or above it says what an agent may do there. One that nobody
  trusted (haft trust) may narrow what is allowed, not widen it.
  What you allowed for a project when you were asked is in the directory projects beside the journal;
  haft policy list shows it.
  The journal is journal.sqlite in $HAFT_STATE_DIR, else $XDG_STATE_HOME/haft, else
  ~/.local/state/haft; HAFT_DB or the manifest may name another one.";

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    Call(CallArgs),
    Do(DoArgs),
    Tools(ToolsArgs),
    Run(RunArgs),
    Resume(ResumeArgs),
    Plan(PlanArgs),
    Runs(RunsArgs),
    Diff(DiffArgs),
    Undo(UndoArgs),
    Mcp(McpArgs),
    Serve(ServeArgs),
    Policy(PolicyArgs),
    Registry(RegistryArgs),
    Agent(AgentArgs),
    Acp(AcpArgs),
    Sessions(SessionsArgs),
    Agents(AgentsArgs),
    Skills(SkillsArgs),
    Doctor(DoctorArgs),
    Init(InitArgs),
    Trust(TrustArgs),
    Completions(CompletionsArgs),
    /// Print this help for all commands as Markdown
    #[command(hide = true)]
    HelpMarkdown,
    /// Read pages that come on standard input, for the haft that started this
    #[command(hide = true)]
    ExtractWorker,
}

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
    #[arg(long, global = true, value_enum, env = "HAFT_PROFILE", hide_env_values = true)]
    pub(crate) profile: Option<ProfileName>,

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

    /// Host that tools may reach, and commands through a proxy of their own (can be repeated)
    ///
    /// A name such as docs.rs, or a pattern such as *.crates.io. An address of this machine or its networks, such as
    /// 127.0.0.1 or localhost, must be given as it is. A deny rule of the manifest still holds.
    #[arg(long, global = true, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,

    /// How many commands are refused by name while they have no network
    #[arg(
        long,
        global = true,
        value_parser = guard_parser(),
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
        value_parser = clap::value_parser!(u64).range(1..=bound(OUTPUT_BYTES_MAX)),
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
        value_enum,
        value_name = "WHEN",
        default_value_t = Color::Auto,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub(crate) color: Color,
}

impl SettingArgs {
    /// Returns the settings that come before those of the manifest.
    pub(crate) fn overrides(&self) -> SettingOverrides {
        SettingOverrides {
            root: self.root.clone(),
            config: self.config.clone(),
            db: self.db.clone(),
            profile: self.profile.map(ProfileName::into),
            tools: self.tools.clone(),
            python: self.python.clone(),
            preset: self.preset,
            allow: self.allow.clone(),
            allow_network: self.allow_network,
            allow_host: self.allow_host.clone(),
            network_guard: self.network_guard,
            unsafe_no_sandbox: self.unsafe_no_sandbox,
            no_snapshots: self.no_snapshots,
            output_bytes: self.output_bytes,
            timeout_ms: self.timeout_ms,
        }
    }
}

pub(crate) fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    let values = Preset::ALL.map(|it| PossibleValue::new(it.name()).help(it.summary()));
    PossibleValuesParser::new(values)
        .map(|name| Preset::parse(&name).expect("the parser takes names of presets alone"))
}

fn guard_parser() -> impl TypedValueParser<Value = NetworkGuardName> {
    let values = NetworkGuardName::ALL.map(|it| PossibleValue::new(it.name()).help(it.summary()));
    PossibleValuesParser::new(values)
        .map(|name| NetworkGuardName::parse(&name).expect("the parser takes names of guards alone"))
}

/// A profile as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// The locked tools and the extensions
    Contract,
    /// The five Smithers tools with their exact schemas and messages
    Smithers,
}

impl From<ProfileName> for haft_tools::Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Contract => Self::Contract,
            ProfileName::Smithers => Self::Smithers,
        }
    }
}

const fn bound(bytes: usize) -> u64 {
    bytes as u64
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use haft_app::setting::SETTINGS;

    use super::*;

    #[test]
    fn every_flag_of_a_setting_is_declared() {
        let (about_output, haft) = (["json", "color"], Cli::command());
        let is_setting = |arg: &&clap::Arg| {
            arg.is_global_set() && arg.get_long().is_some_and(|long| !about_output.contains(&long))
        };
        let flags = haft.get_arguments().filter(is_setting).map(|arg| {
            let env = arg.get_env().map(|env| env.to_string_lossy().into_owned());
            (format!("--{}", arg.get_long().unwrap_or_default()), env)
        });
        let mut flags: Vec<_> = flags.collect();
        let declared = SETTINGS
            .iter()
            .filter_map(|setting| Some((setting.flag?.to_owned(), setting.env.map(str::to_owned))));
        let mut declared: Vec<_> = declared.collect();
        flags.sort();
        declared.sort();
        assert_eq!(flags, declared);
    }
}
