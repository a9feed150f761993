//! From the text of a manifest, or of the rules for a project, to what it says. Every key and every entry of a list is
//! read by itself, so that one mistake does not hide the next.

mod commands;

use std::collections::BTreeMap;
use std::path::PathBuf;

use haft::near_matches;
use haft_contract::PatternVariables;
use haft_contract::limits::{OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};
use haft_lsp::builtin_languages;
use haft_policy::{Conditions, Rule, RuleScope, RuleSet};
use serde::de::{DeserializeOwned, IntoDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::ManifestProblem;
use super::{
    AgentSection, DurabilitySection, LSP_LANGUAGES_MAX, LanguageEntry, MCP_SERVERS_MAX, Manifest,
    ManifestLimits, ModelSection, PYTHON_DIRECTORIES_MAX, PlanSection, ProjectText, PythonEntry,
    SandboxSection, ScopeSection, ServerEntry, SkillsSection, SnapshotsSection, WATCHDOGS_MAX,
    WatchdogEntry, WebSearchSection, language_name_problem, server_name_problem,
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
    let table = table(text)?;
    ManifestReader::new(RuleScope::Manifest, examples).finish(|reader| reader.manifest(table))
}

/// Returns what the text of the rules for a project says, or everything that is wrong with it.
pub(super) fn read_project(
    text: &str,
    examples: ExampleChecks,
) -> Result<ProjectText, Vec<ManifestProblem>> {
    let table = table(text)?;
    ManifestReader::new(RuleScope::Project, examples).finish(|reader| reader.project(table))
}

fn table(text: &str) -> Result<DeTable<'_>, Vec<ManifestProblem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table.into_inner());
    }
    // The meaning of a broken text is a guess, and its mistakes would be listed as mistakes of the user.
    Err(errors.iter().map(|err| problem_of(err, 0..0)).collect())
}

struct ManifestReader {
    problems: Vec<ManifestProblem>,
    scope: RuleScope,
    examples: ExampleChecks,
}

impl ManifestReader {
    fn new(scope: RuleScope, examples: ExampleChecks) -> Self {
        Self { problems: Vec::new(), scope, examples }
    }

