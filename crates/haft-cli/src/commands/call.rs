//! `haft call`: one call through the pipeline, its answer on standard output.

mod resume_notes;

use std::io::IsTerminal;
use std::sync::Arc;

use clap::Args;
use haft::{Asker, Call, Clock as _, RunError, Runtime, SystemClock};
use haft_contract::{Envelope, ErrorCode, RunId};
use haft_journal::{CallOrder, CallQuery, CallRow, CallStatus as RowStatus, JournalError};
use serde_json::{Map, Value};

use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::hint;
use crate::arguments::run_address::{RunAddress, RunAddressArgs};
use crate::arguments::{input, input_words};
use crate::asking::TerminalAsker;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::signals;
use crate::views::output;
use crate::views::remedy;
use haft_app::without_passwords;
use haft_app::{compose, quote};

/// Call a tool and print its answer
///
/// The call is checked and journaled like one of an agent. If a rule asks, haft asks on the terminal; without a terminal, or
/// with --headless, it refuses the call, unless --allow names the tool. With --json, haft prints the whole envelope, even if
/// the call failed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft call read path=README.md start_line=10
  haft call bash cmd='git status' opts.timeout_ms=5000
  haft call read '{\"path\":\"README.md\"}'
  haft call apply_patch @request.json
  haft call --allow-host docs.rs bash '{\"cmd\":\"curl https://docs.rs\"}'
  jq -n '{pattern: \"TODO\"}' | haft call grep -
  haft call --run nightly --node build --attempt 2 bash '{\"cmd\":\"make\"}'
  haft call --run nightly --node build --resume replay bash '{\"cmd\":\"make\"}'

A call that is in doubt ends with status 4; haft runs show says what to do about it. A run that another
process has is not touched, which is status 1; a call that does not fit its record is status 2; one that
is refused, by a rule or by on_repeat, is status 3.

With --resume replay each process counts from the start: the same call made by two processes is one call,
and the second is answered from the record, which is said on standard error. Calls that are meant to be
two get names (--call ID): each is executed once, and recalled by its name.")]
pub(crate) struct CallArgs {
    /// The tool's id, as haft tools list shows it
    #[arg(add = candidates::tools())]
    tool: String,
    /// The input as KEY=VALUE words, as JSON, @FILE to read JSON from a file, or - for standard input
    ///
    /// A value is read as the tool's schema says. KEY:=JSON gives a value as JSON, and opts.cwd=src a member of a member. A list
    /// can be given item by item.
    input: Vec<String>,
    /// Ask no questions, not even on a terminal: refuse each call that would need an answer
    #[arg(long)]
    headless: bool,
    /// Name of the call by which it is known when it comes again
    ///
    /// A call of this name that was made before in this attempt is answered from the record, and calls of different names
    /// are different calls, even with the same tool and input. One with another tool or input than its name had is refused.
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    #[command(flatten)]
    placement: RunAddressArgs,
}

/// The commands that make one call.
const COMMANDS: [&str; 3] = ["call", "bash", "sandbox"];

/// A call that a command makes, and how it ends.
pub(crate) struct CommandCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) input: CallInput<'a>,
    /// Asks no questions.
    pub(crate) headless: bool,
    /// The driver's name of the call.
    pub(crate) driver_call_id: Option<&'a str>,
    pub(crate) placement: &'a RunAddressArgs,
    /// Prints the answer, and returns the status of the command. Without one, the command prints it for a person.
    pub(crate) print: Option<fn(&Envelope) -> CommandResult>,
}

/// The input of a call.
pub(crate) enum CallInput<'a> {
    /// As it is.
    Value(Value),
    /// Words, which the tool's schema gives their types.
    Words(&'a [String]),
}

