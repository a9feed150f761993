//! One file of a client's configuration before and after a change. A change is made in memory, shown, and only then written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::clients::{ClientEdit, ClientEditContent, ClientFile, ClientFileFormat, EditPurpose};
use super::record::{RecordedConfiguration, RecordedEdit};
use super::{json_text, toml_text};
use crate::error::CommandError;
use crate::manifest_edit::replace_file;

/// Largest configuration of a client that is changed, in bytes.
///
/// Limit (files): `haft connect` refuses the file.
const CONFIGURATION_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Unchanged lines around a change that are shown.
const CONTEXT_LINES: usize = 2;

/// A file, and the change of it that is about to be written.
pub(super) struct ConfigurationChange {
    pub(super) path: PathBuf,
    format: ClientFileFormat,
    /// `None` if there is no such file.
    before: Option<String>,
    /// `None` if the file is to be removed.
    after: Option<String>,
    /// The part of the change that is recorded.
    record: RecordedConfiguration,
    /// Values that stay, because the user changed them since haft wrote them.
    pub(super) kept: Vec<String>,
}

/// Which of its parts a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PresentParts {
    pub(super) connection: bool,
    pub(super) own_tools: bool,
}

impl ConfigurationChange {
    /// Returns the change that puts the edits into a file which are not there yet.
    pub(super) fn connect(file: &ClientFile, with_own_tools: bool) -> Result<Self, CommandError> {
        let mut change = Self::open(&file.path, file.format)?;
        let wanted = |edit: &&ClientEdit| with_own_tools || edit.purpose == EditPurpose::Connection;
        for edit in file.edits.iter().filter(wanted) {
            change.apply(edit)?;
        }
        Ok(change)
    }

    /// Returns the change that takes back what haft wrote into a file.
    pub(super) fn undo(
        file: &ClientFile,
        recorded: RecordedConfiguration,
    ) -> Result<Self, CommandError> {
        let mut change = Self::open(&file.path, file.format)?;
        if file.format == ClientFileFormat::Whole {
            let written = recorded.edits.first().and_then(|edit| edit.value.as_str());
            if change.before.is_some() && change.before.as_deref() == written {
                change.after = None;
            } else if change.before.is_some() && written.is_some() {
                change.kept.push(file.path.display().to_string());
            }
            change.record = recorded;
            return Ok(change);
        }
        for edit in recorded.edits.iter().rev() {
            change.revert(edit)?;
        }
        let is_blank = change.after.as_deref().is_some_and(|text| change.is_blank(text));
        if recorded.is_new && is_blank {
            change.after = None;
        }
        change.record = recorded;
        Ok(change)
    }

    /// Returns which of its parts a file has.
    pub(super) fn present(file: &ClientFile) -> Result<PresentParts, CommandError> {
        let change = Self::open(&file.path, file.format)?;
        let text = change.before.as_deref().unwrap_or_default();
        let mut present = PresentParts { connection: true, own_tools: true };
        for edit in &file.edits {
            let is_there = match (file.format, &edit.content) {
                (ClientFileFormat::Whole, ClientEditContent::Value(value)) => value == text,
                _ => change.has(text, edit)?,
            };
            match edit.purpose {
                EditPurpose::Connection => present.connection &= is_there,
                EditPurpose::OwnTools => present.own_tools &= is_there,
            }
        }
        Ok(present)
    }

    fn open(path: &Path, format: ClientFileFormat) -> Result<Self, CommandError> {
        let unreadable = |err: io::Error| {
            CommandError::usage(format!("{} cannot be read: {err}", path.display()))
        };
        let before = match fs::metadata(path) {
            Ok(found) if found.len() > CONFIGURATION_BYTES_MAX => {
                let path = path.display();
                let message = format!("{path} has more than {CONFIGURATION_BYTES_MAX} bytes");
                return Err(CommandError::usage(message));
            }
            Ok(_) => Some(fs::read_to_string(path).map_err(unreadable)?),
            Err(err) if err.kind() == io::ErrorKind::NotFound => None,
            Err(err) => return Err(unreadable(err)),
        };
        let after = before.clone();
        let is_new = before.is_none();
        let record = RecordedConfiguration {
            path: path.to_owned(),
            is_new,
            ..RecordedConfiguration::default()
        };
        Ok(Self { path: path.to_owned(), format, before, after, record, kept: Vec::new() })
    }

