//! One call: what it was given, what it answered, how it was confined, and what became of it.

use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use futures_util::stream;
use haft_app::calendar::rfc3339;
use haft_app::records::{
    UNDO_TOOL, find_run_session, find_undo_references, input_summary, is_holder_dead, is_in_doubt,
};
use haft_contract::{ConfinementLevel, EnforcedConfinement, Envelope, EnvelopeMetadata, Remedy};
use haft_journal::{CallQuery, CallRow, Journal};

use super::call_line::{status, waits_text};
use super::call_text::{CallText, TextPiece};
use super::run::call_name;
use super::runs::last_change;
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_call, run_url};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::{duration, on_one_line, pretty, shown, url_part};

/// Bytes of a saved text that are sent at once.
const SENT_BYTES: usize = 256 * 1024;

#[derive(Template)]
#[template(path = "call.html")]
struct CallPage {
    sections: Sections,
    last_change: u64,
    name: String,
    url: String,
    run: String,
    run_url: String,
    tool: String,
    /// The input on one line.
    summary: String,
    effect: &'static str,
    status: &'static str,
    style: &'static str,
    is_open: bool,
    is_in_doubt: bool,
    began: String,
    /// When it ended, and after how long.
    ended: Option<(String, String)>,
    /// Further facts with their names.
    facts: Vec<(&'static str, String)>,
    /// The facts of the envelope that a person should know first.
    remarks: Vec<String>,
    refusal: Option<RefusalText>,
    input: TextPiece,
    answer: Option<TextPiece>,
    is_error: bool,
    printed: Option<TextPiece>,
    rest: Option<TextPiece>,
    accesses: Vec<String>,
    enforced: Vec<(&'static str, &'static str, &'static str)>,
    connections: Vec<(String, &'static str, String)>,
    details: String,
    metadata: String,
    has_changes: bool,
    keys: Vec<(&'static str, String)>,
}

/// Why a call was refused, and what would help.
struct RefusalText {
    code: String,
    because: String,
    remedies: Vec<RemedyText>,
}

/// One change that would lift a refusal.
struct RemedyText {
    text: String,
    /// The page that makes the change, if one does.
    url: Option<String>,
}

/// Shows a call.
pub(crate) async fn show(
    source: &Arc<Source>,
    parts: &[String],
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let call = find_call(&*journal, parts).await?;
    let run = find_run(&*journal, &call.scope.run).await?;
    let last_change = last_change(&*journal).await?;
    let owner_is_gone = is_holder_dead(&run);
    let session = find_run_session(&*journal, &run.id).await?;
    let mut undone = find_undo_references(&*journal, &run, session.as_ref()).await?;
    undone.retain(|undone| undone.covers_call(&call.id().to_string()));
    let snapshots = journal.snapshots(&run.id, Some(&call.id())).await?;
    let (status, style) = status(&call, owner_is_gone);
    let envelope = call.parsed_envelope().ok().flatten();
    let metadata = envelope.as_ref().map(Envelope::metadata);
    let mut remarks = metadata.map_or_else(Vec::new, remarks);
    remarks.extend(undone.iter().map(|undone| {
        format!("Undone at {}, by call {}.", rfc3339(undone.at_ms), on_one_line(&undone.by))
    }));
    if call.tool == UNDO_TOOL {
        let text = "This call took changes back. «Changes and undo» takes this undo back.";
        remarks.push(text.to_owned());
    }
    let mut late = journal.late_outcomes(&run.id).await?;
    late.retain(|late| late.call == call.id());
    remarks.extend(late.iter().map(|late| {
        let at = rfc3339(late.finished_at_ms);
        format!("Another process recorded {} at {at}, too late to count.", late.status)
    }));
    let host = &source.host;
    let has_printed = metadata.is_some_and(|it| it.log.is_some());
    let has_rest = metadata.is_some_and(|it| it.output_path.is_some());
    let page = CallPage {
        sections: Sections(Section::Runs),
        last_change,
        name: call_name(&call.id()),
        url: call_url(&call.id()),
        run: run.id.to_string(),
        run_url: run_url(&run.id),
        tool: on_one_line(&call.tool),
        summary: on_one_line(&input_summary(&call.input)),
        effect: call.effect.as_str(),
        status,
        style,
        is_open: call.envelope.is_none(),
        is_in_doubt: is_in_doubt(&call, owner_is_gone),
        began: rfc3339(call.started_at_ms),
        ended: call.finished_at_ms.map(|finished| {
            let took = finished.saturating_sub(call.started_at_ms);
            (rfc3339(finished), duration(took))
        }),
        facts: facts(&call, metadata),
        remarks,
        refusal: metadata.and_then(|metadata| refusal_text(metadata, &run.root)),
        input: CallText::Input.piece(&call, 0, host)?,
        answer: call
            .envelope
            .as_ref()
            .map(|_| CallText::Answer.piece(&call, 0, host))
            .transpose()?,
        is_error: matches!(envelope, Some(Envelope::Error { .. })),
        printed: has_printed.then(|| CallText::Printed.piece(&call, 0, host)).transpose()?,
        // A file that was removed is a remark and no failure of the page.
        rest: has_rest.then(|| CallText::Rest.piece(&call, 0, host).ok()).flatten(),
        accesses: accesses(&call.accesses),
        enforced: metadata.and_then(|it| it.enforced.as_ref()).map_or_else(Vec::new, layers),
        connections: metadata.map_or_else(Vec::new, connections),
        details: call.details.as_deref().map(|it| shown(&pretty(it))).unwrap_or_default(),
        metadata: metadata
            .and_then(|metadata| {
                let shortened = EnvelopeMetadata { log: None, ..metadata.clone() };
                serde_json::to_string_pretty(&shortened).ok()
            })
            .map(|text| shown(&text))
            .unwrap_or_default(),
        has_changes: !snapshots.is_empty(),
        keys: keys(&call),
    };
    response::html(&page)
}

/// Returns a further piece of a text.
pub(crate) async fn text(
    source: &Arc<Source>,
    request: &InspectorRequest,
    parts: &[String],
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let call = find_call(&*journal, parts).await?;
    let from = request.number("from")?.unwrap_or(0);
    response::html(&named_text(request)?.piece(&call, from, &source.host)?)
}

/// Returns a whole text, for the browser to save.
pub(crate) async fn file(
    source: &Arc<Source>,
    request: &InspectorRequest,
    parts: &[String],
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let call = find_call(&*journal, parts).await?;
    let text = named_text(request)?;
    let content = Bytes::from(text.whole(&call, &source.host)?);
    let name = format!("{}-{}.txt", call.id().to_string().replace('/', "-"), text.name());
    let pieces = (0..content.len()).step_by(SENT_BYTES);
    let pieces: Vec<Bytes> =
        pieces.map(|from| content.slice(from..content.len().min(from + SENT_BYTES))).collect();
    Ok(response::download(&name, response::streamed(stream::iter(pieces))))
}

fn named_text(request: &InspectorRequest) -> Result<CallText, PageError> {
    let named = request.query("part").and_then(CallText::named);
    named.ok_or_else(|| PageError::bad_request("part: expected input, answer, printed or rest"))
}

async fn find_call(journal: &dyn Journal, parts: &[String]) -> Result<CallRow, PageError> {
    let call = parse_call(parts)?;
    let found = journal.calls(CallQuery::of_call(call.clone())).await?.pop();
    found.ok_or_else(|| PageError::not_found(format!("There is no call {call} in this journal.")))
}

fn facts(call: &CallRow, metadata: Option<&EnvelopeMetadata>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let waits = metadata.and_then(|it| it.waits).map(|waits| waits_text(&waits, 1));
    facts.extend(waits.map(|text| ("Waited", text)));
    if let Some(exit) = metadata.and_then(|metadata| metadata.exit_code) {
        facts.push(("Exit status", exit.to_string()));
    }
    if let (Some(verdict), Some(by)) = (call.verdict, call.settled_by) {
        let verdict = verdict.as_str().replace('_', " ");
        facts.push(("Settled", format!("{verdict}, by the {by}")));
    }
    facts
}

fn keys(call: &CallRow) -> Vec<(&'static str, String)> {
    let mut keys = vec![("Call key", call.call_key.clone())];
    keys.extend(call.idempotency_key().map(|key| ("Idempotency key", key)));
    keys.extend(call.driver_call_id.as_deref().map(|id| ("Driver's id", on_one_line(id))));
    keys.push(("Fencing token", call.fencing_token.to_string()));
    keys
}

fn remarks(metadata: &EnvelopeMetadata) -> Vec<String> {
    let mut remarks = Vec::new();
    if metadata.replayed {
        remarks.push("Recalled from the journal: nothing was executed.".to_owned());
    }
    if metadata.held_back {
        remarks
            .push("Held back: it was not executed, and the same call may come again.".to_owned());
    }
    remarks.extend(metadata.retry_warning.as_deref().map(shown));
    if metadata.unsafe_no_sandbox {
        remarks.push(
            "Executed without the sandbox of the kernel, because the user said so.".to_owned(),
        );
    }
    if let Some(timeout) = metadata.timeout_ms {
        remarks.push(format!("Stopped because its time of {} was over.", duration(timeout)));
    }
    if let Some(lost) = &metadata.output_lost {
        remarks.push(format!("The rest of its output was not kept: {}", on_one_line(lost)));
    }
    remarks.extend(metadata.undone.iter().map(|it| on_one_line(it)));
    let appeared = metadata.appeared.iter().map(|path| {
        format!("{} appeared while the call ran, and a rule denies it.", on_one_line(path))
    });
    remarks.extend(appeared);
    remarks
}

fn refusal_text(metadata: &EnvelopeMetadata, root: &str) -> Option<RefusalText> {
    let refusal = metadata.refusal.as_deref()?;
    let remedies = refusal.remedies.iter().map(|remedy| remedy_text(remedy, root)).collect();
    let (code, because) = (refusal.code.to_string(), shown(&refusal.because));
    Some(RefusalText { code, because, remedies })
}

fn remedy_text(remedy: &Remedy, root: &str) -> RemedyText {
    let rule = |permission: &str, pattern: &str| {
        let (permission, pattern) = (url_part(permission), url_part(pattern));
        let root = url_part(root);
        Some(format!("/permissions?permission={permission}&pattern={pattern}&root={root}#add"))
    };
    let (text, url) = match remedy {
        Remedy::AllowTool(tool) => {
            (format!("Allow all that {tool} does."), rule(tool.as_str(), "*"))
        }
        Remedy::AllowHost(host) => {
            (format!("Allow the host {}.", on_one_line(host)), rule("net.fetch", host))
        }
        Remedy::AddRule(allowing) => (
            format!(
                "Allow {} {}.",
                on_one_line(&allowing.permission),
                on_one_line(&allowing.pattern)
            ),
            rule(&allowing.permission, &allowing.pattern),
        ),
        Remedy::Unprotect(path) => (
            format!("Take {} off the protected paths, in a trusted manifest.", on_one_line(path)),
            None,
        ),
        Remedy::Settle(call) => (
            format!("Find out whether call {} happened, and settle it.", on_one_line(call)),
            Some("/doubts".to_owned()),
        ),
        Remedy::Login(server) => (format!("Log in to the server {}.", on_one_line(server)), None),
        Remedy::AnswerQuestion(_) => {
            ("Resume the run where a person can answer its question.".to_owned(), None)
        }
        Remedy::Trust => ("Trust the settings of this workspace.".to_owned(), None),
        Remedy::NameFiles(paths) => (
            format!("Name the files that are meant, not {}.", on_one_line(&paths.join(", "))),
            None,
        ),
    };
    RemedyText { text, url }
}

fn accesses(json: &str) -> Vec<String> {
    let list: Option<Vec<serde_json::Value>> = serde_json::from_str(json).ok();
    let list = list.unwrap_or_default();
    list.iter().map(|access| on_one_line(&access.to_string())).collect()
}

fn layers(enforced: &EnforcedConfinement) -> Vec<(&'static str, &'static str, &'static str)> {
    let layers = [
        ("files", enforced.filesystem),
        ("network", enforced.network),
        ("processes", enforced.processes),
        ("system calls", enforced.system_calls),
        ("resources", enforced.resources),
    ];
    let word = |level: ConfinementLevel| match level {
        ConfinementLevel::Kernel => ("by the kernel", "succeeded"),
        ConfinementLevel::Cooperative => ("by haft", "unknown"),
        ConfinementLevel::None => ("not at all", "failed"),
    };
    let layer = |(name, level)| {
        let (words, style) = word(level);
        (name, words, style)
    };
    layers.into_iter().map(layer).collect()
}

fn connections(metadata: &EnvelopeMetadata) -> Vec<(String, &'static str, String)> {
    let mut lines: Vec<_> = metadata
        .connections
        .iter()
        .map(|it| {
            let word = if it.admitted { "made" } else { "refused" };
            (on_one_line(&format!("{}:{}", it.host, it.port)), word, on_one_line(&it.detail))
        })
        .collect();
    if metadata.connections_unlisted > 0 {
        let more = format!("and {} more", metadata.connections_unlisted);
        lines.push((more, "not listed", String::new()));
    }
    lines
}