/// Runs the command.
pub(crate) async fn run(args: CallArgs, cx: &CliContext) -> CommandResult {
    let input = match args.input.as_slice() {
        [] => CallInput::Value(Value::Object(Map::new())),
        words if words.iter().all(|word| input_words::is_word(word)) => CallInput::Words(words),
        [json] => CallInput::Value(match input::read(&args.tool, json) {
            Ok(value) => value,
            Err(err) => return Err(with_example(err, &args.tool, json, cx).await),
        }),
        // The error names the word that is none.
        words => CallInput::Value(input_words::read_words(words, None)?),
    };
    let call = CommandCall {
        tool: &args.tool,
        input,
        headless: args.headless,
        driver_call_id: args.call.as_deref(),
        placement: &args.placement,
        print: None,
    };
    make_call(call, cx).await
}

/// Returns the error about an input that is not JSON, with the line to type. The error stays as it is if the tool is not known.
async fn with_example(err: CommandError, tool: &str, given: &str, cx: &CliContext) -> CommandError {
    let is_text = !given.starts_with(['{', '[', '@']) && given != "-";
    let Ok(settings) = cx.resolve_settings() else { return err };
    let Ok(registry) = compose::registry(&settings, &cx.host).await else { return err };
    let Some(contract) = registry.contract(tool) else { return err };
    let words = input_words::example_words(&contract.parameters, is_text.then_some(given));
    match words.is_empty() || given.starts_with('@') || given == "-" {
        true => err,
        false => err.hint(format!("haft call {} {words}", quote::shell(tool))),
    }
}

/// Makes a call, and prints its answer.
pub(crate) async fn make_call(args: CommandCall<'_>, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let RunAddress { run: run_id, position: place, resume } =
        args.placement.run_address(&settings.scope, cx.host.now_ms())?;
    let runtime = compose::tool_runtime(&settings, &cx.host, args.tool).await?;
    compose::recover(&runtime, &cx.host).await?;
    let session = compose::open_connection(&runtime, &settings, &cx.host, "cli")?;
    let run = session.resume(run_id, resume);
    resume_notes::print_resume_notes(&**runtime.journal(), &run, &place, resume).await?;
    // The person at the terminal, if there is one.
    let asker = (!args.headless).then(|| TerminalAsker::new(&settings.project)).flatten();
    let asker = asker.map(|asker| Arc::new(asker) as Arc<dyn Asker>);
    let input = match args.input {
        CallInput::Value(ref input) => input.clone(),
        CallInput::Words(words) => {
            let registry = runtime.registry();
            let schema = registry.contract(args.tool).map(|contract| &contract.parameters);
            input_words::read_words(words, schema)
                .map_err(|err| err.hint(format!("haft tools show {}", quote::shell(args.tool))))?
        }
    };
    let call = Call {
        task_attempt: place,
        driver_call_id: args.driver_call_id.map(str::to_owned),
        cancellation: signals::stop_token()?,
        asker,
        ..Call::new(args.tool, input)
    };
    // The sidecar is all that is left of a long output; old ones are swept away by later commands.
    session.keep_outputs();
    let begun_ms = SystemClock.now_ms();
    let envelope = run.call(call).await;
    runtime.shut_down().await;
    let envelope = match envelope {
        Ok(envelope) => envelope,
        Err(err) => {
            return Err(unrecorded_call_error(&runtime, args.tool, run.id(), begun_ms, err).await);
        }
    };
    let status = CommandStatus::of_envelope(&envelope);
    if cx.setting_args.json {
        output::write_json(&envelope)?;
        return Ok(status);
    }
    if let Some(print) = args.print {
        return print(&envelope);
    }
    let metadata = envelope.metadata();
    if let Some(warning) = &metadata.retry_warning {
        output::print_warning(warning, None);
    }
    if let Some(note) = &metadata.approval_note {
        output::print_note(note);
    }
    if let Some(log) = &metadata.log {
        output::print_note(log.trim_end_matches('\n'));
    }
    // Standard output stays empty for scripts.
    if let Some(note) = &metadata.empty_note {
        output::print_note(note);
    }
    match &envelope {
        Envelope::Output { .. } => output::write_data(&envelope.text())?,
        Envelope::Error { error_text, .. } => {
            let hint = hint(&args, run.id(), &envelope);
            let hint = hint.map(|hint| hint::with_journal_options(&hint, &cx.setting_args));
            let text = remedy::text_with_advice(error_text, metadata.refusal.as_deref());
            output::print_error(&text, hint.as_deref());
        }
    }
    if metadata.replayed {
        let call = metadata.call_id.as_deref().unwrap_or("of before");
        output::print_note(format_args!(
            "recalled: this is what call {call} answered, and nothing was executed now"
        ));
    }
    if std::io::stdout().is_terminal() {
        let call = metadata.call_id.as_deref().unwrap_or("not recorded");
        let cut = if metadata.truncated { ", output cut" } else { "" };
        output::print_aside(format!("{} ms{cut}, call {call}", metadata.duration_ms));
    }
    Ok(status)
}

