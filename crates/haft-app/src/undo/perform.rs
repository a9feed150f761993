//! The call that undoes, in a separate runtime with no other tool. haft records all paths that it touches before and after,
//! so that the undo can be undone.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft::{
    Call, Clock as _, ConnectionOptions, Registry, RootChanges, Runtime, RuntimeParts, Sandbox,
    SystemClock, WorkspaceRoots, WorkspaceSnapshots,
};
use haft_contract::{Cx, Effect, Envelope, ErrorCode, Tool, ToolError};
use haft_journal::Journal;
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use haft_snapshot::{OverwritePolicy, RecordOptions, RestoreError, RestoreReport};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::report::report_json;
use crate::app_error::AppError;
use crate::host::AppHost;
use crate::records::UNDO_TOOL;
use crate::settings::EffectiveSettings;
use crate::{compose, id, process_identity};

/// The undo to perform.
pub struct UndoRequest {
    /// Its target, as a person names it.
    pub of: String,
    /// The changes to take back.
    pub roots: Arc<Vec<RootChanges>>,
    /// Whether to overwrite later changes.
    pub overwrite: OverwritePolicy,
    /// How to record the overwritten paths.
    pub options: RecordOptions,
}

/// The result of the call for each root. The call's thread writes it once, before `execute` reads it.
type RestoredRoots = Arc<Mutex<Vec<RestoreReport>>>;

/// The input of the undoing call.
#[derive(Deserialize, JsonSchema)]
struct UndoInput {
    /// The target of the undo.
    #[expect(dead_code, reason = "it is for readers of the journal")]
    of: String,
    /// Whether to overwrite later changes.
    force: bool,
}

impl UndoRequest {
    /// Makes the call in a new run, and returns its result for each root. `front_end` is recorded with the run.
    ///
    /// # Errors
    ///
    /// Fails if the roots or the journal cannot be used. If the undo itself fails, the envelope says so.
    pub async fn execute(
        &self,
        front_end: &str,
        settings: &EffectiveSettings,
        host: &AppHost,
    ) -> Result<(Envelope, Vec<RestoreReport>), AppError> {
        let journal = settings.durability.journal.open().await?;
        let done = Arc::new(Mutex::new(Vec::new()));
        let runtime = self.runtime(journal, &done, settings, host)?;
        let session =
            ConnectionOptions::headless(id::new("session", SystemClock.now_ms())?, front_end);
        let run = runtime.open_connection(session)?.run(compose::new_run(host.now_ms())?);
        let input = json!({"of": self.of, "force": self.overwrite == OverwritePolicy::Force});
        let envelope = run.call(Call::new(UNDO_TOOL, input)).await;
        runtime.shut_down().await;
        let done = std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((envelope?, done))
    }

    /// Returns a runtime whose only tool performs this undo.
    fn runtime(
        &self,
        journal: Arc<dyn Journal>,
        done: &RestoredRoots,
        settings: &EffectiveSettings,
        host: &AppHost,
    ) -> Result<Runtime, AppError> {
        let all: Vec<PathBuf> = self.roots.iter().map(|root| root.root().to_path_buf()).collect();
        // The directory of a repository lies in the root of its workspace, and roots do not lie in each other.
        let is_nested =
            |path: &PathBuf| all.iter().any(|root| root != path && path.starts_with(root));
        let (repositories, paths): (Vec<PathBuf>, Vec<PathBuf>) =
            all.iter().cloned().partition(is_nested);
        let (first, others) = paths.split_first().ok_or_else(|| {
            AppError::failed("nothing was recorded of these calls that could be undone")
        })?;
        let roots = WorkspaceRoots::open(first, others)?;
        let directory = compose::snapshots::directory(&settings.durability.journal, host);
        let hidden = compose::snapshots::hidden(settings, host);
        let clock = Arc::new(SystemClock);
        let noted_in = Arc::clone(&journal);
        let snapshots =
            WorkspaceSnapshots::new(&directory, &roots, noted_in, clock.clone(), &self.options)
                .recording_repositories(&directory, &repositories, &self.options)
                .hiding(&hidden)
                .including(self.roots.iter().flat_map(RootChanges::paths).collect());
        let snapshots = Arc::new(snapshots);
        let (changes, recorded) = (Arc::clone(&self.roots), Arc::clone(&snapshots));
        let done = Arc::clone(done);
        let tool = Tool::new(UNDO_TOOL)
            .description("Bring back what was there before calls changed it")
            .effect(Effect::Once)
            .dangerous()
            .execute_blocking(move |input: UndoInput, cx: &Cx| {
                let failed =
                    |message: String| Err(ToolError::new(ErrorCode::ToolFailed, message));
                if !recorded.has_recorded_before(cx.call_address()) {
                    // Other calls go on without a record. This one could overwrite the only copy of a file.
                    let message =
                        "nothing was undone, because what is there now could not be recorded before";
                    return failed(message.to_owned());
                }
                let overwrite =
                    if input.force { OverwritePolicy::Force } else { OverwritePolicy::Refuse };
                let undone: Result<Vec<RestoreReport>, RestoreError> =
                    changes.iter().map(|root| root.undo(overwrite)).collect();
                let undone = match undone {
                    Ok(undone) => undone,
                    Err(RestoreError::Conflicts { conflicts }) => {
                        let paths: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
                        let paths = paths.join("; ");
                        return failed(format!("nothing was undone, because of these paths: {paths}"));
                    }
                    Err(err) => return failed(err.to_string()),
                };
                let shown: Vec<Value> =
                    changes.iter().zip(&undone).map(|(root, it)| report_json(root, it)).collect();
                *done.lock().unwrap_or_else(PoisonError::into_inner) = undone;
                Ok(Value::from(shown))
            });
        let parts = RuntimeParts {
            registry: Registry::new([tool])?,
            rules: vec![(RuleScope::Manifest, Rule::new(UNDO_TOOL, "*", RuleAction::Allow))],
            launcher: Launcher::new(host.program()?),
            sandbox: Sandbox { hidden, ..Sandbox::system() },
            is_gone: Arc::new(process_identity::check_gone),
            snapshots: Some(snapshots),
            ..RuntimeParts::new(
                journal,
                roots,
                host.state().sidecars(),
                clock,
                process_identity::this_process(SystemClock.now_ms())?,
            )
        };
        Ok(Runtime::new(parts)?)
    }
}
