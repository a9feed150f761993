//! Parses one file: the fields of its front matter, and the prompt below it.

use std::path::PathBuf;

use haft::{
    FileProblem, FrontMatter, FrontMatterFault, FrontMatterField, FrontMatterKind, FrontMatterValue,
};
use haft_contract::{PatternVariables, clean};
use haft_model::ModelSettings;
use haft_policy::{Conditions, Rule, RuleAction, RuleScope, RuleSet, ToolScope};

use super::agent::{AgentDefinition, AgentFileReferenceField, AgentMode, AgentSource, SUMMARY};
use super::fields::{
    AgentFileFaults, FrontMatterReference, FrontMatterText, file_problem, shorten_text,
};
use super::requires::requires;
use crate::limits::{AGENT_DESCRIPTION_CHARS_MAX, AGENT_NAME_CHARS_MAX, AGENT_STEPS_MAX};

/// The keys of an agent's front matter.
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

impl AgentDefinition {
    /// Parses an agent of this name from the text of a file. Reports all mistakes at once.
    ///
    /// ```
    /// use haft_agent::{AgentDefinition, AgentMode};
    ///
    /// let text = "---\ndescription: Reads logs\nmode: subagent\ntools: [read, grep]\n---\nYou read logs.\n";
    /// let agent = AgentDefinition::parse("logs", text).unwrap();
    /// assert_eq!((agent.mode, agent.prompt.as_str()), (AgentMode::Subagent, "You read logs."));
    /// let problems = AgentDefinition::parse("logs", &text.replace("tools", "tool")).unwrap_err();
    /// assert_eq!(problems[0].line, Some(4));
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<FileProblem>> {
        let file = PathBuf::from(format!("{name}.md"));
        parse_definition(name, text.as_bytes(), AgentSource::User)
            .map(|(agent, _)| agent)
            .map_err(|faults| faults.into_iter().map(|fault| file_problem(fault, &file)).collect())
    }
}

/// Returns the agent in a file of this name and its references, sorted by line, or all mistakes.
pub(super) fn parse_definition(
    name: &str,
    bytes: &[u8],
    source: AgentSource,
) -> Result<(AgentDefinition, Vec<FrontMatterReference>), Vec<FrontMatterFault>> {
    let one = |fault| vec![fault];
    let parted = FrontMatter::split(bytes).map_err(one)?;
    let mut faults = AgentFileFaults::default();
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if !starts_well || !name.chars().all(is_plain) || name.len() > AGENT_NAME_CHARS_MAX {
        faults.push_for_file(format!(
            "the name of an agent is that of its file: expected at most {AGENT_NAME_CHARS_MAX} lower-case letters, digits and hyphens, a letter first, found {}; rename the file",
            shorten_text(name)
        ));
    }
    let fields = parted.fields().map_err(one)?;
    let fields = faults.known_fields(fields, "", &KEYS);
    let mut references = Vec::new();
    let mut agent = AgentDefinition {
        name: name.to_owned(),
        description: String::new(),
        mode: AgentMode::All,
        model: None,
        tools: None,
        requires: None,
        permissions: Vec::new(),
        inspectable: true,
        max_steps: None,
        prompt: String::new(),
        source,
        file: None,
    };
    if !fields.iter().any(|field| field.key == "description") {
        faults.push_for_file(
            "description: expected a line that says what the agent is good for, found none",
        );
    }
    for field in fields {
        match field.key.as_str() {
            "description" => {
                agent.description = description(&field, &mut faults).unwrap_or_default();
            }
            "mode" => agent.mode = mode(&field, &mut faults).unwrap_or(agent.mode),
            "model" => agent.model = model(&field, &mut faults),
            "tools" => agent.tools = Some(tools(&field, &mut references, &mut faults)),
            "requires" => agent.requires = Some(requires(&field, &mut references, &mut faults)),
            "permissions" => agent.permissions = permissions(&field, &mut references, &mut faults),
            "inspectable" => {
                agent.inspectable = faults.flag(&field, "inspectable").unwrap_or(agent.inspectable);
            }
            _ => agent.max_steps = faults.count(&field, "max_steps", AGENT_STEPS_MAX),
        }
    }
    clean(parted.body().map_err(one)?).trim().clone_into(&mut agent.prompt);
    if agent.prompt.is_empty() {
        faults.push_for_file("expected a prompt below the front matter, found none: say what the agent is and how it works");
    }
    let faults = faults.into_sorted();
    if !faults.is_empty() {
        return Err(faults);
    }
    // A file cannot make the summarising agent available to people or to other agents.
    if name == SUMMARY {
        agent.mode = AgentMode::Internal;
    }
    references.sort_by_key(|reference: &FrontMatterReference| reference.line);
    Ok((agent, references))
}

