//! The arguments of `haft agent`, which the program haft-agent runs.

use clap::Args;

use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::engine::{Engine, EngineArgs, EngineCommand};
use crate::error::{CommandError, CommandResult};
use crate::model::ModelArgs;

/// Talk to an agent that works in this directory
///
/// With a prompt, the agent has one turn: it reads the prompt, makes calls and answers. haft prints the last answer, and
/// shows the progress on standard error. Without a prompt, a conversation begins on a terminal: /help shows what can be
/// typed there. Text that is piped in is the prompt.
///
/// Every call is checked, journaled and confined as by haft call. Questions are asked on the terminal; without one, the call
/// is refused. Ctrl-C stops the turn, and a second one ends haft. The session is kept either way, and --resume continues it:
/// calls that were made before are not made again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft agent --model openai/gpt-5
  haft agent 'Fix the failing test'
  haft agent --agent plan 'Where are rules decided?'
  cargo test 2>&1 | haft agent
  haft agent --resume last 'Now the other one'
  haft agent --headless --json 'Update the changelog' | jq -c .type
  haft agent --on temporal 'Update the changelog'

In haft.toml:
  [agent]
  default = \"build\"          # the agent that is talked to
  context_tokens = 128000    # what the model can read
  output_tokens = 8000       # the longest answer; left to the provider unless set
  max_steps = 200            # answers of the model in one turn

The status is 0 if the agent said all that it had to say, 1 if the turn failed or was stopped, and 4 if it is
not known whether an effect happened.")]
pub(crate) struct AgentArgs {
    /// The task, @FILE to read it from a file, or - for standard input
    pub(crate) prompt: Option<String>,
    /// Agent to talk to: build, unless the manifest names another one ([agent] default)
    ///
    /// A session that --resume names keeps the agent that it was begun with.
    #[arg(long, value_name = "NAME", conflicts_with = "resume", add = candidates::agents())]
    pub(crate) agent: Option<String>,
    /// Session to resume, as haft sessions list shows it, or last for the one used last in this workspace
    ///
    /// Without a prompt, an interrupted turn continues. The session keeps its model, unless --model names another one here:
    /// that model answers from then on.
    #[arg(long, value_name = "SESSION", add = candidates::sessions())]
    pub(crate) resume: Option<String>,
    /// Ask no questions, not even on a terminal: refuse each call that would need an answer
    #[arg(long)]
    pub(crate) headless: bool,
    /// Show each event as one line that stays as it is: for screen readers and terminals that can only print
    ///
    /// haft moves no cursor, draws nothing again, and lets the terminal itself edit the typed line. A terminal whose TERM is dumb
    /// is always shown like this.
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// Gives the agent its task on an engine. Without one named, returns nothing.
pub(crate) fn run_on_engine(args: &AgentArgs, cx: &CliContext) -> Option<CommandResult> {
    let Some(Engine::Temporal) = args.engine.engine else { return None };
    let start = || {
        let Some(prompt) = &args.prompt else {
            return Err(CommandError::usage("an agent on an engine needs its task as an argument"));
        };
        let mut command = EngineCommand::new("agent", cx)?;
        command.root(Some(&cx.resolve_settings()?.root));
        command.value("--agent", args.agent.as_ref());
        command.value("--model", args.model.named_in_command().as_ref());
        command.start(input::read_text(prompt, "prompt")?.into(), cx)
    };
    Some(start())
}
