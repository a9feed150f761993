//! Git's own files that a call changed, in words and as JSON. They are not recorded, so they can only be named.

use std::collections::BTreeMap;
use std::path::Path;

use haft::RootChanges;
use haft_snapshot::quote_path;
use serde_json::{Value, json};

/// Returns the repositories of which git's own files were changed, each in words.
pub fn changed_repositories(root: &RootChanges) -> Vec<String> {
    // Several calls may have changed the same one.
    let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, repository) in &root.repositories {
        let known = parts.entry(&repository.path).or_default();
        for word in repository.changed.iter().map(|part| part.as_str()) {
            if !known.contains(&word) {
                known.push(word);
            }
        }
    }
    let text = |(path, parts): (&str, Vec<&str>)| {
        let path = quote_path(Path::new(path));
        format!("{path} was changed and is not recorded ({})", parts.join(", "))
    };
    parts.into_iter().map(text).collect()
}

/// Returns the repositories of which git's own files were changed, with the call that did it.
pub fn repositories_json(root: &RootChanges) -> Vec<Value> {
    let changed = root.repositories.iter().map(|(call, repository)| {
        json!({
            "path": repository.path,
            "changed": repository.changed,
            "call": call.to_string(),
        })
    });
    changed.collect()
}
