//! The tables `[mcp.NAME]` of a manifest: MCP servers, how each is started or reached, and what it is granted. Whether there is
//! such a program is found out elsewhere; nothing here is looked up in the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{RequirementSet, ToolId};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::problem::{KeyProblem, out_of_bounds};
use crate::permission_names;

/// MCP servers.
///
/// Limit (settings): the manifest is refused.
pub const MCP_SERVERS_MAX: usize = 64;
/// Longest name of an MCP server, in characters.
///
/// Limit (settings): the manifest is refused.
pub(crate) const MCP_NAME_CHARS_MAX: usize = 24;

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEntry {
    /// The program, with its arguments or without.
    pub command: CommandWords,
    /// Arguments after those of the command.
    pub args: Vec<String>,
    /// Its environment beside what every program gets.
    pub env: ServerVariables,
    /// Where it starts, from the root.
    pub cwd: Option<String>,
    /// Where a remote server is.
    pub url: Option<String>,
    /// Headers of every request to a remote server.
    pub headers: ServerVariables,
    /// The variable of haft's environment that holds a token for a remote server.
    pub token_variable: Option<String>,
    /// The OAuth client for logins to a remote server.
    pub oauth: OAuthEntry,
    /// Time for one call, if not that of every call.
    pub timeout_ms: Option<u64>,
    /// Whether it is used.
    pub enabled: Option<bool>,
    /// The files and hosts that it is granted.
    pub requires: RequirementSet,
    /// Its own directories and files that it reads.
    pub readable: Vec<PathBuf>,
    /// Whether what it says of its tools' effects is believed.
    pub trust_annotations: bool,
}

/// The OAuth client that haft is to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthEntry {
    /// The id of the client.
    pub client_id: Option<String>,
    /// The secret of the client.
    pub client_secret: Option<VariableValue>,
    /// Where it is written down what haft is.
    pub client_metadata_url: Option<String>,
    /// The scopes that a login asks for, instead of those that the server names.
    pub scopes: Vec<String>,
    /// The port of this machine that browsers are sent to, if not any.
    pub redirect_port: Option<u16>,
}

/// The words of a command: the program, and arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandWords(pub Vec<String>);

/// Named values: written out, or taken from haft's own environment, where secrets belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVariables(pub BTreeMap<String, VariableValue>);

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableValue {
    /// This text.
    Text(String),
    /// The value of the variable of this name in haft's own environment.
    From(String),
}

impl ServerEntry {
    /// Returns the entry of a server that is started so, and of which nothing else is said.
    pub fn of_command(words: Vec<String>) -> Self {
        Self { command: CommandWords(words), ..Self::default() }
    }