    fn finish<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> Result<T, Vec<ManifestProblem>> {
        let value = read(&mut self);
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }

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
                "commands" => manifest.commands = self.commands(value),
                "durability" => {
                    manifest.durability = self.section(&value, DurabilitySection::problems)
                }
                "limits" => manifest.limits = self.limits(value),
                "lsp" => manifest.lsp = self.languages(value),
                "mcp" => manifest.mcp = self.servers(value),
                "model" => manifest.model = self.section(&value, ModelSection::problems),
                "network_guard" => manifest.network_guard = self.one(value),
                "permissions" => manifest.permissions = self.permissions(value),
                "plan" => manifest.plan = self.section(&value, PlanSection::problems),
                "preset" => manifest.preset = self.one(value),
                "profile" => manifest.profile = self.parsed(value),
                "python" => manifest.python = self.python(value),
                "reference_watchdog" => manifest.reference_watchdog = self.one(value),
                "requires" => manifest.requires = self.one(value).unwrap_or_default(),
                "root" => manifest.root = self.path(value),
                "roots" => {
                    let roots = self.list(value);
                    manifest.roots = roots.into_iter().filter_map(|root| self.path(root)).collect();
                }
                "sandbox" => manifest.sandbox = self.section(&value, SandboxSection::problems),
                "scope" => manifest.scope = self.section(&value, ScopeSection::problems),
                "skills" => manifest.skills = self.section(&value, SkillsSection::problems),
                "snapshots" => manifest.snapshots = self.snapshots(value),
                "tools" => {
                    let tools = self.list(value);
                    manifest.tools =
                        Some(tools.into_iter().filter_map(|id| self.one(id)).collect());
                }
                "watchdogs" => manifest.watchdogs = self.watchdogs(value),
                "web_search" => {
                    manifest.web_search = self.section(&value, WebSearchSection::problems)
                }
                other => unreachable!("{other:?} is in the list of keys and is read nowhere"),
            }
        }
        manifest
    }

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

    fn limits(&mut self, value: TomlValue<'_>) -> ManifestLimits {
        let (output_span, timeout_span) =
            (span_of(&value, "output_bytes"), span_of(&value, "timeout_ms"));
        let limits: ManifestLimits = self.one(value).unwrap_or_default();
        if limits.output_bytes.is_some_and(|bytes| bytes == 0 || bytes > OUTPUT_BYTES_MAX) {
            let message =
                format!("output_bytes: expected 1 to {OUTPUT_BYTES_MAX} bytes (OUTPUT_BYTES_MAX)");
            self.problems.push(ManifestProblem { span: output_span, message });
        }
        if limits.timeout_ms.is_some_and(|timeout| timeout == 0 || timeout > TIMEOUT_MS_MAX) {
            let message =
                format!("timeout_ms: expected 1 to {TIMEOUT_MS_MAX} milliseconds (TIMEOUT_MS_MAX)");
            self.problems.push(ManifestProblem { span: timeout_span, message });
        }
        limits
    }

    /// Reads a table, and reports which of its values cannot be used.
    fn section<T>(
        &mut self,
        value: &TomlValue<'_>,
        problems: impl FnOnce(&T) -> Vec<(&'static str, String)>,
    ) -> T
    where
        T: DeserializeOwned + Default,
    {
        let Some(section) = self.one::<T>(value.clone()) else { return T::default() };
        let found = problems(&section).into_iter();
        self.problems.extend(
            found.map(|(key, message)| ManifestProblem { span: span_of(value, key), message }),
        );
        section
    }

    fn snapshots(&mut self, value: TomlValue<'_>) -> SnapshotsSection {
        let section = self.section(&value, SnapshotsSection::problems);
        let patterns = section.pattern_problems().into_iter().map(|(place, message)| {
            let span = span_of_item(&value, "exclude", place);
            ManifestProblem { span, message }
        });
        self.problems.extend(patterns);
        section
    }

    fn python(&mut self, value: TomlValue<'_>) -> Vec<PythonEntry> {
        let whole = value.span();
        let mut directories: Vec<PythonEntry> = Vec::new();
        for entry in self.list(value) {
            let span = entry.span();
            let table = match entry.clone().into_inner() {
                DeValue::Table(table) => table,
                other => {
                    let message = format!("expected a table, found {}", kind_of(&other));
                    self.problems.push(ManifestProblem { span, message });
                    continue;
                }
            };
            if !table.contains_key("dir") {
                let message = "missing field `dir`".to_owned();
                self.problems.push(ManifestProblem { span, message });
            }
            let mut dir = None;
            // The directory that stands in for a missing one is not checked.
            let mut python = PythonEntry::of_directory(PathBuf::from("."));
            for (key, value) in table {
                match key.get_ref().as_ref() {
                    "dir" => dir = self.one(value),
                    "interpreter" => python.interpreter = self.one(value),
                    "package_root" => python.package_root = self.one(value),
                    "readable" => {
                        let places = self.list(value).into_iter();
                        python.readable = places.filter_map(|place| self.one(place)).collect();
                    }
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
            let found = problems.into_iter();
            self.problems.extend(
                found.map(|(key, message)| ManifestProblem { span: span_of(&entry, key), message }),
            );
            if has_dir {
                directories.push(python);
            }
        }
        if directories.len() > PYTHON_DIRECTORIES_MAX {
            let message = format!(
                "expected at most {PYTHON_DIRECTORIES_MAX} directories of Python tools, found {}",
                directories.len()
            );
            self.problems.push(ManifestProblem { span: whole, message });
        }
        directories
    }

    fn servers(&mut self, value: TomlValue<'_>) -> BTreeMap<String, ServerEntry> {
        let whole = value.span();
        let mut servers = BTreeMap::new();
        let table = match value.into_inner() {
            DeValue::Table(table) => table,
            other => {
                let message = format!(
                    "expected tables such as [mcp.NAME] for MCP servers, found {}",
                    kind_of(&other)
                );
                self.problems.push(ManifestProblem { span: whole, message });
                return servers;
            }
        };
        for (name, entry) in table {
            let span = name.span();
            if let Some(message) = server_name_problem(name.get_ref()) {
                self.problems.push(ManifestProblem { span, message });
                continue;
            }
            let server = self.section(&entry, ServerEntry::problems);
            servers.insert(name.into_inner().into_owned(), server);
        }
        if servers.len() > MCP_SERVERS_MAX {
            let message =
                format!("expected at most {MCP_SERVERS_MAX} MCP servers, found {}", servers.len());
            self.problems.push(ManifestProblem { span: whole, message });
        }
        servers
    }

    fn languages(&mut self, value: TomlValue<'_>) -> BTreeMap<String, LanguageEntry> {
        let whole = value.span();
        let mut languages = BTreeMap::new();
        let table = match value.into_inner() {
            DeValue::Table(table) => table,
            other => {
                let found = kind_of(&other);
                let message =
                    format!("expected tables such as [lsp.NAME] for languages, found {found}");
                self.problems.push(ManifestProblem { span: whole, message });
                return languages;
            }
        };
        let known = builtin_languages();
        for (name, entry) in table {
            let span = name.span();
            if let Some(message) = language_name_problem(name.get_ref()) {
                self.problems.push(ManifestProblem { span, message });
                continue;
            }
            let is_known = known.iter().any(|language| language.name == *name.get_ref());
            let language = self.section(&entry, |entry: &LanguageEntry| entry.problems(is_known));
            languages.insert(name.into_inner().into_owned(), language);
        }
        if languages.len() > LSP_LANGUAGES_MAX {
            let found = languages.len();
            let message = format!("expected at most {LSP_LANGUAGES_MAX} languages, found {found}");
            self.problems.push(ManifestProblem { span: whole, message });
        }
        languages
    }

    fn watchdogs(&mut self, value: TomlValue<'_>) -> Vec<WatchdogEntry> {
        let whole = value.span();
        let mut watchdogs = Vec::new();
        for entry in self.list(value) {
            let span = entry.span();
            let Some(watchdog) = self.one::<WatchdogEntry>(entry) else { continue };
            match watchdog.problem() {
                Some(message) => self.problems.push(ManifestProblem { span, message }),
                None => watchdogs.push(watchdog),
            }
        }
        if watchdogs.len() > WATCHDOGS_MAX {
            let message =
                format!("expected at most {WATCHDOGS_MAX} watchdogs, found {}", watchdogs.len());
            self.problems.push(ManifestProblem { span: whole, message });
        }
        watchdogs
    }

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
                Err(err) => self.problems.push(ManifestProblem { span, message: err.to_string() }),
            }
        }
        rules
    }

    fn path(&mut self, value: TomlValue<'_>) -> Option<PathBuf> {
        let span = value.span();
        let path: PathBuf = self.one(value)?;
        if path.as_os_str().is_empty() {
            let message = "expected a directory, found an empty text".to_owned();
            self.problems.push(ManifestProblem { span, message });
            return None;
        }
        Some(path)
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        value: TomlValue<'_>,
    ) -> Option<T> {
        let span = value.span();
        let text: String = self.one(value)?;
        let parsed = text.parse();
        parsed
            .map_err(|err: T::Err| {
                self.problems.push(ManifestProblem { span, message: err.to_string() })
            })
            .ok()
    }

    fn list<'t>(&mut self, value: TomlValue<'t>) -> Vec<TomlValue<'t>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => items.into_iter().collect(),
            other => {
                let message = format!("expected a list, found {}", kind_of(&other));
                self.problems.push(ManifestProblem { span, message });
                Vec::new()
            }
        }
    }

    fn one<T: DeserializeOwned>(&mut self, value: TomlValue<'_>) -> Option<T> {
        let span = value.span();
        let read = T::deserialize(value.into_deserializer());
        read.map_err(|err| self.problems.push(problem_of(&err, span))).ok()
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
    fn knows(&mut self, section: &str, key: &str, span: std::ops::Range<usize>) -> bool {
        let section = section_of(section);
        let keys = if section == PROJECT { PROJECT_KEYS.to_vec() } else { keys_of(section) };
        if keys.is_empty() || keys.contains(&key) {
            return true;
        }
        if let Some((_, message)) = FLAGS_ONLY.iter().find(|(name, _)| *name == key) {
            self.problems.push(ManifestProblem { span, message: (*message).to_owned() });
            return false;
        }
        if matches!(section, "model" | SEARCH_PROVIDERS) && KEYS_OF_MODELS.contains(&key) {
            let usual = if section == "model" { "OPENAI_API_KEY" } else { "BRAVE_API_KEY" };
            let message = format!(
                "a key cannot be set in a manifest, which travels with the workspace: put it into the \
                 provider's environment variable, such as {usual}, or into one that key_variable names"
            );
            self.problems.push(ManifestProblem { span, message });
            return false;
        }
        let advice = match near_matches(key, keys.iter().copied()).first() {
            Some(known) => format!("did you mean {known:?}?"),
            None => format!("expected one of {}", keys.join(", ")),
        };
        self.problems
            .push(ManifestProblem { span, message: format!("unknown key {key:?}: {advice}") });
        false
    }
}

