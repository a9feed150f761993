//! The end of a plan: the exit status, the summary and the next command. The nodes were reported while they ran.

use haft_contract::{Envelope, EnvelopeMetadata, ErrorCode, Remedy, ToolId};
use haft_plan::drive::{PlanEnding, PlanRunResult};
use haft_plan::{NodeError, NodeStatus, TracedNode};
use serde_json::json;

use super::{DriveArgs, is_name_of};
use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::model::ModelArgs;
use crate::views::output;
use crate::views::remedy;
use crate::views::time::duration_in_words;
use haft_app::quote;

/// Returns the exit status of a command whose whole work was a plan.
///
/// A plan that may have done something is in doubt, whatever else happened. Nodes that the plan lets fail are no failure
/// as long as there is an output.
pub(crate) fn plan_status(driven: &PlanRunResult) -> CommandStatus {
    if !driven.doubts.is_empty() {
        return CommandStatus::InDoubt;
    }
    if driven.trace.ending == PlanEnding::Finished && driven.trace.final_output().is_some() {
        return CommandStatus::Done;
    }
    match failed_node(driven).and_then(|node| node.error.as_ref()) {
        Some(error) if CommandStatus::of_code(error.code) == CommandStatus::Refused => {
            CommandStatus::Refused
        }
        _ => CommandStatus::Failed,
    }
}

/// Prints the output of a plan that succeeded, or with JSON the whole result of the plan.
pub(crate) fn print_output(
    driven: &PlanRunResult,
    setting_args: &SettingArgs,
) -> Result<(), CommandError> {
    if setting_args.json {
        return output::write_json(&json!({
            "event": "result",
            "run": driven.run,
            "trace": driven.trace.to_json(),
            "doubts": driven.doubts,
            "timings": driven.timings,
        }));
    }
    // A plan that was stopped or halted did not come to its end, whatever its last node said.
    if let Some(data) = driven.trace.final_output()
        && plan_status(driven) == CommandStatus::Done
    {
        let (data, metadata) = (data.clone(), EnvelopeMetadata::default());
        output::write_data(&Envelope::Output { data, metadata }.text())?;
    }
    Ok(())
}

/// Prints how a plan ended. If it did not succeed, prints the next command too. `dangerous` are the dangerous tools that the
/// plan calls.
pub(crate) fn print_end(
    driven: &PlanRunResult,
    dangerous: &[ToolId],
    args: &DriveArgs,
    model: &ModelArgs,
    setting_args: &SettingArgs,
) {
    let status = plan_status(driven);
    let counts = counts(driven);
    if status == CommandStatus::Done {
        let took = duration_in_words(driven.timings.duration_ms);
        output::print_note(format_args!("run {} finished in {took}: {counts}", driven.run));
        return;
    }
    let ending = match &driven.trace.ending {
        PlanEnding::Finished => "finished without an output".to_owned(),
        PlanEnding::Halted { by } => format!("was halted, because node {by} failed"),
        PlanEnding::InDoubt => "stopped, because a call is in doubt".to_owned(),
        PlanEnding::Stopped => "was stopped".to_owned(),
        PlanEnding::Aborted => "was stopped, and what ran was cancelled".to_owned(),
        ending @ PlanEnding::Deadlock { .. } => format!("came to a {ending}"),
    };
    let mut message = format!("run {} {ending}; {counts}", driven.run);
    if let Some(node) = failed_node(driven)
        && let Some(NodeError { code, text, refusal }) = &node.error
    {
        let text = remedy::text_with_advice(text, refusal.as_deref());
        message.push_str(&format!("\n  node {}: {}: {code}: {text}", node.id, node.tool));
    }
    for doubt in &driven.doubts {
        let text = remedy::text_with_advice(&doubt.text, doubt.refusal.as_deref());
        message.push_str(&format!("\n  node {}: {text}", doubt.node));
    }
    let show = format!("haft runs show {}", driven.run);
    let error = failed_node(driven).and_then(|node| node.error.as_ref());
    let next = match (&driven.trace.ending, status) {
        (_, CommandStatus::InDoubt) => show,
        (PlanEnding::Stopped | PlanEnding::Aborted, _) => {
            resume_command(driven, None, args, model, setting_args)
        }
        (_, CommandStatus::Refused) => {
            let denied = error.filter(|error| error.code == ErrorCode::PermissionDenied);
            let refusal = denied.and_then(|error| error.refusal.as_deref());
            let advice = refusal.map(remedy::terminal_advice).unwrap_or_default();
            match (advice.options, advice.command) {
                (Some(mut options), _) => {
                    // The next refusal would be about another tool, so the command names all that are left.
                    let named = refusal.map_or(&[][..], |refusal| refusal.remedies.as_slice());
                    for tool in tools_to_name(driven, dangerous, setting_args, named) {
                        options.push_str(&format!(" --allow {tool}"));
                    }
                    resume_command(driven, Some(&options), args, model, setting_args)
                }
                (None, Some(command)) => command,
                (None, None) => show,
            }
        }
        // The tool itself failed, so another call may succeed.
        (_, CommandStatus::Failed)
            if error.is_some_and(|error| {
                CommandStatus::of_code(error.code) == CommandStatus::Failed
            }) =>
        {
            format!("{} --retry-failed", resume_command(driven, None, args, model, setting_args))
        }
        _ => show,
    };
    let hint = hint::with_journal_options(&next, setting_args);
    output::print_error(&message, Some(&hint));
}