    /// Returns whether it is used.
    pub fn is_enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Returns the program and all arguments.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        self.command.0.iter().chain(&self.args)
    }

    /// Returns the entry in the words of the manifest, as far as it says what is run, reached and granted. Values are left
    /// out: they may be secrets that do not belong there.
    pub fn summary(&self, name: &str) -> String {
        let mut words = Vec::new();
        if !self.command.0.is_empty() {
            words.push(format!("command = {:?}", self.words().collect::<Vec<_>>()));
        }
        words.extend(self.url.as_ref().map(|url| format!("url = {url:?}")));
        words.extend(self.token_variable.as_ref().map(|name| format!("token_variable = {name:?}")));
        let names = |variables: &ServerVariables| variables.0.keys().cloned().collect::<Vec<_>>();
        for (key, variables) in [("env", &self.env), ("headers", &self.headers)] {
            if !variables.0.is_empty() {
                words.push(format!("{key} = {:?}", names(variables)));
            }
        }
        if !self.requires.is_empty() {
            let requires = serde_json::to_string(&self.requires).unwrap_or_default();
            words.push(format!("requires = {requires}"));
        }
        if !self.readable.is_empty() {
            words.push(format!("readable = {:?}", self.readable));
        }
        if self.trust_annotations {
            words.push("trust_annotations = true".to_owned());
        }
        format!("mcp.{name} = {{ {} }}", words.join(", "))
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let mut problems = self.problems_of_kind();
        let time = 1..=TIMEOUT_MS_MAX;
        problems.extend(out_of_bounds("timeout_ms", self.timeout_ms, time, "milliseconds"));
        let has_more = !self.requires.shell.is_empty() || !self.requires.capabilities.is_empty();
        if has_more {
            let message = "requires: a server is granted files and hosts only (fs.read, fs.write, net.hosts): what it \
                           starts is confined with it";
            problems.push(("requires", message.to_owned()));
        }
        let document = self.oauth.client_metadata_url.as_ref();
        if let Some(url) = document.filter(|url| !url.starts_with("https://")) {
            let message = format!(
                "oauth.client_metadata_url: expected one that begins with https://, found {url:?}"
            );
            problems.push(("oauth", message));
        }
        if self.oauth.client_secret.is_some() && self.oauth.client_id.is_none() {
            let message =
                "oauth.client_secret: expected the client_id that it belongs to beside it";
            problems.push(("oauth", message.to_owned()));
        }
        for (key, variables) in [("env", &self.env), ("headers", &self.headers)] {
            let is_no_name = |name: &&String| name.is_empty() || name.contains(['=', '\0', ' ']);
            if let Some(name) = variables.0.keys().find(is_no_name) {
                problems.push((key, format!("{key}: {name:?} is no name of a value")));
            }
        }
        problems
    }

    /// Returns the problems of keys that do not fit the kind of server: a local command or a URL.
    fn problems_of_kind(&self) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        let is_empty = |words: &CommandWords| words.0.first().is_some_and(String::is_empty);
        match (&self.url, self.command.0.is_empty()) {
            (None, true) => problems.push((
                "command",
                "expected a command that starts the server, or the url of one that runs elsewhere"
                    .to_owned(),
            )),
            (Some(_), false) => problems.push((
                "url",
                "expected a command or a url, found both: a server is started here or runs elsewhere"
                    .to_owned(),
            )),
            (None, false) if is_empty(&self.command) => {
                problems.push(("command", "command: expected a program, found an empty text".to_owned()));
            }
            (None, false) if self.token_variable.is_some() || self.oauth != OAuthEntry::default() => {
                let key = if self.token_variable.is_some() { "token_variable" } else { "oauth" };
                problems.push((key, format!("{key} is for servers with a url, and this one has a command")));
            }
            (None, false) if !self.headers.0.is_empty() => problems.push((
                "headers",
                "headers are for servers with a url: what a program is to know goes into env"
                    .to_owned(),
            )),
            (Some(url), true) => {
                if !url.starts_with("https://") && !url.starts_with("http://") {
                    problems.push((
                        "url",
                        format!("url: expected one that begins with https://, found {url:?}"),
                    ));
                }
                // A user name stands before the host.
                let place = url.split_once("://").map_or(url.as_str(), |(_, place)| place);
                let authority = place.split(['/', '?', '#']).next().unwrap_or_default();
                if authority.contains('@') {
                    let message = "url: it holds a user name or a password, which a manifest shows to everybody: leave them out and \
                                   name the variable of a token with token_variable";
                    problems.push(("url", message.to_owned()));
                }
                let of_programs = [
                    ("args", !self.args.is_empty()),
                    ("env", !self.env.0.is_empty()),
                    ("cwd", self.cwd.is_some()),
                    ("readable", !self.readable.is_empty()),
                ];
                let set = of_programs.into_iter().filter(|(_, is_set)| *is_set);
                problems.extend(set.map(|(key, _)| {
                    (key, format!("{key} is for servers with a command, and this one has a url"))
                }));
            }
            (None, false) => {}
        }
        problems
    }

    /// Returns the entry with paths found from `directory`. A program that is a bare name is looked up in PATH.
    pub fn resolve_paths(mut self, directory: &Path) -> Self {
        if let Some(program) = self.command.0.first_mut()
            && program.contains('/')
        {
            *program = directory.join(&*program).to_string_lossy().into_owned();
        }
        self.readable = self.readable.iter().map(|path| directory.join(path)).collect();
        self
    }
}

/// Returns what is wrong with the name of a server.
pub fn name_problem(name: &str) -> Option<String> {
    let is_short = name.len() <= MCP_NAME_CHARS_MAX;
    let is_word = !name.contains('.') && !name.ends_with('_') && ToolId::parse(name).is_ok();
    if !is_short || !is_word {
        return Some(format!(
            "server name {name:?} is not valid: its tools' ids begin with it, so expected lower-case letters, digits and \
             underscores, starting with a letter and not ending in an underscore, at most {MCP_NAME_CHARS_MAX} characters"
        ));
    }
    permission_names::is_tool(name)
        .then(|| format!("server name {name:?} is that of a tool of haft: call it otherwise"))
}

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandWordsVisitor;

        impl<'de> Visitor<'de> for CommandWordsVisitor {
            type Value = CommandWords;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a program, or a list of a program and its arguments")
            }

            fn visit_str<E>(self, program: &str) -> Result<CommandWords, E> {
                Ok(CommandWords(vec![program.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CommandWords, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(CommandWords(words))
            }
        }

        deserializer.deserialize_any(CommandWordsVisitor)
    }
}

