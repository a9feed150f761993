//! What stands between the first two lines of three dashes in a `SKILL.md`. Of all that may stand there, the name and the
//! description count; everything else is somebody else's and passed over.

use haft_contract::is_unseen;
use serde::Deserialize;

use super::directory::Held;
use super::{
    FRONT_MATTER_BYTES_MAX, FRONT_MATTER_NODES_MAX, SKILL_DESCRIPTION_CHARS_MAX,
    SKILL_NAME_CHARS_MAX,
};

/// How deep lists and tables of the front matter lie in each other.
const DEPTH_MAX: usize = 16;

/// What a skill says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    /// Where the name stands.
    pub(super) name_line: u64,
    /// On one line.
    pub(super) description: String,
    /// What is said about a description that was cut.
    pub(super) cut: Option<Fault>,
}

/// What is wrong with the text of a skill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Fields {
    name: Option<String>,
    description: Option<String>,
}

/// Returns the front matter of a skill.
pub(super) fn parse(held: &Held) -> Result<FrontMatter, Fault> {
    let yaml = split(held)?.yaml;
    let fields: Fields =
        serde_saphyr::from_str_with_options(yaml, options()).map_err(|err| fault_of(&err))?;
    // What is missing is missed where the front matter begins.
    let place = |key: &str| line_of(yaml, key).or(Some(1));
    let name = named(fields.name, place("name"))?;
    // A model and terminals read it, and neither is to be told anything by signs that nobody sees.
    let description = fields.description.unwrap_or_default();
    let visible: String =
        description.chars().filter(|one| one.is_whitespace() || !is_unseen(*one)).collect();
    let description = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() {
        return Err(fault(
            place("description"),
            "description: expected a line that says what the skill does and when to load it, found none",
        ));
    }
    let chars = description.chars().count();
    let cut = (chars > SKILL_DESCRIPTION_CHARS_MAX).then(|| {
        let message = format!(
            "description: expected at most {SKILL_DESCRIPTION_CHARS_MAX} characters, found {chars}: the rest is not \
             advertised"
        );
        fault(place("description"), &message)
    });
    Ok(FrontMatter {
        name,
        name_line: line_of(yaml, "name").unwrap_or(1),
        description: description.chars().take(SKILL_DESCRIPTION_CHARS_MAX).collect(),
        cut,
    })
}

/// Returns the text below the front matter.
pub(super) fn body(held: &Held) -> Result<&str, Fault> {
    let rest = split(held)?.rest;
    std::str::from_utf8(rest).map_err(|_| fault(None, "expected UTF-8, found other bytes"))
}

/// A name as the format has it: lower-case letters and digits, words joined by single hyphens.
fn named(name: Option<String>, line: Option<u64>) -> Result<String, Fault> {
    let name = name.unwrap_or_default();
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit())
    };
    if name.len() <= SKILL_NAME_CHARS_MAX && name.split('-').all(is_word) {
        return Ok(name);
    }
    let shown: String = name.chars().take(SKILL_NAME_CHARS_MAX + 1).collect();
    let found = if name.is_empty() { "none".to_owned() } else { format!("{shown:?}") };
    let message = format!(
        "name: expected 1 to {SKILL_NAME_CHARS_MAX} lower-case letters, digits and single hyphens between them, found \
         {found}"
    );
    Err(fault(line, &message))
}

struct Parts<'a> {
    yaml: &'a str,
    rest: &'a [u8],
}

/// Parts a text at the lines of dashes. Only the front matter must be UTF-8 for that: a text may be cut anywhere after it.
fn split(held: &Held) -> Result<Parts<'_>, Fault> {
    let bytes = held.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&held.bytes);
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_ascii_end() != b"---" {
        return Err(fault(
            Some(1),
            "expected front matter, which begins with a first line of three dashes (---), found none",
        ));
    }
    let (mut bytes_read, mut end) = (first.len(), None);
    for line in lines {
        if line.trim_ascii_end() == b"---" {
            end = Some((bytes_read, bytes_read + line.len()));
            break;
        }
        bytes_read += line.len();
    }
    let Some((yaml_end, rest)) = end.filter(|(end, _)| end - first.len() <= FRONT_MATTER_BYTES_MAX)
    else {
        let message = format!(
            "expected a line of three dashes (---) that ends the front matter within {FRONT_MATTER_BYTES_MAX} bytes, \
             found none"
        );
        return Err(fault(Some(1), &message));
    };
    let yaml = bytes.get(first.len()..yaml_end).unwrap_or_default();
    let yaml = std::str::from_utf8(yaml)
        .map_err(|_| fault(Some(1), "expected front matter in UTF-8, found other bytes"))?;
    Ok(Parts { yaml, rest: bytes.get(rest..).unwrap_or_default() })
}

/// Aliases are how a few lines of YAML become gigabytes; a skill needs none.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(FRONT_MATTER_BYTES_MAX),
            max_events: 4 * FRONT_MATTER_NODES_MAX,
            max_nodes: FRONT_MATTER_NODES_MAX,
            max_aliases: FRONT_MATTER_NODES_MAX,
            max_anchors: FRONT_MATTER_NODES_MAX,
            max_depth: DEPTH_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: FRONT_MATTER_NODES_MAX,
            max_replay_stack_depth: DEPTH_MAX,
            max_alias_expansions_per_anchor: FRONT_MATTER_NODES_MAX,
        },
        with_snippet: false,
    }
}

fn fault_of(err: &serde_saphyr::Error) -> Fault {
    let err = err.without_snippet();
    // The first line of the front matter is the second of the file.
    let line = err.location().map(|location| location.line() + 1);
    let text = err.to_string();
    let text = text.lines().next().unwrap_or_default();
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    // The reader advises whoever programs with it; whoever writes a skill has no options to set.
    let text = text.split_once(", set ").map_or(text, |(text, _)| text);
    let advice = if text.starts_with("mapping values are not allowed") {
        "; put a text that holds a colon into quotes"
    } else {
        ""
    };
    let message = format!(
        "the front matter is not YAML with a text for name and description: {text}{advice}"
    );
    fault(line, &message)
}

/// Returns the line of the file in which a key of the front matter stands.
fn line_of(yaml: &str, key: &str) -> Option<u64> {
    let is_key =
        |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let place = yaml.lines().position(is_key)?;
    u64::try_from(place + 2).ok()
}

fn fault(line: Option<u64>, message: &str) -> Fault {
    Fault { line, message: message.to_owned() }
}
