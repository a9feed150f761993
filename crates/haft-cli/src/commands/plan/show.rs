//! `haft plan show`: a drawing of a plan. It checks only the form, so it also draws a plan that is not valid yet.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use haft_plan::PlanGraph;
use serde::Serialize;
use serde_json::json;

use crate::error::{CommandResult, CommandStatus};
use crate::plan_run::{self, PlanText};
use crate::views::drawing::draw_graph;
use crate::views::output;

/// Draw a plan
///
/// In the terminal, nodes are boxes, from the first to the last; a drawing that does not fit, or of a large plan, becomes a
/// list. Only the form is checked: haft plan check checks the rest.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan show report.json
  haft plan show report.json --format dot | dot -Tpng > report.png
  haft plan show report.json --format mermaid >> README.md
  haft plan show report.json --format svg > report.svg")]
pub(crate) struct PlanShowArgs {
    /// The plan, or - for standard input
    file: PathBuf,
    /// Format of the drawing
    #[arg(long, value_enum, default_value_t = PlanDrawingFormat::Text)]
    format: PlanDrawingFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum PlanDrawingFormat {
    /// Boxes and lines for a terminal
    Text,
    /// The language of Graphviz
    Dot,
    /// The language of Mermaid
    Mermaid,
    /// A picture
    Svg,
}

pub(super) fn run(args: &PlanShowArgs, is_json: bool) -> CommandResult {
    let PlanText { name, text, .. } = PlanText::read(&args.file)?;
    let plan = haft_plan::parse(&text)
        .map_err(|problems| plan_run::unreadable_plan_error(&name, &problems))?;
    let graph = PlanGraph::new(&plan);
    let drawing = match args.format {
        PlanDrawingFormat::Text => draw_graph(&graph, std::io::stdout()),
        PlanDrawingFormat::Dot => graph.dot(),
        PlanDrawingFormat::Mermaid => graph.mermaid(),
        PlanDrawingFormat::Svg => graph.svg(),
    };
    if is_json {
        output::write_json(&json!({"format": args.format, "drawing": drawing}))?;
    } else {
        output::write_data(&drawing)?;
    }
    Ok(CommandStatus::Done)
}
