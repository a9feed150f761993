//! One file: its front matter field by field, and the prompt below it.

use haft::{FrontField, FrontKind, FrontMatter, FrontValue};
use haft_contract::{RequirementSet, Variables, clean};
use haft_model::Settings;
use haft_policy::{Action, Conditions, Rule, RuleScope, RuleSet, ToolScope};

use super::fields::{Fault, Faults, Text, shown};
use super::requires::requires;
use super::{AgentDefinition, AgentMode, AgentSource, NamingField, SUMMARY};
use crate::limits::{AGENT_DESCRIPTION_CHARS_MAX, AGENT_NAME_CHARS_MAX, AGENT_STEPS_MAX};

/// All that an agent may say of itself.
const KEYS: [&str; 8] = [
    "description",
    "mode",
    "model",
    "tools",
    "requires",
    "permissions",
    "inspectable",
    "max_steps",
];
/// The fields of a rule.
const RULE_KEYS: [&str; 3] = ["permission", "pattern", "action"];

/// What the front matter says, as far as it can be read.
#[derive(Default)]
struct Declared {
    description: Option<String>,
    mode: Option<AgentMode>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    requires: Option<RequirementSet>,
    permissions: Vec<Rule>,
    inspectable: Option<bool>,
    max_steps: Option<u32>,
    named: Vec<Named>,
}

/// Something that a file names, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: u64,
    pub(super) field: NamingField,
    pub(super) name: String,
}

/// What a file says.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) agent: AgentDefinition,
    /// In the order of the lines.
    pub(super) named: Vec<Named>,
}

/// Returns the agent that a file of this name says, or all that is wrong with it.
pub(super) fn definition(
    name: &str,
    bytes: &[u8],
    source: AgentSource,
) -> Result<Read, Vec<Fault>> {
    let one = |fault: haft::FrontMatterFault| vec![Fault::from(fault)];
    let parted = FrontMatter::split(bytes).map_err(one)?;
    let mut faults = Faults::default();
    check_name(name, &mut faults);
    let fields = parted.fields().map_err(one)?;
    let declared = Declared::read(faults.known(fields, "", &KEYS), &mut faults);
    let prompt = clean(parted.below().map_err(one)?).trim().to_owned();
    if prompt.is_empty() {
        faults.note_whole("expected a prompt below the front matter, found none: say what the agent is and how it works");
    }
    let Declared { description, mode, model, tools, requires, permissions, .. } = declared;
    let Declared { inspectable, max_steps, mut named, .. } = declared;
    named.sort_by_key(|named| named.line);
    let faults = faults.finish();
    let Some(description) = description.filter(|_| faults.is_empty()) else {
        return Err(faults);
    };
    // Whatever a file says of the agent that summarises, nobody else has it work.
    let mode = if name == SUMMARY { AgentMode::Internal } else { mode.unwrap_or(AgentMode::All) };
    let agent = AgentDefinition {
        name: name.to_owned(),
        description,
        mode,
        model,
        tools,
        requires,
        permissions,
        inspectable: inspectable.unwrap_or(true),
        max_steps,
        prompt,
        source,
        file: None,
    };
    Ok(Read { agent, named })
}

fn check_name(name: &str, faults: &mut Faults) {
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if !starts_well || !name.chars().all(is_plain) || name.len() > AGENT_NAME_CHARS_MAX {
        faults.note_whole(format!(
            "the name of an agent is that of its file: expected at most {AGENT_NAME_CHARS_MAX} lower-case letters, digits and hyphens, a letter first, found {}; rename the file",
            shown(name)
        ));
    }
}

impl Declared {
    fn read(fields: Vec<FrontField>, faults: &mut Faults) -> Self {
        let mut declared = Self::default();
        if !fields.iter().any(|field| field.key == "description") {
            faults.note_whole(
                "description: expected a line that says what the agent is good for, found none",
            );
        }
        for field in fields {
            match field.key.as_str() {
                "description" => declared.description = description(&field, faults),
                "mode" => declared.mode = mode(&field, faults),
                "model" => declared.model = model(&field, faults),
                "tools" => declared.tools = Some(tools(&field, &mut declared.named, faults)),
                "requires" => {
                    declared.requires = Some(requires(&field, &mut declared.named, faults));
                }
                "permissions" => {
                    declared.permissions = permissions(&field, &mut declared.named, faults);
                }
                "inspectable" => declared.inspectable = faults.flag(&field, "inspectable"),
                _ => declared.max_steps = faults.count(&field, "max_steps", AGENT_STEPS_MAX),
            }
        }
        declared
    }
}

