//! Whether a declared command is usable: everything that is wrong with it at once, each with the key that it is about, so that
//! its author sees it before the first call.

use std::collections::BTreeSet;

use haft_contract::limits::{
    BASH_ARGS_MAX, BASH_CWD_CHARS_MAX, COMMAND_DESCRIPTION_CHARS_MAX, TIMEOUT_MS_MAX,
};
use haft_shell::{OpenWord, analyze_argv, code_places};
use serde_json::{Map, Value, json};

use super::template::{CommandTemplate, TemplateWord};
use super::{ArgvItem, CommandToolSpec};

/// The pattern of the program of a command whose input decides which programs it runs.
pub(super) const ANY_PROGRAM: &str = "*";
/// Types of values that are words.
const TYPES: &[&str] = &["boolean", "integer", "number", "string"];
/// Types of values that are no code, whatever the value is.
const NUMBER_TYPES: &[&str] = &["boolean", "integer", "number"];
/// A value of such a type.
const NUMBER: &str = "1";

/// One thing that is wrong with a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandToolProblem {
    /// The key that it is about.
    pub key: &'static str,
    /// The number of the item, where the key is a list and one item is to blame.
    pub item: Option<usize>,
    /// The fault, and the expected form.
    pub message: String,
}

/// The parts of a usable declaration.
pub(super) struct CheckedCommandTool {
    pub(super) template: CommandTemplate,
    pub(super) parameters: Value,
    /// The programs that the command runs, `*` where that depends on its input.
    pub(super) programs: BTreeSet<String>,
}

pub(super) fn check_spec(
    spec: &CommandToolSpec,
) -> Result<CheckedCommandTool, Vec<CommandToolProblem>> {
    let mut problems = CommandToolProblems::default();
    if spec.description.trim().is_empty() {
        problems.add("description", "description: expected what the tool is for, found nothing");
    }
    let chars = spec.description.chars().count();
    if chars > COMMAND_DESCRIPTION_CHARS_MAX {
        let expected = format!("expected at most {COMMAND_DESCRIPTION_CHARS_MAX} characters");
        problems.add("description", format!("description: {expected}, found {chars}"));
    }
    if let Some(timeout) = spec.timeout_ms.filter(|it| !(1..=TIMEOUT_MS_MAX).contains(it)) {
        let expected = format!("expected 1 to {TIMEOUT_MS_MAX} milliseconds");
        problems.add("timeout_ms", format!("timeout_ms: {expected}, found {timeout}"));
    }
    let cwd_chars = spec.cwd.as_ref().map(|cwd| cwd.chars().count());
    if let Some(chars) = cwd_chars.filter(|it| !(1..=BASH_CWD_CHARS_MAX).contains(it)) {
        let expected = format!("expected 1 to {BASH_CWD_CHARS_MAX} characters");
        problems.add("cwd", format!("cwd: {expected}, found {chars}"));
    }
    let parameters = problems.check_parameters(&spec.parameters);
    let template = CommandTemplate::parse(&spec.argv, &spec.allow_dash);
    match template {
        Ok(template) => {
            let program = template.items().first().and_then(|item| match item.words.as_slice() {
                [word] => word.literal(),
                _ => None,
            });
            match (spec.argv.first(), program) {
                (Some(ArgvItem::Word(_)), Some(program)) if !program.is_empty() => {}
                (None, _) => problems
                    .add("argv", "argv: expected a program and its arguments, found nothing"),
                (Some(_), _) => problems.add_item(
                    "argv",
                    0,
                    "argv: expected the program first, as a word without parameters",
                ),
            }
            let words: usize = template.items().iter().map(|item| item.words.len()).sum();
            if words.saturating_sub(1) > BASH_ARGS_MAX {
                problems.add(
                    "argv",
                    format!(
                        "argv: expected at most {BASH_ARGS_MAX} arguments, found {}",
                        words - 1
                    ),
                );
            }
            let empty = spec.argv.iter().position(|item| *item == ArgvItem::Group(Vec::new()));
            if let Some(place) = empty {
                problems.add_item("argv", place, "argv: expected words in the group, found none");
            }
            problems.check_code(&template, &parameters);
            problems.check_use(&template, &parameters, spec);
            let programs = programs(&template);
            match problems.all.is_empty() {
                true => Ok(CheckedCommandTool { template, parameters, programs }),
                false => Err(problems.all),
            }
        }
        Err(unreadable) => {
            let unreadable = unreadable.into_iter();
            problems.all.extend(unreadable.map(|(place, message)| CommandToolProblem {
                key: "argv",
                item: Some(place),
                message: format!("argv: {message}"),
            }));
            Err(problems.all)
        }
    }
}

#[derive(Default)]
struct CommandToolProblems {
    all: Vec<CommandToolProblem>,
}

impl CommandToolProblems {
    fn add(&mut self, key: &'static str, message: impl Into<String>) {
        self.all.push(CommandToolProblem { key, item: None, message: message.into() });
    }

    fn add_item(&mut self, key: &'static str, item: usize, message: impl Into<String>) {
        self.all.push(CommandToolProblem { key, item: Some(item), message: message.into() });
    }

