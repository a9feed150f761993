//! `haft do`: a model makes a plan of a request, haft runs the plan, and the model answers from its result. While the plan
//! runs, the model is not asked.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::iter;
use std::path::Path;

use haft_contract::Contract;
use haft_model::{ModelStopReason, ProviderModel};
use haft_plan::PlanGraph;
use haft_plan::drive::{PlanEnding, PlanRunResult, RunStartMode};
use haft_plan::planner::{SynthesisError, synthesise};
use serde_json::json;

use super::model_text::usage_summary;
use super::planning::{self, PlanMakingRequest};
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::arguments::setting_args::SettingArgs;
use crate::asking::ask_confirmation;
use crate::commands::do_request::DoArgs;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::plan_run::{self, DriveArgs, PlanRun};
use crate::signals;
use crate::views::drawing::draw_graph;
use crate::views::output;
use haft_app::compose::AvailableTools;
use haft_app::{compose, named_models, quote};

/// Plans that `haft do` keeps in one directory.
///
/// Limit (plans): no further plan is kept.
pub(crate) const KEPT_PLANS_MAX: usize = 99;

/// Runs the command.
pub(crate) async fn run(args: DoArgs, cx: &CliContext) -> CommandResult {
    let request = input::read_text(&args.request, "request")?;
    let given = args.input.as_deref().map(input::read_plan_input).transpose()?;
    let settings = cx.resolve_settings()?;
    args.model.check_named(&settings)?;
    let model = args.model.choice().open(&settings.model, &cx.host)?;
    if !args.yes && !has_person(&args.drive) {
        return Err(CommandError::refused(
            "haft cannot ask here whether to run the plan, so it made none: give --yes, or make a plan, look at \
             it and run it",
        )
        .hint(format!("haft plan make {}", quote::shell(&args.request))));
    }
    let wish = PlanMakingRequest { request: &request, input: given.as_ref(), settings: &settings };
    let tools = AvailableTools::find(&settings, &cx.host).await?;
    let catalogue = plan_run::catalogue(tools.offered(), &settings, &cx.host);
    let made = planning::request_plan(&model, tools.offered(), &catalogue, &wish).await?;
    let plan = made.checked;
    let graph = draw_graph(&PlanGraph::new(plan.plan()), io::stderr());
    output::print_note(format_args!("\n{}", graph.trim_end()));
    output::print_note(format_args!("\n{}\n", planning::nodes(plan.plan())));
    output::print_note(format_args!("made a plan ({})", usage_summary(made.usage)));
    planning::warn_of_dangerous(&plan);
    if cx.setting_args.json {
        output::write_json(&json!({"event": "plan_made", "plan": plan.plan()}))?;
    }
    let is_named = |contract: &&Contract| {
        settings.allow.iter().any(|name| plan_run::is_name_of(name, &contract.id))
    };
    let refusal = if !args.yes {
        let is_confirmed = ask_confirmation("\nRun this plan?").await == Some(true);
        (!is_confirmed).then(|| "the plan was not run".to_owned())
    } else if has_person(&args.drive) || args.drive.allow_dangerous {
        None
    } else {
        // The plan would stop half done if a dangerous tool needs an answer that the person cannot give here.
        let dangerous = plan.dangerous_tools().into_iter().filter(|it| !is_named(it));
        let refused: Vec<&str> = dangerous.map(|contract| contract.id.as_str()).collect();
        (!refused.is_empty()).then(|| {
            format!(
                "the plan calls dangerous tools that you did not allow, so it was not run: {}; give --allow with each, or \
                 offer others with --tools",
                refused.join(", ")
            )
        })
    };
    if let Some(refusal) = refusal {
        // The plan cost time and money, so it is saved.
        let text = serde_json::to_string_pretty(plan.plan()).map_err(io::Error::other);
        return Err(match text.and_then(|text| save(&text, Path::new(""))) {
            Ok(name) => CommandError::refused(format!("{refusal}; it is kept in {name}"))
                .hint(planning::run_command(&plan, &name, args.input.as_deref(), &args.model)),
            Err(why) => {
                CommandError::refused(format!("{refusal}, and it could not be kept: {why}"))
            }
        });
    }
    let run = compose::new_run(cx.host.now_ms())?;
    let models = Some(named_models(args.model.choice(), &settings, &cx.host));
    let work = PlanRun { plan, tools, run, start: RunStartMode::New, input: given, models };
    let dangerous = plan_run::dangerous_ids(&work.plan);
    let driven = plan_run::drive(work, &args.drive, &cx.setting_args, settings, &cx.host).await?;
    if cx.setting_args.json {
        plan_run::print_output(&driven, &cx.setting_args)?;
    }
    plan_run::print_end(&driven, &dangerous, &args.drive, &args.model, &cx.setting_args);
    let status = plan_run::plan_status(&driven);
    match driven.trace.ending {
        // A person who stopped the plan wants no answer from it.
        PlanEnding::Stopped | PlanEnding::Aborted => return Ok(status),
        PlanEnding::Finished
        | PlanEnding::Halted { .. }
        | PlanEnding::InDoubt
        | PlanEnding::Deadlock { .. } => {}
    }
    let answered = answer_request(&model, &request, &driven, &cx.setting_args).await;
    match (status, answered) {
        (_, Ok(())) => Ok(status),
        (CommandStatus::Done, Err(err)) => Err(err),
        // The status of the plan matters more than the missing answer.
        (status, Err(err)) => Err(CommandError { status, ..err }),
    }
}

