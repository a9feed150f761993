//! Inputs whose references were read, and what becomes of them when the outputs are known.

use std::borrow::Cow;
use std::collections::HashSet;

use haft::{OpenValue, OpenValues};
use haft_contract::ShellParameter;
use haft_shell::OpenWord;
use serde_json::Value;

use super::location::ValueLocation;
use super::piece::{
    InputTemplateError, InputTemplateFault, InputTemplatePart, InputTemplatePiece, Reference,
    ReferenceError, ReferenceSource, UnresolvedReason,
};
use super::read::{foreign, pieces};
use super::resolve::ReferenceResolver;
use crate::limits::INPUTS_DEPTH_MAX;
use crate::node_id::NodeId;

/// From this word on, programs take every word for an operand.
const END_OF_OPTIONS: &str = "--";

type ReferenceVisitor<'f> = dyn FnMut(&ValueLocation<'_>, &Reference) + 'f;

/// A value that may hold references: `{{STEPS.<id>.<path>}}` to the output of an earlier node, `{{INPUT.<path>}}` to
/// the input of the plan.
///
/// - A text that is one reference and nothing else becomes what the reference names, whatever its type. Inside a
///   longer text a reference becomes text: texts bare, everything else as compact JSON.
/// - A path is made of names and indices: `items.0.name`, `items[0].name`. A name with a blank, a dot, a bracket, a
///   brace, a quote or a backslash in it stands in quotes: `["a.b"]`, `['total sum']`. Without a path the whole is
///   meant: `{{STEPS.0}}`. Blanks inside the braces, at either end, do not matter.
/// - Every other `{{` is refused, as a placeholder that was left. Two literal braces are written `\{{`. Of several
///   backslashes before `{{`, and only there, every two are one.
/// - Names of fields cannot hold references.
#[derive(Clone, Debug, PartialEq)]
pub struct InputTemplate(InputTemplatePart);

impl InputTemplate {
    /// Reads the references in `value`, and returns what could not be read beside the rest. `field` is the name that
    /// messages give to the whole.
    pub(crate) fn read(value: &Value, field: &str) -> (Self, Vec<InputTemplateError>) {
        let mut reading = InputTemplateReader::default();
        let part = reading.part(value, &ValueLocation::of_whole(field));
        (Self(part), reading.errors)
    }

    /// Calls `visit` with each reference and where it stands.
    pub(crate) fn each_reference(&self, field: &str, visit: &mut ReferenceVisitor<'_>) {
        self.0.each_reference(&ValueLocation::of_whole(field), visit);
    }

    /// Returns which words of a command hold references where a program would read them as code. The program is word 0.
    pub(crate) fn code_places(&self, line: ShellParameter) -> Vec<usize> {
        let (value, _) = self.preview(None);
        let mut open = HashSet::new();
        self.each_reference("", &mut |at, _| open.extend(at.word_place(line)));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let program = value.get(line.parameter).map(text).unwrap_or_default();
        let arguments = match value.get(line.words) {
            Some(Value::Array(items)) => items.iter().map(text).collect(),
            // All arguments are one reference.
            Some(whole) => vec![text(whole)],
            None => Vec::new(),
        };
        let words = std::iter::once(program).chain(arguments).enumerate();
        let words = words.map(|(place, text)| match open.contains(&place) {
            // A reference begins with two braces.
            true => {
                OpenWord::Open { prefix: text.split("{{").next().unwrap_or_default().to_owned() }
            }
            false => OpenWord::Fixed(text),
        });
        haft_shell::code_places(&words.collect::<Vec<_>>())
    }

