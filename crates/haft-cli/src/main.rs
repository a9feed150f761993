//! The `haft` command: parses the command line, runs one command and ends the process with its status. Every command is
//! a file of its own below `command/`; what they share is put together in `compose.rs`.

mod agent_run;
mod agents;
mod ask;
mod call_name;
mod cli;
mod command;
mod command_line;
mod compose;
mod confirm;
mod drawing;
mod environment;
mod error;
mod format;
mod hint;
mod id;
mod input;
mod journal_place;
mod kept_file;
mod latest;
mod log;
mod manifest;
mod manifest_edit;
mod mcp_servers;
mod model;
mod network_guard;
mod output;
mod own_files;
mod owner;
mod password;
mod permission_names;
mod placement;
mod places;
mod plan_run;
mod preset;
mod project;
mod python;
mod quote;
mod settings;
mod sidecars;
mod signals;
mod skills;
mod state;
mod table;
mod time;
mod trust;
mod widening;

use std::ffi::OsString;
use std::future::Future;
use std::panic::PanicHookInfo;
use std::pin::Pin;

use crate::cli::{Cli, Command, SettingArgs};
use crate::command::mcp_servers::McpArgs;
use crate::error::{CommandError, Status};
use crate::state::State;

fn main() {
    haft_sandbox::helper::run_if_requested();
    std::panic::set_hook(Box::new(report_panic));
    let status = std::panic::catch_unwind(run).unwrap_or(Status::Bug);
    // Returning would wait for threads that may be in the middle of a blocking read.
    std::process::exit(status.code());
}

fn run() -> Status {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match command_line::read(&words) {
        Ok(cli) => cli,
        Err(err) => return command_line::answer(err),
    };
    cli.settings.color.apply();
    log::to_stderr();
    let settings = cli.settings.clone();
    dispatch(cli).unwrap_or_else(|err| tell(err, &settings))
}

/// Says why a command could not do its work: in words, and where JSON was asked for as JSON, too.
fn tell(err: CommandError, settings: &SettingArgs) -> Status {
    if err.message.is_empty() {
        return err.status;
    }
    let hint =
        err.hint.as_deref().map(|hint| hint::in_same_journal(&output::visible(hint), settings));
    let err = CommandError { message: output::visible(&err.message), hint, ..err };
    if settings.json {
        // Whoever does not read standard output reads the words.
        let _ = output::json(&err.told());
    }
    output::error(&err.message, err.hint.as_deref());
    err.status
}

fn dispatch(cli: Cli) -> Result<Status, CommandError> {
    let settings = &cli.settings;
    match cli.command {
        Command::Acp(args) => block_on(command::acp::run(&args, settings, &State::locate()?)),
        Command::Agent(args) => block_on(command::agent::run(args, settings, &State::locate()?)),
        Command::Sessions(args) => {
            block_on(command::sessions::run(args, settings, &State::locate()?))
        }
        Command::Call(args) => block_on(command::call::run(args, settings, &State::locate()?)),
        Command::Do(args) => block_on(command::do_request::run(args, settings, &State::locate()?)),
        Command::Tools(args) => block_on(command::tools::run(&args, settings, &State::locate()?)),
        Command::Run(args) => block_on(command::run::run(args, settings, &State::locate()?)),
        Command::Resume(args) => block_on(command::resume::run(args, settings, &State::locate()?)),
        Command::Plan(args) => block_on(command::plan::run(args, settings, &State::locate()?)),
        Command::Runs(args) => block_on(command::runs::run(args, settings, &State::locate()?)),
        Command::Diff(args) => block_on(command::diff::run(args, settings, &State::locate()?)),
        Command::Undo(args) => block_on(command::undo::run(args, settings, &State::locate()?)),
        Command::Mcp(McpArgs { placement, command: None }) => {
            block_on(command::mcp::run(&placement, settings, &State::locate()?))
        }
        Command::Mcp(McpArgs { command: Some(command), .. }) => {
            block_on(command::mcp_servers::run(command, settings, &State::locate()?))
        }
        Command::Serve(args) => block_on(command::serve::run(&args, settings, &State::locate()?)),
        Command::Policy(args) => block_on(command::policy::run(args, settings, &State::locate()?)),
        Command::Registry(args) => {
            block_on(command::registry::run(args, settings, &State::locate()?))
        }
        Command::Agents(args) => block_on(command::agents::run(&args, settings, &State::locate()?)),
        Command::Skills(args) => command::skills::run(&args, settings, &State::locate()?),
        Command::Doctor(args) => block_on(command::doctor::run(&args, settings, &State::locate()?)),
        Command::Init(args) => command::init::run(&args, settings, &State::locate()?),
        Command::Trust(args) => block_on(command::trust::run(&args, settings, &State::locate()?)),
        Command::Completions(args) => command::completions::run(&args),
        Command::HelpMarkdown => command::help_markdown::run(),
        Command::HelpLimits => command::help_limits::run(),
        Command::ExtractWorker => command::extract_worker::run(),
    }
}

/// Runs a command to its end on this thread; what tools do on others is not waited for afterwards.
fn block_on<'a>(
    command: impl Future<Output = Result<Status, CommandError>> + 'a,
) -> Result<Status, CommandError> {
    // One type for all commands: the loop of the runtime is not in the program once for each.
    let command: Pin<Box<dyn Future<Output = Result<Status, CommandError>> + 'a>> =
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
    output::error(
        &format!("haft {} is at fault{place}: {}", env!("CARGO_PKG_VERSION"), text.unwrap_or("?")),
        Some("please report these lines and the command that you ran"),
    );
}
