//! The changes of calls, and taking them back. The page shows the difference, and what an undo would do now. The undo is offered
//! for exactly that: if a file changes before the person decides, nothing is undone.

use std::sync::Arc;

use askama::Template;
use haft::{CallSelection, RootChanges, SnapshotHistory};
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::undo::{
    UndoCaller, UndoRefusal, UndoRequest, changed_repositories, check_idle, headline, preview_undo,
    recording_options, selection_words, skip_reason_text,
};
use haft_contract::Envelope;
use haft_journal::Journal;
use haft_snapshot::{
    OverwritePolicy, PathChangeKind, RecordOptions, RestoreReport, UnifiedDiff, quote_path,
};
use std::path::Path;

use super::difference::{DiffLine, lines};
use crate::change::ShownChange;
use crate::limits::DIFF_PATHS_SHOWN_MAX;
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, parse_call, parse_run, run_url};
use crate::response::{self, PageResponse};
use crate::source::{Source, find_run};
use crate::text::on_one_line;

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    sections: Sections,
    /// The calls, in words.
    of: String,
    up_url: String,
    up: String,
    /// The name and the value of the form's field that names the calls.
    field: (&'static str, String),
    roots: Vec<ShownRoot>,
    /// The calls of which nothing is known.
    unrecorded: Vec<String>,
    undo: ShownUndo,
    is_forced: bool,
}

/// The changes in one root.
struct ShownRoot {
    path: String,
    remarks: Vec<String>,
    changes: Vec<ShownPath>,
}

/// The change of one path.
struct ShownPath {
    headline: String,
    note: &'static str,
    lines: Vec<DiffLine>,
}

/// The effect of an undo that is made now.
struct ShownUndo {
    /// The paths that it would restore.
    lines: Vec<String>,
    /// The paths that would stay as they are.
    stays: Vec<String>,
    /// Why there is none.
    refusal: String,
    /// Whether it would be possible if later changes are overwritten.
    may_be_forced: bool,
    /// The number that allows it.
    nonce: String,
}

/// The calls whose changes are shown, and what they need.
struct ChangeSource {
    of: CallSelection,
    journal: Arc<dyn Journal>,
    history: SnapshotHistory,
    settings: EffectiveSettings,
    host: AppHost,
}

/// An undo that was checked, and that can be done.
struct CheckedUndo {
    rehearsed: Vec<RestoreReport>,
    options: RecordOptions,
}

/// Shows the changes.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let of_request = |name: &str| request.query(name).map(str::to_owned);
    let from = ChangeSource::find(source, of_request("call"), of_request("run")).await?;
    let is_forced = request.query("force").is_some();
    let roots = from.history.changes(&from.of).await.map_err(PageError::conflict)?;
    let unrecorded = from.history.unrecorded(&from.of).await.map_err(PageError::conflict)?;
    let (roots, shown) = on_thread(move || {
        let shown = shown_roots(&roots);
        (roots, shown)
    })
    .await?;
    let (roots, checked) = from.check(roots, overwrite(is_forced)).await?;
    let undo = shown_undo((source, request), &from, &roots, &checked, is_forced)?;
    let (up_url, up) = match &from.of {
        CallSelection::Call(call) | CallSelection::After(call) => {
            (call_url(call), call.to_string())
        }
        CallSelection::Run(run) => (run_url(run), run.to_string()),
    };
    response::html(&ChangesPage {
        sections: Sections(Section::Runs),
        of: on_one_line(&selection_words(&from.of)),
        up_url,
        up: on_one_line(&up),
        field: from.field(),
        roots: shown?,
        unrecorded: unrecorded
            .iter()
            .map(|(call, why)| on_one_line(&format!("Call {call}: {why}")))
            .collect(),
        undo,
        is_forced,
    })
}