    /// Checks that no value of a reference begins with a dash where a program would take it for an option. `resolved` is the
    /// value of this template.
    pub(crate) fn check_options(
        &self,
        line: ShellParameter,
        resolved: &Value,
    ) -> Result<(), ReferenceError> {
        let Some(arguments) = resolved.get(line.words).and_then(Value::as_array) else {
            return Ok(());
        };
        let end = arguments.iter().position(|word| word == END_OF_OPTIONS);
        let is_option = |place: usize| {
            let word = arguments.get(place).and_then(Value::as_str).unwrap_or_default();
            word.starts_with('-') && end.is_none_or(|end| place <= end)
        };
        let written = self.to_value();
        let written = written.get(line.words);
        let mut found = None;
        self.each_reference("inputs", &mut |at, reference| {
            let Some(place) = at.word_place(line).and_then(|place| place.checked_sub(1)) else {
                return;
            };
            let takes_option = match written {
                Some(Value::Array(items)) => {
                    // A word that begins with other text is what the plan made it.
                    let begins = items.get(place).and_then(Value::as_str);
                    begins.is_some_and(|text| text.starts_with("{{")) && is_option(place)
                }
                Some(_) | None => (0..arguments.len()).any(is_option),
            };
            if takes_option && found.is_none() {
                found = Some(ReferenceError {
                    field: at.written(),
                    reference: reference.clone(),
                    why: UnresolvedReason::TakenForOption,
                });
            }
        });
        found.map_or(Ok(()), Err)
    }

    /// Returns the value with every reference replaced by what it names. A node's output is the data of its envelope.
    pub fn resolve<'v>(
        &self,
        outputs: &dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Result<Value, ReferenceError> {
        ReferenceResolver::new(outputs, input).part(&self.0, &ValueLocation::of_whole("inputs"))
    }

    /// Returns the value as far as it is known without outputs, and which of its texts are not. References stand in it
    /// as they are written, but for those to a given input, which are replaced where they name something.
    pub(crate) fn preview(&self, input: Option<&Value>) -> (Cow<'_, Value>, OpenValues) {
        let mut open = OpenValues::new();
        let value = match &self.0 {
            InputTemplatePart::Literal(value) => Cow::Borrowed(value),
            part => Cow::Owned(part.preview(input, &ValueLocation::of_whole(""), &mut open)),
        };
        (value, open)
    }

    /// Returns the value as it would be written in a plan.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

/// The references that were read so far, and their mistakes.
#[derive(Default)]
struct InputTemplateReader {
    errors: Vec<InputTemplateError>,
}

impl InputTemplateReader {
    fn part(&mut self, value: &Value, at: &ValueLocation<'_>) -> InputTemplatePart {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                InputTemplatePart::Literal(value.clone())
            }
            Value::String(text) => self.text(text, at),
            Value::Array(_) | Value::Object(_) if at.depth() == INPUTS_DEPTH_MAX => {
                self.fail(at, InputTemplateFault::Depth)
            }
            Value::Array(items) => {
                let parts = items.iter().enumerate();
                let parts: Vec<_> =
                    parts.map(|(index, item)| self.part(item, &at.item(index))).collect();
                if !parts.iter().all(InputTemplatePart::is_literal) {
                    return InputTemplatePart::Array(parts);
                }
                let values = parts.into_iter().filter_map(InputTemplatePart::into_literal);
                InputTemplatePart::Literal(values.collect())
            }
            Value::Object(fields) => {
                let parts = fields.iter();
                let parts: Vec<_> = parts
                    .map(|(name, field)| (name.clone(), self.field(name, field, at)))
                    .collect();
                if !parts.iter().all(|(_, part)| part.is_literal()) {
                    return InputTemplatePart::Object(parts);
                }
                let values = parts.into_iter();
                let values = values.filter_map(|(name, part)| Some((name, part.into_literal()?)));
                InputTemplatePart::Literal(Value::Object(values.collect()))
            }
        }
    }

    fn text(&mut self, text: &str, at: &ValueLocation<'_>) -> InputTemplatePart {
        if let Some(malformed) = foreign(text) {
            return self.fail(at, malformed);
        }
        if !text.contains("{{") {
            return InputTemplatePart::Literal(Value::String(text.to_owned()));
        }
        let (pieces, malformed) = pieces(text);
        for malformed in malformed {
            self.fail(at, malformed);
        }
        match pieces.as_slice() {
            [] => InputTemplatePart::Literal(Value::String(String::new())),
            [InputTemplatePiece::Reference(reference)] => {
                InputTemplatePart::Whole(reference.clone())
            }
            [InputTemplatePiece::Literal(literal)] => {
                InputTemplatePart::Literal(Value::String(literal.clone()))
            }
            _ => InputTemplatePart::Text(pieces),
        }
    }

    fn field(&mut self, name: &str, value: &Value, at: &ValueLocation<'_>) -> InputTemplatePart {
        let part = self.part(value, &at.field(name));
        if name.contains("{{") {
            let why =
                format!("the name {name:?} holds double braces, and names cannot hold references");
            return self.fail(at, InputTemplateFault::Placeholder(why));
        }
        part
    }

    fn fail(&mut self, at: &ValueLocation<'_>, malformed: InputTemplateFault) -> InputTemplatePart {
        self.errors.push(InputTemplateError { field: at.written(), malformed });
        InputTemplatePart::Literal(Value::Null)
    }
}

