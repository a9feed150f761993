//! Fields of front matter, read one by one: what has another form than expected is noted with its line, and reading goes on,
//! so that all mistakes are told at once.

use std::path::Path;

use haft::{
    FileProblem, FrontField, FrontKind, FrontMatterFault, FrontValue, ProblemSeverity, near_matches,
};
use haft_contract::cut;

/// What is repeated of a text that is wrong, in characters.
const SHOWN_CHARS_MAX: usize = 80;

/// One mistake.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    line: Option<u64>,
    message: String,
}

/// All mistakes so far.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

/// A text and where it stands.
pub(super) struct Text {
    pub(super) line: u64,
    pub(super) text: String,
}

impl Fault {
    pub(super) fn new(line: Option<u64>, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    pub(super) fn in_file(self, file: &Path) -> FileProblem {
        let Self { line, message } = self;
        FileProblem { severity: ProblemSeverity::Error, file: file.to_path_buf(), line, message }
    }
}

impl From<FrontMatterFault> for Fault {
    fn from(fault: FrontMatterFault) -> Self {
        Self { line: fault.line, message: fault.message }
    }
}

impl Faults {
    pub(super) fn note(&mut self, line: u64, message: impl Into<String>) {
        self.0.push(Fault::new(Some(line), message));
    }

    pub(super) fn note_whole(&mut self, message: impl Into<String>) {
        self.0.push(Fault::new(None, message));
    }

    /// Returns the mistakes in the order of their lines.
    pub(super) fn finish(mut self) -> Vec<Fault> {
        self.0.sort_by_key(|fault| fault.line);
        self.0
    }

    /// Returns the fields of a table, without those that nobody knows.
    pub(super) fn known(
        &mut self,
        fields: Vec<FrontField>,
        place: &str,
        keys: &[&str],
    ) -> Vec<FrontField> {
        let (known, unknown): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|field| keys.contains(&field.key.as_str()));
        for field in unknown {
            let near = near_matches(&field.key, keys.iter().copied());
            let advice = match near.first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("expected one of {}", keys.join(", ")),
            };
            let key = shown(&dotted(place, &field.key));
            self.note(field.line, format!("unknown key {key}: {advice}"));
        }
        known
    }

    pub(super) fn table(
        &mut self,
        field: &FrontField,
        place: &str,
        keys: &[&str],
    ) -> Vec<FrontField> {
        match &field.value.kind {
            FrontKind::Table(fields) => self.known(fields.clone(), place, keys),
            kind => {
                let found = kind.word();
                self.note(
                    field.line,
                    format!("{place}: expected a table of {}, found {found}", keys.join(", ")),
                );
                Vec::new()
            }
        }
    }

    pub(super) fn text(&mut self, field: &FrontField, place: &str) -> Option<Text> {
        self.text_of(&field.value, field.line, place)
    }

    pub(super) fn text_of(&mut self, value: &FrontValue, line: u64, place: &str) -> Option<Text> {
        match &value.kind {
            FrontKind::Text(text) => Some(Text { line, text: text.clone() }),
            kind => {
                let advice = match kind {
                    FrontKind::Bool(_) | FrontKind::Number(_) => "; put it into quotes",
                    FrontKind::Nothing
                    | FrontKind::Text(_)
                    | FrontKind::List(_)
                    | FrontKind::Table(_) => "",
                };
                self.note(line, format!("{place}: expected a text, found {}{advice}", kind.word()));
                None
            }
        }
    }

    pub(super) fn texts(&mut self, field: &FrontField, place: &str) -> Vec<Text> {
        let items = self.list(field, place);
        items.iter().filter_map(|item| self.text_of(item, item.line, place)).collect()
    }

    pub(super) fn list(&mut self, field: &FrontField, place: &str) -> Vec<FrontValue> {
        match &field.value.kind {
            FrontKind::List(items) => items.clone(),
            kind => {
                let example = match kind {
                    FrontKind::Text(text) => {
                        let items: Vec<&str> =
                            text.split([',', ' ']).filter(|it| !it.is_empty()).collect();
                        format!(
                            ": write {}: [{}]",
                            field.key,
                            cut(&items.join(", "), SHOWN_CHARS_MAX)
                        )
                    }
                    FrontKind::Nothing
                    | FrontKind::Bool(_)
                    | FrontKind::Number(_)
                    | FrontKind::List(_)
                    | FrontKind::Table(_) => String::new(),
                };
                let found = kind.word();
                self.note(field.line, format!("{place}: expected a list, found {found}{example}"));
                Vec::new()
            }
        }
    }

    pub(super) fn flag(&mut self, field: &FrontField, place: &str) -> Option<bool> {
        if let FrontKind::Bool(value) = field.value.kind {
            return Some(value);
        }
        let found = field.value.kind.word();
        self.note(field.line, format!("{place}: expected true or false, found {found}"));
        None
    }

    pub(super) fn count(&mut self, field: &FrontField, place: &str, most: u32) -> Option<u32> {
        let found = match &field.value.kind {
            FrontKind::Number(number) => {
                let count = number.as_u64().and_then(|count| u32::try_from(count).ok());
                if let Some(count) = count.filter(|count| (1..=most).contains(count)) {
                    return Some(count);
                }
                number.to_string()
            }
            kind => kind.word().to_owned(),
        };
        self.note(
            field.line,
            format!("{place}: expected a number from 1 to {most}, found {found}"),
        );
        None
    }
}

/// Returns a key with what it belongs to.
pub(super) fn dotted(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

/// Returns a text that is wrong as it is repeated.
pub(super) fn shown(text: &str) -> String {
    format!("{:?}", cut(text, SHOWN_CHARS_MAX))
}
