//! The plain fields of METADATA: names, flags and times.

use haft_contract::{Effect, ToolId};
use serde_json::{Map, Value};

use super::findings::{Findings, escaped};
use crate::directory::is_identifier;
use crate::limits::TIMEOUT_S_MAX;
use crate::problem::ProblemCode;

/// Keys that haft uses.
const USED_KEYS: &[&str] = &[
    "name",
    "function",
    "description",
    "parameters",
    "dangerous",
    "side_effect",
    "idempotent",
    "requires",
    "timeout",
    "context",
    "status_errors",
    "deterministic",
    "stateful",
];
/// Keys that only files for haft have.
const HAFT_KEYS: &[&str] = &[
    "side_effect",
    "idempotent",
    "requires",
    "timeout",
    "context",
    "status_errors",
    "deterministic",
    "stateful",
];
/// Keys that only files for Smith have.
const SMITH_KEYS: &[&str] = &["domain", "output_type"];
/// Other keys that files and registries have; they are kept unchanged.
const UNUSED_KEYS: &[&str] = &["domain", "output_type", "module", "prohibited_outputs", "notes"];
/// Words that do not describe a purpose, alone or combined with each other.
const VAGUE_NAMES: &[&str] = &[
    "action",
    "all",
    "anything",
    "call",
    "data",
    "do",
    "everything",
    "exec",
    "execute",
    "func",
    "function",
    "handle",
    "handler",
    "helper",
    "input",
    "invoke",
    "it",
    "main",
    "my",
    "perform",
    "process",
    "request",
    "run",
    "something",
    "stuff",
    "task",
    "the",
    "thing",
    "things",
    "tool",
    "util",
    "utils",
    "work",
];
/// Maximum length of a tool name that is too short to understand.
const SHORT_CHARS_MAX: usize = 2;

/// The single-word declarations of METADATA.
pub(super) struct DeclaredMetadata {
    pub(super) id: Option<ToolId>,
    pub(super) function: Option<String>,
    pub(super) description: Option<String>,
    pub(super) effect: Effect,
    pub(super) dangerous: bool,
    pub(super) timeout_ms: Option<u64>,
    pub(super) takes_context: bool,
    pub(super) status_errors: bool,
    pub(super) deterministic: bool,
    pub(super) stateful: bool,
}

/// Returns whether a file was written for Smith: it has a key of Smith's, or no key of haft's.
fn is_smith_file(metadata: &Map<String, Value>) -> bool {
    let has_any = |keys: &[&str]| keys.iter().any(|key| metadata.contains_key(*key));
    has_any(SMITH_KEYS) || !has_any(HAFT_KEYS)
}

