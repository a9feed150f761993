//! One call in full, as `haft runs show` prints it. The record alone is the source, except for later undos of the call.

use haft_contract::{CallAddress, Envelope};
use haft_journal::{CallQuery, CallRow, Journal, RunQuery};
use serde::Serialize;
use serde_json::Value;

use super::addressed::{AddressedCall, AddressedLateOutcome, AddressedSnapshot};
use super::{in_doubt, run_session, text};
use crate::arguments::hint;
use crate::arguments::latest::unknown_run_error;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::time::duration_in_words;
use haft_app::calendar::rfc3339;
use haft_app::records::{self, UndoReference, is_holder_dead};

/// The JSON form of a call.
#[derive(Serialize)]
struct CallDetailsReport<'a> {
    #[serde(flatten)]
    call: AddressedCall<'a>,
    /// Whether a person has to settle it.
    in_doubt: bool,
    late_outcomes: Vec<AddressedLateOutcome<'a>>,
    snapshots: Vec<AddressedSnapshot<'a>>,
    undone: &'a [UndoReference],
}

/// Shows a call.
pub(super) async fn show(
    id: &CallAddress,
    journal: &dyn Journal,
    settings: &SettingArgs,
) -> CommandResult {
    let name = id.scope.run.as_str();
    let query = RunQuery { run: Some(id.scope.run.clone()), ..RunQuery::default() };
    let run = journal.runs(query).await?.pop().ok_or_else(|| unknown_run_error(name))?;
    let call = journal.calls(CallQuery::of_call(id.clone())).await?.pop();
    let call = call.ok_or_else(|| {
        let run = &id.scope.run;
        let command = hint::with_journal_options(&format!("haft runs show {run}"), settings);
        CommandError::usage(format!("run {run} has no call {id}"))
            .kind(CommandErrorKind::UnknownCall)
            .hint(command)
    })?;
    let mut late_outcomes = journal.late_outcomes(&id.scope.run).await?;
    late_outcomes.retain(|late| late.call == *id);
    let session = records::find_run_session(journal, &id.scope.run).await?;
    let mut undone = records::find_undo_references(journal, &run, session.as_ref()).await?;
    undone.retain(|undone| undone.covers_call(&id.to_string()));
    let snapshots = journal.snapshots(&id.scope.run, Some(id)).await?;
    let is_in_doubt = records::is_in_doubt(&call, is_holder_dead(&run));
    if settings.json {
        let late = late_outcomes.iter().map(AddressedLateOutcome::try_from);
        output::write_json(&CallDetailsReport {
            call: AddressedCall::from(&call),
            in_doubt: is_in_doubt,
            late_outcomes: late.collect::<Result<_, _>>()?,
            snapshots: snapshots.iter().map(AddressedSnapshot::from).collect(),
            undone: &undone,
        })?;
        return Ok(CommandStatus::Done);
    }
    let mut status = text::status_in_run(&call, &run);
    if is_in_doubt && !status.ends_with("in doubt") {
        status.push_str("; in doubt");
    }
    let mut lines = vec![
        ("call", call.id().to_string()),
        ("tool", haft_contract::escape_controls(&call.tool)),
        ("effect", call.effect.as_str().to_owned()),
        ("status", status),
        ("started", rfc3339(call.started_at_ms)),
    ];
    if let Some(finished) = call.finished_at_ms {
        let took = duration_in_words(finished.saturating_sub(call.started_at_ms));
        lines.push(("finished", format!("{}, in {took}", rfc3339(finished))));
    }
    lines.push(("epoch", call.fencing_token.to_string()));
    lines.push(("key", call.call_key.clone()));
    lines.extend(call.idempotency_key().map(|key| ("idempotency key", key)));
    if call.first_key != call.call_key {
        lines.push(("first key", call.first_key.clone()));
    }
    if let Some(id) = &call.driver_call_id {
        lines.push(("driver", haft_contract::escape_controls(id)));
    }
    let lines = lines.into_iter().map(|(label, text)| line(label, &text));
    let mut text: String = lines.collect();
    for late in &late_outcomes {
        let when = rfc3339(late.finished_at_ms);
        text.push_str(&line(
            "late",
            &format!("{} at {when}, epoch {}; it does not count", late.status, late.fencing_token),
        ));
    }
    for noted in &snapshots {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "none".to_owned());
        let (before, after) = (side(&noted.before), side(&noted.after));
        let note = noted.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
        let snapshot = format!("{}: {before} before, {after} after{note}", noted.root);
        text.push_str(&line("snapshot", &haft_contract::escape_controls(&snapshot)));
    }
    undone.iter().for_each(|undone| text.push_str(&line("undone", &text::undone(undone))));
    text.push_str(&part("input", &pretty(&call.input)));
    if call.accesses != "[]" {
        // One item a line. A text that is not a JSON list stays as it is.
        let items: Option<Vec<Value>> = serde_json::from_str(&call.accesses).ok();
        let lines = |items: Vec<Value>| items.iter().map(|item| format!("{item}\n")).collect();
        text.push_str(&part("accesses", &items.map_or(call.accesses.clone(), lines)));
    }
    text.extend(call.details.as_deref().map(|details| part("details", &pretty(details))));
    text.push_str(&answer(&call));
    if is_in_doubt {
        let going_on = run_session::resume_note(&run, session.as_ref(), settings);
        text.push_str(&in_doubt::doubts_text(&[call], going_on, settings));
    }
    output::write_data(&text)?;
    Ok(CommandStatus::Done)
}

fn line(label: &str, text: &str) -> String {
    format!("{label:<9} {text}\n")
}

/// Returns a part under its name, indented so that its text cannot look like another part.
fn part(name: &str, text: &str) -> String {
    let lines: String = haft_contract::escape_controls(text.trim_end())
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!("\n{name}:\n{lines}")
}

fn answer(call: &CallRow) -> String {
    let envelope = match (call.parsed_envelope(), &call.envelope) {
        (Ok(Some(envelope)), _) => envelope,
        (Ok(None), _) => return String::new(),
        (Err(_), written) => return part("answer", written.as_deref().unwrap_or_default()),
    };
    let (name, is_empty) = match &envelope {
        Envelope::Output { .. } => ("answer", envelope.text().is_empty()),
        Envelope::Error { .. } => ("error", false),
    };
    let mut text = if is_empty { part(name, "(nothing)") } else { part(name, &envelope.text()) };
    let mut metadata = envelope.metadata().clone();
    let log = metadata.log.take();
    text.extend(log.map(|log| part("printed", &log)));
    let metadata = serde_json::to_value(&metadata).unwrap_or_default();
    text + &part("metadata", &pretty(&metadata.to_string()))
}

/// Returns JSON with line breaks. A text that is not JSON stays as it is.
fn pretty(json: &str) -> String {
    let value: Option<Value> = serde_json::from_str(json).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(json.to_owned())
}
