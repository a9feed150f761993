//! `haft completions`: the script that makes a shell complete haft's commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::{CommandError, CommandStatus};
use crate::output;

/// Print the completions of a shell
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions zsh > ~/.zfunc/_haft
  haft completions fish > ~/.config/fish/completions/haft.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<CommandStatus, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "haft", &mut script);
    output::write_data(&String::from_utf8_lossy(&script))?;
    Ok(CommandStatus::Done)
}
