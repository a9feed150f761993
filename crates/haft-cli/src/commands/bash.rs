//! `haft bash`: runs a command as an agent's call of `bash` would, and prints its output.

use clap::Args;
use serde_json::{Value, json};

use super::call::{CallInput, CommandCall, make_call};
use crate::arguments::cli_context::CliContext;
use crate::arguments::run_address::RunAddressArgs;
use crate::error::CommandResult;

/// Run a shell line or a program as an agent's call of bash
///
/// The call is checked, confined, journaled and can be undone, like one of an agent. One word is a shell line; several words are
/// a program and its arguments, and no shell reads them. haft sandbox exits with the status of the program instead.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft bash 'npm test 2>&1 | tail -3'
  haft bash -- git status --short
  haft bash --cwd web -- npm run build
  haft bash --allow-host docs.rs -- curl https://docs.rs")]
pub(crate) struct BashArgs {
    #[command(flatten)]
    shell: ShellArgs,
    #[command(flatten)]
    placement: RunAddressArgs,
}

/// The command to run, and where.
#[derive(Args)]
pub(super) struct ShellArgs {
    /// Directory to run it in, inside the workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Ask no questions, not even on a terminal: refuse what would need an answer
    #[arg(long)]
    pub(super) headless: bool,
    /// A shell line, or a program and its arguments
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
}

impl ShellArgs {
    /// Returns the input of the tool. A program of one word is a line, too.
    pub(super) fn input(&self, timeout_ms: Option<u64>) -> Value {
        let (cmd, args) = self.command.split_first().expect("clap requires a command");
        let mut input = json!({ "cmd": cmd });
        if !args.is_empty() {
            input["args"] = json!(args);
        }
        if let Some(cwd) = &self.cwd {
            input["opts"]["cwd"] = json!(cwd);
        }
        if let Some(timeout_ms) = timeout_ms {
            input["opts"]["timeout_ms"] = json!(timeout_ms);
        }
        input
    }
}

/// Runs the command.
pub(crate) async fn run(args: BashArgs, cx: &CliContext) -> CommandResult {
    let call = CommandCall {
        tool: "bash",
        input: CallInput::Value(args.shell.input(None)),
        headless: args.shell.headless,
        driver_call_id: None,
        placement: &args.placement,
        print: None,
    };
    make_call(call, cx).await
}
