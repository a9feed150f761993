//! `haft call`: one call through the pipeline, its answer on standard output.

use std::io::IsTerminal;
use std::sync::Arc;

use clap::Args;
use haft::{Asker, Call, Place};
use haft_contract::{Envelope, ErrorCode, RunId, Scope};

use crate::ask::TerminalAsker;
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::settings::Settings;
use crate::state::State;
use crate::{compose, input, output, quote, settings, signals};

/// Call a tool and print its answer
///
/// The call is checked and journaled like one of an agent. What a rule wants asked is asked on the terminal; where there
/// is none, and with --headless, it is refused, unless --allow names the tool. With --json the whole envelope is
/// printed, also when the call failed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft call read '{\"path\":\"README.md\"}'
  haft call bash '{\"cmd\":\"git status\"}'
  haft call apply_patch @request.json
  haft call --allow-host docs.rs bash '{\"cmd\":\"curl https://docs.rs\"}'
  jq -n '{pattern: \"TODO\"}' | haft call grep -
  haft call --run nightly --node build --attempt 2 bash '{\"cmd\":\"make\"}'")]
pub(crate) struct CallArgs {
    /// The tool's id, as haft tools list shows it
    tool: String,
    /// The input as JSON, @FILE to read it from a file, or - for standard input
    #[arg(default_value = "{}")]
    input: String,
    /// Ask nobody, also on a terminal: what a rule wants asked is refused
    #[arg(long)]
    headless: bool,
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
    let input = input::read(&args.tool, &args.input)?;
    let run_id = match &args.run {
        Some(run) => RunId::parse(run).map_err(CommandError::usage)?,
        None => compose::new_run()?,
    };
    let settings = settings::resolve(setting_args, state)?;
    let runtime = compose::runtime(setting_args, &settings, state)?;
    compose::recover(&runtime).await?;
    let session = compose::session(&runtime, &settings, "cli")?;
    let call = Call {
        place: Place { node: args.node.clone(), iteration: args.iteration, attempt: args.attempt },
        cancellation: signals::stop_token()?,
        asker: asker(&args, &settings),
        ..Call::new(&args.tool, input)
    };
    // The sidecar is all that is left of a long output; old ones are swept away by later commands.
    session.keep_outputs();
    let envelope = session.run(run_id).call(call).await;
    runtime.shut_down().await;
    let envelope = envelope?;
    print(&args, &envelope, setting_args.json)?;
    Ok(Status::of_envelope(&envelope))
}

/// Returns whoever is at the terminal.
fn asker(args: &CallArgs, settings: &Settings) -> Option<Arc<dyn Asker>> {
    if args.headless {
        return None;
    }
    TerminalAsker::new(&settings.project).map(|asker| Arc::new(asker) as Arc<dyn Asker>)
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
        ErrorCode::PermissionDenied if may_help(&envelope.text()) => {
            Some(again(&format!("--allow {tool}")))
        }
        ErrorCode::NetworkDisabled | ErrorCode::GitRemoteDisabled => {
            let host = host_of(&args.input);
            Some(host.map_or_else(
                || again("--network-guard kernel"),
                |host| again(&format!("--allow-host {}", quote::shell(&host))),
            ))
        }
        _ => None,
    }
}

/// What a rule of the manifest or of haft itself decides a rule of the session may not overturn, and who has just
/// rejected a call wants no way around it.
fn may_help(message: &str) -> bool {
    let pinned = ["manifest rule", "built-in rule"].iter().any(|words| message.contains(words));
    let by_watchdog = message.contains("what a watchdog asks no rule answers");
    !pinned && !by_watchdog && !message.starts_with("the user rejected")
}

/// Returns the host of the first URL in a text, if there is one.
fn host_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '"', '\'', ' ', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || ".-".contains(char);
    (!host.is_empty() && host.chars().all(is_name)).then(|| host.to_ascii_lowercase())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_found() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(host_of(text).as_deref(), expect, "for {text:?}");
        };
        check(r#"{"cmd":"curl https://Example.org/x"}"#, Some("example.org"));
        check(r#"{"cmd":"curl 'http://a@b.org:80'"}"#, Some("b.org"));
        check(r#"{"cmd":"git push"}"#, None);
        check("x://$HOST/", None);
    }
}