/// Returns the dangerous tools of nodes that did not succeed, without those that the user named and those of remedies.
fn tools_to_name<'a>(
    driven: &PlanRunResult,
    dangerous: &'a [ToolId],
    setting_args: &SettingArgs,
    remedies: &[Remedy],
) -> Vec<&'a ToolId> {
    let is_left = |tool: &ToolId| {
        let mut nodes = driven.trace.nodes.iter();
        nodes.any(|node| node.tool == *tool && node.status != NodeStatus::Succeeded)
    };
    let is_named = |tool: &ToolId| {
        let mut allowed = setting_args.allow.iter();
        allowed.any(|name| is_name_of(name, tool))
            || remedies.contains(&Remedy::AllowTool(tool.clone()))
    };
    dangerous.iter().filter(|tool| is_left(tool) && !is_named(tool)).collect()
}

/// Returns the node because of which the plan has no output, or was halted.
fn failed_node(driven: &PlanRunResult) -> Option<&TracedNode> {
    let nodes = &driven.trace.nodes;
    let id = match &driven.trace.ending {
        PlanEnding::Halted { by } => *by,
        PlanEnding::Finished => {
            let last = driven.trace.final_output_node;
            nodes.get(last.index())?.because_of.unwrap_or(last)
        }
        PlanEnding::InDoubt
        | PlanEnding::Stopped
        | PlanEnding::Aborted
        | PlanEnding::Deadlock { .. } => return None,
    };
    nodes.get(id.index())
}

fn counts(driven: &PlanRunResult) -> String {
    let nodes = &driven.trace.nodes;
    let count = |status: NodeStatus| nodes.iter().filter(|node| node.status == status).count();
    let mut text = format!("{} of {} nodes succeeded", count(NodeStatus::Succeeded), nodes.len());
    for (status, words) in [
        (NodeStatus::Failed, "failed"),
        (NodeStatus::Skipped, "skipped"),
        (NodeStatus::InDoubt, "in doubt"),
        (NodeStatus::Cancelled, "cancelled"),
        (NodeStatus::Pending, "left to do"),
    ] {
        let count = count(status);
        if count > 0 {
            text.push_str(&format!(", {count} {words}"));
        }
    }
    text
}

/// Returns the command that resumes a run, with options. The run does not keep what was allowed, so the command names it
/// again.
fn resume_command(
    driven: &PlanRunResult,
    with: Option<&str>,
    args: &DriveArgs,
    model: &ModelArgs,
    setting_args: &SettingArgs,
) -> String {
    let mut command = format!("haft resume {}", driven.run);
    if let Some(root) = setting_args.root.as_ref().filter(|root| !root.as_os_str().is_empty()) {
        command.push_str(&format!(" --root {}", quote::shell(&root.to_string_lossy())));
    }
    let tools = setting_args.allow.iter().map(|tool| ("--allow", tool));
    let hosts = setting_args.allow_host.iter().map(|host| ("--allow-host", host));
    for (flag, named) in tools.chain(hosts) {
        command.push_str(&format!(" {flag} {}", quote::shell(named)));
    }
    if let Some(model) = model.named_in_command() {
        command.push_str(&format!(" --model {}", quote::shell(&model)));
    }
    if let Some(with) = with {
        command.push_str(&format!(" {with}"));
    }
    if args.allow_dangerous {
        command.push_str(" --allow-dangerous");
    }
    command
}