/// Takes the changes back.
pub(crate) async fn undo(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let of_form = |name: &str| request.form(name).map(str::to_owned);
    let from = ChangeSource::find(source, of_form("call"), of_form("run")).await?;
    let is_forced = request.form("force").is_some();
    let roots = from.history.changes(&from.of).await.map_err(PageError::conflict)?;
    let (roots, checked) = from.check(roots, overwrite(is_forced)).await?;
    let checked = checked.map_err(PageError::conflict)?;
    offer_of(&from.of, &roots, &checked, is_forced).check(source, request)?;
    let undoing = UndoRequest {
        of: selection_words(&from.of),
        roots: Arc::new(roots),
        overwrite: overwrite(is_forced),
        options: checked.options,
    };
    let (envelope, _) = undoing.execute("inspector", &from.settings, &from.host).await?;
    match envelope {
        Envelope::Error { error_text, .. } => Err(PageError::conflict(error_text)),
        Envelope::Output { metadata, .. } => {
            let call = metadata.call_id.unwrap_or_default();
            let parts: Vec<String> = call.split('/').map(str::to_owned).collect();
            Ok(response::go_to(&parse_call(&parts).map_or("/runs".to_owned(), |it| call_url(&it))))
        }
    }
}

fn overwrite(is_forced: bool) -> OverwritePolicy {
    if is_forced { OverwritePolicy::Force } else { OverwritePolicy::Refuse }
}

impl ChangeSource {
    async fn find(
        source: &Arc<Source>,
        call: Option<String>,
        run: Option<String>,
    ) -> Result<Self, PageError> {
        let of = match (call, run) {
            (Some(call), _) => {
                let parts: Vec<String> = call.split('/').map(str::to_owned).collect();
                CallSelection::Call(parse_call(&parts)?)
            }
            (None, Some(run)) => CallSelection::Run(parse_run(&run)?),
            (None, None) => return Err(PageError::bad_request("expected a call or a run")),
        };
        let journal = source.present_journal().await?;
        let run = find_run(&*journal, of.run()).await?;
        let (settings, host) = source.settings_in(Path::new(&run.root));
        let hidden = compose::snapshots::hidden(&settings, &host);
        let place = &settings.durability.journal;
        let history =
            compose::snapshots::history(&journal, place, settings.snapshots.as_ref(), &host);
        Ok(Self { of, history: history.hiding(&hidden), journal, settings, host })
    }

    fn field(&self) -> (&'static str, String) {
        match &self.of {
            CallSelection::Call(call) | CallSelection::After(call) => ("call", call.to_string()),
            CallSelection::Run(run) => ("run", run.to_string()),
        }
    }

    /// Checks whether the changes can be taken back now.
    async fn check(
        &self,
        roots: Vec<RootChanges>,
        overwrite: OverwritePolicy,
    ) -> Result<(Vec<RootChanges>, Result<CheckedUndo, UndoRefusal>), PageError> {
        if let Err(refusal) =
            check_idle(&self.history, &*self.journal, &self.of, UndoCaller::Outsider).await
        {
            return Ok((roots, Err(refusal)));
        }
        let configured = self.settings.snapshots.clone();
        on_thread(move || {
            let checked = preview_undo(&roots, overwrite).and_then(|rehearsed| {
                let options = recording_options(&roots, overwrite, configured.as_ref())?;
                Ok(CheckedUndo { rehearsed, options })
            });
            (roots, checked)
        })
        .await
    }
}

/// Runs work that reads many files.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, PageError> {
    tokio::task::spawn_blocking(work).await.map_err(PageError::failed)
}

