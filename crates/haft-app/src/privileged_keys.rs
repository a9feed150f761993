//! What a manifest asks for beyond the defaults, in words and apart from the rest. A manifest that is not trusted keeps
//! the rest. The rest starts out empty and receives only values of settings that are declared as narrowing, so a key
//! without a declaration has no effect.

use std::path::Path;

use toml::{Table, Value};

use crate::app_error::AppError;
use crate::manifest::{Manifest, ManifestFile};
use crate::setting::{SETTINGS, Setting, Widens};

/// A manifest taken apart.
#[derive(Debug)]
pub struct SplitManifest {
    /// What holds whether the manifest is trusted or not.
    pub unprivileged: Manifest,
    /// What holds only if it is trusted, in the words of the manifest.
    pub privileged_keys: Vec<String>,
}

/// Takes a manifest apart that lies in a file.
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

struct SplitTable {
    kept: Table,
    withheld: Vec<String>,
}

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
        let (path, is_list) = match (key.strip_suffix("[]"), key.strip_suffix(".*")) {
            (Some(path), _) => (path, true),
            (None, Some(path)) => (path, false),
            (None, None) => {
                split.judge(setting, table, manifest, directory);
                continue;
            }
        };
        match (find(table, path), is_list) {
            (Some(Value::Array(items)), true) => {
                let kept = split.judge_items(setting, items, manifest, directory);
                put(&mut split.kept, path, Value::Array(kept));
            }
            (Some(Value::Table(entries)), false) => {
                let kept = split.judge_entries(setting, entries, manifest, directory);
                put(&mut split.kept, path, Value::Table(kept));
            }
            (Some(_) | None, _) => {}
        }
    }
    split
}

impl SplitTable {
    fn judge(&mut self, setting: &Setting, table: &Table, manifest: &Manifest, directory: &Path) {
        let key = setting.key.unwrap_or_default();
        let Some(value) = find(table, key) else { return };
        if setting.is_widened_by(value, directory) {
            self.withheld.push(setting.words(value, manifest, 0, ""));
        } else {
            put(&mut self.kept, key, value.clone());
        }
    }

    fn judge_items(
        &mut self,
        setting: &Setting,
        items: &[Value],
        manifest: &Manifest,
        directory: &Path,
    ) -> Vec<Value> {
        let mut kept = Vec::new();
        for (place, item) in items.iter().enumerate() {
            if setting.is_widened_by(item, directory) {
                self.withheld.push(setting.words(item, manifest, place, ""));
            } else {
                kept.push(item.clone());
            }
        }
        kept
    }

    fn judge_entries(
        &mut self,
        setting: &Setting,
        entries: &Table,
        manifest: &Manifest,
        directory: &Path,
    ) -> Table {
        let mut kept = Table::new();
        for (name, entry) in entries {
            if setting.is_widened_by(entry, directory) {
                self.withheld.push(setting.words(entry, manifest, 0, name));
            } else {
                kept.insert(name.clone(), entry.clone());
            }
        }
        kept
    }
}

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