impl DeclaredMetadata {
    /// Reads the declarations of METADATA. `may_write` says whether the tool's requirements let it
    /// change files, whatever it declares.
    pub(super) fn read(
        metadata: &Map<String, Value>,
        may_write: bool,
        findings: &mut Findings<'_>,
    ) -> Self {
        let dangerous = mark(metadata, "dangerous", findings);
        let side_effect = mark(metadata, "side_effect", findings);
        let idempotent = mark(metadata, "idempotent", findings);
        let takes_context = mark(metadata, "context", findings);
        let has_effect = dangerous || side_effect || may_write;
        let effect = match (has_effect, idempotent) {
            (false, _) => Effect::Read,
            (true, true) => Effect::Idempotent,
            (true, false) => Effect::Once,
        };
        let declared_at = match (side_effect, dangerous) {
            (true, _) => "/side_effect",
            (false, true) => "/dangerous",
            (false, false) => "/requires/fs/write",
        };
        if has_effect && !dangerous {
            findings.warning(
                findings.in_metadata(declared_at),
                ProblemCode::NotDangerous,
                if side_effect {
                    "the tool has a side effect and is not marked dangerous, so plans run it without anybody having named it"
                } else {
                    "the tool may change files and says neither side_effect nor dangerous: it counts as one with a side \
                     effect, and plans run it without anybody having named it"
                },
                if side_effect {
                    "add \"dangerous\": True if it changes files or data, sends anything or costs anything"
                } else {
                    "add \"dangerous\": True, or \"side_effect\": True if its changes are harmless; leave fs.write \
                     out if it changes nothing"
                },
            );
        }
        if effect == Effect::Once && !takes_context {
            findings.warning(
                findings.in_metadata(declared_at),
                ProblemCode::NoKey,
                "a repeat of this tool's effect cannot be distinguished from a new call, because it does not take its key",
                "add \"context\": True and hand context[\"idempotency_key\"] on, or add \"idempotent\": True if a \
                 repeat changes nothing",
            );
        }
        let known = || USED_KEYS.iter().chain(UNUSED_KEYS).copied();
        for name in metadata.keys().filter(|name| !known().any(|key| key == name.as_str())) {
            let is_near =
                |key: &&str| key.replace('_', "") == name.to_lowercase().replace(['_', '-'], "");
            let mend = match known().find(is_near) {
                Some(key) => format!("write it {key:?}"),
                None => "leave it out, or put it under \"notes\"".to_owned(),
            };
            let at = findings.in_metadata(&format!("/{}", escaped(name)));
            let message = format!("the key {name:?} means nothing to haft; it is kept");
            findings.warning(at, ProblemCode::UnknownKey, message, mend);
        }
        Self {
            id: id(metadata, findings),
            function: function(metadata, findings),
            description: description(metadata, findings),
            effect,
            dangerous,
            timeout_ms: timeout_ms(metadata, findings),
            takes_context,
            status_errors: match metadata.contains_key("status_errors") {
                true => mark(metadata, "status_errors", findings),
                false => is_smith_file(metadata),
            },
            deterministic: mark(metadata, "deterministic", findings),
            stateful: mark(metadata, "stateful", findings),
        }
    }
}

fn mark(metadata: &Map<String, Value>, name: &str, findings: &mut Findings<'_>) -> bool {
    match metadata.get(name) {
        None => false,
        Some(Value::Bool(is_set)) => *is_set,
        Some(other) => {
            findings.error(
                findings.in_metadata(&format!("/{name}")),
                ProblemCode::Field,
                format!("{name} is {}, expected True or False", show_value(other)),
                format!("write \"{name}\": True or \"{name}\": False"),
            );
            false
        }
    }
}

/// Returns a required text.
fn text<'a>(
    metadata: &'a Map<String, Value>,
    name: &str,
    findings: &mut Findings<'_>,
) -> Option<&'a str> {
    let message = match metadata.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => return Some(text),
        Some(other) => format!("{name} is {}, expected a text", show_value(other)),
        None => format!("METADATA has no {name}"),
    };
    let at = findings.in_metadata(&format!("/{name}"));
    findings.error(at, ProblemCode::Field, message, format!("add \"{name}\": \"...\""));
    None
}

fn id(metadata: &Map<String, Value>, findings: &mut Findings<'_>) -> Option<ToolId> {
    let name = text(metadata, "name", findings)?;
    match ToolId::parse(name) {
        Ok(id) => {
            let mend = "name it after its single purpose, such as finance_price";
            let at = findings.in_metadata("/name");
            if is_vague(name) {
                let message = format!("the tool's name {name:?} does not say what it does");
                findings.error(at, ProblemCode::NameVague, message, mend);
            } else if name.chars().count() <= SHORT_CHARS_MAX {
                let message = format!("the tool's name {name:?} is an unclear abbreviation");
                findings.warning(at, ProblemCode::NameVague, message, mend);
            }
            Some(id)
        }
        Err(_) => {
            findings.error(
                findings.in_metadata("/name"),
                ProblemCode::NameInvalid,
                format!(
                    "the name {name:?} cannot be a tool's id: expected lower-case words of letters, digits and \
                     underscores, joined by dots, at most {} characters",
                    haft_contract::limits::TOOL_ID_CHARS_MAX
                ),
                match similar_id(name) {
                    Some(similar) => format!("call it {similar:?}"),
                    None => "give it a name of that form".to_owned(),
                },
            );
            None
        }
    }
}

