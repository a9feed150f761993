//! The commands of haft: this crate parses the command line, runs one command and ends the process with its status. The
//! programs `haft` and `haft-agent` share it. Each command is one file in `commands/`. The arguments that commands share are
//! in `arguments/`, their output is in `views/`, and questions to the person at the terminal are in `asking/`. Code of
//! haft-agent alone is in `agent_program/`.
#![cfg_attr(
    not(feature = "agent"),
    allow(dead_code, unused_imports, reason = "haft-agent uses more of what the commands share")
)]

mod agent_error;
#[cfg(feature = "agent")]
mod agent_program;
mod arguments;
mod asking;
mod cli;
mod command_line;
mod commands;
mod engine;
mod error;
mod log;
mod manifest_edit;
mod model;
mod next_step;
mod plan_run;
mod programs;
mod signals;
mod views;

use std::ffi::OsString;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use clap_complete::CompleteEnv;

use crate::arguments::cli_context::CliContext;
use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::cli::{Cli, CliCommand};
use crate::commands::mcp_servers::McpArgs;
#[cfg(feature = "agent")]
use crate::commands::plan::{PlanArgs, PlanCommand};
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use haft_app::Deliveries;
use haft_app::host::AppHost;
#[cfg(feature = "agent")]
use haft_app::named_models;

/// Runs a command that asks no model, and ends the process with the command's status.
pub fn haft_main() -> ! {
    main_of(run_of_haft)
}

/// Runs a command that asks models, and ends the process with the command's status.
#[cfg(feature = "agent")]
pub fn agent_main() -> ! {
    main_of(run_of_agent)
}

/// Runs one of a program's commands.
type CommandRunner = fn(Cli, &Arc<Deliveries>) -> CommandResult;

fn main_of(runner: CommandRunner) -> ! {
    haft_sandbox::helper::run_if_requested();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |location| format!(" at {location}"));
        let (version, text) = (env!("CARGO_PKG_VERSION"), panic.payload_as_str().unwrap_or("?"));
        output::print_error(
            &format!("haft {version} is at fault{place}: {text}"),
            Some("please report these lines and the command that you ran"),
        );
    }));
    // A shell that completes a word asks the program itself.
    CompleteEnv::with_factory(command_line::whole_command).bin("haft").complete();
    let status = std::panic::catch_unwind(|| run(runner)).unwrap_or(CommandStatus::Bug);
    // Returning would wait for threads that may be in the middle of a blocking read.
    std::process::exit(status.code());
}

fn run(runner: CommandRunner) -> CommandStatus {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match command_line::parse_command_line(&words) {
        Ok(cli) => cli,
        Err(err) => return command_line::report_clap_error(err),
    };
    cli.settings.color.write_global();
    log::to_stderr();
    let settings = cli.settings.clone();
    let deliveries = Arc::default();
    let status = match runner(cli, &deliveries) {
        Ok(status) => status,
        Err(err) => report_error(err, &settings),
    };
    // All that the command has to say is printed by now.
    deliveries.finish();
    status
}

/// Prints the error of a command, and returns its status.
fn report_error(err: CommandError, settings: &SettingArgs) -> CommandStatus {
    if err.message.is_empty() {
        return err.status;
    }
    let hint = err.hint.as_deref().map(haft_contract::escape_controls);
    let hint = hint.map(|hint| hint::with_journal_options(&hint, settings));
    let err = CommandError { message: haft_contract::escape_controls(&err.message), hint, ..err };
    if settings.json {
        // A failed write is ignored: the person still gets the words below.
        let _ = output::write_json(&err);
    }
    output::print_error(&err.message, err.hint.as_deref());
    err.status
}

#[cfg(feature = "agent")]
fn run_of_agent(cli: Cli, deliveries: &Arc<Deliveries>) -> CommandResult {
    let cx = &open_context(cli.settings, deliveries)?;
    match cli.command {
        CliCommand::Acp(args) => block_on(agent_program::acp::run(&args, cx)),
        CliCommand::Agent(args) => commands::agent::run_on_engine(&args, cx)
            .unwrap_or_else(|| block_on(agent_program::agent::run(args, cx))),
        CliCommand::Do(args) => block_on(agent_program::do_request::run(args, cx)),
        CliCommand::Plan(PlanArgs { command: PlanCommand::Make(args) }) => {
            block_on(agent_program::make_plan::run(args, cx))
        }
        CliCommand::Plan(
            args @ PlanArgs { command: PlanCommand::Run(_) | PlanCommand::Resume(_) },
        ) => block_on(commands::plan::run_plan_command(args, cx, Some(named_models))),
        CliCommand::Mcp(McpArgs { placement, command: None }) => {
            block_on(commands::mcp::run(&placement, cx, Some(named_models)))
        }
        CliCommand::Serve(args) => block_on(commands::serve::run(&args, cx, Some(named_models))),
        CliCommand::Run(args) => block_on(commands::run::run(args, cx, Some(named_models))),
        CliCommand::Resume(args) => block_on(commands::resume::run(args, cx, Some(named_models))),
        _ => programs::replace_with(programs::HAFT, &cx.host),
    }
}