    /// Returns whether anything changes.
    pub(super) fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Returns a word for what becomes of the file.
    pub(super) fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, Some(_)) => "made",
            (Some(_), None) => "removed",
            (before, after) if before == after => "unchanged",
            _ => "changed",
        }
    }

    /// Returns the change as a unified diff under the name of the file.
    pub(super) fn diff(&self, shown_path: &str) -> String {
        let [before, after] =
            [&self.before, &self.after].map(|it| it.as_deref().unwrap_or_default());
        let mut options = diffy::DiffOptions::new();
        options.set_context_len(CONTEXT_LINES);
        let patch = options.create_patch(before, after).to_string();
        let hunks: String = patch.split_inclusive('\n').skip(2).collect();
        let name = |text: &Option<String>| match text {
            Some(_) => shown_path.to_owned(),
            None => "/dev/null".to_owned(),
        };
        format!("--- {}\n+++ {}\n{hunks}", name(&self.before), name(&self.after))
    }

    /// Writes the change, if the file is still as it was read. Returns what is to be recorded.
    pub(super) fn write(mut self) -> Result<RecordedConfiguration, CommandError> {
        let path = self.path.clone();
        let cannot_write = |err: io::Error| {
            CommandError::usage(format!("{} cannot be written: {err}", path.display()))
        };
        if Self::open(&path, self.format)?.before != self.before {
            let message =
                format!("{} was changed meanwhile, so nothing was written to it", path.display());
            return Err(CommandError::failed(message));
        }
        match &self.after {
            Some(text) => {
                let missing = path.ancestors().skip(1).take_while(|directory| !directory.exists());
                let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
                missing.reverse();
                for directory in &missing {
                    fs::create_dir(directory).map_err(cannot_write)?;
                }
                self.record.directories = missing;
                replace_file(&path, text, None).map_err(cannot_write)?;
            }
            None => fs::remove_file(&path).map_err(cannot_write)?,
        }
        Ok(self.record)
    }

    fn apply(&mut self, edit: &ClientEdit) -> Result<(), CommandError> {
        let text = self.after.clone().unwrap_or_default();
        if self.format == ClientFileFormat::Whole {
            return self.apply_whole(edit);
        }
        if self.has(&text, edit)? {
            return Ok(());
        }
        let mut keys_before = 0;
        while keys_before < edit.place.len()
            && self.get(&text, edit.place.get(..=keys_before).unwrap_or_default())?.is_some()
        {
            keys_before += 1;
        }
        let (changed, value, before) = match &edit.content {
            ClientEditContent::Value(value) => {
                let before = self.in_file(match self.format {
                    ClientFileFormat::Toml => toml_text::raw(&text, &edit.place),
                    ClientFileFormat::Json | ClientFileFormat::Whole => {
                        json_text::raw(&text, &edit.place)
                    }
                })?;
                let changed = match self.format {
                    ClientFileFormat::Toml => toml_text::set(&text, &edit.place, value),
                    ClientFileFormat::Json | ClientFileFormat::Whole => {
                        json_text::set(&text, &edit.place, value)
                    }
                };
                (changed, value.clone(), before)
            }
            ClientEditContent::Item(item) => {
                let changed = json_text::add(&text, &edit.place, item);
                (changed, Value::from(item.as_str()), None)
            }
        };
        self.after = Some(self.in_file(changed)?);
        let is_item = matches!(edit.content, ClientEditContent::Item(_));
        let place = edit.place.clone();
        self.record.edits.push(RecordedEdit { place, value, is_item, before, keys_before });
        Ok(())
    }

    fn apply_whole(&mut self, edit: &ClientEdit) -> Result<(), CommandError> {
        let ClientEditContent::Value(value) = &edit.content else { return Ok(()) };
        let text = value.as_str().unwrap_or_default();
        match self.before.as_deref() {
            Some(found) if found == text => Ok(()),
            Some(_) => {
                let message =
                    format!("{} has another content, so nothing was written", self.path.display());
                Err(CommandError::usage(message)
                    .hint(format!("mv {0} {0}.old", self.path.display())))
            }
            None => {
                self.after = Some(text.to_owned());
                self.record.edits.push(unrecorded_edit(edit));
                Ok(())
            }
        }
    }

    fn revert(&mut self, edit: &RecordedEdit) -> Result<(), CommandError> {
        let Some(text) = self.after.clone() else { return Ok(()) };
        let found = self.get(&text, &edit.place)?;
        let is_there = match (&found, edit.is_item) {
            (Some(Value::Array(items)), true) => items.contains(&edit.value),
            (found, _) => found.as_ref() == Some(&edit.value),
        };
        if !is_there {
            if found.is_some() && !edit.is_item {
                self.kept.push(edit.place.join("."));
            }
            return Ok(());
        }
        let is_toml = self.format == ClientFileFormat::Toml;
        let item = edit.value.as_str().unwrap_or_default();
        let changed = match (&edit.before, edit.is_item) {
            (_, true) => json_text::remove_item(&text, &edit.place, item),
            (Some(before), false) if is_toml => toml_text::set_raw(&text, &edit.place, before),
            (Some(before), false) => json_text::set_raw(&text, &edit.place, before),
            (None, false) if is_toml => toml_text::remove(&text, &edit.place),
            (None, false) => json_text::remove(&text, &edit.place),
        };
        let mut text = self.in_file(changed)?;
        // Objects that haft made around it go too, if nothing else is in them.
        for depth in (edit.keys_before + 1..=edit.place.len()).rev() {
            let place = edit.place.get(..depth).unwrap_or_default();
            let is_empty = match self.get(&text, place)? {
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(_) | None => false,
            };
            if is_empty {
                let without = match is_toml {
                    true => toml_text::remove(&text, place),
                    false => json_text::remove(&text, place),
                };
                text = self.in_file(without)?;
            }
        }
        self.after = Some(text);
        Ok(())
    }

    fn has(&self, text: &str, edit: &ClientEdit) -> Result<bool, CommandError> {
        let found = self.get(text, &edit.place)?;
        Ok(match (&edit.content, found) {
            (ClientEditContent::Value(value), Some(found)) => found == *value,
            (ClientEditContent::Item(item), Some(Value::Array(items))) => {
                items.iter().any(|found| found == item)
            }
            _ => false,
        })
    }

    fn get(&self, text: &str, place: &[String]) -> Result<Option<Value>, CommandError> {
        self.in_file(match self.format {
            ClientFileFormat::Toml => toml_text::get(text, place),
            ClientFileFormat::Json => json_text::get(text, place),
            ClientFileFormat::Whole => Ok(None),
        })
    }

    fn is_blank(&self, text: &str) -> bool {
        match self.format {
            ClientFileFormat::Toml => toml_text::is_blank(text),
            ClientFileFormat::Json | ClientFileFormat::Whole => json_text::is_blank(text),
        }
    }

    /// Returns a result about the text with the name of the file in its error.
    fn in_file<T>(&self, result: Result<T, String>) -> Result<T, CommandError> {
        result.map_err(|why| {
            CommandError::usage(format!(
                "{}: {why}; nothing was changed. Correct the file and try again",
                self.path.display()
            ))
        })
    }
}

/// Returns the record of a file in which all edits are haft's, for a file that another person connected.
pub(super) fn unrecorded(file: &ClientFile) -> RecordedConfiguration {
    RecordedConfiguration {
        edits: file.edits.iter().map(unrecorded_edit).collect(),
        ..RecordedConfiguration::default()
    }
}

fn unrecorded_edit(edit: &ClientEdit) -> RecordedEdit {
    let (value, is_item) = match &edit.content {
        ClientEditContent::Value(value) => (value.clone(), false),
        ClientEditContent::Item(item) => (Value::from(item.as_str()), true),
    };
    // Without a record, what is around it stays.
    let keys_before = edit.place.len();
    RecordedEdit { place: edit.place.clone(), value, is_item, before: None, keys_before }
}
