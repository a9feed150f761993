//! `haft plan show`: a drawing of a plan. Only its form is looked at, so that one that is not valid yet can be seen, too.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use haft_plan::Graph;
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::drawing::drawing;
use crate::error::{CommandError, Status};
use crate::output;
use crate::plan_run::{self, PlanText};

/// Draw a plan
///
/// In the terminal nodes are boxes, from the first to the last; where they do not fit, and for large plans, the drawing
/// is a list. Nothing is checked but the form: haft plan check looks at what a plan means.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan show report.json
  haft plan show report.json --format dot | dot -Tpng > report.png
  haft plan show report.json --format mermaid >> README.md
  haft plan show report.json --format svg > report.svg")]
pub(super) struct ShowArgs {
    /// The plan, or - for standard input
    file: PathBuf,
    /// What to draw it as
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// Boxes and lines for a terminal
    Text,
    /// The language of Graphviz
    Dot,
    /// The language of Mermaid
    Mermaid,
    /// A picture
    Svg,
}

#[derive(Serialize)]
struct Answer<'a> {
    format: Format,
    drawing: &'a str,
}

pub(super) fn run(args: &ShowArgs, setting_args: &SettingArgs) -> Result<Status, CommandError> {
    let PlanText { name, text, .. } = PlanText::read(&args.file)?;
    let plan =
        haft_plan::parse(&text).map_err(|problems| plan_run::unreadable(&name, &problems))?;
    let graph = Graph::new(&plan);
    let drawing = match args.format {
        Format::Text => drawing(&graph, &std::io::stdout()),
        Format::Dot => graph.dot(),
        Format::Mermaid => graph.mermaid(),
        Format::Svg => graph.svg(),
    };
    if setting_args.json {
        output::json(&Answer { format: args.format, drawing: &drawing })?;
    } else {
        output::data(&drawing)?;
    }
    Ok(Status::Done)
}
