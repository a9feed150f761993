//! Reads the entries `[[commands]]` key by key. So a value that cannot be used hides no other mistake, neither in its entry nor
//! in another. The entry itself checks that its values fit together.

use haft_contract::ToolId;

use super::{COMMANDS, ManifestReader, TomlValue, span_of, span_of_item};
use crate::manifest::commands::{COMMANDS_MAX, CommandEntry, nothing};

/// Keys without which there is no command.
const NEEDED: [&str; 2] = ["argv", "id"];
/// Keys that are checked against each other.
const TEMPLATE: [&str; 3] = ["allow_dash", "argv", "parameters"];

impl ManifestReader {
    /// Reads the commands that are declared as tools.
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
            for (key, item, message) in problems.into_iter().filter(|(key, ..)| is_read(key)) {
                let span = match item {
                    Some(place) => span_of_item(&entry, key, place),
                    None => span_of(&entry, key),
                };
                self.report(span, message);
            }
            if is_read("id") {
                commands.push(command);
            }
        }
        self.bound(whole, found, COMMANDS_MAX, "commands");
        commands
    }

    /// Reads one entry, and returns it with the keys that have no value that can be used.
    fn command_entry(&mut self, value: TomlValue<'_>) -> Option<(CommandEntry, Vec<String>)> {
        let span = value.span();
        let table = self.table(value, "a table")?;
        let mut unread = Vec::new();
        for key in NEEDED.into_iter().filter(|key| !table.contains_key(*key)) {
            self.report(span.clone(), format!("missing field `{key}`"));
            unread.push(key.to_owned());
        }
        // Values that are read replace these.
        let mut command = CommandEntry {
            id: ToolId::parse("command").expect("it is a word in lower case"),
            description: None,
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
                match name {
                    "allow_dash" => command.allow_dash = self.items(value),
                    "argv" => command.argv = self.items(value),
                    "cwd" => command.cwd = self.one(value),
                    "dangerous" => command.dangerous = self.one(value),
                    "description" => command.description = self.one(value),
                    "effect" => command.effect = self.one(value),
                    "id" => command.id = self.one(value).unwrap_or(command.id),
                    "kind" => command.kind = self.one(value),
                    "parameters" => {
                        command.parameters = self.one(value).unwrap_or(command.parameters);
                    }
                    "requires" => command.requires = self.one(value),
                    "timeout_ms" => command.timeout_ms = self.one(value),
                    other => unreachable!("{other:?} is in the list of keys and is read nowhere"),
                }
            }
            if self.problems.len() > problems_before {
                unread.push(name.to_owned());
            }
        }
        Some((command, unread))
    }
}
