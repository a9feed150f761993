//! Lets a call read an output that an earlier session of its run cut. An answer names the sidecar of its output, and a later
//! process that goes on with the run can be asked for it. The journal decides whether the run has such an output.

use std::path::{Path, PathBuf};

use haft_journal::CallQuery;
use serde_json::Value;

use super::call_state::ArrivedCall;
use crate::connection_state::ConnectionState;

/// Ends a path in a command line. No name of a sidecar has such a character.
const PATH_ENDS: &[char] = &['"', '\'', '`', ';', '|', '&', '<', '>', '(', ')', '$'];

/// Adopts the sidecars of earlier sessions that the input names, also within a command line.
pub(super) async fn adopt_named_outputs(arrived: &ArrivedCall, connection: &ConnectionState) {
    // A subagent does not read what was cut out of the answers of its parent, which can be of the same run.
    if !connection.restrictions.is_empty() {
        return;
    }
    let parts = &connection.shared.parts;
    let mut named = Vec::new();
    collect_paths(&arrived.call().input, &format!("{}/", parts.sidecars.display()), &mut named);
    for path in named {
        let Some(seq) = call_number(&path) else { continue };
        if connection.sidecars.holds(&path) {
            continue;
        }
        let query = CallQuery { seq: Some(seq), ..CallQuery::of_run(arrived.scope().run.clone()) };
        let Ok(rows) = parts.journal.calls(query).await else { continue };
        let is_recorded = rows.iter().any(|row| {
            let envelope = row.parsed_envelope().ok().flatten();
            envelope.is_some_and(|it| {
                it.metadata().output_path.as_deref().map(Path::new) == Some(&path)
            })
        });
        if is_recorded {
            connection.sidecars.adopt_path(&path);
        }
    }
}

/// Collects the paths in the texts of an input that begin with `directory`.
fn collect_paths(input: &Value, directory: &str, found: &mut Vec<PathBuf>) {
    match input {
        Value::String(text) => {
            for (at, _) in text.match_indices(directory) {
                let (_, rest) = text.split_at(at + directory.len());
                let ends = |letter: char| letter.is_whitespace() || PATH_ENDS.contains(&letter);
                let name = rest.split(ends).next().unwrap_or_default();
                found.push(PathBuf::from(format!("{directory}{name}")));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_paths(item, directory, found)),
        Value::Object(fields) => {
            fields.values().for_each(|field| collect_paths(field, directory, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the number of the call that a sidecar of this path would belong to, from 1.
fn call_number(path: &Path) -> Option<u32> {
    let (number, _) = path.file_name()?.to_str()?.split_once('-')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found_wherever_an_input_names_them() {
        let input = json!({
            "path": "/s/a/1-bash.txt",
            "cmd": "sed -n 1,2p '/s/a/2-bash.txt'; cat /s/b/3-read.txt|wc",
            "opts": {"args": ["-n", "/s/c/4-x.txt", "/t/5-x.txt", 7]}
        });
        let mut found = Vec::new();
        collect_paths(&input, "/s/", &mut found);
        let names = ["/s/a/1-bash.txt", "/s/a/2-bash.txt", "/s/b/3-read.txt", "/s/c/4-x.txt"];
        assert_eq!(found, names.map(PathBuf::from));
        assert_eq!(
            found.iter().filter_map(|path| call_number(path)).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert_eq!(call_number(Path::new("/s/a/notes.txt")), None);
    }
}
