//! The hook around effects, which lets front ends show and undo the changes of a call. The hook decides how to do that;
//! the built-in hook records the workspace. This module does not decide whether a call may execute. A failing hook
//! never fails the call.

mod changes;
mod history;
mod repositories;
mod root;
mod workspace;

use std::path::PathBuf;

use haft_contract::{BoxFuture, CallAddress};

pub use changes::RootChanges;
pub use history::{CallSelection, SnapshotHistory, SnapshotHistoryError, SnapshotsPruned};
pub use workspace::WorkspaceSnapshots;

/// A call that is about to have its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEffect {
    /// The tool called.
    pub tool: String,
    /// The call.
    pub call_id: CallAddress,
    /// The paths that the call may change through haft's file access: canonical and absolute, each with everything
    /// beneath.
    pub writes: Vec<PathBuf>,
    /// Whether it runs a command, which may change whatever the sandbox lets it change.
    pub runs_commands: bool,
}

/// Says why a hook failed. The journal records the reason, and the call continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SnapshotError(String);

impl SnapshotError {
    /// Returns an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A hook around each executed effect. Reads, refused calls and recalled calls have no effect.
///
/// A custom hook takes a few lines:
///
/// ```
/// use std::sync::Mutex;
///
/// use haft::{SnapshotError, Snapshots};
/// use haft_contract::{BoxFuture, CallAddress};
///
/// #[derive(Default)]
/// struct Marks(Mutex<Vec<String>>);
///
/// impl Snapshots for Marks {
///     fn durability_snapshot<'a>(
///         &'a self,
///         tool: &'a str,
///         call_id: &'a CallAddress,
///     ) -> BoxFuture<'a, Result<(), SnapshotError>> {
///         Box::pin(async move {
///             let mut marks = self.0.lock().map_err(|err| SnapshotError::new(err.to_string()))?;
///             marks.push(format!("{tool} {call_id}"));
///             Ok(())
///         })
///     }
/// }
/// ```
///
/// If a hook fails, panics or takes longer than [`SNAPSHOT_MS`](crate::limits::SNAPSHOT_MS), haft continues without it
/// and the journal notes the reason.
pub trait Snapshots: Send + Sync {
    /// Runs before the effect, while the call's intent is being recorded. Both hooks of an effect get the same call.
    fn before_effect<'a>(
        &'a self,
        _effect: &'a PendingEffect,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async { Ok(()) })
    }

    /// Runs after the effect, however it ended, and before the answer leaves.
    fn durability_snapshot<'a>(
        &'a self,
        tool: &'a str,
        call_id: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>>;

    /// Runs in the middle of the effect, when the tool asks for it ([`Cx::durability_snapshot`](haft_contract::Cx)). haft's own
    /// snapshots compare the states before and after a call, so they do nothing here.
    fn snapshot_within<'a>(
        &'a self,
        _tool: &'a str,
        _call_id: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async { Ok(()) })
    }

    /// Runs in place of [`durability_snapshot`](Self::durability_snapshot) when the effect was not executed after all,
    /// because its intent could not be recorded.
    fn not_executed(&self, _call_id: &CallAddress) {}

    /// Runs before the process ends normally.
    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
