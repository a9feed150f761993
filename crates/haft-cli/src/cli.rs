//! The command line: the settings that every command takes, and the list of commands. The arguments of a command are in
//! that command's file.

use clap::{Parser, Subcommand};

use crate::arguments::setting_args::SettingArgs;
use crate::commands;

/// Run the tools of AI agents: each call checked, confined, recorded, undoable
#[derive(Parser)]
#[command(
    name = "haft",
    version,
    max_term_width = 100,
    help_template = "{about}{after-help}",
    after_help = SCREEN,
    after_long_help = EXIT_HELP
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The commands on one screen. It names every command that is not hidden.
pub(crate) const SCREEN: &str = "\
Usage: haft [OPTIONS] COMMAND     (haft COMMAND --help says more about one)

Agents       agent, do       Talk to an agent; have a request planned and done
             sessions, agents, skills, acp
Tools        call, bash      Call a tool: haft call read path=README.md
             sandbox         Run a program confined: haft sandbox -- npm test
             tools, registry
Plans        plan            Run, resume, check, draw and make plans
History      log, show       List the runs; show one: haft show last
             diff, undo      See what a run changed; bring it back
             runs, inspect   Follow calls live: haft runs tail
Permissions  permissions     See, explain and change what agents may do
             asks, trust     Answer what waits; let a haft.toml take effect
Connect      connect         Set up Claude Code, Codex, Zed and others
             mcp, serve      Offer the tools to MCP clients; use MCP servers
Setup        init, doctor    Write a haft.toml; check this machine
             completions
Options      --root DIR, --json, --preset NAME and more: haft --help";

/// The end of the long help, after the screen.
pub(crate) const EXIT_HELP: &str = "\
Exit status:
  0   done
  1   the call failed
  2   the command line, the configuration or the input is not usable
  3   the call was refused
  4   it is not known whether the effect of the call happened
  5   partly undone: some of what was to be undone stays (haft undo)
  6   the tools on offer cannot do what was asked (haft plan make, haft do)
  70  haft itself is at fault

A run is named by its id, by the beginning of an id that no other id shares, by last, or by last~1 for the one before. A \
call is a run and a number, such as last/5.

haft.toml in the working directory or above it says what an agent may do there. Until you trust it (haft trust), it can \
restrict what is allowed, but not extend it. What you allowed for a project when you were asked is in the directory projects \
beside the journal; haft permissions list shows it.

The journal is journal.sqlite in $HAFT_STATE_DIR, else $XDG_STATE_HOME/haft, else ~/.local/state/haft; HAFT_DB or the \
manifest may name another one. haft doctor says which one is in use.";

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    Call(commands::call::CallArgs),
    Bash(commands::bash::BashArgs),
    Sandbox(commands::sandbox::SandboxArgs),
    Do(commands::do_request::DoArgs),
    Tools(commands::tools::ToolsArgs),
    #[command(hide = true)]
    Run(commands::run::RunArgs),
    #[command(hide = true)]
    Resume(commands::resume::ResumeArgs),
    Plan(commands::plan::PlanArgs),
    Log(commands::log::LogArgs),
    Show(commands::runs::RunsShowArgs),
    Runs(commands::runs::RunsArgs),
    Asks(commands::asks::AsksArgs),
    Diff(commands::diff::DiffArgs),
    Undo(commands::undo::UndoArgs),
    #[cfg(feature = "inspector")]
    Inspect(commands::inspect::InspectArgs),
    Connect(commands::connect::ConnectArgs),
    Mcp(commands::mcp_servers::McpArgs),
    Serve(commands::serve::ServeArgs),
    #[command(alias = "policy")]
    Permissions(commands::permissions::PermissionsArgs),
    Registry(commands::registry::RegistryArgs),
    Agent(commands::agent::AgentArgs),
    Acp(commands::acp::AcpArgs),
    Sessions(commands::sessions::SessionsArgs),
    Agents(commands::agents::AgentsArgs),
    Skills(commands::skills::SkillsArgs),
    Doctor(commands::doctor::DoctorArgs),
    Init(commands::init::InitArgs),
    Trust(commands::trust::TrustArgs),
    Completions(commands::completions::CompletionsArgs),
    /// Print this help for all commands as Markdown
    #[command(hide = true)]
    HelpMarkdown(commands::help_markdown::HelpMarkdownArgs),
    /// Write a manual page for each command into a directory
    #[command(hide = true)]
    ManPages(commands::man_pages::ManPagesArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use haft_app::manifest::setting::SETTINGS;

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
