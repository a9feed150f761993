//! The `haft` command: parses the command line, runs one command and ends the process with its status. Every command is
//! a file of its own below `command/`; what they share is put together in `compose.rs`.

mod agent_run;
mod ask;
mod backlog;
mod call_address;
mod cli;
mod command;
mod command_line;
mod confirm;
mod drawing;
mod error;
mod format;
mod hint;
mod input;
mod latest;
mod log;
mod manifest_edit;
mod model;
mod next_step;
mod output;
mod path_text;
mod plan_run;
mod remedy;
mod run_address;
mod setting_args;
mod signals;
mod table;
mod time;

use std::ffi::OsString;
use std::future::Future;
use std::panic::PanicHookInfo;
use std::pin::Pin;

use clap::CommandFactory as _;

use crate::cli::{Cli, CliCommand};
use crate::command::mcp_servers::McpArgs;
use crate::error::{CommandError, CommandStatus};
use crate::setting_args::SettingArgs;
use haft_app::host::Host;

fn main() {
    haft_sandbox::helper::run_if_requested();
    std::panic::set_hook(Box::new(report_panic));
    let status = std::panic::catch_unwind(run).unwrap_or(CommandStatus::Bug);
    // Returning would wait for threads that may be in the middle of a blocking read.
    std::process::exit(status.code());
}

fn run() -> CommandStatus {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match command_line::parse_command_line(&words) {
        Ok(cli) => cli,
        Err(err) => return command_line::report_clap_error(err),
    };
    cli.settings.color.apply();
    log::to_stderr();
    let settings = cli.settings.clone();
    dispatch(cli).unwrap_or_else(|err| report_error(err, &settings))
}

/// Says why a command could not do its work: in words, and where JSON was asked for as JSON, too.
fn report_error(err: CommandError, settings: &SettingArgs) -> CommandStatus {
    if err.message.is_empty() {
        return err.status;
    }
    let hint = err
        .hint
        .as_deref()
        .map(|hint| hint::with_journal_options(&output::escape_controls(hint), settings));
    let err = CommandError { message: output::escape_controls(&err.message), hint, ..err };
    if settings.json {
        // Whoever does not read standard output reads the words.
        let _ = output::write_json(&err.failure());
    }
    output::print_error(&err.message, err.hint.as_deref());
    err.status
}

fn dispatch(cli: Cli) -> Result<CommandStatus, CommandError> {
    let settings = &cli.settings;
    match cli.command {
        CliCommand::Acp(args) => block_on(command::acp::run(&args, settings, &open_host()?)),
        CliCommand::Agent(args) => block_on(command::agent::run(args, settings, &open_host()?)),
        CliCommand::Sessions(args) => {
            block_on(command::sessions::run(args, settings, &open_host()?))
        }
        CliCommand::Call(args) => block_on(command::call::run(args, settings, &open_host()?)),
        CliCommand::Do(args) => block_on(command::do_request::run(args, settings, &open_host()?)),
        CliCommand::Tools(args) => block_on(command::tools::run(&args, settings, &open_host()?)),
        CliCommand::Run(args) => block_on(command::run::run(args, settings, &open_host()?)),
        CliCommand::Resume(args) => block_on(command::resume::run(args, settings, &open_host()?)),
        CliCommand::Plan(args) => block_on(command::plan::run(args, settings, &open_host()?)),
        CliCommand::Runs(args) => block_on(command::runs::run(args, settings, &open_host()?)),
        CliCommand::Diff(args) => block_on(command::diff::run(args, settings, &open_host()?)),
        CliCommand::Undo(args) => block_on(command::undo::run(args, settings, &open_host()?)),
        CliCommand::Mcp(McpArgs { placement, command: None }) => {
            block_on(command::mcp::run(&placement, settings, &open_host()?))
        }
        CliCommand::Mcp(McpArgs { command: Some(command), .. }) => {
            block_on(command::mcp_servers::run(command, settings, &open_host()?))
        }
        CliCommand::Serve(args) => block_on(command::serve::run(&args, settings, &open_host()?)),
        CliCommand::Policy(args) => block_on(command::policy::run(args, settings, &open_host()?)),
        CliCommand::Registry(args) => {
            block_on(command::registry::run(args, settings, &open_host()?))
        }
        CliCommand::Agents(args) => block_on(command::agents::run(&args, settings, &open_host()?)),
        CliCommand::Skills(args) => command::skills::run(&args, settings, &open_host()?),
        CliCommand::Doctor(args) => block_on(command::doctor::run(&args, settings, &open_host()?)),
        CliCommand::Init(args) => command::init::run(&args, settings, &open_host()?),
        CliCommand::Trust(args) => block_on(command::trust::run(&args, settings, &open_host()?)),
        CliCommand::Completions(args) => command::completions::run(&args, Cli::command()),
        CliCommand::HelpMarkdown => command::help_markdown::run(Cli::command()),
        CliCommand::ExtractWorker => command::extract_worker::run(),
    }
}

/// Returns this process as an application sees it, with notices printed.
fn open_host() -> Result<Host, CommandError> {
    Ok(Host::from_process()?.on_notice(output::print_notice))
}

/// Runs a command to its end on this thread; what tools do on others is not waited for afterwards.
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

/// Says what to do about a fault of haft itself.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = panic.location().map_or_else(String::new, |location| format!(" at {location}"));
    output::print_error(
        &format!("haft {} is at fault{place}: {}", env!("CARGO_PKG_VERSION"), text.unwrap_or("?")),
        Some("please report these lines and the command that you ran"),
    );
}
