//! Runs the snapshot hook around the effect of a call. The journal notes failures of the hook. They do not affect the
//! call, except for the time that the hook takes.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, CallAddress, CallAttempt, Effect};
use haft_journal::SnapshotNote;
use haft_policy::ResolvedAccess;

use super::call_state::CallState;
use super::history::attempt::AttemptTracker;
use super::watch::Granted;
use crate::limits::SNAPSHOT_MS;
use crate::panic::PanicCatchingFuture;
use crate::shared::RuntimeParts;
use crate::snapshots::{PendingEffect, SnapshotError, Snapshots};

/// The hook of a call before its effect, if there is a hook.
pub(super) struct PendingEffectHook(Option<HookedEffect>);

/// The hook of a call whose effect may happen now.
pub(super) struct BegunEffectHook(Option<(HookedEffect, Option<String>)>);

/// An effect with the hook that runs around it.
struct HookedEffect {
    /// The hook of the runtime.
    hook: Arc<dyn Snapshots>,
    /// The call, and what it may change.
    effect: PendingEffect,
}

/// Returns the hook to run around the call's effect. Reads have no hook.
pub(super) fn pending_effect_hook(
    state: &CallState,
    granted: &Granted,
    hook: Option<&Arc<dyn Snapshots>>,
) -> PendingEffectHook {
    let Some(hook) = hook.filter(|_| state.effect() != Effect::Read) else {
        return PendingEffectHook(None);
    };
    let mut effect = PendingEffect {
        tool: state.tool().to_owned(),
        call_id: state.id().clone(),
        writes: Vec::new(),
        runs_commands: false,
    };
    for access in granted.accesses() {
        match access {
            ResolvedAccess::Write { path } => effect.writes.push(path.absolute.clone()),
            ResolvedAccess::Shell { .. } => effect.runs_commands = true,
            ResolvedAccess::Read { .. }
            | ResolvedAccess::Net { .. }
            | ResolvedAccess::Named { .. } => {}
        }
    }
    PendingEffectHook(Some(HookedEffect { hook: Arc::clone(hook), effect }))
}

impl PendingEffectHook {
    /// Runs the hook before the effect.
    pub(super) async fn run_before_effect(self) -> BegunEffectHook {
        let Some(hooked) = self.0 else { return BegunEffectHook(None) };
        let HookedEffect { hook, effect } = &hooked;
        let complaint = run_hook(Box::pin(async { hook.before_effect(effect).await })).await.err();
        BegunEffectHook(Some((hooked, complaint)))
    }
}

impl BegunEffectHook {
    /// Runs the hook after the effect.
    pub(super) async fn run_after_effect(self, parts: &RuntimeParts) {
        let Some((HookedEffect { hook, effect }, before)) = self.0 else { return };
        let PendingEffect { tool, call_id, .. } = &effect;
        let after = run_hook(Box::pin(async { hook.durability_snapshot(tool, call_id).await }));
        let complaints: Vec<String> = before.into_iter().chain(after.await.err()).collect();
        if complaints.is_empty() {
            return;
        }
        // The journal keeps the failures of the hook in the call's note about the first root.
        let complaint = complaints.join("; ");
        let root = parts.roots.workspace().to_string_lossy().into_owned();
        let noted = parts.journal.snapshots(&call_id.scope.run, Some(call_id)).await;
        let noted = noted.unwrap_or_default().into_iter().find(|note| note.root == root);
        let mut note = noted.unwrap_or_else(|| SnapshotNote {
            call: call_id.clone(),
            root,
            before: None,
            after: None,
            note: None,
            taken_at_ms: parts.clock.now_ms(),
            repositories: Vec::new(),
        });
        note.note = Some(match note.note {
            Some(earlier) => format!("{earlier}; {complaint}"),
            None => complaint.clone(),
        });
        if let Err(err) = parts.journal.note_snapshot(note).await {
            tracing::warn!(call = %call_id, %err, complaint, "a snapshot failed, and this could not be recorded");
        }
    }

    /// Tells the hook that there will be no effect.
    pub(super) fn cancel_effect(self) {
        if let Some((HookedEffect { hook, effect }, _)) = self.0 {
            // A panic in this hook does not affect the call either.
            let _ = crate::panic::catch_panic(|| hook.not_executed(&effect.call_id));
        }
    }
}

/// The attempt of a running call, as the call sees it.
pub(super) struct RunningAttempt {
    /// The attempt.
    pub(super) attempt: Arc<AttemptTracker>,
    /// The hook of the runtime.
    pub(super) hook: Option<Arc<dyn Snapshots>>,
    /// The tool.
    pub(super) tool: String,
    /// The call.
    pub(super) call: CallAddress,
}

impl CallAttempt for RunningAttempt {
    fn next_seq(&self) -> Option<u32> {
        Some(self.attempt.next_seq())
    }

    fn durability_snapshot(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let Some(hook) = &self.hook else { return };
            let snapshot = hook.snapshot_within(&self.tool, &self.call);
            if let Err(complaint) = run_hook(snapshot).await {
                let call = &self.call;
                tracing::warn!(%call, complaint, "a snapshot in the middle of a call failed");
            }
        })
    }
}

/// Runs a hook within its time limit. The error says that it failed, panicked or took too long.
async fn run_hook(hook: BoxFuture<'_, Result<(), SnapshotError>>) -> Result<(), String> {
    match tokio::time::timeout(Duration::from_millis(SNAPSHOT_MS), PanicCatchingFuture(hook)).await
    {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(err))) => Err(err.to_string()),
        Ok(Err(panic)) => Err(format!("the snapshot hook panicked: {panic}")),
        Err(_) => Err(format!("the snapshot hook did not end within {SNAPSHOT_MS} ms")),
    }
}