/// Returns the error of a call of which haft cannot say what happened. If it was begun, it is in doubt.
async fn unrecorded_call_error(
    runtime: &Runtime,
    tool: &str,
    run: &RunId,
    begun_ms: u64,
    err: RunError,
) -> CommandError {
    let is_before_execution = matches!(
        &err,
        RunError::Scope(_)
            | RunError::Diverged(_)
            | RunError::PlanRun { .. }
            | RunError::OtherWorkspace { .. }
            | RunError::Journal(JournalError::LeaseHeld { .. } | JournalError::Stuck { .. })
    );
    if is_before_execution {
        return CommandError::from(err);
    }
    let hint = format!("haft runs show {run}");
    if let RunError::Unrecorded { call, source } = err {
        let message = format!(
            "{tool} was executed as call {call} and its end could not be recorded, so it is in doubt: {source}"
        );
        return CommandError::in_doubt(message).hint(hint);
    }
    let latest = CallQuery { limit: 1, order: CallOrder::Latest, ..CallQuery::of_run(run.clone()) };
    // If the journal does not answer either, the first error is the one to report.
    let rows = runtime.journal().calls(latest).await.unwrap_or_default();
    let is_open = |row: &CallRow| {
        let is_ours = row.started_at_ms >= begun_ms;
        is_ours && [RowStatus::Intended, RowStatus::Unknown].contains(&row.status)
    };
    let err = CommandError::from(err);
    match rows.into_iter().find(is_open) {
        Some(row) => CommandError::in_doubt(format!(
            "{tool} was begun as call {} and its end could not be recorded, so it is in doubt: {}",
            row.id(),
            err.message
        ))
        .hint(hint),
        None => err,
    }
}

/// Returns a command that gets further than this call did.
fn hint(args: &CommandCall<'_>, run: &RunId, envelope: &Envelope) -> Option<String> {
    let tool = quote::shell(args.tool);
    match envelope.code()? {
        ErrorCode::ToolNotFound => {
            let refusal = envelope.metadata().refusal.as_deref();
            let advised = refusal.and_then(|refusal| remedy::terminal_advice(refusal).command);
            Some(advised.unwrap_or_else(|| "haft tools list".to_owned()))
        }
        ErrorCode::InvalidInput => Some(format!("haft tools show {tool}")),
        // An earlier attempt made it, which no rule of a session changes.
        ErrorCode::PermissionDenied if envelope.metadata().held_back => {
            Some(format!("haft runs show {run}"))
        }
        ErrorCode::InDoubt => Some(format!("haft runs show {run}")),
        _ => {
            let advice = remedy::terminal_advice(envelope.metadata().refusal.as_deref()?);
            let Some(options) = advice.options else { return advice.command };
            // The command line of this process, with the options before its input.
            let mut words: Vec<String> = std::env::args_os()
                .skip(1)
                .map(|word| quote::shell(&without_passwords(&word.to_string_lossy())))
                .collect();
            let is_command = |word: &String| COMMANDS.contains(&word.as_str());
            let call = words.iter().position(is_command).map_or(0, |call| call + 1);
            words.insert(call, options);
            Some(format!("haft {}", words.join(" ")))
        }
    }
}
