//! The tables `[lsp.NAME]` of a manifest: which language server is asked about which files, where that is not what is usual.
//! A name that is known changes that language; another one is a new language. Whether there is such a program is found out
//! when it is needed.

use haft_lsp::LanguageChange;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::mcp::CommandWords;
use super::problem::KeyProblem;

/// Languages.
///
/// Limit (settings): the manifest is refused.
pub const LSP_LANGUAGES_MAX: usize = 32;
/// Longest name of a language, in characters.
pub(crate) const LSP_NAME_CHARS_MAX: usize = 24;

/// One language.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageEntry {
    /// The program of the server, with its arguments or without.
    pub command: CommandWords,
    /// How names of files in the language end.
    pub extensions: Option<Vec<String>>,
    /// Files that lie where a project begins.
    pub root_markers: Option<Vec<String>>,
    /// The settings that the server receives.
    pub settings: Option<Map<String, Value>>,
    /// Whether it is used.
    pub enabled: Option<bool>,
}

impl LanguageEntry {
    /// Returns whether all that is said is that the language is not used.
    pub fn only_disables(&self) -> bool {
        *self == Self { enabled: Some(false), ..Self::default() }
    }

    /// Returns the entry in the words of the manifest. Settings are named only: they can be long.
    pub fn summary(&self, name: &str) -> String {
        let mut words = Vec::new();
        if !self.command.0.is_empty() {
            words.push(format!("command = {:?}", self.command.0));
        }
        let lists = [("extensions", &self.extensions), ("root_markers", &self.root_markers)];
        for (key, list) in lists {
            words.extend(list.as_ref().map(|list| format!("{key} = {list:?}")));
        }
        if let Some(settings) = &self.settings {
            let names: Vec<&String> = settings.keys().collect();
            words.push(format!("settings = {names:?}"));
        }
        words.extend(self.enabled.map(|enabled| format!("enabled = {enabled}")));
        format!("lsp.{name} = {{ {} }}", words.join(", "))
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them; `is_known` says whether the language is
    /// one that needs nothing said.
    pub(super) fn problems(&self, is_known: bool) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        if self.command.0.first().is_some_and(String::is_empty) {
            problems
                .push(("command", "command: expected a program, found an empty text".to_owned()));
        }
        let is_used = self.enabled != Some(false);
        if is_used && !is_known && (self.command.0.is_empty() || self.extensions.is_none()) {
            let message =
                "expected command and extensions: haft knows no server for this language by itself";
            problems.push(("command", message.to_owned()));
        }
        if self.extensions.as_ref().is_some_and(Vec::is_empty) {
            problems.push((
                "extensions",
                "extensions: expected at least one, such as \"zig\"".to_owned(),
            ));
        }
        for extension in self.extensions.iter().flatten() {
            if extension.is_empty() || extension.contains(['.', '/']) {
                let message = format!(
                    "extensions: expected what comes after the last dot of a file's name, found {extension:?}"
                );
                problems.push(("extensions", message));
            }
        }
        for marker in self.root_markers.iter().flatten() {
            if marker.is_empty() || marker.contains('/') {
                let message =
                    format!("root_markers: expected the name of a file, found {marker:?}");
                problems.push(("root_markers", message));
            }
        }
        problems
    }

    /// Returns what is changed.
    pub fn change(self) -> LanguageChange {
        LanguageChange {
            command: Some(self.command.0).filter(|words| !words.is_empty()),
            extensions: self.extensions,
            root_markers: self.root_markers,
            settings: self.settings.map(Value::Object),
            is_enabled: self.enabled,
        }
    }
}

/// Returns what is wrong with the name of a language.
pub fn name_problem(name: &str) -> Option<String> {
    let is_kept =
        |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "_-+#".contains(char);
    let is_name = !name.is_empty() && name.len() <= LSP_NAME_CHARS_MAX && name.chars().all(is_kept);
    (!is_name).then(|| {
        format!(
            "language {name:?} is not valid: expected lower-case letters, digits, underscores and hyphens, at most \
             {LSP_NAME_CHARS_MAX} characters"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> LanguageEntry {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_cannot_be_is_said() {
        let check = |text: &str, is_known: bool, expect: &[&str]| {
            let found = entry(text).problems(is_known);
            let found: Vec<&str> = found.iter().map(|(_, message)| message.as_str()).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("command = \"zls\"\nextensions = [\"zig\"]", false, &[]);
        check("command = [\"/opt/ra\", \"-v\"]", true, &[]);
        check("enabled = false", false, &[]);
        check(
            "command = \"zls\"",
            false,
            &["expected command and extensions: haft knows no server for this language by itself"],
        );
        check(
            "command = \"\"\nextensions = [\".py\"]\nroot_markers = [\"a/b\"]",
            true,
            &[
                "command: expected a program, found an empty text",
                "extensions: expected what comes after the last dot of a file's name, found \".py\"",
                "root_markers: expected the name of a file, found \"a/b\"",
            ],
        );
        check("extensions = []", true, &["extensions: expected at least one, such as \"zig\""]);
        assert_eq!(name_problem("c++"), None);
        assert!(name_problem("My Zig").is_some());
        assert!(name_problem(&"a".repeat(LSP_NAME_CHARS_MAX + 1)).is_some());
    }

    #[test]
    fn only_leaving_a_language_out_narrows() {
        assert!(entry("enabled = false").only_disables());
        assert!(!entry("enabled = true").only_disables());
        assert!(!entry("enabled = false\ncommand = \"x\"").only_disables());
        let told = entry("command = \"x\"\nextensions = [\"y\"]\nsettings = { a = { b = 1 } }")
            .summary("z");
        assert_eq!(told, "lsp.z = { command = [\"x\"], extensions = [\"y\"], settings = [\"a\"] }");
    }
}
