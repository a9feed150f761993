//! From the text of a manifest, or of the rules for a project, to what it says. Every key and every entry of a list is
//! read by itself, so that one mistake does not hide the next.

mod commands;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use haft::limits::{ANSWER_MS_MAX, ANSWER_MS_MIN};
use haft::{SHOWN_CHARS_MIN, near_matches};
use haft_contract::limits::{LISTED_TOOLS_MAX, OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};
use haft_contract::{PatternVariables, RequirementSet};
use haft_lsp::builtin_languages;
use haft_policy::{Capabilities, Conditions, Rule, RuleScope, RuleSet};
use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{KeyProblem, ManifestProblem};
use super::{
    AgentSection, DurabilitySection, LSP_LANGUAGES_MAX, LanguageEntry, MCP_SERVERS_MAX, Manifest,
    ManifestLimits, ModelSection, NOTIFY_MAX, NetworkSection, NotifyEntry, PYTHON_DIRECTORIES_MAX,
    PlanSection, ProjectText, PythonEntry, SandboxSection, ScopeSection, ServerEntry,
    SkillsSection, SnapshotsSection, WATCHDOGS_MAX, WatchdogEntry, WebSearchSection,
    language_name_problem, server_name_problem,
};
use crate::manifest::setting::keys_of;

/// The section that stands for the whole of a file of rules for a project. No key of a manifest is called so.
const PROJECT: &str = "(project)";
/// Its keys.
const PROJECT_KEYS: &[&str] = &["permissions", "root"];
/// The section of the client that haft is to an MCP server.
const MCP_CLIENT: &str = "mcp.*.oauth";
/// The section whose entries are commands.
const COMMANDS: &str = "commands";
/// The section whose entries are directories of Python tools.
const PYTHON: &str = "python";
/// The section that stands for that of any one tool below `plan.tools`.
const PLAN_TOOL: &str = "plan.tools.*";
/// The section that stands for that of any one MCP server.
const MCP_SERVER: &str = "mcp.*";
/// The section that stands for that of any one language.
const LSP_LANGUAGE: &str = "lsp.*";
/// Keys that people look for in a manifest and that must not be there, with what to do instead.
const FLAGS_ONLY: &[(&str, &str)] = &[(
    "unsafe_no_sandbox",
    "unsafe_no_sandbox cannot be set in a manifest, which travels with the workspace: set \
     HAFT_UNSAFE_NO_SANDBOX=true for haft itself",
)];
/// The section of the entries of one list.
const SEARCH_PROVIDERS: &str = "web_search.providers";
/// Names that people give to an API key in the tables of the model and of providers.
const KEYS_OF_MODELS: &[&str] = &["api_key", "key", "token"];

/// A value with its place in the text.
type TomlValue<'t> = Spanned<DeValue<'t>>;

/// Whether a rule whose examples do not hold is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleChecks {
    /// It is.
    Checked,
    /// The rule is read as it is. The caller checks its examples one by one.
    Unchecked,
}

/// Returns what the text of a manifest says, or everything that is wrong with it.
pub(super) fn read(text: &str, examples: ExampleChecks) -> Result<Manifest, Vec<ManifestProblem>> {
    let table = parse_document(text)?;
    ManifestReader::read(RuleScope::Manifest, examples, |reader| reader.manifest(table))
}

/// Returns what the text of the rules for a project says, or everything that is wrong with it.
pub(super) fn read_project(
    text: &str,
    examples: ExampleChecks,
) -> Result<ProjectText, Vec<ManifestProblem>> {
    let table = parse_document(text)?;
    ManifestReader::read(RuleScope::Project, examples, |reader| reader.project(table))
}

/// Parses the text as TOML. The problems are those of the syntax.
fn parse_document(text: &str) -> Result<DeTable<'_>, Vec<ManifestProblem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table.into_inner());
    }
    // The meaning of a broken text is a guess, and its mistakes would be listed as mistakes of the user.
    Err(errors.iter().map(|err| problem_of(err, 0..0)).collect())
}