/// Models and terminals read it, so invisible characters are removed.
fn description(field: &FrontMatterField, faults: &mut AgentFileFaults) -> Option<String> {
    let FrontMatterText { line, text } = faults.text(field, "description")?;
    let text = clean(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    let chars = text.chars().count();
    if chars == 0 {
        faults.push_at_line(
            line,
            "description: expected a line that says what the agent is good for, found none",
        );
        return None;
    }
    if chars > AGENT_DESCRIPTION_CHARS_MAX {
        faults.push_at_line(line, format!("description: expected at most {AGENT_DESCRIPTION_CHARS_MAX} characters, found {chars}"));
        return None;
    }
    Some(text)
}

fn mode(field: &FrontMatterField, faults: &mut AgentFileFaults) -> Option<AgentMode> {
    let FrontMatterText { line, text } = faults.text(field, "mode")?;
    let modes = [AgentMode::Primary, AgentMode::Subagent, AgentMode::All];
    let mode = modes.into_iter().find(|mode| mode.as_str() == text);
    if mode.is_none() {
        let found = shorten_text(&text);
        faults.push_at_line(line, format!("mode: expected primary (people talk to it), subagent (other agents do) or all, found {found}"));
    }
    mode
}

fn model(field: &FrontMatterField, faults: &mut AgentFileFaults) -> Option<String> {
    let FrontMatterText { line, text } = faults.text(field, "model")?;
    let settings = ModelSettings { model: text.clone(), ..ModelSettings::default() };
    match settings.check() {
        Ok(_) => Some(text),
        Err(err) => {
            faults.push_at_line(line, format!("model: {err}"));
            None
        }
    }
}

fn tools(
    field: &FrontMatterField,
    named: &mut Vec<FrontMatterReference>,
    faults: &mut AgentFileFaults,
) -> Vec<String> {
    let mut tools = Vec::new();
    let is_plain =
        |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "_.*?".contains(one);
    for FrontMatterText { line, text } in faults.texts(field, "tools") {
        let lower = text.to_ascii_lowercase();
        if !text.is_empty()
            && text.chars().all(is_plain)
            && ToolScope::compile(std::slice::from_ref(&text)).is_ok()
        {
            let field = AgentFileReferenceField::Tools;
            named.push(FrontMatterReference { line, field, name: text.clone() });
            tools.push(text);
            continue;
        }
        let found = shorten_text(&text);
        let message = if !lower.is_empty() && lower != text && lower.chars().all(is_plain) {
            format!("tools: expected the id of a tool, found {found}: write {lower}")
        } else {
            format!(
                "tools: expected the id of a tool, or a glob such as web_* or \"*\", found {found}"
            )
        };
        faults.push_at_line(line, message);
    }
    tools
}

fn permissions(
    field: &FrontMatterField,
    named: &mut Vec<FrontMatterReference>,
    faults: &mut AgentFileFaults,
) -> Vec<Rule> {
    let items = faults.list(field, "permissions");
    items.iter().filter_map(|item| rule(item, named, faults)).collect()
}

fn rule(
    item: &FrontMatterValue,
    named: &mut Vec<FrontMatterReference>,
    faults: &mut AgentFileFaults,
) -> Option<Rule> {
    let FrontMatterKind::Table(fields) = &item.kind else {
        let found = item.kind.type_name();
        faults.push_at_line(item.line, format!("permissions: expected rules such as {{permission: bash, pattern: \"git push*\", action: deny}}, found {found}"));
        return None;
    };
    let fields = faults.known_fields(fields.clone(), "permissions", &RULE_KEYS);
    let [permission, pattern, action] = RULE_KEYS.map(|key| {
        let field = fields.iter().find(|field| field.key == key);
        field.map(|field| faults.text(field, &format!("permissions.{key}")))
    });
    for (key, value) in [("permission", &permission), ("action", &action)] {
        if value.is_none() {
            faults.push_at_line(
                item.line,
                format!("permissions: expected {key} in each rule, found none"),
            );
        }
    }
    let action = action.flatten().and_then(|FrontMatterText { line, text }| {
        let actions =
            [("allow", RuleAction::Allow), ("ask", RuleAction::Ask), ("deny", RuleAction::Deny)];
        let action = actions.into_iter().find(|(name, _)| *name == text);
        if action.is_none() {
            let found = shorten_text(&text);
            let message = format!("permissions.action: expected allow, ask or deny, found {found}");
            faults.push_at_line(line, message);
        }
        action.map(|(_, action)| action)
    });
    // A rule without a pattern matches everything. A pattern that is not a text is already reported.
    let pattern = pattern.map_or(Some("*".to_owned()), |pattern| Some(pattern?.text));
    let FrontMatterText { line, text: permission } = permission.flatten()?;
    let rule = Rule::new(permission.clone(), pattern?, action?);
    let scoped = [(RuleScope::Agent, rule.clone())];
    match RuleSet::compile(scoped, &PatternVariables::default(), Conditions::default()) {
        Ok(_) => {
            let field = AgentFileReferenceField::Permissions;
            named.push(FrontMatterReference { line, field, name: permission });
            Some(rule)
        }
        Err(errors) => {
            for err in errors.errors {
                faults.push_at_line(item.line, format!("permissions: {}", err.fault));
            }
            None
        }
    }
}
