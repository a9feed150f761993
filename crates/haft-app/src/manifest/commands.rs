//! The entries `[[commands]]` of a manifest: commands that are declared as tools. This module finds their
//! problems before any call. Another module knows the meaning of a template.

use haft::InputSchema;
use haft_contract::{
    Effect, FsRequirement, LOCKED_IDS, NetRequirement, RequirementSet, ShellRequirement, Tool,
    ToolId, ToolKind,
};
use haft_tools::{ArgvItem, CommandToolProblem, CommandToolSpec, command_tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// Tools that are declared as commands.
///
/// Limit (settings): the manifest is refused.
pub const COMMANDS_MAX: usize = 128;
/// Longest description that a command without one gets, in characters. It only has to say which command it is.
const DEFAULT_DESCRIPTION_CHARS_MAX: usize = 200;

/// One command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandEntry {
    /// The tool's id.
    pub id: ToolId,
    /// The text by which a model decides whether to call it; without it, the command itself.
    pub description: Option<String>,
    /// JSON Schema of the input; without it, it takes nothing.
    pub parameters: Value,
    /// The program and its arguments, with parameters in braces.
    pub argv: Vec<ArgvItem>,
    /// Parameters whose values may begin with a dash.
    pub allow_dash: Vec<String>,
    /// Working directory within the root.
    pub cwd: Option<String>,
    /// Time for a call.
    pub timeout_ms: Option<u64>,
    /// The effect of a call; `once` unless declared.
    pub effect: Option<Effect>,
    /// Whether a plan runs it only when the user named it; it does unless declared.
    pub dangerous: Option<bool>,
    /// The access that it needs besides the programs of its template.
    pub requires: Option<CommandRequires>,
    /// How an editor draws it.
    pub kind: Option<ToolKind>,
}

/// The access that a command needs besides the programs that its template names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandRequires {
    /// The files that the command reads and changes.
    pub fs: FsRequirement,
    /// The hosts that the command reaches.
    pub net: NetRequirement,
    /// The programs that the command runs besides those that its template names.
    pub shell: Vec<ShellRequirement>,
    /// Other capabilities, by name.
    pub capabilities: Vec<String>,
}

/// Returns the schema of a command without parameters.
pub(super) fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

impl CommandEntry {
    /// Returns the tool that the entry declares.
    ///
    /// # Errors
    ///
    /// Fails with all problems of the entry.
    pub fn tool(&self) -> Result<Tool, Vec<CommandToolProblem>> {
        let requires =
            self.requires.clone().map(|CommandRequires { fs, net, shell, capabilities }| {
                RequirementSet { fs, net, shell, capabilities }
            });
        command_tool(CommandToolSpec {
            id: self.id.clone(),
            description: self.description.clone().unwrap_or_else(|| self.default_description()),
            parameters: self.parameters.clone(),
            argv: self.argv.clone(),
            allow_dash: self.allow_dash.clone(),
            cwd: self.cwd.clone(),
            timeout_ms: self.timeout_ms,
            effect: self.effect.unwrap_or(Effect::Once),
            dangerous: self.dangerous.unwrap_or(true),
            requires,
            kind: self.kind.unwrap_or(ToolKind::Execute),
        })
    }

    /// Returns the words of the template in their order.
    fn words(&self) -> impl Iterator<Item = &String> {
        self.argv.iter().flat_map(|item| match item {
            ArgvItem::Word(word) => std::slice::from_ref(word),
            ArgvItem::Group(words) => words.as_slice(),
        })
    }

    /// Returns the program and its arguments; a word that holds a parameter is empty.
    pub fn fixed_words(&self) -> Vec<&str> {
        self.words().map(|word| if word.contains('{') { "" } else { word.as_str() }).collect()
    }

    /// Describes a command by its words.
    fn default_description(&self) -> String {
        let words: Vec<&str> = self.words().map(String::as_str).collect();
        let text = format!("Runs `{}`.", words.join(" "));
        let mut chars = text.chars();
        let mut shown: String = chars.by_ref().take(DEFAULT_DESCRIPTION_CHARS_MAX).collect();
        if chars.next().is_some() {
            shown.push('…');
        }
        shown
    }

    /// Returns the keys whose values cannot be used, the place in the list where the key is one, and what is wrong.
    pub(super) fn problems(&self) -> Vec<(&'static str, Option<usize>, String)> {
        let mut problems = Vec::new();
        if LOCKED_IDS.contains(&self.id.as_str()) {
            let message = format!(
                "id: {} is a tool that every agent knows: give this one another id",
                self.id
            );
            problems.push(("id", None, message));
        }
        match self.tool() {
            Ok(tool) => {
                let contract = tool.valid_contract().map_err(|err| err.to_string());
                let compiled = contract.and_then(|it| InputSchema::compile(&it.parameters));
                if let Err(why) = compiled {
                    let message = format!("parameters: expected a JSON Schema: {why}");
                    problems.push(("parameters", None, message));
                }
            }
            Err(found) => {
                problems.extend(found.into_iter().map(|it| (it.key, it.item, it.message)));
            }
        }
        problems
    }

    /// Returns the entry in the words of the manifest, as far as it says what is run and reached.
    pub fn summary(&self) -> String {
        let argv: Vec<Value> = self
            .argv
            .iter()
            .map(|item| match item {
                ArgvItem::Word(word) => json!(word),
                ArgvItem::Group(words) => json!(words),
            })
            .collect();
        let mut words = vec![format!("id = \"{}\"", self.id), format!("argv = {}", json!(argv))];
        if let Some(CommandRequires { fs, net, shell, capabilities }) = &self.requires {
            let mut requires = json!({ "fs": fs, "net": net });
            if !shell.is_empty() {
                requires["shell"] = json!(shell);
            }
            if !capabilities.is_empty() {
                requires["capabilities"] = json!(capabilities);
            }
            words.push(format!("requires = {requires}"));
        }
        format!("commands = [{{ {} }}]", words.join(", "))
    }
}