impl<'de> Deserialize<'de> for ServerVariables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VariablesVisitor;

        impl<'de> Visitor<'de> for VariablesVisitor {
            type Value = ServerVariables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of names of variables to pass on, or a table of names and values",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<ServerVariables, A::Error> {
                let mut variables = BTreeMap::new();
                while let Some(name) = list.next_element::<String>()? {
                    variables.insert(name.clone(), VariableValue::From(name));
                }
                Ok(ServerVariables(variables))
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut table: A,
            ) -> Result<ServerVariables, A::Error> {
                let mut variables = BTreeMap::new();
                while let Some((name, value)) = table.next_entry()? {
                    variables.insert(name, value);
                }
                Ok(ServerVariables(variables))
            }
        }

        deserializer.deserialize_any(VariablesVisitor)
    }
}

impl<'de> Deserialize<'de> for VariableValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct VariableReference {
            from: String,
        }

        struct VariableValueVisitor;

        impl<'de> Visitor<'de> for VariableValueVisitor {
            type Value = VariableValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or { from = \"NAME\" } for a variable of haft's environment")
            }

            fn visit_str<E>(self, text: &str) -> Result<VariableValue, E> {
                Ok(VariableValue::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<VariableValue, A::Error> {
                let table = serde::de::value::MapAccessDeserializer::new(table);
                VariableReference::deserialize(table).map(|named| VariableValue::From(named.from))
            }
        }

        deserializer.deserialize_any(VariableValueVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> ServerEntry {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn commands_and_variables_have_two_forms_each() {
        let one = entry("command = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = [\"TOKEN\"]");
        let other =
            entry("command = [\"npx\", \"-y\", \"x\"]\nenv = { TOKEN = { from = \"TOKEN\" } }");
        assert_eq!(one.words().collect::<Vec<_>>(), other.words().collect::<Vec<_>>());
        assert_eq!(one.env, other.env);
        let written = entry("command = \"x\"\nenv = { LEVEL = \"info\" }");
        let text = VariableValue::Text("info".to_owned());
        assert_eq!(written.env.0, BTreeMap::from([("LEVEL".to_owned(), text)]));
    }

    #[test]
    fn what_cannot_be_is_said() {
        let check = |text: &str, expect: &str| {
            let problems = entry(text).problems();
            let found: Vec<&str> = problems.iter().map(|(_, message)| message.as_str()).collect();
            assert_eq!(found.join("; "), expect, "{text}");
        };
        check("command = \"x\"", "");
        check("url = \"https://a.example/mcp\"\nheaders = [\"A\"]", "");
        check(
            "",
            "expected a command that starts the server, or the url of one that runs elsewhere",
        );
        check("command = \"\"", "command: expected a program, found an empty text");
        check(
            "url = \"ftp://a\"\nargs = [\"b\"]",
            "url: expected one that begins with https://, found \"ftp://a\"; args is for servers with a command, and this \
             one has a url",
        );
        check("url = \"https://a.example/@b\"", "");
        check(
            "url = \"https://u:p@a.example/mcp\"",
            "url: it holds a user name or a password, which a manifest shows to everybody: leave them out and name the \
             variable of a token with token_variable",
        );
        check(
            "command = \"x\"\ntimeout_ms = 0",
            "timeout_ms: expected 1 to 3600000 milliseconds, found 0",
        );
        check("command = \"x\"\nenv = [\"A=B\"]", "env: \"A=B\" is no name of a value");
        let err = toml::from_str::<ServerEntry>("command = 5").unwrap_err();
        assert_eq!(
            err.message(),
            "invalid type: integer `5`, expected a program, or a list of a program and its arguments"
        );
    }

    #[test]
    fn names_are_beginnings_of_ids() {
        for good in ["git", "a1", "my_server", &"a".repeat(MCP_NAME_CHARS_MAX)] {
            assert_eq!(name_problem(good), None);
        }
        for bad in ["", "Git", "my-server", "a.b", "a_", "1a", &"a".repeat(MCP_NAME_CHARS_MAX + 1)]
        {
            assert!(name_problem(bad).is_some_and(|why| why.contains("is not valid")), "{bad}");
        }
        assert!(name_problem("bash").is_some_and(|why| why.contains("a tool of haft")));
    }

    #[test]
    fn values_are_not_told() {
        let told = entry("command = \"x\"\nenv = { TOKEN = \"hush\" }\ntrust_annotations = true");
        assert_eq!(
            told.summary("a"),
            "mcp.a = { command = [\"x\"], env = [\"TOKEN\"], trust_annotations = true }"
        );
    }
}
