//! Parses the front matter of a `SKILL.md`. Only the name and the description count; haft ignores all other fields.

use haft_contract::is_invisible;
use serde::Deserialize;

use super::{SKILL_DESCRIPTION_CHARS_MAX, SKILL_NAME_CHARS_MAX};
use crate::front_matter::{FrontMatter as Parted, FrontMatterFault as Fault};

/// The front matter of a skill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillFrontMatter {
    /// The name, which models use to load the skill.
    pub(super) name: String,
    /// Where the name stands.
    pub(super) name_line: u64,
    /// On one line.
    pub(super) description: String,
    /// The warning about a description that was cut.
    pub(super) cut_warning: Option<Fault>,
}

/// The fields that haft reads.
#[derive(Deserialize)]
#[serde(expecting = "struct Fields")]
struct SkillFrontMatterFields {
    /// The name, which is required.
    name: Option<String>,
    /// The description, which is required.
    description: Option<String>,
}

/// Returns the front matter of a skill.
pub(super) fn parse(text: &[u8]) -> Result<SkillFrontMatter, Fault> {
    let parted = Parted::split(text)?;
    let fields: SkillFrontMatterFields = parted.read().map_err(|err| {
        let message = format!(
            "the front matter is not YAML with a text for name and description: {}",
            err.message
        );
        Fault { message, ..err }
    })?;
    // A missing field is reported at the first line of the front matter.
    let place = |key: &str| parted.line_of(key).or(Some(1));
    let name = fields.name.unwrap_or_default();
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit())
    };
    if name.len() > SKILL_NAME_CHARS_MAX || !name.split('-').all(is_word) {
        let shown: String = name.chars().take(SKILL_NAME_CHARS_MAX + 1).collect();
        let found = if name.is_empty() { "none".to_owned() } else { format!("{shown:?}") };
        let message = format!(
            "name: expected 1 to {SKILL_NAME_CHARS_MAX} lower-case letters, digits and single hyphens between them, \
             found {found}"
        );
        return Err(fault(place("name"), &message));
    }
    // Models and terminals read the description, so invisible characters must not reach them.
    let description = fields.description.unwrap_or_default();
    let visible: String =
        description.chars().filter(|one| one.is_whitespace() || !is_invisible(*one)).collect();
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
    Ok(SkillFrontMatter {
        name,
        name_line: parted.line_of("name").unwrap_or(1),
        description: description.chars().take(SKILL_DESCRIPTION_CHARS_MAX).collect(),
        cut_warning: cut,
    })
}

/// Returns the text below the front matter.
pub(super) fn body(text: &[u8]) -> Result<&str, Fault> {
    Parted::split(text)?.body()
}

/// Returns a fault at a line of the file.
fn fault(line: Option<u64>, message: &str) -> Fault {
    Fault { line, message: message.to_owned() }
}
