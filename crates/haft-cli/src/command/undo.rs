//! `haft undo`: brings back what was there before calls changed it. The undoing is a call itself, in a run of its own and
//! through the same pipeline as every other, so that it is journaled and can be undone in turn. No rules are asked: whoever
//! types this owns the workspace.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use haft::{
    Call, Clock as _, HistoryError, Limits, OnRepeat, Registry, RootChanges, Roots, Runtime,
    RuntimeParts, Sandbox, Selection, SessionOptions, SystemClock, WorkspaceSnapshots,
};
use haft_contract::{
    Effect, Envelope, ErrorCode, RequirementSet, RunId, Tool, ToolError, Variables,
};
use haft_journal::Journal;
use haft_policy::{Action, NetworkGuard, Rule, RuleScope};
use haft_sandbox::Launcher;
use haft_snapshot::{LeftAloneReason, Overwrite, RestoreError, Restored};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::diff::headline;
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::settings::{self, Settings};
use crate::state::State;
use crate::{call_name, compose, id, output, owner};

/// Bring back what was there before a call, or a whole run, changed it
///
/// All paths that were changed are brought back, or none: what was changed since by something else is in the way, and
/// listed. What the call did elsewhere than in the workspace stays done. An undo is recorded as a call of its own, which
/// can be undone as well.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft undo nightly/main/0/1/3        Undo one call
  haft undo --to nightly/main/0/1/3   Undo every later call of its run
  haft undo nightly                   Undo a whole run
  haft undo --dry-run nightly         Show what would be brought back")]
pub(crate) struct UndoArgs {
    /// The call, run/node/iteration/attempt/seq as haft runs show spells it, or a run
    #[arg(value_name = "CALL|RUN", required_unless_present = "to", conflicts_with = "to")]
    target: Option<String>,
    /// Undo what the run did after this call
    #[arg(long, value_name = "CALL")]
    to: Option<String>,
    /// Undo also where something else changed the same paths since, which is lost
    #[arg(long)]
    force: bool,
    /// Show what would be brought back, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The input of the call that undoes.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What is undone.
    #[expect(dead_code, reason = "it is for whoever reads the journal")]
    of: String,
    /// Whether what others changed since is overwritten.
    force: bool,
}

/// Runs the command.
pub(crate) async fn run(
    args: UndoArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let of = match (&args.to, &args.target) {
        (Some(to), _) => Selection::After(call_name::parse(to)?),
        (None, Some(target)) => selection(target)?,
        (None, None) => return Err(CommandError::usage("name the call or the run to undo")),
    };
    let roots = changes(&of, setting_args, state).await?;
    tell_remarks(&roots);
    let overwrite = if args.force { Overwrite::Force } else { Overwrite::Refuse };
    let rehearsed = rehearse(&roots, overwrite)?;
    if args.dry_run || roots.iter().all(|root| root.paths().is_empty()) {
        return show(&roots, &rehearsed, None, setting_args.json);
    }
    let settings = settings::resolve(setting_args, state)?;
    let journal = settings.durability.journal.open().await?;
    let roots = Arc::new(roots);
    let runtime = runtime(Arc::clone(&roots), journal, &settings, state)?;
    let session = SessionOptions::headless(id::new("session", SystemClock.now_ms())?, "cli");
    let run = runtime.session(session)?.run(compose::new_run()?);
    let input = json!({"of": shown(&of), "force": args.force});
    let envelope = run.call(Call::new("undo", input)).await;
    runtime.shut_down().await;
    let envelope = envelope?;
    match &envelope {
        Envelope::Output { .. } => show(&roots, &rehearsed, Some(&envelope), setting_args.json),
        Envelope::Error { error_text, .. } => {
            output::error(error_text, None);
            Ok(Status::of_envelope(&envelope))
        }
    }
}

/// Returns the calls that a name on the command line stands for.
pub(super) fn selection(target: &str) -> Result<Selection, CommandError> {
    if target.contains('/') {
        return Ok(Selection::Call(call_name::parse(target)?));
    }
    Ok(Selection::Run(RunId::parse(target).map_err(CommandError::usage)?))
}

