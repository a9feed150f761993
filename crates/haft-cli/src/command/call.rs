//! `haft call`: one call through the pipeline, its answer on standard output.

use std::io::{IsTerminal, Read};

use clap::Args;
use haft::{Call, Place};
use haft_contract::{Envelope, ErrorCode, RunId, Scope};
use serde_json::Value;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::{compose, output, quote, settings, signals};

/// Largest input of one call, in bytes. A content at its own largest bound fits in, however it is escaped.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Call a tool and print its answer
///
/// The call is checked and journaled like one of an agent. Nobody is asked: what a rule would ask about is refused,
/// unless --allow names the tool. With --json the whole envelope is printed, also when the call failed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft call read '{\"path\":\"README.md\"}'
  haft call --allow bash bash '{\"cmd\":\"git status\"}'
  haft call apply_patch @request.json
  jq -n '{pattern: \"TODO\"}' | haft call grep -
  haft call --run nightly --node build --attempt 2 --allow bash bash '{\"cmd\":\"make\"}'")]
pub(crate) struct CallArgs {
    /// The tool's id, as haft tools list shows it
    tool: String,
    /// The input as JSON, @FILE to read it from a file, or - for standard input
    #[arg(default_value = "{}")]
    input: String,
    /// Run that the call belongs to; a new one unless given
    #[arg(long)]
    run: Option<String>,
    /// Task inside the run
    #[arg(long, default_value = Scope::NODE_DEFAULT)]
    node: String,
    /// Loop index of the task, from 0
    #[arg(long, default_value_t = 0)]
    iteration: u32,
    /// Retry number of the task, from 1
    #[arg(long, default_value_t = 1)]
    attempt: u32,
}

/// Runs the command.
pub(crate) async fn run(
    args: CallArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let input = read_input(&args)?;
    let run_id = match &args.run {
        Some(run) => RunId::parse(run).map_err(CommandError::usage)?,
        None => compose::new_run()?,
    };
    let settings = settings::resolve(setting_args, state)?;
    let runtime = compose::runtime(setting_args, &settings, state)?;
    let session = compose::session(&runtime, &settings, "cli")?;
    let call = Call {
        place: Place { node: args.node.clone(), iteration: args.iteration, attempt: args.attempt },
        cancellation: signals::stop_token()?,
        ..Call::new(&args.tool, input)
    };
    // The sidecar is all that is left of a long output; old ones are swept away by later commands.
    session.keep_outputs();
    let envelope = session.run(run_id).call(call).await?;
    print(&args, &envelope, setting_args.json)?;
    Ok(Status::of_envelope(&envelope))
}

fn print(args: &CallArgs, envelope: &Envelope, json: bool) -> Result<(), CommandError> {
    if json {
        return output::json(envelope);
    }
    match envelope {
        Envelope::Output { .. } => output::data(&envelope.text())?,
        Envelope::Error { error_text, .. } => {
            output::error(error_text, hint(args, envelope).as_deref());
        }
    }
    if std::io::stdout().is_terminal() {
        output::aside(summary(envelope));
    }
    Ok(())
}

/// Returns a command that gets further than this call did.
fn hint(args: &CallArgs, envelope: &Envelope) -> Option<String> {
    let tool = quote::shell(&args.tool);
    match envelope.code()? {
        ErrorCode::ToolNotFound => Some("haft tools list".to_owned()),
        ErrorCode::InvalidInput => Some(format!("haft tools show {tool}")),
        // What a rule of the manifest decides a rule of the session may not overturn.
        ErrorCode::PermissionDenied if !envelope.text().contains("manifest rule") => {
            Some(again(&format!("--allow {tool}")))
        }
        ErrorCode::NetworkDisabled | ErrorCode::GitRemoteDisabled => Some(again("--allow-network")),
        _ => None,
    }
}

/// Returns the command line of this process with one more flag.
fn again(flag: &str) -> String {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| quote::shell(&word.to_string_lossy())).collect();
    let call = words.iter().position(|word| word == "call").map_or(0, |call| call + 1);
    let (before, after) = words.split_at(call);
    let words =
        before.iter().map(String::as_str).chain([flag]).chain(after.iter().map(String::as_str));
    std::iter::once("haft").chain(words).collect::<Vec<_>>().join(" ")
}

fn summary(envelope: &Envelope) -> String {
    let metadata = envelope.metadata();
    let call = metadata.call_id.as_deref().unwrap_or("not recorded");
    let cut = if metadata.truncated { ", output cut" } else { "" };
    format!("{} ms{cut}, call {call}", metadata.duration_ms)
}

fn read_input(args: &CallArgs) -> Result<Value, CommandError> {
    let (name, text) = match args.input.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|err| {
                CommandError::usage(format!("input {path} cannot be read: {err}"))
            })?;
            (path, read_bounded(file, path)?)
        }
        None if args.input == "-" => {
            ("standard input", read_bounded(std::io::stdin(), "standard input")?)
        }
        None => ("the input", args.input.clone()),
    };
    serde_json::from_str(&text).map_err(|err| {
        CommandError::usage(format!("{name} is not JSON: {err}"))
            .hint(format!("haft tools show {}", quote::shell(&args.tool)))
    })
}

fn read_bounded(source: impl Read, name: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = source.take(INPUT_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|err| CommandError::usage(format!("{name} cannot be read: {err}")))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > INPUT_BYTES_MAX) {
        return Err(CommandError::usage(format!("{name} has more than {INPUT_BYTES_MAX} bytes")));
    }
    Ok(text)
}