/// A model and terminals read it, and neither is to be told anything by signs that nobody sees.
fn description(field: &FrontField, faults: &mut Faults) -> Option<String> {
    let Text { line, text } = faults.text(field, "description")?;
    let text = clean(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    let chars = text.chars().count();
    if chars == 0 {
        faults.note(
            line,
            "description: expected a line that says what the agent is good for, found none",
        );
        return None;
    }
    if chars > AGENT_DESCRIPTION_CHARS_MAX {
        faults.note(line, format!("description: expected at most {AGENT_DESCRIPTION_CHARS_MAX} characters, found {chars}"));
        return None;
    }
    Some(text)
}

fn mode(field: &FrontField, faults: &mut Faults) -> Option<AgentMode> {
    let Text { line, text } = faults.text(field, "mode")?;
    let modes = [AgentMode::Primary, AgentMode::Subagent, AgentMode::All];
    let mode = modes.into_iter().find(|mode| mode.as_str() == text);
    if mode.is_none() {
        let found = shown(&text);
        faults.note(line, format!("mode: expected primary (people talk to it), subagent (other agents do) or all, found {found}"));
    }
    mode
}

fn model(field: &FrontField, faults: &mut Faults) -> Option<String> {
    let Text { line, text } = faults.text(field, "model")?;
    let settings = Settings { model: text.clone(), ..Settings::default() };
    match settings.check() {
        Ok(_) => Some(text),
        Err(err) => {
            faults.note(line, format!("model: {err}"));
            None
        }
    }
}

fn tools(field: &FrontField, named: &mut Vec<Named>, faults: &mut Faults) -> Vec<String> {
    let mut tools = Vec::new();
    for Text { line, text } in faults.texts(field, "tools") {
        let is_plain =
            |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "_.*?".contains(one);
        let lower = text.to_ascii_lowercase();
        if !text.is_empty()
            && text.chars().all(is_plain)
            && ToolScope::compile(std::slice::from_ref(&text)).is_ok()
        {
            named.push(Named { line, field: NamingField::Tools, name: text.clone() });
            tools.push(text);
        } else if !lower.is_empty() && lower != text && lower.chars().all(is_plain) {
            faults.note(
                line,
                format!("tools: expected the id of a tool, found {}: write {lower}", shown(&text)),
            );
        } else {
            faults.note(
                line,
                format!(
                    "tools: expected the id of a tool, or a glob such as web_* or \"*\", found {}",
                    shown(&text)
                ),
            );
        }
    }
    tools
}

fn permissions(field: &FrontField, named: &mut Vec<Named>, faults: &mut Faults) -> Vec<Rule> {
    let items = faults.list(field, "permissions");
    items.iter().filter_map(|item| rule(item, named, faults)).collect()
}

fn rule(item: &FrontValue, named: &mut Vec<Named>, faults: &mut Faults) -> Option<Rule> {
    let FrontKind::Table(fields) = &item.kind else {
        let found = item.kind.word();
        faults.note(item.line, format!("permissions: expected rules such as {{permission: bash, pattern: \"git push*\", action: deny}}, found {found}"));
        return None;
    };
    let fields = faults.known(fields.clone(), "permissions", &RULE_KEYS);
    let [permission, pattern, action] = RULE_KEYS.map(|key| {
        let field = fields.iter().find(|field| field.key == key);
        field.map(|field| faults.text(field, &format!("permissions.{key}")))
    });
    for (key, value) in [("permission", &permission), ("action", &action)] {
        if value.is_none() {
            faults.note(item.line, format!("permissions: expected {key} in each rule, found none"));
        }
    }
    let action = action.flatten().and_then(|action| read_action(&action, faults));
    // What has no pattern matches everything; a pattern that is no text was told of.
    let pattern = pattern.map_or(Some("*".to_owned()), |pattern| Some(pattern?.text));
    let Text { line, text: permission } = permission.flatten()?;
    let rule = Rule::new(permission.clone(), pattern?, action?);
    let scoped = [(RuleScope::Agent, rule.clone())];
    match RuleSet::compile(scoped, &Variables::default(), Conditions::default()) {
        Ok(_) => {
            named.push(Named { line, field: NamingField::Permissions, name: permission });
            Some(rule)
        }
        Err(errors) => {
            for err in errors.errors {
                faults.note(item.line, format!("permissions: {}", err.fault));
            }
            None
        }
    }
}

fn read_action(action: &Text, faults: &mut Faults) -> Option<Action> {
    match action.text.as_str() {
        "allow" => Some(Action::Allow),
        "ask" => Some(Action::Ask),
        "deny" => Some(Action::Deny),
        other => {
            let found = shown(other);
            faults.note(
                action.line,
                format!("permissions.action: expected allow, ask or deny, found {found}"),
            );
            None
        }
    }
}