fn shown(of: &Selection) -> String {
    match of {
        Selection::Call(call) => call.to_string(),
        Selection::After(call) => format!("after {call}"),
        Selection::Run(run) => run.to_string(),
    }
}

/// Returns what the calls changed, according to the journal that the settings name.
pub(super) async fn changes(
    of: &Selection,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Vec<RootChanges>, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let place = &settings.durability.journal;
    let none = || CommandError::usage("nothing was recorded yet").hint("haft runs list");
    let journal = place.open_to_read().await?.ok_or_else(none)?;
    let history = compose::snapshots::history(&journal, place, settings.snapshots.as_ref(), state);
    history.changes(of).await.map_err(|err| match err {
        HistoryError::UnknownCall(_) => {
            let run = shown(of);
            let run = run.split('/').next().unwrap_or_default();
            CommandError::usage(err).hint(format!("haft runs show {run}"))
        }
        HistoryError::UnknownRun(_) => CommandError::usage(err).hint("haft runs list"),
        err => CommandError::failed(err),
    })
}

/// Says what is not certain of what will be shown or done.
pub(super) fn tell_remarks(roots: &[RootChanges]) {
    for root in roots {
        for (call, remark) in &root.remarks {
            output::note(output::visible(&format!("call {call}: {remark}")));
        }
        if root.ends_now {
            output::note("it is compared with what is there now, whoever changed that");
        }
    }
}

/// Finds out what undoing would do, and refuses if it cannot be done in every root.
fn rehearse(roots: &[RootChanges], overwrite: Overwrite) -> Result<Vec<Restored>, CommandError> {
    let again = "haft undo --force, which overwrites what was changed since";
    if overwrite == Overwrite::Refuse && roots.iter().any(|root| root.ends_now) {
        let message = "nobody saw how the last of these calls ended, so everything that changed since it began would \
                       be undone; look at it with haft diff";
        return Err(CommandError::failed(message).hint(again));
    }
    let (mut rehearsed, mut conflicts) = (Vec::new(), Vec::new());
    for root in roots {
        match root.rehearse(overwrite) {
            Ok(restored) => rehearsed.push(restored),
            Err(RestoreError::Conflicts { conflicts: found }) => {
                conflicts.extend(found.iter().map(|conflict| format!("  {conflict}")));
            }
            Err(err) => return Err(CommandError::failed(err)),
        }
    }
    if conflicts.is_empty() {
        return Ok(rehearsed);
    }
    let message = format!("nothing was undone, because of these paths:\n{}", conflicts.join("\n"));
    let err = CommandError::failed(message);
    Err(if overwrite == Overwrite::Refuse { err.hint(again) } else { err })
}

/// Puts a runtime together whose only tool undoes just this.
fn runtime(
    changes: Arc<Vec<RootChanges>>,
    journal: Arc<dyn Journal>,
    settings: &Settings,
    state: &State,
) -> Result<Runtime, CommandError> {
    let paths: Vec<PathBuf> = changes.iter().map(|root| root.root().to_path_buf()).collect();
    let (first, others) = paths.split_first().ok_or_else(|| {
        CommandError::failed("nothing was recorded of these calls that could be undone")
    })?;
    let roots = Roots::open(first, others)?;
    let directory = compose::snapshots::directory(&settings.durability.journal, state);
    let options = haft_snapshot::Options::default();
    let clock = Arc::new(SystemClock);
    let snapshots =
        WorkspaceSnapshots::new(&directory, &roots, Arc::clone(&journal), clock.clone(), &options)
            .including(changes.iter().flat_map(RootChanges::paths).collect());
    let parts = RuntimeParts {
        registry: Registry::new([tool(changes)])?,
        variables: Variables { workspace: roots.paths(), ..Variables::default() },
        roots,
        journal,
        requires: RequirementSet::default(),
        rules: vec![(RuleScope::Manifest, Rule::new("undo", "*", Action::Allow))],
        limits: Limits::default(),
        allow_network: false,
        network_guard: NetworkGuard::default(),
        project_rules: None,
        watchdogs: Vec::new(),
        launcher: Launcher::new(compose::helper()?),
        sandbox: Sandbox::system(),
        environment: Vec::new(),
        sidecars: state.sessions(),
        clock,
        owner: owner::this_process(SystemClock.now_ms())?,
        is_gone: Arc::new(owner::find_out),
        snapshots: Some(Arc::new(snapshots)),
        on_repeat: OnRepeat::default(),
        settings: "{}".to_owned(),
    };
    Ok(Runtime::new(parts)?)
}