/// Returns the name under which the keys of a section are listed.
fn section_of(section: &str) -> &str {
    if section.starts_with("plan.tools.") {
        return PLAN_TOOL;
    }
    if let Some(name) = section.strip_prefix("lsp.") {
        // haft does not know the keys below: the language server reads them.
        return if name.contains('.') { section } else { LSP_LANGUAGE };
    }
    match section.strip_prefix("mcp.").map(|rest| rest.split_once('.')) {
        Some(None) => MCP_SERVER,
        Some(Some((_, "oauth"))) => MCP_CLIENT,
        Some(Some((_, inner))) => inner,
        None => section,
    }
}

/// Returns where the value of a key of a table is, or where the table is.
fn span_of(table: &TomlValue<'_>, key: &str) -> std::ops::Range<usize> {
    let found = table.get_ref().as_table().and_then(|table| table.get(key));
    found.map_or(table.span(), Spanned::span)
}

/// Returns where an item of the list is that a key of a table has, or where the list is.
fn span_of_item(table: &TomlValue<'_>, key: &str, place: usize) -> std::ops::Range<usize> {
    let list = table.get_ref().as_table().and_then(|table| table.get(key));
    let item = list.and_then(|list| list.get_ref().as_array()?.get(place));
    item.map_or_else(|| span_of(table, key), Spanned::span)
}

/// Returns a problem that the reader of TOML reports. `whole` is its place if the reader names none.
fn problem_of(err: &toml::de::Error, whole: std::ops::Range<usize>) -> ManifestProblem {
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