fn has_person(args: &DriveArgs) -> bool {
    !args.headless && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Writes a plan into a new file beside other saved plans, and returns the name of the file.
fn save(text: &str, directory: &Path) -> io::Result<String> {
    let numbered = (2..=KEPT_PLANS_MAX).map(|number| format!("plan-{number}.json"));
    for name in iter::once("plan.json".to_owned()).chain(numbered) {
        match File::create_new(directory.join(&name)) {
            Ok(mut file) => return writeln!(file, "{text}").map(|()| name),
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(err),
        }
    }
    Err(io::Error::other(format!("there are {KEPT_PLANS_MAX} plans here already")))
}

/// Lets the model answer from the result of the plan. If there is no answer, prints the output of the plan instead.
async fn answer_request(
    model: &ProviderModel,
    request: &str,
    driven: &PlanRunResult,
    settings: &SettingArgs,
) -> Result<(), CommandError> {
    output::print_note(format_args!("asking {} for the answer", model.name()));
    let trace = driven.trace.to_json().to_string();
    // Since the plan ran, haft receives the signals itself, so they do not end the process.
    let stop = signals::stop_token()?;
    let answered = tokio::select! {
        answered = synthesise(model, request, &trace) => answered,
        () = stop.cancelled() => Err(SynthesisError::Model(haft_model::ModelError::Cancelled)),
    };
    match answered {
        Ok(answer) => {
            let is_cut = answer.stop == ModelStopReason::Length;
            if settings.json {
                return output::write_json(&json!({
                    "event": "answered",
                    "run": driven.run,
                    "model": model.name(),
                    "text": answer.text,
                    "is_cut": is_cut,
                    "usage": answer.usage,
                }));
            }
            output::write_data(&answer.text)?;
            if is_cut {
                output::print_warning(
                    "the answer reached the model's greatest length and is cut",
                    None,
                );
            }
            output::print_aside(usage_summary(answer.usage));
            Ok(())
        }
        Err(err) => {
            if !settings.json {
                plan_run::print_output(driven, settings)?;
            }
            let err = match err {
                SynthesisError::Model(err) => {
                    let err = CommandError::from(err);
                    let message = format!(
                        "the plan was run, but its outcome was not put into words: {}",
                        err.message
                    );
                    CommandError { message, ..err }
                }
                err => CommandError::model(err),
            };
            Err(err.hint(format!("haft runs show {}", driven.run)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_kept_beside_one_another_up_to_a_number() {
        let directory = tempfile::tempdir().unwrap();
        let names: Vec<String> =
            (0..KEPT_PLANS_MAX).map(|_| save("{}", directory.path()).unwrap()).collect();
        assert_eq!(names.first().map(String::as_str), Some("plan.json"));
        assert_eq!(names.get(1).map(String::as_str), Some("plan-2.json"));
        let err = save("{}", directory.path()).unwrap_err();
        assert_eq!(err.to_string(), "there are 99 plans here already");
    }
}
