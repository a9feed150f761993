//! `haft plan make`: a model turns a request into a plan, which haft shows and saves, and does not run.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use haft_contract::ToolId;
use haft_model::ModelUsage;
use haft_plan::drive::RunStartMode;
use haft_plan::{Plan, PlanGraph};
use serde::Serialize;

use super::model_text::usage_summary;
use super::planning::{self, PlanMakingRequest};
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::commands::plan::make::PlanMakeArgs;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::plan_run::{self, PlanRun, dry_run};
use crate::views::drawing::draw_graph;
use crate::views::output;
use crate::views::path_text::counted;
use haft_app::compose;
use haft_app::compose::AvailableTools;

/// Where a plan is saved unless another file is named.
const FILE_NAME: &str = "plan.json";
/// Stands for standard output.
const STDOUT: &str = "-";

#[derive(Serialize)]
struct PlanMakeReport<'a> {
    r#type: &'static str,
    file: Option<&'a Path>,
    model: String,
    dangerous: Vec<&'a str>,
    repairs: u32,
    usage: ModelUsage,
    plan: &'a Plan,
}

/// Runs the command.
pub(crate) async fn run(args: PlanMakeArgs, cx: &CliContext) -> CommandResult {
    let request = input::read_text(&args.request, "request")?;
    let given = args.input.as_deref().map(input::read_plan_input).transpose()?;
    let settings = cx.resolve_settings()?;
    args.model.check_named(&settings)?;
    let model = args.model.choice().open(&settings.model, &cx.host)?;
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(FILE_NAME));
    let file = Some(path).filter(|path| path.as_os_str() != STDOUT);
    // A model's answer costs time and money, so an unusable file is reported before haft asks.
    if let Some(path) = &file {
        if path.is_dir() {
            return Err(file_write_error(path, &"it is a directory"));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            let why = format!("{} is no directory", directory.display());
            return Err(file_write_error(path, &why));
        }
        if !args.force && path.symlink_metadata().is_ok() {
            return Err(file_exists_error(path));
        }
    }
    let tools = AvailableTools::find(&settings, &cx.host).await?;
    let catalogue = plan_run::catalogue(tools.offered(), &settings, &cx.host);
    let wish = PlanMakingRequest { request: &request, input: given.as_ref(), settings: &settings };
    let made = planning::request_plan(&model, tools.offered(), &catalogue, &wish).await?;
    let saved = file.as_deref().map_or(Ok(()), |path| {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(args.force).create_new(!args.force);
        let written = options.open(path).and_then(|mut file| writeln!(file, "{}", made.text));
        written.map_err(|err| match err.kind() {
            io::ErrorKind::AlreadyExists => file_exists_error(path),
            _ => file_write_error(path, &err),
        })
    });
    if cx.setting_args.json {
        let answer = PlanMakeReport {
            r#type: "plan",
            file: file.as_deref().filter(|_| saved.is_ok()),
            model: model.name(),
            dangerous: plan_run::dangerous(&made.checked),
            repairs: made.repairs,
            usage: made.usage,
            plan: made.checked.plan(),
        };
        output::write_json(&answer)?;
    } else {
        // The plan itself is printed if the user asked for that, or if it could not be saved.
        let graph = PlanGraph::new(made.checked.plan());
        if file.is_some() && saved.is_ok() {
            output::write_data(&draw_graph(&graph, io::stdout()))?;
        } else {
            output::print_note(draw_graph(&graph, io::stderr()).trim_end());
            output::write_data(&made.text)?;
        }
    }
    saved?;
    let nodes = counted(made.checked.nodes().len(), "node");
    let mended = match made.repairs {
        0 => String::new(),
        1 => ", mended once".to_owned(),
        times => format!(", mended {times} times"),
    };
    let usage = usage_summary(made.usage);
    output::print_note(format_args!("made a plan of {nodes}{mended} ({usage})"));
    planning::warn_of_dangerous(&made.checked);
    if let Some(file) = &file {
        let input = args.input.as_deref();
        let command =
            planning::run_command(&made.checked, &file.to_string_lossy(), input, &args.model);
        output::print_note(format_args!("saved in {}; to run it: {command}", file.display()));
    }
    let run = compose::new_run(cx.host.now_ms())?;
    let work = PlanRun {
        plan: made.checked,
        tools,
        run,
        start: RunStartMode::New,
        input: given,
        models: None,
    };
    let asked = dry_run::tools_that_ask(&work, settings, &cx.host).await?;
    if !asked.is_empty() {
        let names: Vec<&str> = asked.iter().map(ToolId::as_str).collect();
        output::print_note(format_args!(
            "not dangerous, but asked about when the plan is run, and refused without a terminal; --allow lets them run: {}",
            names.join(", ")
        ));
    }
    Ok(CommandStatus::Done)
}

fn file_exists_error(path: &Path) -> CommandError {
    let path = path.display();
    CommandError::usage(format!(
        "{path} exists already and is left as it is: name another file with --out, or give --force"
    ))
}

fn file_write_error(path: &Path, why: &dyn std::fmt::Display) -> CommandError {
    CommandError::usage(format!("the plan cannot be saved in {}: {why}", path.display()))
}
