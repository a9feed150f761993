//! The outside access that a tool or an agent needs, as published data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The capability surface that a tool depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequirementSet {
    /// Files.
    #[serde(skip_serializing_if = "FsRequirement::is_empty")]
    pub fs: FsRequirement,
    /// Hosts.
    #[serde(skip_serializing_if = "NetRequirement::is_empty")]
    pub net: NetRequirement,
    /// Commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shell: Vec<ShellRequirement>,
    /// Any other capability, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// Path patterns, relative to the workspace unless absolute; variables are expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FsRequirement {
    /// Paths that may be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Paths that may be created, changed and removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
}

impl FsRequirement {
    /// Returns whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }
}

/// Host patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetRequirement {
    /// Hosts that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl NetRequirement {
    /// Returns whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

/// A command that may be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellRequirement {
    /// The executable's name, such as `git`; `*` is any.
    pub cmd: String,
    /// Patterns for argv from 1 on, in order; absent: any arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<ArgPattern>>,
}

/// Matches one argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text, { wildcard = true } or { prefix = \"…\" }")]
pub enum ArgPattern {
    /// This very text.
    Exact(String),
    /// Any argument, written `{wildcard = true}`.
    Wildcard {
        /// Always true.
        wildcard: bool,
    },
    /// An argument that starts so, written `{prefix = "…"}`.
    Prefix {
        /// How it starts.
        prefix: String,
    },
}

impl RequirementSet {
    /// Returns the requirement of everything that either set requires.
    pub fn union(mut self, other: &Self) -> Self {
        extend_new(&mut self.fs.read, &other.fs.read);
        extend_new(&mut self.fs.write, &other.fs.write);
        extend_new(&mut self.net.hosts, &other.net.hosts);
        extend_new(&mut self.shell, &other.shell);
        extend_new(&mut self.capabilities, &other.capabilities);
        self
    }

    /// Returns whether nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn extend_new<T: PartialEq + Clone>(all: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
}

/// The values of the variables in path patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternVariables {
    /// `{workspace}`: all roots.
    pub workspace: Vec<PathBuf>,
    /// `{ad-hoc}`: files and directories opened by hand.
    pub ad_hoc: Vec<PathBuf>,
    /// `{user-data}`: the user's data directory.
    pub user_data: Vec<PathBuf>,
}

/// A pattern names a variable that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {pattern:?} names the {}", UnknownVariable::describe(name))]
pub struct UnknownVariable {
    /// The pattern.
    pub pattern: String,
    /// The name between the braces.
    pub name: String,
}

/// The names of the variables.
const VARIABLE_NAMES: [&str; 3] = ["workspace", "ad-hoc", "user-data"];
/// Changes of single characters up to which a name counts as misspelled.
const MISSPELLED_CHANGES_MAX: usize = 3;

impl UnknownVariable {
    /// Returns the words for an unknown variable, with the name that was probably meant.
    ///
    /// ```
    /// # use haft_contract::UnknownVariable;
    /// assert_eq!(
    ///     UnknownVariable::describe("workspce"),
    ///     "unknown variable {workspce}; did you mean {workspace}?",
    /// );
    /// assert_eq!(
    ///     UnknownVariable::describe("home"),
    ///     "unknown variable {home}: expected {workspace}, {ad-hoc} or {user-data}",
    /// );
    /// ```
    pub fn describe(name: &str) -> String {
        let distance = |known: &&str| changes_between(name, known);
        let nearest = VARIABLE_NAMES.into_iter().min_by_key(distance);
        match nearest.filter(|known| distance(known) <= MISSPELLED_CHANGES_MAX) {
            Some(near) => format!("unknown variable {{{name}}}; did you mean {{{near}}}?"),
            None => format!(
                "unknown variable {{{name}}}: expected {{workspace}}, {{ad-hoc}} or {{user-data}}"
            ),
        }
    }
}

/// Returns how many characters have to be added, removed or replaced to make one text of the other.
fn changes_between(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (index, left) in one.chars().enumerate() {
        let mut before = index;
        let mut last = index + 1;
        row[0] = last;
        for (place, right) in other.chars().enumerate() {
            let replaced = before + usize::from(left != right);
            before = row[place + 1];
            last = replaced.min(before + 1).min(last + 1);
            row[place + 1] = last;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl PatternVariables {
    /// Returns the values of the variable that `pattern` starts with and the rest of the pattern, or `None`
    /// for a pattern without a variable.
    ///
    /// An empty list of values is an empty scope: calls that need it fail closed.
    pub fn split<'a>(
        &self,
        pattern: &'a str,
    ) -> Result<Option<(&[PathBuf], &'a str)>, UnknownVariable> {
        let Some((name, rest)) = pattern.strip_prefix('{').and_then(|inner| inner.split_once('}'))
        else {
            return Ok(None);
        };
        let values = match name {
            "workspace" => &self.workspace,
            "ad-hoc" => &self.ad_hoc,
            "user-data" => &self.user_data,
            _ => {
                return Err(UnknownVariable { pattern: pattern.to_owned(), name: name.to_owned() });
            }
        };
        Ok(Some((values, rest)))
    }
}