    /// Returns the schema of the input as it is published. The template would silently ignore other
    /// parameters, so they are refused unless the schema says otherwise.
    fn check_parameters(&mut self, declared: &Value) -> Value {
        let Value::Object(declared) = declared else {
            self.add("parameters", "parameters: expected a table, which is a JSON Schema");
            return json!({"type": "object", "properties": {}});
        };
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), json!({}));
        schema.extend(declared.clone());
        schema.entry("additionalProperties").or_insert(json!(false));
        if schema.get("type") != Some(&json!("object")) {
            self.add("parameters", "parameters: expected type = \"object\", or no type");
        }
        let Some(Value::Object(properties)) = schema.get("properties").cloned() else {
            self.add("parameters", "parameters: expected properties to be a table of parameters");
            return Value::Object(schema);
        };
        for (name, property) in &properties {
            let items = if is_list(property) { property.get("items") } else { Some(property) };
            let declared = |key| items.and_then(|items| items.get(key));
            let types = TYPES.join(", ");
            let why = match declared("type") {
                Some(Value::String(found)) if TYPES.contains(&found.as_str()) => continue,
                Some(Value::String(found)) => {
                    format!("expected {types} or an array of them, found {found}")
                }
                _ if declared("enum").or(declared("const")).is_some() => continue,
                _ if is_list(property) => format!("expected a type, one of {types}, of its items"),
                _ => format!("expected a type, one of {types}, or array"),
            };
            self.add("parameters", format!("parameters: {name} cannot be a word: {why}"));
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !properties.contains_key(name) {
                self.add("parameters", format!("parameters: {name} is required and not described"));
            }
        }
        Value::Object(schema)
    }

    /// Refuses a value in a place where a program reads code: it would not be one word but whatever it says.
    fn check_code(&mut self, template: &CommandTemplate, parameters: &Value) {
        let words: Vec<(usize, &TemplateWord)> = template
            .items()
            .iter()
            .enumerate()
            .flat_map(|(place, item)| item.words.iter().map(move |word| (place, word)))
            .collect();
        // A program that is a value is a problem by itself.
        if words.first().is_none_or(|(_, program)| program.literal().is_none()) {
            return;
        }
        let open = |(_, word): &(usize, &TemplateWord)| {
            let is_harmless = word.parameters().all(|name| is_number(parameters, name));
            match word.literal() {
                Some(text) => OpenWord::Fixed(text.to_owned()),
                None if is_harmless => OpenWord::Fixed(word.with_values(NUMBER)),
                None => {
                    OpenWord::Open { prefix: word.literal_prefix().unwrap_or_default().to_owned() }
                }
            }
        };
        let code = code_places(&words.iter().map(open).collect::<Vec<_>>());
        let places = code.into_iter().filter_map(|place| Some(words.get(place)?.0));
        for place in places.collect::<BTreeSet<_>>() {
            self.add_item(
                "argv",
                place,
                "argv: a value here would be run as code: write the code itself, and hand the value on as a further \
                 argument, as in [\"sh\", \"-c\", \"wc -l < \\\"$1\\\"\", \"sh\", \"{path}\"]",
            );
        }
    }

    /// Every parameter is used, and every one that is used is described; lists stand for themselves.
    fn check_use(
        &mut self,
        template: &CommandTemplate,
        parameters: &Value,
        spec: &CommandToolSpec,
    ) {
        let none = Map::new();
        let properties = parameters.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let words = template.items().iter().enumerate();
        let words =
            words.flat_map(|(place, item)| item.words.iter().map(move |word| (place, word)));
        let names =
            words.flat_map(|(place, word)| word.parameters().map(move |name| (place, word, name)));
        for (place, word, name) in names {
            let message = match properties.get(name) {
                None => format!(
                    "argv: {{{name}}} is no parameter: describe it in parameters.properties"
                ),
                Some(property) if is_list(property) && word.whole_parameter().is_none() => {
                    format!("argv: {{{name}}} is a list, which is several words: write it alone")
                }
                Some(_) => continue,
            };
            self.add_item("argv", place, message);
        }
        let used: BTreeSet<&str> = template.parameters().collect();
        for name in properties.keys().filter(|name| !used.contains(name.as_str())) {
            self.add(
                "parameters",
                format!("parameters: {name} is used nowhere: write {{{name}}} into argv"),
            );
        }
        for (place, name) in spec.allow_dash.iter().enumerate() {
            if !properties.contains_key(name) {
                self.add_item(
                    "allow_dash",
                    place,
                    format!("allow_dash: no parameter is called {name:?}"),
                );
            }
        }
    }
}

/// Returns whether the values of a parameter are numbers or booleans.
fn is_number(parameters: &Value, name: &str) -> bool {
    let property = parameters.get("properties").and_then(|properties| properties.get(name));
    let declared = property.and_then(|property| property.get("type")).and_then(Value::as_str);
    declared.is_some_and(|declared| NUMBER_TYPES.contains(&declared))
}

fn is_list(property: &Value) -> bool {
    property.get("type").is_some_and(|name| name == "array")
}

/// Returns the programs that the command would run whatever is filled in.
fn programs(template: &CommandTemplate) -> BTreeSet<String> {
    let words = template.items().iter().flat_map(|item| &item.words);
    let argv: Vec<String> =
        words.map(|word| word.literal().unwrap_or("value").to_owned()).collect();
    let judgement = analyze_argv(&argv);
    if !judgement.unknown.is_empty() {
        return BTreeSet::from([ANY_PROGRAM.to_owned()]);
    }
    let found = judgement.commands.iter().map(|command| command.program().to_owned());
    argv.first().cloned().into_iter().chain(found).collect()
}
