//! Reads the entries `[[commands]]` key by key. So a value that cannot be used hides no other mistake, neither in its entry nor
//! in another. The entry itself checks that its values fit together.

use haft_contract::{Effect, ToolId, ToolKind};
use haft_tools::ArgvItem;
use toml::de::DeValue;

use super::{COMMANDS, ManifestReader, TomlValue, kind_of, span_of, span_of_item};
use crate::manifest::commands::{COMMANDS_MAX, CommandEntry, CommandRequires, nothing};
use crate::manifest::problem::ManifestProblem;

/// Keys without which there is no command.
const NEEDED: [&str; 3] = ["argv", "description", "id"];
/// Keys that are checked against each other.
const TEMPLATE: [&str; 3] = ["allow_dash", "argv", "parameters"];

impl ManifestReader {
    pub(super) fn commands(&mut self, value: TomlValue<'_>) -> Vec<CommandEntry> {
        let whole = value.span();
        let entries = self.list(value);
        let found = entries.len();
        let mut commands: Vec<CommandEntry> = Vec::new();
        for entry in entries {
            let Some((command, unread)) = self.command_entry(entry.clone()) else { continue };
            let mut problems = command.problems();
            if commands.iter().any(|known| known.id == command.id) {
                let message = format!("id: {} is declared by another entry already", command.id);
                problems.push(("id", None, message));
            }
            let is_unread = |key: &str| unread.iter().any(|unread| unread == key);
            // The values that stand in for unread ones have no problems of the user.
            let is_read = |key: &str| {
                let is_of_template = TEMPLATE.contains(&key);
                !(is_unread(key) || is_of_template && TEMPLATE.into_iter().any(is_unread))
            };
            let problems = problems.into_iter().filter(|(key, ..)| is_read(key));
            self.problems.extend(problems.map(|(key, item, message)| {
                let span = item
                    .map_or_else(|| span_of(&entry, key), |place| span_of_item(&entry, key, place));
                ManifestProblem { span, message }
            }));
            if is_read("id") {
                commands.push(command);
            }
        }
        if found > COMMANDS_MAX {
            let message = format!("expected at most {COMMANDS_MAX} commands, found {found}");
            self.problems.push(ManifestProblem { span: whole, message });
        }
        commands
    }

    /// Reads one entry, and returns it with the keys that have no value that can be used.
    fn command_entry(&mut self, value: TomlValue<'_>) -> Option<(CommandEntry, Vec<String>)> {
        let span = value.span();
        let table = match value.into_inner() {
            DeValue::Table(table) => table,
            other => {
                let message = format!("expected a table, found {}", kind_of(&other));
                self.problems.push(ManifestProblem { span, message });
                return None;
            }
        };
        let mut unread = Vec::new();
        for key in NEEDED.into_iter().filter(|key| !table.contains_key(*key)) {
            let message = format!("missing field `{key}`");
            self.problems.push(ManifestProblem { span: span.clone(), message });
            unread.push(key.to_owned());
        }
        // Values that are read replace these.
        let mut command = CommandEntry {
            id: ToolId::parse("command").expect("it is a word in lower case"),
            description: String::new(),
            parameters: nothing(),
            argv: Vec::new(),
            allow_dash: Vec::new(),
            cwd: None,
            timeout_ms: None,
            effect: None,
            dangerous: None,
            requires: None,
            kind: None,
        };
        for (key, value) in table {
            let (problems_before, name) = (self.problems.len(), key.get_ref().as_ref());
            if self.knows(COMMANDS, name, key.span())
                && self.knows_below(&format!("{COMMANDS}.{name}"), value.get_ref())
            {
                self.command_value(name, value, &mut command);
            }
            if self.problems.len() > problems_before {
                unread.push(name.to_owned());
            }
        }
        Some((command, unread))
    }

    fn command_value(&mut self, name: &str, value: TomlValue<'_>, command: &mut CommandEntry) {
        match name {
            "allow_dash" => {
                let names = self.list(value).into_iter();
                command.allow_dash = names.filter_map(|name| self.one::<String>(name)).collect();
            }
            "argv" => {
                let items = self.list(value).into_iter();
                command.argv = items.filter_map(|item| self.one::<ArgvItem>(item)).collect();
            }
            "cwd" => command.cwd = self.one::<String>(value),
            "dangerous" => command.dangerous = self.one::<bool>(value),
            "description" => {
                command.description = self.one(value).unwrap_or_default();
            }
            "effect" => command.effect = self.one::<Effect>(value),
            "id" => {
                if let Some(id) = self.one::<ToolId>(value) {
                    command.id = id;
                }
            }
            "kind" => command.kind = self.one::<ToolKind>(value),
            "parameters" => {
                if let Some(parameters) = self.one(value) {
                    command.parameters = parameters;
                }
            }
            "requires" => command.requires = self.one::<CommandRequires>(value),
            "timeout_ms" => command.timeout_ms = self.one::<u64>(value),
            other => unreachable!("{other:?} is in the list of keys and is read nowhere"),
        }
    }
}
