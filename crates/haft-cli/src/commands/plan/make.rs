//! The arguments of `haft plan make`, which the program haft-agent runs.

use std::path::PathBuf;

use clap::Args;

use crate::model::ModelArgs;

/// Let a model make a plan of a request
///
/// The model reads the tools on offer and writes a plan, which is checked like any other; its problems go back to the model,
/// at most three times. Nothing is executed. haft draws the plan and saves it, so that you can read, change and run it (haft
/// run). If the tools cannot do what is asked, the model says what is missing, and the status is 6.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan make 'Which TODOs are in src, by file?' --model openai/gpt-5
  haft plan make @request.txt --out review.json
  haft plan make 'Summarise {{INPUT.path}}' --input '{\"path\":\"README.md\"}'
  haft plan make 'List the largest files' --out - | haft plan check -
  haft plan make 'List the largest files' --model openai/any --base-url http://127.0.0.1:8000/v1")]
pub(crate) struct PlanMakeArgs {
    /// The request, @FILE to read it from a file, or - for standard input
    pub(crate) request: String,
    /// File to save the plan in, or - to print it instead; plan.json unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// An input that the plan is to work with, as JSON or @FILE; its parts are {{INPUT...}} in the plan
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