impl InputTemplatePart {
    fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    fn into_literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Whole(_) | Self::Text(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    fn each_reference(&self, at: &ValueLocation<'_>, visit: &mut ReferenceVisitor<'_>) {
        match self {
            Self::Literal(_) => {}
            Self::Whole(reference) => visit(at, reference),
            Self::Text(pieces) => {
                pieces
                    .iter()
                    .filter_map(InputTemplatePiece::reference)
                    .for_each(|reference| visit(at, reference));
            }
            Self::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    part.each_reference(&at.item(index), visit);
                }
            }
            Self::Object(parts) => {
                parts.iter().for_each(|(name, part)| part.each_reference(&at.field(name), visit));
            }
        }
    }

    fn preview(
        &self,
        input: Option<&Value>,
        at: &ValueLocation<'_>,
        open: &mut OpenValues,
    ) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Whole(reference) => {
                let known = input.filter(|_| reference.source == ReferenceSource::Input);
                match known.and_then(|input| reference.part_of(input).ok()) {
                    Some(value) => value.clone(),
                    None => {
                        open.insert(at.pointer(), OpenValue::AnyType);
                        Value::String(reference.to_string())
                    }
                }
            }
            Self::Text(pieces) => {
                open.insert(at.pointer(), OpenValue::Text);
                Value::String(written(pieces))
            }
            Self::Array(parts) => {
                let parts = parts.iter().enumerate();
                parts.map(|(index, part)| part.preview(input, &at.item(index), open)).collect()
            }
            Self::Object(parts) => {
                let fields = parts
                    .iter()
                    .map(|(name, part)| (name.clone(), part.preview(input, &at.field(name), open)));
                Value::Object(fields.collect())
            }
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Literal(value) => escaped(value),
            Self::Whole(reference) => Value::String(reference.to_string()),
            Self::Text(pieces) => Value::String(written(pieces)),
            Self::Array(parts) => parts.iter().map(Self::to_value).collect(),
            Self::Object(parts) => Value::Object(
                parts.iter().map(|(name, part)| (name.clone(), part.to_value())).collect(),
            ),
        }
    }
}

impl InputTemplatePiece {
    fn reference(&self) -> Option<&Reference> {
        match self {
            Self::Reference(reference) => Some(reference),
            Self::Literal(_) => None,
        }
    }
}

/// Writes every text of a literal so that it reads as itself.
fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(written(&[InputTemplatePiece::Literal(text.clone())])),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, field)| (name.clone(), escaped(field))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Writes pieces as the text that they are read from.
pub(super) fn written(pieces: &[InputTemplatePiece]) -> String {
    let mut text = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        match piece {
            InputTemplatePiece::Reference(reference) => text.push_str(&reference.to_string()),
            InputTemplatePiece::Literal(literal) => {
                let braces_follow =
                    matches!(pieces.get(place + 1), Some(InputTemplatePiece::Reference(_)));
                let mut rest = literal.as_str();
                while let Some(at) = rest.find(['\\', '{']) {
                    let (plain, marks) = rest.split_at(at);
                    text.push_str(plain);
                    let after_backslashes = marks.trim_start_matches('\\');
                    let after = after_backslashes.trim_start_matches('{');
                    let backslashes = marks.len() - after_backslashes.len();
                    let braces = after_backslashes.len() - after.len();
                    let opens = braces >= 2 || (braces_follow && after.is_empty());
                    let written = if opens { 2 * backslashes } else { backslashes };
                    text.extend(std::iter::repeat_n('\\', written));
                    text.push_str(&"\\{{".repeat(braces / 2));
                    text.extend(std::iter::repeat_n('{', braces % 2));
                    rest = after;
                }
                text.push_str(rest);
            }
        }
    }
    text
}
