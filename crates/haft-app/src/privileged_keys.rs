//! Splits a manifest into the settings that hold without trust, and those that widen what an agent may do. The first part
//! starts out empty and receives only values that are declared not to widen. A key without a declaration has no effect.

use std::path::Path;

use toml::{Table, Value};

use crate::app_error::AppError;
use crate::manifest::setting::{SETTINGS, Setting, Widens};
use crate::manifest::{Manifest, ManifestFile};

/// A manifest taken apart.
#[derive(Debug)]
pub struct SplitManifest {
    /// The settings that hold whether the manifest is trusted or not.
    pub unprivileged: Manifest,
    /// The settings that hold only if it is trusted, in the words of the manifest.
    pub privileged_keys: Vec<String>,
}

/// Takes a manifest apart that lies in a file.
///
/// # Errors
///
/// Fails if the text of the file is not TOML, or if what is left of it is no manifest.
pub fn split_privileged(
    file: &ManifestFile,
    manifest: &Manifest,
) -> Result<SplitManifest, AppError> {
    let table: Table = toml::from_str(file.text()).map_err(|err| file.unusable(&err))?;
    let split = split_table(&table, manifest, file.directory(), SETTINGS);
    let text = toml::to_string(&split.kept).map_err(|err| file.unusable(&err))?;
    Ok(SplitManifest {
        // It was checked as a part of the whole, with the examples of its rules.
        unprivileged: file.with_text(text).parse_unchecked()?,
        privileged_keys: split.withheld,
    })
}

/// A table without the values that widen what an agent may do.
struct SplitTable {
    /// The values that hold without trust.
    kept: Table,
    /// The other values, in words for the user.
    withheld: Vec<String>,
}

/// Splits a table by the declared settings. A value without a declaration is in neither part.
fn split_table(
    table: &Table,
    manifest: &Manifest,
    directory: &Path,
    settings: &[Setting],
) -> SplitTable {
    let mut split = SplitTable { kept: Table::new(), withheld: Vec::new() };
    for setting in settings {
        let judged = !matches!(setting.widens, Widens::OfEntry);
        let Some(key) = setting.key.filter(|_| judged) else { continue };
        let withheld = &mut split.withheld;
        let mut holds = |value: &Value, place: usize, name: &str| {
            let widens = setting.is_widened_by(value, directory);
            if widens {
                withheld.push(setting.words(value, manifest, place, name));
            }
            !widens
        };
        let (path, kept) = if let Some(path) = key.strip_suffix("[]") {
            let Some(Value::Array(items)) = find(table, path) else { continue };
            let kept = items.iter().enumerate().filter(|(place, item)| holds(item, *place, ""));
            (path, Value::Array(kept.map(|(_, item)| item.clone()).collect()))
        } else if let Some(path) = key.strip_suffix(".*") {
            let Some(Value::Table(entries)) = find(table, path) else { continue };
            let kept = entries.iter().filter(|(name, entry)| holds(entry, 0, name));
            (path, Value::Table(kept.map(|(name, entry)| (name.clone(), entry.clone())).collect()))
        } else {
            let Some(value) = find(table, key).filter(|value| holds(value, 0, "")) else {
                continue;
            };
            (key, value.clone())
        };
        put(&mut split.kept, path, kept);
    }
    split
}

/// Returns the value at a path of keys with dots between them.
fn find<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    match path.split_once('.') {
        Some((first, rest)) => find(table.get(first)?.as_table()?, rest),
        None => table.get(path),
    }
}

/// Puts a value at a path; what holds nothing is left out.
fn put(table: &mut Table, path: &str, value: Value) {
    let is_empty = value.as_array().is_some_and(Vec::is_empty)
        || value.as_table().is_some_and(Table::is_empty);
    let Some((first, rest)) = path.split_once('.') else {
        // An empty list of tools offers none; other lists and tables say nothing when they are empty.
        if !is_empty || path == "tools" {
            table.insert(path.to_owned(), value);
        }
        return;
    };
    let below = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(below) = below {
        put(below, rest, value);
    }
}

#[cfg(test)]
mod tests;
