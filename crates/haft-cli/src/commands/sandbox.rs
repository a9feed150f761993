//! `haft sandbox`: runs any program confined, and exits with the status of that program. The program has no standard input.

use clap::Args;
use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{Envelope, ErrorCode};

use super::bash::ShellArgs;
use super::call::{CallInput, CommandCall, make_call};
use crate::arguments::cli_context::CliContext;
use crate::arguments::run_address::RunAddressArgs;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::remedy;

/// Run any program confined, and exit with its status
///
/// The program can change files of the workspace only, sees no credentials and reaches no host that is not granted. The run is
/// in the journal, and haft undo brings its changes back. One word is a shell line; several words are a program and its
/// arguments. The program has an hour, unless --timeout-ms says otherwise, and no standard input. Its output is printed when it
/// ends, standard error included.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft sandbox -- npm test
  haft sandbox --allow-host registry.npmjs.org -- npm ci
  haft sandbox 'make && ./run-tests'

Exit status:
The status of the program, or 1 if a signal or the time limit ended it. If the program was not run: 2 for a mistake in the
command line, 3 if it was refused, and 4 if it is not known whether it ran.")]
pub(crate) struct SandboxArgs {
    #[command(flatten)]
    shell: ShellArgs,
    #[command(flatten)]
    placement: RunAddressArgs,
}

/// Runs the command.
pub(crate) async fn run(args: SandboxArgs, cx: &CliContext) -> CommandResult {
    let timeout_ms = cx.setting_args.timeout_ms.unwrap_or(TIMEOUT_MS_MAX);
    let call = CommandCall {
        tool: "bash",
        input: CallInput::Value(args.shell.input(Some(timeout_ms))),
        headless: args.shell.headless,
        driver_call_id: None,
        placement: &args.placement,
        print: Some(print_result),
    };
    make_call(call, cx).await
}

/// Prints the output of a program, and what haft says about its end. Returns the status of the program.
fn print_result(envelope: &Envelope) -> CommandResult {
    let metadata = envelope.metadata();
    let (message, printed) = match envelope {
        Envelope::Output { .. } => (None, envelope.text()),
        // The output of a program that failed follows the message.
        Envelope::Error { error_text, .. } if has_run(metadata.code) => {
            let (message, printed) = error_text.split_once('\n').unwrap_or((error_text, ""));
            (Some(message.to_owned()), printed.to_owned())
        }
        Envelope::Error { error_text, .. } => {
            let text = remedy::text_with_advice(error_text, metadata.refusal.as_deref());
            (Some(text), String::new())
        }
    };
    let whole = metadata.output_path.as_ref().and_then(|path| std::fs::read(path).ok());
    match whole {
        Some(whole) => output::write_data(&String::from_utf8_lossy(&whole))?,
        None => output::write_data(&printed)?,
    }
    match (metadata.exit_code, message) {
        (Some(0) | None, None) => Ok(CommandStatus::Done),
        (Some(status), message) => {
            message.iter().for_each(output::print_note);
            Ok(CommandStatus::Program(u8::try_from(status & 0xff).unwrap_or(1)))
        }
        (None, Some(message)) => {
            output::print_error(&message, None);
            Ok(CommandStatus::of_envelope(envelope))
        }
    }
}

/// Returns whether a program was run that failed with this code.
fn has_run(code: Option<ErrorCode>) -> bool {
    matches!(
        code,
        Some(ErrorCode::CommandFailed | ErrorCode::ProcessTimeout | ErrorCode::ProcessAborted)
    )
}
