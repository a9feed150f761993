//! The words of a declared command, and how they are filled in. A value never becomes more than its own words, and never an
//! option that the declaration did not mean to allow.

use haft_contract::{ErrorCode, ToolError};
use serde_json::Value;

use super::ArgvItem;

/// From this word on, programs take every word for an operand.
pub(super) const END_OF_OPTIONS: &str = "--";

/// The words of a command before they are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandTemplate {
    items: Vec<TemplateItem>,
}

/// Words that are there together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TemplateItem {
    pub(super) words: Vec<TemplateWord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TemplateWord {
    pub(super) pieces: Vec<TemplatePiece>,
    /// Whether what it begins with may begin with a dash.
    pub(super) may_be_option: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePiece {
    Text(String),
    Parameter(String),
}

impl CommandTemplate {
    /// Reads a template; or says of each item that cannot be read what is wrong with it.
    pub(super) fn parse(
        argv: &[ArgvItem],
        allow_dash: &[String],
    ) -> Result<Self, Vec<(usize, String)>> {
        let (mut items, mut problems) = (Vec::new(), Vec::new());
        for (place, item) in argv.iter().enumerate() {
            let texts = match item {
                ArgvItem::Word(text) => std::slice::from_ref(text),
                ArgvItem::Group(texts) => texts.as_slice(),
            };
            let words: Result<Vec<TemplateWord>, String> =
                texts.iter().map(|text| TemplateWord::parse(text, allow_dash)).collect();
            match words {
                Ok(words) => items.push(TemplateItem { words }),
                Err(message) => problems.push((place, message)),
            }
        }
        if problems.is_empty() { Ok(Self { items }) } else { Err(problems) }
    }

    pub(super) fn items(&self) -> &[TemplateItem] {
        &self.items
    }

    /// Returns the parameters that the words hold, each as often as it is there.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.items.iter().flat_map(|item| &item.words).flat_map(TemplateWord::parameters)
    }

    /// Returns the command that an input makes.
    pub(super) fn fill(&self, input: &Value) -> Result<Vec<String>, ToolError> {
        let mut argv = Vec::new();
        let mut is_before_operands = true;
        for item in &self.items {
            // An item that is left out takes the end of options with it.
            if let Some(filled) = item.fill(input, is_before_operands)? {
                argv.extend(filled);
                is_before_operands &= !item.words.iter().any(TemplateWord::ends_options);
            }
        }
        Ok(argv)
    }
}

impl TemplateItem {
    /// Returns the words, or nothing if the input does not have all of their parameters. Before the operands, words that
    /// begin with a dash would be taken for options.
    fn fill(
        &self,
        input: &Value,
        mut is_before_operands: bool,
    ) -> Result<Option<Vec<String>>, ToolError> {
        let mut filled = Vec::new();
        for word in &self.words {
            is_before_operands &= !word.ends_options();
            let Some(words) = word.fill(input)? else { return Ok(None) };
            if is_before_operands
                && !word.may_be_option
                && let Some(TemplatePiece::Parameter(name)) = word.pieces.first()
                && let Some(option) = words.iter().find(|word| word.starts_with('-'))
            {
                let message = format!(
                    "{name}: {option:?} begins with a dash, so that the program would take it for an option: give a value \
                     that does not, such as ./{option} for a file"
                );
                return Err(ToolError::new(ErrorCode::InvalidInput, message));
            }
            filled.extend(words);
        }
        Ok(Some(filled))
    }
}

impl TemplateWord {
    fn parse(text: &str, allow_dash: &[String]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            literal.push_str(before);
            if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
                literal.extend(brace.chars().next());
                rest = after;
                continue;
            }
            let inner = brace.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let Some((name, after)) = inner.filter(|(name, _)| !name.is_empty()) else {
                return Err(format!(
                    "{text:?}: expected a parameter in braces, as in {{path}}; a brace itself is written twice"
                ));
            };
            if !literal.is_empty() {
                pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(TemplatePiece::Parameter(name.to_owned()));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(TemplatePiece::Text(literal));
        }
        let may_be_option = match pieces.first() {
            Some(TemplatePiece::Parameter(name)) => allow_dash.contains(name),
            Some(TemplatePiece::Text(_)) | None => true,
        };
        Ok(Self { pieces, may_be_option })
    }

    /// Returns the parameters in the word.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Parameter(name) => Some(name.as_str()),
            TemplatePiece::Text(_) => None,
        })
    }

    /// Returns the word if no input changes it.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [TemplatePiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns what the word begins with before its first parameter, if there are both.
    pub(super) fn literal_prefix(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [TemplatePiece::Text(start), _, ..] => Some(start),
            _ => None,
        }
    }

    /// Returns the word with this value for each parameter.
    pub(super) fn with_values(&self, value: &str) -> String {
        let text = |piece: &TemplatePiece| match piece {
            TemplatePiece::Text(text) => text.clone(),
            TemplatePiece::Parameter(_) => value.to_owned(),
        };
        self.pieces.iter().map(text).collect()
    }

    /// Returns whether programs take every word after this one for an operand.
    fn ends_options(&self) -> bool {
        self.literal() == Some(END_OF_OPTIONS)
    }

    /// Returns the parameter that the word is, if it is nothing else.
    pub(super) fn whole_parameter(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [TemplatePiece::Parameter(name)] => Some(name),
            _ => None,
        }
    }

    fn fill(&self, input: &Value) -> Result<Option<Vec<String>>, ToolError> {
        if let Some(name) = self.whole_parameter()
            && let Some(Value::Array(entries)) = input.get(name)
        {
            let words: Result<Vec<String>, _> =
                entries.iter().map(|it| text_of(name, it)).collect();
            return words.map(Some);
        }
        let mut filled = String::new();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(text) => filled.push_str(text),
                TemplatePiece::Parameter(name) => match input.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(value) => filled.push_str(&text_of(name, value)?),
                },
            }
        }
        Ok(Some(vec![filled]))
    }
}

/// Returns a value as it stands in a word.
fn text_of(name: &str, value: &Value) -> Result<String, ToolError> {
    let found = match value {
        Value::String(text) if text.contains('\0') => "a text with a NUL character",
        Value::String(text) => return Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => return Ok(value.to_string()),
        Value::Null => "null",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let message = format!("{name}: expected a text, a number, true or false, found {found}");
    Err(ToolError::new(ErrorCode::InvalidInput, message))
}
