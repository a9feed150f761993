//! Lets a call read an output that an earlier session of its run cut. An answer names the sidecar of its output, and a later
//! process that goes on with the run can be asked for it. The journal decides whether the run has such an output.

use std::path::Path;

use haft_journal::CallQuery;
use serde_json::Value;

use super::call_state::ArrivedCall;
use crate::connection_state::ConnectionState;

/// Adopts the sidecars of earlier sessions that the input names.
pub(super) async fn adopt_named_outputs(arrived: &ArrivedCall, connection: &ConnectionState) {
    // A subagent does not read what was cut out of the answers of its parent, which can be of the same run.
    if !connection.restrictions.is_empty() {
        return;
    }
    let Some(fields) = arrived.call().input.as_object() else { return };
    for text in fields.values().filter_map(Value::as_str) {
        let path = Path::new(text);
        let Some(seq) = call_number(path) else { continue };
        if connection.sidecars.holds(path) {
            continue;
        }
        let query = CallQuery { seq: Some(seq), ..CallQuery::of_run(arrived.scope().run.clone()) };
        let Ok(rows) = connection.shared.parts.journal.calls(query).await else { continue };
        let is_recorded = rows.iter().any(|row| {
            let envelope = row.parsed_envelope().ok().flatten();
            envelope.is_some_and(|it| it.metadata().output_path.as_deref() == Some(text))
        });
        if is_recorded {
            connection.sidecars.adopt_path(path);
        }
    }
}

/// Returns the number of the call that a sidecar of this path would belong to, from 1.
fn call_number(path: &Path) -> Option<u32> {
    let (number, _) = path.file_name()?.to_str()?.split_once('-')?;
    number.parse().ok().filter(|_| path.is_absolute())
}
