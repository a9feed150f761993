//! The hooks before execution: the built-in one, and the programs of the manifest.

use std::path::PathBuf;
use std::sync::Arc;

use haft::{ProgramWatchdog, ReferenceWatchdog, Watchdog};
use serde_json::Value;

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::manifest::ManifestFile;
use crate::operator_programs::OperatorPrograms;
use crate::settings::EffectiveSettings;

/// Returns the built-in hook, and the programs of the manifest in order.
pub(super) fn watchdogs(
    settings: &EffectiveSettings,
    host: &AppHost,
    roots: &[PathBuf],
) -> Result<Vec<Arc<dyn Watchdog>>, AppError> {
    let mut watchdogs: Vec<Arc<dyn Watchdog>> = Vec::new();
    if settings.reference_watchdog {
        watchdogs.push(Arc::new(ReferenceWatchdog));
    }
    if settings.watchdogs.is_empty() {
        return Ok(watchdogs);
    }
    let programs = OperatorPrograms::new("watchdog", roots, host)?;
    for entry in &settings.watchdogs {
        watchdogs.push(Arc::new(ProgramWatchdog(programs.find(&entry.program, entry.timeout_ms)?)));
    }
    Ok(watchdogs)
}

/// Returns the manifest as watchdogs see it; null if there is none, or no program to see it.
///
/// Fails if the manifest cannot be read again.
pub(super) fn manifest(settings: &EffectiveSettings) -> Result<Value, AppError> {
    match &settings.manifest {
        Some(path) if !settings.watchdogs.is_empty() => ManifestFile::read(path)?.value(),
        _ => Ok(Value::Null),
    }
}