/// Reads the values of one manifest, and collects all problems on the way.
struct ManifestReader {
    /// The problems so far, in the order of the keys that were read.
    problems: Vec<ManifestProblem>,
    /// The scope of the rules that are read.
    scope: RuleScope,
    /// Whether the examples of rules are checked.
    examples: ExampleChecks,
}

impl ManifestReader {
    /// Reads a text with this reader, and returns the value if there are no problems.
    fn read<T>(
        scope: RuleScope,
        examples: ExampleChecks,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, Vec<ManifestProblem>> {
        let mut reader = Self { problems: Vec::new(), scope, examples };
        let value = read(&mut reader);
        if reader.problems.is_empty() { Ok(value) } else { Err(reader.problems) }
    }

    /// Reads all tables of a manifest.
    fn manifest(&mut self, table: DeTable<'_>) -> Manifest {
        let mut manifest = Manifest::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !self.knows("", name, key.span()) {
                continue;
            }
            // An entry of Python directories is read without its unknown keys, and one of commands reports them itself.
            if name != COMMANDS && !self.knows_below(name, value.get_ref()) && name != PYTHON {
                continue;
            }
            match name {
                "agent" => manifest.agent = self.section(&value, AgentSection::problems),
                "allow_network" => manifest.allow_network = self.one(value),
                "commands" => {
                    let entries = value.get_ref().as_array().into_iter().flatten();
                    entries.for_each(|entry| self.check_requires_of(entry));
                    manifest.commands = self.commands(value);
                }
                "durability" => {
                    manifest.durability = self.section(&value, DurabilitySection::problems)
                }
                "limits" => manifest.limits = self.limits(value),
                "lsp" => {
                    let (span, known) = (value.span(), builtin_languages());
                    let expected = "tables such as [lsp.NAME] for languages";
                    manifest.lsp =
                        self.named_tables(value, expected, language_name_problem, |name, entry| {
                            let is_known = known.iter().any(|language| language.name == name);
                            LanguageEntry::problems(entry, is_known)
                        });
                    self.bound(span, manifest.lsp.len(), LSP_LANGUAGES_MAX, "languages");
                }
                "mcp" => {
                    let servers = value.get_ref().as_table().into_iter().flat_map(DeTable::values);
                    servers.for_each(|server| self.check_requires_of(server));
                    let span = value.span();
                    let expected = "tables such as [mcp.NAME] for MCP servers";
                    manifest.mcp =
                        self.named_tables(value, expected, server_name_problem, |_, entry| {
                            ServerEntry::problems(entry)
                        });
                    self.bound(span, manifest.mcp.len(), MCP_SERVERS_MAX, "MCP servers");
                }
                "model" => manifest.model = self.section(&value, ModelSection::problems),
                "network" => manifest.network = self.section(&value, NetworkSection::problems),
                "network_guard" => manifest.network_guard = self.one(value),
                "notify" => {
                    let what = "programs and webhooks that are notified";
                    manifest.notify = self.entries(value, NotifyEntry::problem, (NOTIFY_MAX, what));
                }
                "permissions" => manifest.permissions = self.permissions(value),
                "plan" => manifest.plan = self.section(&value, PlanSection::problems),
                "preset" => manifest.preset = self.one(value),
                "asks" => manifest.asks = self.one(value),
                "profile" => manifest.profile = self.parsed(value),
                "python" => manifest.python = self.python(value),
                "reference_watchdog" => manifest.reference_watchdog = self.one(value),
                "requires" => {
                    self.check_requires(&value);
                    manifest.requires = self.one(value).unwrap_or_default();
                }
                "root" => manifest.root = self.path(value),
                "roots" => {
                    let roots = self.list(value).into_iter();
                    manifest.roots = roots.filter_map(|root| self.path(root)).collect();
                }
                "sandbox" => manifest.sandbox = self.section(&value, SandboxSection::problems),
                "scope" => manifest.scope = self.section(&value, ScopeSection::problems),
                "skills" => manifest.skills = self.section(&value, SkillsSection::problems),
                "snapshots" => manifest.snapshots = self.snapshots(value),
                "tools" => manifest.tools = Some(self.items(value)),
                "watchdogs" => {
                    let bound = (WATCHDOGS_MAX, "watchdogs");
                    manifest.watchdogs = self.entries(value, WatchdogEntry::problem, bound);
                }
                "web_search" => {
                    manifest.web_search = self.section(&value, WebSearchSection::problems)
                }
                other => unreachable!("{other:?} is in the list of keys and is read nowhere"),
            }
        }
        manifest
    }

