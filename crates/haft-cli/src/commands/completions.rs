//! `haft completions`: the script that makes a shell complete haft's commands.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::{CommandResult, CommandStatus};
use crate::views::output;

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

/// Runs the command: prints the completions of the command line `haft`.
pub(crate) fn run(args: &CompletionsArgs, mut haft: Command) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut haft, "haft", &mut script);
    output::write_data(&String::from_utf8_lossy(&script))?;
    Ok(CommandStatus::Done)
}