fn shown_roots(roots: &[RootChanges]) -> Result<Vec<ShownRoot>, PageError> {
    let mut paths_left = DIFF_PATHS_SHOWN_MAX;
    let mut shown = Vec::new();
    for root in roots {
        let mut remarks: Vec<String> = root
            .remarks
            .iter()
            .map(|(call, remark)| on_one_line(&format!("Call {call}: {remark}")))
            .collect();
        if root.ends_now {
            remarks.push(
                "Compared with the present files, which anything may have changed.".to_owned(),
            );
        }
        remarks.extend(changed_repositories(root).iter().map(|text| on_one_line(text)));
        let mut changes = Vec::new();
        for change in root.changes() {
            let mut path =
                ShownPath { headline: on_one_line(&headline(&change)), note: "", lines: vec![] };
            if paths_left == 0 {
                path.note = "This page has too many paths to show its text.";
                changes.push(path);
                continue;
            }
            paths_left -= 1;
            match root.unified(&change).map_err(PageError::failed)? {
                UnifiedDiff::Text(text) => {
                    let (lines, is_cut) = lines(&text);
                    path.lines = lines;
                    path.note =
                        if is_cut { "The rest of this difference is not shown." } else { "" };
                }
                UnifiedDiff::Binary => path.note = "It is not text.",
                UnifiedDiff::TooLarge => path.note = "It is too large to be compared.",
                UnifiedDiff::NotRecorded if change.kind() == PathChangeKind::Unknown => {}
                UnifiedDiff::NotRecorded => path.note = "Its content was not recorded.",
                UnifiedDiff::Nothing => {}
            }
            changes.push(path);
        }
        shown.push(ShownRoot {
            path: on_one_line(&root.root().to_string_lossy()),
            remarks,
            changes,
        });
    }
    Ok(shown)
}

/// Returns the undo that the page offers.
fn offer_of(
    of: &CallSelection,
    roots: &[RootChanges],
    checked: &CheckedUndo,
    is_forced: bool,
) -> ShownChange {
    let words = selection_words(of);
    let (lines, stays) = effects(roots, checked);
    let shown = format!("{}\n\n{}\n\n{:?}", lines.join("\n"), stays.join("\n"), states(roots));
    ShownChange::new(format!("undo {words} force={is_forced}"), &shown)
}

/// Returns the recorded states that an undo goes back to.
fn states(roots: &[RootChanges]) -> Vec<String> {
    let of_root = |root: &RootChanges| {
        root.changes().into_iter().map(|change| format!("{change:?}")).collect::<Vec<_>>()
    };
    roots.iter().flat_map(of_root).collect()
}

/// Returns what an undo would restore, and what would stay as it is.
fn effects(roots: &[RootChanges], checked: &CheckedUndo) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut stays) = (Vec::new(), Vec::new());
    for (root, restored) in roots.iter().zip(&checked.rehearsed) {
        let mut paths = restored.paths.clone();
        for change in root.changes() {
            if change.kind() != PathChangeKind::Unknown && paths.remove(&change.path) {
                lines.push(on_one_line(&format!("Undo: {}", headline(&change))));
            }
        }
        lines.extend(
            paths.iter().map(|path| on_one_line(&format!("Bring back {}", quote_path(path)))),
        );
        stays.extend(restored.skipped.iter().map(|left| {
            let (path, reason) = (quote_path(&left.path), skip_reason_text(left.reason));
            on_one_line(&format!("{path}: {reason}"))
        }));
        stays.extend(changed_repositories(root).iter().map(|text| on_one_line(text)));
    }
    (lines, stays)
}

fn shown_undo(
    (source, request): (&Source, &InspectorRequest),
    from: &ChangeSource,
    roots: &[RootChanges],
    checked: &Result<CheckedUndo, UndoRefusal>,
    is_forced: bool,
) -> Result<ShownUndo, PageError> {
    let mut undo = ShownUndo {
        lines: Vec::new(),
        stays: Vec::new(),
        refusal: String::new(),
        may_be_forced: false,
        nonce: String::new(),
    };
    match checked {
        Err(refusal) => {
            undo.refusal = crate::text::shown(&refusal.to_string());
            undo.may_be_forced = !is_forced
                && matches!(refusal, UndoRefusal::Conflicts(_) | UndoRefusal::EndUnknown);
        }
        Ok(checked) => {
            (undo.lines, undo.stays) = effects(roots, checked);
            if !undo.lines.is_empty() {
                let offer = offer_of(&from.of, roots, checked, is_forced);
                undo.nonce = offer.offer(source, request)?;
            }
        }
    }
    Ok(undo)
}
