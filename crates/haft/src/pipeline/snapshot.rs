//! The hook around the effect of a call. Whatever goes wrong with it is noted in the journal; nothing of it reaches the
//! call, but for the time that it is given.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, Effect};
use haft_journal::SnapshotNote;
use haft_policy::Canonical;

use super::panic::Contained;
use super::watch::Watched;
use crate::limits::SNAPSHOT_MS;
use crate::run::RunState;
use crate::snapshots::{EffectAhead, SnapshotError, Snapshots};

/// A call whose effect is about to happen, if there is a hook that wants to know.
pub(super) struct Ahead(Option<Hooked>);

/// A call whose effect may happen now.
pub(super) struct Begun(Option<(Hooked, Option<String>)>);

struct Hooked {
    hook: Arc<dyn Snapshots>,
    effect: EffectAhead,
}

/// Finds out whether somebody wants to know of the call's effect.
pub(super) fn ahead(watched: &Watched, run: &RunState) -> Ahead {
    let entry = watched.capable().valid().entry();
    let hook = run.session.shared.parts.snapshots.as_ref();
    let hooked = hook
        .filter(|_| entry.effect() != Effect::Read)
        .map(|hook| Hooked { hook: Arc::clone(hook), effect: effect_ahead(watched) });
    Ahead(hooked)
}

fn effect_ahead(watched: &Watched) -> EffectAhead {
    let capable = watched.capable();
    let entry = capable.valid().entry();
    let mut effect = EffectAhead {
        tool: entry.tool().to_owned(),
        call_id: entry.id().clone(),
        writes: Vec::new(),
        runs_commands: false,
    };
    for access in capable.accesses() {
        match access {
            Canonical::Write { path } => effect.writes.push(path.absolute.clone()),
            Canonical::Shell { .. } => effect.runs_commands = true,
            Canonical::Read { .. } | Canonical::Net { .. } | Canonical::Named { .. } => {}
        }
    }
    effect
}

impl Ahead {
    /// Lets the hook look at what is there before the effect.
    pub(super) async fn begin(self) -> Begun {
        let Some(hooked) = self.0 else { return Begun(None) };
        let Hooked { hook, effect } = &hooked;
        let complaint = bounded(Box::pin(async { hook.before_effect(effect).await })).await.err();
        Begun(Some((hooked, complaint)))
    }
}

impl Begun {
    /// Lets the hook look at what is there after the effect.
    pub(super) async fn end(self, run: &RunState) {
        let Some((Hooked { hook, effect }, before)) = self.0 else { return };
        let EffectAhead { tool, call_id, .. } = &effect;
        let after = bounded(Box::pin(async { hook.durability_snapshot(tool, call_id).await }));
        let complaints: Vec<String> = before.into_iter().chain(after.await.err()).collect();
        if !complaints.is_empty() {
            note(&effect, &complaints.join("; "), run).await;
        }
    }

    /// Tells the hook that there will be no effect.
    pub(super) fn forget(self) {
        if let Some((Hooked { hook, effect }, _)) = self.0 {
            // A panic there is as little the call's affair as one in the other hooks.
            let _ = super::panic::contained(|| hook.not_executed(&effect.call_id));
        }
    }
}

async fn bounded(hook: BoxFuture<'_, Result<(), SnapshotError>>) -> Result<(), String> {
    match tokio::time::timeout(Duration::from_millis(SNAPSHOT_MS), Contained(hook)).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(err))) => Err(err.to_string()),
        Ok(Err(panic)) => Err(format!("the snapshot hook panicked: {panic}")),
        Err(_) => Err(format!("the snapshot hook did not end within {SNAPSHOT_MS} ms")),
    }
}

/// Records what is wrong, beside what the hook may have recorded itself.
async fn note(effect: &EffectAhead, complaint: &str, run: &RunState) {
    let parts = &run.session.shared.parts;
    let root = parts.roots.workspace().to_string_lossy().into_owned();
    let call = effect.call_id.clone();
    let noted = parts.journal.snapshots(&call.scope.run, Some(&call)).await.unwrap_or_default();
    let mut note = noted.into_iter().find(|note| note.root == root).unwrap_or(SnapshotNote {
        call,
        root,
        before: None,
        after: None,
        note: None,
        taken_at_ms: parts.clock.now_ms(),
    });
    note.note = Some(match note.note {
        Some(earlier) => format!("{earlier}; {complaint}"),
        None => complaint.to_owned(),
    });
    if let Err(err) = parts.journal.note_snapshot(note).await {
        tracing::warn!(call = %effect.call_id, %err, complaint, "a snapshot failed, and this could not be recorded");
    }
}
