//! The arguments of `haft do`, which the program haft-agent runs.

use clap::Args;

use crate::model::ModelArgs;
use crate::plan_run::DriveArgs;

/// Do what is asked for in words
///
/// A model makes a plan of the request, as haft plan make does. The plan is shown and, once you agreed to it, run as by haft
/// run: every call is checked, journaled and confined, and the model has no part in it. At the end the model is asked
/// once more, for an answer from what came of the plan; the answer is printed, also when the plan failed. Everything
/// else is said on standard error.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft do 'Which TODOs are in src, by file?' --model openai/gpt-5
  haft do 'Which licence does this project have?' --yes
  haft do 'Run the tests and say what fails' --yes --allow bash
  haft do @request.txt --input @data.json --json

The status is that of the plan: 1 if one of its nodes failed, 3 if it was refused, 4 if it is not known
whether an effect happened. It is 6 if the tools cannot do what is asked, and 1 if the plan was run and
there is no answer.")]
pub(crate) struct DoArgs {
    /// The request, @FILE to read it from a file, or - for standard input
    pub(crate) request: String,
    /// Run the plan without asking
    ///
    /// Dangerous tools run all the same only if they are allowed: --allow names them, and on a terminal you are asked.
    #[arg(long)]
    pub(crate) yes: bool,
    /// An input that the plan is to work with, as JSON or @FILE
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