    /// Reads a file of project rules.
    fn project(&mut self, table: DeTable<'_>) -> ProjectText {
        let mut project = ProjectText::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !self.knows(PROJECT, name, key.span()) || !self.knows_below(name, value.get_ref()) {
                continue;
            }
            match name {
                "permissions" => project.permissions = self.permissions(value),
                "root" => project.root = self.one(value),
                other => unreachable!("{other:?} is in the list of keys and is read nowhere"),
            }
        }
        project
    }

    /// Checks the patterns under `requires` of a table.
    fn check_requires_of(&mut self, table: &TomlValue<'_>) {
        if let Some(requires) = table.get_ref().as_table().and_then(|table| table.get("requires")) {
            self.check_requires(requires);
        }
    }

    /// Checks the patterns of requirements, each where it is written. Values of other types are left to their own readers.
    fn check_requires(&mut self, requires: &TomlValue<'_>) {
        for (section, list) in [("fs", "read"), ("fs", "write"), ("net", "hosts")] {
            let items = requires.get_ref().as_table().and_then(|parts| parts.get(section));
            let items = items.and_then(|part| part.get_ref().as_table()?.get(list));
            let items = items.and_then(|items| items.get_ref().as_array());
            for item in items.into_iter().flatten() {
                let Some(text) = item.get_ref().as_str() else { continue };
                let mut one = RequirementSet::default();
                let patterns = match section {
                    "fs" => &mut one.fs.read,
                    _ => &mut one.net.hosts,
                };
                patterns.push(text.to_owned());
                // The values of the variables are not known yet, and no check here depends on them.
                if let Err(err) = Capabilities::compile(&one, &PatternVariables::default()) {
                    self.report(item.span(), format!("requires.{section}.{list}: {err}"));
                }
            }
        }
    }

    /// Reads the bounds of calls.
    fn limits(&mut self, value: TomlValue<'_>) -> ManifestLimits {
        let (output_span, timeout_span) =
            (span_of(&value, "output_bytes"), span_of(&value, "timeout_ms"));
        let (listed_span, shown_span) =
            (span_of(&value, "listed_tools"), span_of(&value, "shown_chars"));
        let answer_span = span_of(&value, "answer_ms");
        let limits: ManifestLimits = self.one(value).unwrap_or_default();
        if limits.listed_tools.is_some_and(|tools| tools > LISTED_TOOLS_MAX) {
            let message =
                format!("listed_tools: expected 0 to {LISTED_TOOLS_MAX} tools (LISTED_TOOLS_MAX)");
            self.report(listed_span, message);
        }
        if limits.output_bytes.is_some_and(|bytes| bytes == 0 || bytes > OUTPUT_BYTES_MAX) {
            let message =
                format!("output_bytes: expected 1 to {OUTPUT_BYTES_MAX} bytes (OUTPUT_BYTES_MAX)");
            self.report(output_span, message);
        }
        if limits.timeout_ms.is_some_and(|timeout| timeout == 0 || timeout > TIMEOUT_MS_MAX) {
            let message =
                format!("timeout_ms: expected 1 to {TIMEOUT_MS_MAX} milliseconds (TIMEOUT_MS_MAX)");
            self.report(timeout_span, message);
        }
        if limits.answer_ms.is_some_and(|time| !(ANSWER_MS_MIN..=ANSWER_MS_MAX).contains(&time)) {
            let message = format!(
                "answer_ms: expected {ANSWER_MS_MIN} to {ANSWER_MS_MAX} milliseconds (ANSWER_MS_MIN, ANSWER_MS_MAX)"
            );
            self.report(answer_span, message);
        }
        let shown_range = SHOWN_CHARS_MIN..=OUTPUT_BYTES_MAX;
        if limits.shown_chars.is_some_and(|chars| !shown_range.contains(&chars)) {
            let message = format!(
                "shown_chars: expected {SHOWN_CHARS_MIN} to {OUTPUT_BYTES_MAX} characters (SHOWN_CHARS_MIN, \
                 OUTPUT_BYTES_MAX)"
            );
            self.report(shown_span, message);
        }
        limits
    }

    /// Reads a table, and reports which of its values cannot be used.
    fn section<T: DeserializeOwned + Default>(
        &mut self,
        value: &TomlValue<'_>,
        problems: impl FnOnce(&T) -> Vec<KeyProblem>,
    ) -> T {
        let Some(section) = self.one::<T>(value.clone()) else { return T::default() };
        self.report_keys(value, problems(&section));
        section
    }

    /// Reads the table of snapshots.
    fn snapshots(&mut self, value: TomlValue<'_>) -> SnapshotsSection {
        let section = self.section(&value, SnapshotsSection::problems);
        for (place, message) in section.pattern_problems() {
            self.report(span_of_item(&value, "exclude", place), message);
        }
        section
    }

    /// Reads the directories of Python tools.
    fn python(&mut self, value: TomlValue<'_>) -> Vec<PythonEntry> {
        let whole = value.span();
        let mut directories: Vec<PythonEntry> = Vec::new();
        for entry in self.list(value) {
            let Some(table) = self.table(entry.clone(), "a table") else { continue };
            if !table.contains_key("dir") {
                self.report(entry.span(), "missing field `dir`");
            }
            let mut dir = None;
            // The directory that stands in for a missing one is not checked.
            let mut python = PythonEntry::of_directory(PathBuf::from("."));
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "dir" => dir = self.one(value),
                    "interpreter" => python.interpreter = self.one(value),
                    "package_root" => python.package_root = self.one(value),
                    "readable" => python.readable = self.items(value),
                    "workers" => python.workers = self.one(value),
                    "idle_ms" => python.idle_ms = self.one(value),
                    "memory_bytes" => python.memory_bytes = self.one(value),
                    // `knows_below` reported the other keys.
                    _ => {}
                }
            }
            let has_dir = dir.is_some();
            python.dir = dir.unwrap_or(python.dir);
            let mut problems = python.problems();
            if has_dir && directories.iter().any(|known| known.dir == python.dir) {
                let message = format!("dir: {:?} is named by another entry already", python.dir);
                problems.push(("dir", message));
            }
            self.report_keys(&entry, problems);
            if has_dir {
                directories.push(python);
            }
        }
        let what = "directories of Python tools";
        self.bound(whole, directories.len(), PYTHON_DIRECTORIES_MAX, what);
        directories
    }

    /// Reads tables that have names, such as `[mcp.NAME]`, without those whose names cannot be used. `problems` gets the name
    /// of each table.
    fn named_tables<T: DeserializeOwned + Default>(
        &mut self,
        value: TomlValue<'_>,
        expected: &str,
        name_problem: fn(&str) -> Option<String>,
        problems: impl Fn(&str, &T) -> Vec<KeyProblem>,
    ) -> BTreeMap<String, T> {
        let mut tables = BTreeMap::new();
        for (name, entry) in self.table(value, expected).into_iter().flatten() {
            let span = name.span();
            let name = name.into_inner().into_owned();
            if let Some(message) = name_problem(&name) {
                self.report(span, message);
                continue;
            }
            let table = self.section(&entry, |table| problems(&name, table));
            tables.insert(name, table);
        }
        tables
    }

    /// Reads the tables of a list that has at most so many. `what` names them in the plural.
    fn entries<T: DeserializeOwned>(
        &mut self,
        value: TomlValue<'_>,
        problem: fn(&T) -> Option<String>,
        (most, what): (usize, &str),
    ) -> Vec<T> {
        let whole = value.span();
        let mut entries = Vec::new();
        for entry in self.list(value) {
            let span = entry.span();
            let Some(entry) = self.one::<T>(entry) else { continue };
            match problem(&entry) {
                Some(message) => self.report(span, message),
                None => entries.push(entry),
            }
        }
        self.bound(whole, entries.len(), most, what);
        entries
    }

    /// Reads permission rules, and checks their examples.
    fn permissions(&mut self, value: TomlValue<'_>) -> Vec<Rule> {
        let mut rules = Vec::new();
        for entry in self.list(value) {
            let span = entry.span();
            let Some(rule) = self.one::<Rule>(entry) else { continue };
            let mut checked = rule.clone();
            if self.examples == ExampleChecks::Unchecked {
                checked.match_examples.clear();
                checked.not_match_examples.clear();
            }
            // The values of the variables are not known yet, and no check here depends on them.
            let compiled = RuleSet::compile(
                [(self.scope, checked)],
                &PatternVariables::default(),
                Conditions::default(),
            );
            match compiled {
                Ok(_) => rules.push(rule),
                Err(err) => self.report(span, err.to_string()),
            }
        }
        rules
    }

    /// Reads a path. An empty text is a problem.
    fn path(&mut self, value: TomlValue<'_>) -> Option<PathBuf> {
        let span = value.span();
        let path: PathBuf = self.one(value)?;
        if path.as_os_str().is_empty() {
            self.report(span, "expected a directory, found an empty text");
            return None;
        }
        Some(path)
    }

    /// Reads a text and parses it. The error of the parser becomes a problem.
    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        value: TomlValue<'_>,
    ) -> Option<T> {
        let span = value.span();
        let text: String = self.one(value)?;
        text.parse().map_err(|err: T::Err| self.report(span, err.to_string())).ok()
    }

    /// Returns the items of a list, or a problem if the value is no list.
    fn list<'t>(&mut self, value: TomlValue<'t>) -> Vec<TomlValue<'t>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => items.into_iter().collect(),
            other => {
                self.report(span, format!("expected a list, found {}", kind_of(&other)));
                Vec::new()
            }
        }
    }

    /// Reads the items of a list, without those that cannot be used.
    fn items<T: DeserializeOwned>(&mut self, value: TomlValue<'_>) -> Vec<T> {
        self.list(value).into_iter().filter_map(|item| self.one(item)).collect()
    }

    /// Returns the entries of a table, or a problem if the value is no table.
    fn table<'t>(&mut self, value: TomlValue<'t>, expected: &str) -> Option<DeTable<'t>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Some(table),
            other => {
                self.report(span, format!("expected {expected}, found {}", kind_of(&other)));
                None
            }
        }
    }

    /// Reads a value of a type that serde knows.
    fn one<T: DeserializeOwned>(&mut self, value: TomlValue<'_>) -> Option<T> {
        let span = value.span();
        let read = T::deserialize(value.into_deserializer());
        read.map_err(|err| self.problems.push(problem_of(&err, span))).ok()
    }

    /// Reports a mistake in the bytes at `span`.
    fn report(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(ManifestProblem { span, message: message.into() });
    }

    /// Reports problems of the keys of a table, each where the key has its value.
    fn report_keys(&mut self, table: &TomlValue<'_>, problems: Vec<KeyProblem>) {
        for (key, message) in problems {
            self.report(span_of(table, key), message);
        }
    }

    /// Reports a list or a table that has more than `most` entries. `what` names them in the plural.
    fn bound(&mut self, span: Range<usize>, found: usize, most: usize, what: &str) {
        if found > most {
            self.report(span, format!("expected at most {most} {what}, found {found}"));
        }
    }

    /// Reports every unknown key beneath a value; returns whether there is none.
    fn knows_below(&mut self, section: &str, value: &DeValue<'_>) -> bool {
        let mut all = true;
        if let Some(items) = value.as_array() {
            for item in items {
                all &= self.knows_below(section, item.get_ref());
            }
        }
        if let Some(table) = value.as_table() {
            for (key, value) in table {
                let name = key.get_ref().as_ref();
                all &= self.knows(section, name, key.span());
                all &= self.knows_below(&format!("{section}.{name}"), value.get_ref());
            }
        }
        all
    }

    /// Reports a key that its section does not have. Places that are no section are left to their own types.
    fn knows(&mut self, section: &str, key: &str, span: Range<usize>) -> bool {
        let section = if section.starts_with("plan.tools.") {
            PLAN_TOOL
        } else if let Some(name) = section.strip_prefix("lsp.") {
            // haft does not know the keys below: the language server reads them.
            if name.contains('.') { section } else { LSP_LANGUAGE }
        } else {
            match section.strip_prefix("mcp.").map(|rest| rest.split_once('.')) {
                Some(None) => MCP_SERVER,
                Some(Some((_, "oauth"))) => MCP_CLIENT,
                Some(Some((_, inner))) => inner,
                None => section,
            }
        };
        let keys = if section == PROJECT { PROJECT_KEYS.to_vec() } else { keys_of(section) };
        if keys.is_empty() || keys.contains(&key) {
            return true;
        }
        let message = if let Some((_, message)) = FLAGS_ONLY.iter().find(|(name, _)| *name == key) {
            (*message).to_owned()
        } else if matches!(section, "model" | SEARCH_PROVIDERS) && KEYS_OF_MODELS.contains(&key) {
            let usual = if section == "model" { "OPENAI_API_KEY" } else { "BRAVE_API_KEY" };
            format!(
                "a key cannot be set in a manifest, which travels with the workspace: put it into the \
                 provider's environment variable, such as {usual}, or into one that key_variable names"
            )
        } else if let Some(known) = near_matches(key, keys.iter().copied()).first() {
            format!("unknown key {key:?}: did you mean {known:?}?")
        } else {
            format!("unknown key {key:?}: expected one of {}", keys.join(", "))
        };
        self.report(span, message);
        false
    }
}

