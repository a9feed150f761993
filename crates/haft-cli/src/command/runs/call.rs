//! One call as `haft runs show` shows it: everything that was recorded of it. Nothing is left out, and nothing is looked up
//! elsewhere but what was undone of it.

use haft_contract::{CallId, Effect, Envelope};
use haft_journal::{CallQuery, CallRow, Journal, LateOutcome, RunQuery, RunRow, SnapshotNote};
use serde::Serialize;
use serde_json::Value;

use super::named::{NamedCall, NamedOutcome, NamedSnapshot};
use super::session::{self, OfRun};
use super::undone::{self, Undone};
use super::{doubt, text, unknown_run};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Kind, Status};
use crate::time::{in_words, rfc3339};
use crate::{hint, output};

/// All that is known of a call.
struct Found {
    run: RunRow,
    session: Option<OfRun>,
    call: CallRow,
    late_outcomes: Vec<LateOutcome>,
    snapshots: Vec<SnapshotNote>,
    undone: Vec<Undone>,
}

/// What a program is told of a call.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    call: NamedCall<'a>,
    /// Whether somebody has to say what became of it.
    in_doubt: bool,
    late_outcomes: Vec<NamedOutcome<'a>>,
    snapshots: Vec<NamedSnapshot<'a>>,
    undone: &'a [Undone],
}

/// Shows a call.
pub(super) async fn show(
    id: &CallId,
    journal: &dyn Journal,
    settings: &SettingArgs,
) -> Result<Status, CommandError> {
    let name = id.scope.run.as_str();
    let query = RunQuery { run: Some(id.scope.run.clone()), ..RunQuery::default() };
    let run = journal.runs(query).await?.pop().ok_or_else(|| unknown_run(name))?;
    let call = journal.calls(CallQuery::of_call(id.clone())).await?.pop();
    let call = call.ok_or_else(|| unknown_call(id, settings))?;
    let mut late_outcomes = journal.late_outcomes(&id.scope.run).await?;
    late_outcomes.retain(|late| late.call == *id);
    let session = session::find(journal, &id.scope.run).await?;
    let mut undone = undone::find(journal, &run, session.as_ref()).await?;
    undone.retain(|undone| undone.concerns(&id.to_string()));
    let snapshots = journal.snapshots(&id.scope.run, Some(id)).await?;
    let found = Found { run, session, call, late_outcomes, snapshots, undone };
    if settings.json {
        output::json(&told(&found)?)?;
    } else {
        output::data(&words(&found, settings))?;
    }
    Ok(Status::Done)
}

fn unknown_call(id: &CallId, settings: &SettingArgs) -> CommandError {
    let run = &id.scope.run;
    let command = hint::in_same_journal(&format!("haft runs show {run}"), settings);
    CommandError::usage(format!("run {run} has no call {id}")).kind(Kind::UnknownCall).hint(command)
}

fn told(found: &Found) -> Result<Told<'_>, CommandError> {
    let late = found.late_outcomes.iter().map(NamedOutcome::try_from);
    Ok(Told {
        call: NamedCall::from(&found.call),
        in_doubt: doubt::is_in_doubt(&found.call, text::is_left_behind(&found.run)),
        late_outcomes: late.collect::<Result<_, _>>()?,
        snapshots: found.snapshots.iter().map(NamedSnapshot::from).collect(),
        undone: &found.undone,
    })
}

fn words(found: &Found, settings: &SettingArgs) -> String {
    let Found { run, session, call, late_outcomes, snapshots, undone } = found;
    let mut text = head(run, call);
    for late in late_outcomes {
        let when = rfc3339(late.finished_at_ms);
        text.push_str(&line(
            "late",
            &format!("{} at {when}, epoch {}; it does not count", late.status, late.epoch),
        ));
    }
    snapshots.iter().for_each(|noted| text.push_str(&line("snapshot", &snapshot(noted))));
    undone.iter().for_each(|undone| text.push_str(&line("undone", &undone.text())));
    text.push_str(&part("input", &pretty(&call.input)));
    if call.accesses != "[]" {
        text.push_str(&part("accesses", &one_a_line(&call.accesses)));
    }
    text.push_str(
        &call.details.as_deref().map_or(String::new(), |it| part("details", &pretty(it))),
    );
    text.push_str(&answer(call));
    if doubt::is_in_doubt(call, text::is_left_behind(run)) {
        let going_on = session::going_on(run, session.as_ref(), settings);
        text.push_str(&doubt::text(std::slice::from_ref(call), going_on, settings));
    }
    text
}

fn head(run: &RunRow, call: &CallRow) -> String {
    let effect = match call.effect {
        Effect::Read => "read",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    };
    let mut lines = vec![
        ("call", call.id().to_string()),
        ("tool", output::visible(&call.tool)),
        ("effect", effect.to_owned()),
        ("status", status(call, run)),
        ("started", rfc3339(call.started_at_ms)),
    ];
    if let Some(finished) = call.finished_at_ms {
        let took = in_words(finished.saturating_sub(call.started_at_ms));
        lines.push(("finished", format!("{}, in {took}", rfc3339(finished))));
    }
    lines.push(("epoch", call.epoch.to_string()));
    lines.push(("key", call.call_key.clone()));
    if call.first_key != call.call_key {
        lines.push(("first key", call.first_key.clone()));
    }
    if let Some(id) = &call.driver_call_id {
        lines.push(("driver", output::visible(id)));
    }
    lines.into_iter().map(|(label, text)| line(label, &text)).collect()
}

fn status(call: &CallRow, run: &RunRow) -> String {
    let status = text::status_in(call, run);
    let is_told = status.ends_with("in doubt");
    match doubt::is_in_doubt(call, text::is_left_behind(run)) && !is_told {
        true => format!("{status}; in doubt"),
        false => status,
    }
}

fn line(label: &str, text: &str) -> String {
    format!("{label:<10}{text}\n")
}

/// Returns a part of its own under its name, set in so that it cannot be taken for another part.
fn part(name: &str, text: &str) -> String {
    let lines: String =
        output::visible(text.trim_end()).lines().map(|line| format!("  {line}\n")).collect();
    format!("\n{name}:\n{lines}")
}

fn snapshot(noted: &SnapshotNote) -> String {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "none".to_owned());
    let mut text =
        format!("{}: {} before, {} after", noted.root, side(&noted.before), side(&noted.after));
    if let Some(note) = &noted.note {
        text.push_str(&format!("; {note}"));
    }
    output::visible(&text)
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
    text.push_str(&log.map_or(String::new(), |log| part("printed", &log)));
    let metadata = serde_json::to_value(&metadata).unwrap_or_default();
    text + &part("metadata", &pretty(&metadata.to_string()))
}

/// Returns a JSON list with one item a line; what is none stays as it is.
fn one_a_line(json: &str) -> String {
    let items: Option<Vec<Value>> = serde_json::from_str(json).ok();
    let lines = |items: Vec<Value>| items.iter().map(|item| format!("{item}\n")).collect();
    items.map_or(json.to_owned(), lines)
}

/// Returns JSON as people read it; what is none stays as it is.
fn pretty(json: &str) -> String {
    let value: Option<Value> = serde_json::from_str(json).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(json.to_owned())
}
