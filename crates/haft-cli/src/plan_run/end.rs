//! How a plan ended: the exit status, what is said of it, and what to type next. Nodes were told of while they ran.

use haft_contract::{Envelope, ErrorCode, Metadata};
use haft_plan::drive::{Driven, Ending};
use haft_plan::{NodeError, NodeStatus, TracedNode};
use serde_json::json;

use super::DriveArgs;
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::time::in_words;
use crate::{hint, output, quote};

/// Returns the exit status of a command whose whole work was a plan.
///
/// A plan that may have done something is in doubt, whatever else happened. Nodes that the plan lets fail are no failure
/// as long as there is an output.
pub(crate) fn status(driven: &Driven) -> Status {
    if !driven.doubts.is_empty() {
        return Status::InDoubt;
    }
    if driven.trace.ending == Ending::Finished && driven.trace.final_output().is_some() {
        return Status::Done;
    }
    match culprit(driven).and_then(|node| node.error.as_ref()) {
        Some(error) if Status::of_code(error.code) == Status::Refused => Status::Refused,
        _ => Status::Failed,
    }
}

/// Prints the output of a plan that came to it, or with JSON all that became of the plan.
pub(crate) fn tell_output(driven: &Driven, setting_args: &SettingArgs) -> Result<(), CommandError> {
    if setting_args.json {
        return output::json(&json!({
            "event": "result",
            "run": driven.run,
            "trace": driven.trace.to_json(),
            "doubts": driven.doubts,
            "timings": driven.timings,
        }));
    }
    // A plan that was stopped or halted did not come to its end, whatever its last node said.
    match driven.trace.final_output().filter(|_| status(driven) == Status::Done) {
        Some(data) => {
            let (data, metadata) = (data.clone(), Metadata::default());
            output::data(&Envelope::Output { data, metadata }.text())
        }
        None => Ok(()),
    }
}

/// Says how a plan ended, and where it did not succeed what to do next.
pub(crate) fn tell_end(driven: &Driven, args: &DriveArgs, setting_args: &SettingArgs) {
    let status = status(driven);
    let counts = counts(driven);
    if status == Status::Done {
        let took = in_words(driven.timings.duration_ms);
        output::note(format_args!("run {} finished in {took}: {counts}", driven.run));
        return;
    }
    let mut message = format!("run {} {}; {counts}", driven.run, ending(driven));
    if let Some(node) = culprit(driven)
        && let Some(NodeError { code, text }) = &node.error
    {
        message.push_str(&format!("\n  node {}: {}: {code}: {text}", node.id, node.tool));
    }
    for doubt in &driven.doubts {
        message.push_str(&format!("\n  node {}: {}", doubt.node, doubt.text));
    }
    let next = match next(driven, status) {
        Next::Look => format!("haft runs show {}", driven.run),
        Next::Resume { with } => resume(driven, with.as_deref(), args, setting_args),
        Next::RetryFailed => {
            format!("{} --retry-failed", resume(driven, None, args, setting_args))
        }
    };
    let hint = hint::in_same_journal(&next, setting_args);
    output::error(&message, Some(&hint));
}

/// Returns the node because of which the plan has no output, or was halted.
fn culprit(driven: &Driven) -> Option<&TracedNode> {
    let nodes = &driven.trace.nodes;
    let id = match &driven.trace.ending {
        Ending::Halted { by } => *by,
        Ending::Finished => {
            let last = driven.trace.final_output_node;
            nodes.get(last.index())?.because_of.unwrap_or(last)
        }
        Ending::InDoubt | Ending::Stopped | Ending::Aborted | Ending::Deadlock { .. } => {
            return None;
        }
    };
    nodes.get(id.index())
}

fn counts(driven: &Driven) -> String {
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
        match count(status) {
            0 => {}
            count => text.push_str(&format!(", {count} {words}")),
        }
    }
    text
}

fn ending(driven: &Driven) -> String {
    match &driven.trace.ending {
        Ending::Finished => "finished without an output".to_owned(),
        Ending::Halted { by } => format!("was halted, because node {by} failed"),
        Ending::InDoubt => "stopped, because a call is in doubt".to_owned(),
        Ending::Stopped => "was stopped".to_owned(),
        Ending::Aborted => "was stopped, and what ran was cancelled".to_owned(),
        ending @ Ending::Deadlock { .. } => format!("came to a {ending}"),
    }
}

/// What somebody does next.
enum Next {
    /// Looks at what became of the calls.
    Look,
    /// Goes on, with the options that allow what was refused.
    Resume { with: Option<String> },
    /// Goes on with what failed, once the cause of that is mended.
    RetryFailed,
}

fn next(driven: &Driven, status: Status) -> Next {
    match (&driven.trace.ending, status) {
        (_, Status::InDoubt) => Next::Look,
        (Ending::Stopped | Ending::Aborted, _) => Next::Resume { with: None },
        (_, Status::Refused) => match culprit(driven) {
            Some(node) => match node.error.as_ref().filter(|error| is_of_permission(error)) {
                Some(error) => {
                    let tool = || format!("--allow {}", quote::shell(node.tool.as_str()));
                    Next::Resume {
                        with: Some(hint::host_options(&error.text).unwrap_or_else(tool)),
                    }
                }
                None => Next::Look,
            },
            None => Next::Look,
        },
        (_, Status::Failed) if culprit(driven).is_some_and(was_called) => Next::RetryFailed,
        _ => Next::Look,
    }
}

/// Returns whether a node failed in a call of its tool, so that another may fare better.
fn was_called(node: &TracedNode) -> bool {
    let code = node.error.as_ref().map(|error| error.code);
    code.is_some_and(|code| Status::of_code(code) == Status::Failed)
}

/// What a rule of the manifest decides no flag overturns, and then none is proposed; and who has just rejected a call
/// wants no way around it.
fn is_of_permission(error: &NodeError) -> bool {
    let NodeError { code, text } = error;
    *code == ErrorCode::PermissionDenied
        && text.contains("--allow")
        && !text.contains("the user rejected")
}

/// Returns the command that goes on with a run: what was allowed is not kept with it, so it is named again.
fn resume(
    driven: &Driven,
    with: Option<&str>,
    args: &DriveArgs,
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
    if let Some(with) = with {
        command.push_str(&format!(" {with}"));
    }
    if args.allow_dangerous {
        command.push_str(" --allow-dangerous");
    }
    command
}
