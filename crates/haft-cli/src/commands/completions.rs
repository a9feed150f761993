//! `haft completions`: the script that makes a shell complete haft's commands. The script asks haft itself for each word, so that
//! it completes runs, tools and agents, too.

use clap::{Args, ValueEnum};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;

/// The variable by which a script tells haft that a word is to be completed.
const VARIABLE: &str = "COMPLETE";

/// Print the completions of a shell
///
/// The script completes commands, options, runs, tools and agents. It asks haft for each word, so it need not be written anew
/// after an update.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions zsh > ~/.zfunc/_haft
  haft completions fish > ~/.config/fish/completions/haft.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: CompletedShell,
}

/// A shell that haft knows completions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

/// Runs the command: prints the completions of the command line `haft`.
pub(crate) fn run(args: &CompletionsArgs) -> CommandResult {
    let shell: &dyn EnvCompleter = match args.shell {
        CompletedShell::Bash => &Bash,
        CompletedShell::Elvish => &Elvish,
        CompletedShell::Fish => &Fish,
        CompletedShell::Powershell => &Powershell,
        CompletedShell::Zsh => &Zsh,
    };
    let mut script = Vec::new();
    let written = shell.write_registration(VARIABLE, "haft", "haft", "haft", &mut script);
    written.map_err(|err| CommandError::failed(format!("the script cannot be written: {err}")))?;
    output::write_data(&String::from_utf8_lossy(&script))?;
    Ok(CommandStatus::Done)
}