fn run_of_haft(cli: Cli, deliveries: &Arc<Deliveries>) -> CommandResult {
    let cx = || open_context(cli.settings.clone(), deliveries);
    match cli.command {
        CliCommand::Sessions(args) => block_on(commands::sessions::run(args, &cx()?)),
        CliCommand::Call(args) => block_on(commands::call::run(args, &cx()?)),
        CliCommand::Bash(args) => block_on(commands::bash::run(args, &cx()?)),
        CliCommand::Sandbox(args) => block_on(commands::sandbox::run(args, &cx()?)),
        CliCommand::Tools(args) => block_on(commands::tools::run(&args, &cx()?)),
        CliCommand::Run(args) => block_on(commands::run::run(args, &cx()?, None)),
        CliCommand::Resume(args) => block_on(commands::resume::run(args, &cx()?, None)),
        CliCommand::Plan(args) => block_on(commands::plan::run_plan_command(args, &cx()?, None)),
        CliCommand::Log(args) => block_on(commands::log::run(&args, &cx()?)),
        CliCommand::Show(args) => block_on(commands::runs::run_show(args, &cx()?)),
        CliCommand::Asks(args) => block_on(commands::asks::run(args, &cx()?)),
        CliCommand::Runs(args) => block_on(commands::runs::run(args, &cx()?)),
        CliCommand::Diff(args) => block_on(commands::diff::run(args, &cx()?)),
        CliCommand::Undo(args) => block_on(commands::undo::run(args, &cx()?)),
        #[cfg(feature = "inspector")]
        CliCommand::Inspect(args) => block_on(commands::inspect::run(&args, &cx()?)),
        CliCommand::Mcp(McpArgs { placement, command: None }) => {
            block_on(commands::mcp::run(&placement, &cx()?, None))
        }
        CliCommand::Mcp(McpArgs { command: Some(command), .. }) => {
            block_on(commands::mcp_servers::run(command, &cx()?))
        }
        CliCommand::Serve(args) => block_on(commands::serve::run(&args, &cx()?, None)),
        CliCommand::Permissions(args) => block_on(commands::permissions::run(args, &cx()?)),
        CliCommand::Registry(args) => block_on(commands::registry::run(args, &cx()?)),
        CliCommand::Agents(args) => block_on(commands::agents::run(&args, &cx()?)),
        CliCommand::Skills(args) => commands::skills::run(&args, &cx()?),
        CliCommand::Doctor(args) => block_on(commands::doctor::run(&args, &cx()?)),
        CliCommand::Init(args) => block_on(commands::init::run(&args, &cx()?)),
        CliCommand::Trust(args) => block_on(commands::trust::run(&args, &cx()?)),
        CliCommand::Connect(args) => block_on(commands::connect::run(&args, &cx()?)),
        CliCommand::Completions(args) => commands::completions::run(&args),
        CliCommand::HelpMarkdown(args) => {
            commands::help_markdown::run(&args, command_line::documented_command())
        }
        CliCommand::ManPages(args) => {
            commands::man_pages::run(&args, command_line::documented_command())
        }
        CliCommand::Agent(args) => {
            let cx = cx()?;
            commands::agent::run_on_engine(&args, &cx)
                .unwrap_or_else(|| programs::replace_with(programs::AGENT, &cx.host))
        }
        CliCommand::Acp(_) | CliCommand::Do(_) => {
            programs::replace_with(programs::AGENT, &cx()?.host)
        }
    }
}

/// Returns the context of a command, which prints notices of the application.
fn open_context(
    setting_args: SettingArgs,
    deliveries: &Arc<Deliveries>,
) -> Result<CliContext, CommandError> {
    let of_words = setting_args.clone();
    let host = AppHost::from_process()?
        .on_notice(output::print_notice)
        .with_step_words(move |step| {
            Some(hint::with_journal_options(&next_step::command_of(step), &of_words))
        })
        .delivering_through(Arc::clone(deliveries));
    Ok(CliContext { setting_args, host })
}

/// Runs a command to its end on this thread. Does not wait for the threads of tools.
fn block_on<'a>(
    command: impl Future<Output = Result<CommandStatus, CommandError>> + 'a,
) -> Result<CommandStatus, CommandError> {
    // One type for all commands: the loop of the runtime is not in the program once for each.
    let command: Pin<Box<dyn Future<Output = Result<CommandStatus, CommandError>> + 'a>> =
        Box::pin(command);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|err| CommandError::failed(format!("the async runtime does not start: {err}")))?;
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}