/// Returns where the value of a key of a table is, or where the table is.
fn span_of(table: &TomlValue<'_>, key: &str) -> Range<usize> {
    let found = table.get_ref().as_table().and_then(|table| table.get(key));
    found.map_or(table.span(), Spanned::span)
}

/// Returns where an item of the list is that a key of a table has, or where the list is.
fn span_of_item(table: &TomlValue<'_>, key: &str, place: usize) -> Range<usize> {
    let list = table.get_ref().as_table().and_then(|table| table.get(key));
    let item = list.and_then(|list| list.get_ref().as_array()?.get(place));
    item.map_or_else(|| span_of(table, key), Spanned::span)
}

/// Returns a problem that the reader of TOML reports. `whole` is its place if the reader names none.
fn problem_of(err: &toml::de::Error, whole: Range<usize>) -> ManifestProblem {
    let span = err.span().unwrap_or(whole);
    let message = err.message();
    let Some((found, expected)) = message.split_once(", expected ") else {
        return ManifestProblem { span, message: message.to_owned() };
    };
    // The reader names types of Rust; its user knows those of TOML.
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number",
        "path string" | "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        structure if structure.starts_with("struct ") => "a table",
        other => other,
    };
    ManifestProblem { span, message: format!("{found}, expected {expected}") }
}

/// Returns the kind of a value with its article, for messages.
fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
