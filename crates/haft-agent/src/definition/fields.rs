//! Parses the fields of front matter. Each mistake is noted with its line and parsing continues, so that all mistakes are reported at
//! once.

use std::path::Path;

use haft::{
    FileProblem, FrontMatterFault, FrontMatterField, FrontMatterKind, FrontMatterValue,
    ProblemSeverity, near_matches,
};
use haft_contract::cut;

use super::agent::AgentFileReferenceField;

/// The longest quotation of a wrong text, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// All mistakes so far.
#[derive(Debug, Default)]
pub(super) struct AgentFileFaults(Vec<FrontMatterFault>);

/// A text and its line.
pub(super) struct FrontMatterText {
    pub(super) line: u64,
    pub(super) text: String,
}

/// Returns a mistake as a problem of its file.
pub(super) fn file_problem(fault: FrontMatterFault, file: &Path) -> FileProblem {
    let FrontMatterFault { line, message } = fault;
    FileProblem { severity: ProblemSeverity::Error, file: file.to_path_buf(), line, message }
}

/// A name in a file, and its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatterReference {
    pub(super) line: u64,
    pub(super) field: AgentFileReferenceField,
    pub(super) name: String,
}

impl AgentFileFaults {
    pub(super) fn push_at_line(&mut self, line: u64, message: impl Into<String>) {
        self.0.push(FrontMatterFault { line: Some(line), message: message.into() });
    }

    pub(super) fn push_for_file(&mut self, message: impl Into<String>) {
        self.0.push(FrontMatterFault { line: None, message: message.into() });
    }

    /// Returns the mistakes in the order of their lines.
    pub(super) fn into_sorted(mut self) -> Vec<FrontMatterFault> {
        self.0.sort_by_key(|fault| fault.line);
        self.0
    }

    /// Returns the known fields of a table, and reports the others.
    pub(super) fn known_fields(
        &mut self,
        fields: Vec<FrontMatterField>,
        place: &str,
        keys: &[&str],
    ) -> Vec<FrontMatterField> {
        let (known, unknown): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|field| keys.contains(&field.key.as_str()));
        for field in unknown {
            let near = near_matches(&field.key, keys.iter().copied());
            let advice = match near.first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("expected one of {}", keys.join(", ")),
            };
            let dot = if place.is_empty() { "" } else { "." };
            let key = shorten_text(&format!("{place}{dot}{}", field.key));
            self.push_at_line(field.line, format!("unknown key {key}: {advice}"));
        }
        known
    }

    pub(super) fn table(
        &mut self,
        field: &FrontMatterField,
        place: &str,
        keys: &[&str],
    ) -> Vec<FrontMatterField> {
        match &field.value.kind {
            FrontMatterKind::Table(fields) => self.known_fields(fields.clone(), place, keys),
            kind => {
                let found = kind.type_name();
                self.push_at_line(
                    field.line,
                    format!("{place}: expected a table of {}, found {found}", keys.join(", ")),
                );
                Vec::new()
            }
        }
    }

    pub(super) fn text(
        &mut self,
        field: &FrontMatterField,
        place: &str,
    ) -> Option<FrontMatterText> {
        self.text_of(&field.value, field.line, place)
    }

    fn text_of(
        &mut self,
        value: &FrontMatterValue,
        line: u64,
        place: &str,
    ) -> Option<FrontMatterText> {
        match &value.kind {
            FrontMatterKind::Text(text) => Some(FrontMatterText { line, text: text.clone() }),
            kind => {
                let is_unquoted =
                    matches!(kind, FrontMatterKind::Bool(_) | FrontMatterKind::Number(_));
                let advice = if is_unquoted { "; put it into quotes" } else { "" };
                self.push_at_line(
                    line,
                    format!("{place}: expected a text, found {}{advice}", kind.type_name()),
                );
                None
            }
        }
    }

    pub(super) fn texts(&mut self, field: &FrontMatterField, place: &str) -> Vec<FrontMatterText> {
        let items = self.list(field, place);
        items.iter().filter_map(|item| self.text_of(item, item.line, place)).collect()
    }

    pub(super) fn list(&mut self, field: &FrontMatterField, place: &str) -> Vec<FrontMatterValue> {
        match &field.value.kind {
            FrontMatterKind::List(items) => items.clone(),
            kind => {
                let example = if let FrontMatterKind::Text(text) = kind {
                    let items: Vec<&str> =
                        text.split([',', ' ']).filter(|it| !it.is_empty()).collect();
                    let items = cut(&items.join(", "), SHOWN_CHARS_MAX);
                    format!(": write {}: [{items}]", field.key)
                } else {
                    String::new()
                };
                let found = kind.type_name();
                self.push_at_line(
                    field.line,
                    format!("{place}: expected a list, found {found}{example}"),
                );
                Vec::new()
            }
        }
    }

    pub(super) fn flag(&mut self, field: &FrontMatterField, place: &str) -> Option<bool> {
        if let FrontMatterKind::Bool(value) = field.value.kind {
            return Some(value);
        }
        let found = field.value.kind.type_name();
        self.push_at_line(field.line, format!("{place}: expected true or false, found {found}"));
        None
    }

    pub(super) fn count(
        &mut self,
        field: &FrontMatterField,
        place: &str,
        most: u32,
    ) -> Option<u32> {
        let found = match &field.value.kind {
            FrontMatterKind::Number(number) => {
                let count = number.as_u64().and_then(|count| u32::try_from(count).ok());
                if let Some(count) = count.filter(|count| (1..=most).contains(count)) {
                    return Some(count);
                }
                number.to_string()
            }
            kind => kind.type_name().to_owned(),
        };
        self.push_at_line(
            field.line,
            format!("{place}: expected a number from 1 to {most}, found {found}"),
        );
        None
    }
}

/// Returns a quotation of a wrong text.
pub(super) fn shorten_text(text: &str) -> String {
    format!("{:?}", cut(text, SHOWN_CHARS_MAX))
}