fn tool(changes: Arc<Vec<RootChanges>>) -> Tool {
    Tool::new("undo")
        .description("Bring back what was there before calls changed it")
        .effect(Effect::Once)
        .dangerous()
        .execute_blocking(move |input: Input, _cx| {
            let overwrite = if input.force { Overwrite::Force } else { Overwrite::Refuse };
            let undone: Result<Vec<Value>, ToolError> = changes
                .iter()
                .map(|root| root.undo(overwrite).map(|restored| as_json(root, &restored)))
                .map(|undone| undone.map_err(|err| failed(&err)))
                .collect();
            undone.map(Value::from)
        })
}

fn failed(err: &RestoreError) -> ToolError {
    let mut message = err.to_string();
    if let RestoreError::Conflicts { conflicts } = err {
        let conflicts: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
        message = format!("nothing was undone, because of these paths: {}", conflicts.join("; "));
    }
    ToolError::new(ErrorCode::ToolFailed, message)
}

fn as_json(root: &RootChanges, restored: &Restored) -> Value {
    let left = restored
        .left_alone
        .iter()
        .map(|left| json!({"path": left.path.to_string_lossy(), "reason": reason(left.reason)}));
    let weakened: Vec<_> =
        restored.weakened.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    json!({
        "root": root.root().to_string_lossy(),
        "written": restored.written,
        "made": restored.made,
        "removed": restored.removed,
        "modes": restored.modes,
        "already": restored.already,
        "left_alone": left.collect::<Vec<_>>(),
        "weakened": weakened,
    })
}

fn reason(reason: LeftAloneReason) -> String {
    match reason {
        LeftAloneReason::NotRecorded(reason) => format!("it was not recorded: {reason}"),
        LeftAloneReason::NotEmpty => "something that is not to be removed is in it".to_owned(),
        _ => "it cannot be brought back".to_owned(),
    }
}

/// Tells what was done, or would be if `undone` is not given.
fn show(
    roots: &[RootChanges],
    rehearsed: &[Restored],
    undone: Option<&Envelope>,
    json: bool,
) -> Result<Status, CommandError> {
    let call = undone.and_then(|envelope| envelope.metadata().call_id.clone());
    if json {
        let planned: Vec<Value> =
            roots.iter().zip(rehearsed).map(|(root, restored)| as_json(root, restored)).collect();
        let done = match undone {
            Some(Envelope::Output { data, .. }) => data.clone(),
            Some(Envelope::Error { .. }) | None => Value::from(planned),
        };
        output::json(&json!({"call": call, "dry_run": undone.is_none(), "roots": done}))?;
        return Ok(Status::Done);
    }
    for (root, restored) in roots.iter().zip(rehearsed) {
        for change in root.changes() {
            output::data(&output::visible(&format!("undo {}", headline(&change))))?;
        }
        for left in &restored.left_alone {
            let path = left.path.display();
            output::note(output::visible(&format!("{path} stays: {}", reason(left.reason))));
        }
        for path in &restored.weakened {
            let path = output::visible(&path.to_string_lossy());
            output::note(format_args!("{path} does not run as its owner any more"));
        }
    }
    match call {
        Some(call) => {
            output::note(format_args!("undone by call {call}; to take that back: haft undo {call}"))
        }
        None if roots.iter().all(|root| root.paths().is_empty()) => {
            output::note("nothing was changed, so there is nothing to undo");
        }
        None => output::note("nothing was changed: this was a rehearsal"),
    }
    Ok(Status::Done)
}
