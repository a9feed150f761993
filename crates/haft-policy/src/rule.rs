//! A permission rule as people write it, and which calls its permission speaks of. Patterns are compiled and
//! rules are weighed elsewhere.

use std::fmt;

use haft_contract::ToolId;
use serde::{Deserialize, Serialize};

use crate::glob::Glob;
use crate::pattern::PatternDomain;

/// A rule: what it speaks of, which accesses it picks, what happens to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A tool id, a capability name, `mcp:<server>:<tool>`, any of these with `*`, or `*`.
    pub permission: String,
    /// Picks among the paths, commands or hosts; see [`RulePattern`](crate::RulePattern).
    #[serde(default = "anything")]
    pub pattern: String,
    /// The action.
    #[serde(default)]
    pub action: RuleAction,
    /// The rule holds only while this does. Only presets, manifests and agents may say so, and only of what they allow: a
    /// deny or an ask that could lapse would be none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<RuleCondition>,
    /// Paths, commands or hosts that the pattern must match; checked when the rule is loaded.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub match_examples: Vec<String>,
    /// Paths, commands or hosts that the pattern must not match; checked when the rule is loaded.
    #[serde(default, rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub not_match_examples: Vec<String>,
}

/// A fact about the place where calls run, which a rule may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleCondition {
    /// Every process that a call starts is fully confined by the kernel.
    Sandboxed,
}

/// The facts that hold where calls run. Without knowing better, none does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// Every process that a call starts is fully confined by the kernel.
    pub sandboxed: bool,
}

/// The action for a call. The order is from loose to strict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum RuleAction {
    /// The call continues.
    Allow,
    /// haft asks a person. If no person can be asked, the call is denied.
    #[default]
    Ask,
    /// The call is refused.
    Deny,
}

/// Where a rule comes from. The order is from far to near: of two rules as specific, the nearer one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// A preset: consulted for what no other rule matches.
    Preset,
    /// The program that embeds the runtime. The manifest cannot allow an access that it denies.
    Builtin,
    /// The manifest. No later rule allows an access that it denies.
    Manifest,
    /// The user's own configuration, for all of the user's projects.
    User,
    /// An agent's own file. Such rules restrict a session, and no other rule allows an access that they deny.
    Agent,
    /// A decision for this project.
    Project,
    /// A decision for this session.
    Session,
}

/// A rule and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedRule {
    /// Where it comes from.
    pub scope: RuleScope,
    /// The rule.
    pub rule: Rule,
}

/// A permission, parsed.
#[derive(Clone, Debug)]
pub(crate) enum Permission {
    Everything,
    Partial(Glob),
    Exact(String),
    /// A tool of an MCP server, as `mcp:<server>:<tool>`. Its calls need the capability of that name, which no other tool
    /// has: ids do not tell a server's tool from a tool of that name (`mcp:web:search` is not `web_search`).
    McpTool(String),
}

/// How exactly a permission names a call. The order is from loose to exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exactness {
    Everything,
    Partial,
    Capability,
    Tool,
}

impl Rule {
    /// Returns a rule without examples.
    pub fn new(
        permission: impl Into<String>,
        pattern: impl Into<String>,
        action: RuleAction,
    ) -> Self {
        Self {
            permission: permission.into(),
            pattern: pattern.into(),
            action,
            when: None,
            match_examples: Vec::new(),
            not_match_examples: Vec::new(),
        }
    }

    /// Returns what the pattern is about, as far as the permission tells.
    pub(crate) fn domain(&self) -> PatternDomain {
        match self.permission.as_str() {
            "fs.read" | "fs.write" | "fs.*" | "read" | "write" | "edit" | "glob" | "grep"
            | "apply_patch" => PatternDomain::Path,
            "shell.run" | "shell.*" | "bash" => PatternDomain::Command,
            "net.fetch" | "net.*" | "web_fetch" | "web_search" => PatternDomain::Host,
            _ => PatternDomain::Any,
        }
    }
}

impl Conditions {
    /// Returns whether the condition holds; a rule without one always does.
    pub fn meet(self, condition: Option<RuleCondition>) -> bool {
        match condition {
            None => true,
            Some(RuleCondition::Sandboxed) => self.sandboxed,
        }
    }
}

/// Writes the rule as one line: `deny bash "git push*"`, `allow bash "*" when sandboxed`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.action, self.permission, self.pattern)?;
        self.when.map_or(Ok(()), |condition| write!(f, " when {condition}"))
    }
}

impl fmt::Display for RuleCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sandboxed => "sandboxed",
        })
    }
}

impl fmt::Display for RuleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for RuleScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preset => "preset",
            Self::Builtin => "built-in",
            Self::Manifest => "manifest",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Project => "project",
            Self::Session => "session",
        })
    }
}

/// Writes scope and rule: ``manifest rule `deny bash "git push*"` ``.
impl fmt::Display for ScopedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rule `{}`", self.scope, self.rule)
    }
}

impl Permission {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_good = |char: char| char.is_ascii_alphanumeric() || "_-.:*".contains(char);
        if text.is_empty() || !text.chars().all(is_good) {
            return None;
        }
        if text.contains('*') {
            let glob = Glob::parse(text).ok()?;
            return Some(if glob.is_everything() { Self::Everything } else { Self::Partial(glob) });
        }
        match text.split(':').collect::<Vec<_>>().as_slice() {
            ["mcp", server, tool] if !server.is_empty() && !tool.is_empty() => {
                Some(Self::McpTool(text.to_owned()))
            }
            [_] => Some(Self::Exact(text.to_owned())),
            _ => None,
        }
    }

    /// Returns whether the permission speaks of the capability, whatever tool needs it.
    pub(crate) fn names(&self, capability: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Partial(glob) => glob.matches(capability.as_bytes()),
            Self::Exact(name) | Self::McpTool(name) => name == capability,
        }
    }

    /// Returns how exactly the permission names a call of this tool that needs this capability, or `None` if it
    /// speaks of something else.
    pub(crate) fn exactness(&self, tool: &ToolId, capability: Option<&str>) -> Option<Exactness> {
        match self {
            Self::Everything => Some(Exactness::Everything),
            Self::Partial(glob) => {
                let names = [Some(tool.as_str()), capability];
                let matches = names.into_iter().flatten().any(|name| glob.matches(name.as_bytes()));
                matches.then_some(Exactness::Partial)
            }
            Self::Exact(name) if name == tool.as_str() => Some(Exactness::Tool),
            Self::Exact(name) if Some(name.as_str()) == capability => Some(Exactness::Capability),
            Self::McpTool(name) if Some(name.as_str()) == capability => Some(Exactness::Tool),
            Self::Exact(_) | Self::McpTool(_) => None,
        }
    }
}

fn anything() -> String {
    "*".to_owned()
}