/// Returns whether a name consists only of meaningless words.
fn is_vague(name: &str) -> bool {
    let mut words = name.split(['_', '.']).filter(|word| !word.is_empty());
    words.all(|word| VAGUE_NAMES.contains(&word.to_lowercase().as_str()))
}

/// Returns the valid id that is most similar to a name.
fn similar_id(name: &str) -> Option<String> {
    let mut similar = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && was_lower {
            similar.push('_');
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
        let is_kept = character.is_ascii_alphanumeric() || character == '.';
        similar.push(if is_kept { character.to_ascii_lowercase() } else { '_' });
    }
    let start = similar.find(|character: char| character.is_ascii_lowercase())?;
    let similar = similar.get(start..)?.trim_end_matches(['_', '.']);
    let similar = similar.get(..similar.floor_char_boundary(64))?;
    ToolId::parse(similar).ok().map(|id| id.to_string())
}

fn function(metadata: &Map<String, Value>, findings: &mut Findings<'_>) -> Option<String> {
    let name = text(metadata, "function", findings)?;
    let at = findings.in_metadata("/function");
    if !is_identifier(name) {
        findings.error(
            at,
            ProblemCode::Field,
            format!("function is {name:?}, which cannot be the name of a function"),
            "write the exact name of a function of this file, without module and parentheses",
        );
        return None;
    }
    if is_vague(name) {
        findings.error(
            at,
            ProblemCode::FunctionVague,
            format!("the function's name {name:?} does not say what it does"),
            "name it after its single purpose, such as run_finance_price, there and in METADATA",
        );
    }
    Some(name.to_owned())
}

fn description(metadata: &Map<String, Value>, findings: &mut Findings<'_>) -> Option<String> {
    match metadata.get("description") {
        Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        None => {
            let function = findings.reading().function.as_ref();
            if function.is_some_and(|function| function.summary.is_empty()) {
                findings.warning(
                    findings.in_metadata(""),
                    ProblemCode::Undescribed,
                    "there is neither a description nor a documentation of the function: a model sees the name alone",
                    "add \"description\": \"...\" with what it answers and when to use it",
                );
            }
            None
        }
        Some(other) => {
            findings.error(
                findings.in_metadata("/description"),
                ProblemCode::Field,
                format!("description is {}, expected a text", show_value(other)),
                "write what it answers and when to use it",
            );
            None
        }
    }
}

fn timeout_ms(metadata: &Map<String, Value>, findings: &mut Findings<'_>) -> Option<u64> {
    let value = metadata.get("timeout")?;
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
    #[expect(clippy::cast_precision_loss, reason = "the bound is small")]
    let within = seconds.filter(|seconds| *seconds <= TIMEOUT_S_MAX as f64);
    match within {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is positive and bounded"
        )]
        Some(seconds) => Some((seconds * 1_000.0).ceil() as u64),
        None => {
            findings.error(
                findings.in_metadata("/timeout"),
                ProblemCode::Field,
                format!(
                    "timeout is {}, expected seconds, more than 0 and at most {TIMEOUT_S_MAX}",
                    show_value(value)
                ),
                "write the number of seconds that one call may take",
            );
            None
        }
    }
}

/// Formats a value as METADATA spells it, with limited length.
pub(super) fn show_value(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) if fields.is_empty() => "an empty dictionary".to_owned(),
        Value::Object(_) => "a dictionary".to_owned(),
        Value::String(text) if text.trim().is_empty() => "an empty text".to_owned(),
        Value::String(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
        Value::Number(number) => number.to_string(),
    }
}
