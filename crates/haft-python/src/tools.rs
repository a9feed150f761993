//! Turns checked files into tools. `pool` runs their calls; `worker` is a single process.

use std::num::NonZeroU32;
use std::sync::Arc;

use haft_contract::{Access, Effect, Tool, ToolKind, ToolOrigin};
use serde_json::Value;

use crate::check::CheckedTool;
use crate::directory::ToolDirectory;
use crate::limits::WORKERS_MAX;
use crate::pool::{CallConvention, PythonWorkerPool};
use crate::worker::WorkerSpec;
use crate::worker_options::WorkerOptions;

/// Returns the tools of a directory, in the given order. No process is started before the first
/// call.
pub fn tools(
    directory: &ToolDirectory,
    checked: &[CheckedTool],
    options: WorkerOptions,
) -> Vec<Tool> {
    let tool = |checked: &CheckedTool| {
        let kind = kind(checked);
        let CheckedTool { id, source, function, description, parameters, .. } = checked.clone();
        let (permissions, timeout_ms) = (checked.permissions.clone(), checked.timeout_ms);
        let spec = WorkerSpec {
            directory: directory.clone(),
            source,
            function: function.clone(),
            writable: permissions.writable,
            is_granted_more: checked.reaches_more_than_files(),
            memory_bytes: options.memory_bytes,
            is_stateful: checked.stateful,
        };
        let convention = CallConvention {
            takes_context: checked.takes_context,
            status_errors: checked.status_errors,
            hosts: permissions.requires.net.hosts.clone(),
        };
        let pool = Arc::new(PythonWorkerPool::new(spec, convention, options));
        let accesses = permissions.accesses;
        let mut builder = Tool::new(id.as_str())
            .function(function)
            .description(description)
            .effect(checked.effect)
            .kind(kind)
            .origin(ToolOrigin::Python)
            .requires(permissions.requires)
            .accesses(move |_: &Value| accesses.clone())
            .timeout_ms(move |_: &Value| timeout_ms);
        if let Some(workers) = workers_per_file(options) {
            builder = builder.calls_at_once_max(workers);
        }
        if checked.dangerous {
            builder = builder.dangerous();
        }
        builder.execute_json(parameters, move |input, cx| Arc::clone(&pool).call(input, cx))
    };
    checked.iter().map(tool).collect()
}

/// Returns how many calls of one file can run at the same time.
fn workers_per_file(options: WorkerOptions) -> Option<NonZeroU32> {
    let workers = options.workers_per_file.clamp(1, WORKERS_MAX);
    u32::try_from(workers).ok().and_then(NonZeroU32::new)
}

fn kind(checked: &CheckedTool) -> ToolKind {
    let reaches_hosts =
        checked.permissions.accesses.iter().any(|access| matches!(access, Access::Net { .. }));
    match (checked.effect, reaches_hosts) {
        (Effect::Read, true) => ToolKind::Fetch,
        (Effect::Read, false) => ToolKind::Read,
        (Effect::Idempotent | Effect::Once, _) => ToolKind::Execute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_worker_at_least_and_so_many_at_most() {
        let workers = |workers_per_file: usize| {
            let options = WorkerOptions { workers_per_file, ..WorkerOptions::default() };
            super::workers_per_file(options).map_or(0, |workers| workers.get() as usize)
        };
        assert_eq!(workers(0), 1);
        assert_eq!(workers(WORKERS_MAX), WORKERS_MAX);
        assert_eq!(workers(WORKERS_MAX + 1), WORKERS_MAX);
    }
}
