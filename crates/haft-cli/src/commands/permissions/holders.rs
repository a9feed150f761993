//! The holder of a deny rule: the kernel, haft, or only the words of command lines. For a rule that only words hold, this says
//! which hosts and credentials are in reach, and what would hold instead.

use haft_policy::{Rule, RuleAction, RuleScope, ScopedRule};
use haft_sandbox::{Enforcement, EnforcementLevel};
use serde::Serialize;

use super::held::PathRuleReport;
use haft_app::credentials_in_reach;
use haft_app::host::AppHost;
use haft_app::permission_names::is_tool;
use haft_app::settings::EffectiveSettings;

/// The layer that keeps calls and processes from the things that a rule denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RuleHolder {
    /// The kernel, around every process, and haft for its tools.
    Kernel,
    /// haft, which sees every call of the tool.
    Haft,
    /// The words of command lines, as far as haft can read them.
    Words,
}

/// A deny rule with what holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct HeldRuleReport {
    /// The rule.
    rule: String,
    held_by: RuleHolder,
    /// The things that are in reach although the rule denies them.
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<String>,
    /// The measures that would hold instead, or as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instead: Vec<String>,
}

/// The facts on which it depends what holds a rule.
pub(super) struct HoldingFacts<'a> {
    pub(super) settings: &'a EffectiveSettings,
    pub(super) host: &'a AppHost,
    /// The layers around commands; `None` if they are not confined.
    pub(super) enforcement: Option<Enforcement>,
    /// The rules about paths, with whether the kernel can hold them.
    pub(super) path_rules: &'a [PathRuleReport],
}

impl HeldRuleReport {
    /// Returns the report of a rule; `None` of a rule that denies nothing, or that no user wrote.
    pub(super) fn of(scope: RuleScope, rule: &Rule, facts: &HoldingFacts<'_>) -> Option<Self> {
        let is_written = match scope {
            RuleScope::Manifest | RuleScope::User | RuleScope::Project | RuleScope::Session => true,
            RuleScope::Preset | RuleScope::Builtin | RuleScope::Agent => false,
        };
        if rule.action != RuleAction::Deny || !is_written {
            return None;
        }
        let name = ScopedRule { scope, rule: rule.clone() }.to_string();
        let held = |held_by, reach: Option<String>, instead: Vec<String>| Self {
            rule: name.clone(),
            held_by,
            reach,
            instead,
        };
        let pattern = rule.pattern.as_str();
        Some(match rule.permission.as_str() {
            "fs.read" | "fs.write" | "fs.*" => match (facts.holds_files(), facts.problem_of(&name))
            {
                (true, None) => held(RuleHolder::Kernel, None, Vec::new()),
                (true, Some(why)) => held(RuleHolder::Words, Some(why.to_owned()), Vec::new()),
                (false, _) => held(
                    RuleHolder::Words,
                    Some("commands are not confined here".to_owned()),
                    vec![SANDBOX.to_owned()],
                ),
            },
            "net.fetch" | "net.*" => match facts.holds_network() {
                true => held(RuleHolder::Kernel, None, Vec::new()),
                false => held(
                    RuleHolder::Words,
                    Some("commands use the network as it is".to_owned()),
                    vec![NETWORK.to_owned()],
                ),
            },
            "bash" | "shell.run" | "shell.*" if pattern == "*" => {
                held(RuleHolder::Haft, None, Vec::new())
            }
            "bash" | "shell.run" | "shell.*" => {
                let words = pattern.trim_end_matches(['$', '*', ' ']);
                let (reach, instead) = facts.reach_of_command(words);
                held(RuleHolder::Words, Some(reach), instead)
            }
            tool => {
                let wider = match tool {
                    "read" | "view" | "glob" | "grep" => Some("fs.read"),
                    "write" | "edit" | "apply_patch" => Some("fs.write"),
                    "web_fetch" => Some("net.fetch"),
                    _ => None,
                };
                let wider = wider.filter(|_| is_tool(tool)).map(|capability| {
                    format!("deny {capability} {pattern:?} also holds for other tools and commands")
                });
                held(RuleHolder::Haft, None, wider.into_iter().collect())
            }
        })
    }

    /// Returns the report in lines.
    pub(super) fn text(&self) -> String {
        let by = match self.held_by {
            RuleHolder::Kernel => "held by the kernel",
            RuleHolder::Haft => "held by haft, for each call of the tool",
            RuleHolder::Words => "held by words",
        };
        let reach = self.reach.as_ref().map(|reach| format!("; {reach}")).unwrap_or_default();
        let mut text = format!("{}: {by}{reach}\n", self.rule);
        if !self.instead.is_empty() {
            let heading = match self.held_by {
                RuleHolder::Words => {
                    "haft does not see what a program starts by itself. This would hold:"
                }
                RuleHolder::Kernel | RuleHolder::Haft => "A wider rule:",
            };
            text.push_str(&format!("  {heading}\n"));
            text.extend(self.instead.iter().map(|line| format!("    - {line}\n")));
        }
        text
    }
}

/// The advice for a machine that confines no commands.
const SANDBOX: &str = "the sandbox: haft doctor says what is missing";
/// The advice where commands use the network as it is.
const NETWORK: &str = "no host: allow_network = false, and only the hosts that are needed";

impl HoldingFacts<'_> {
    /// Returns whether the kernel decides which files a command sees.
    fn holds_files(&self) -> bool {
        self.enforcement.is_some_and(|it| it.filesystem == EnforcementLevel::Kernel)
    }

    /// Returns why the kernel cannot hold a rule about paths, if it cannot.
    fn problem_of(&self, rule: &str) -> Option<&'static str> {
        self.path_rules.iter().find(|known| known.rule == rule)?.why
    }

    /// Returns whether the kernel keeps commands off the network, but for granted hosts.
    fn holds_network(&self) -> bool {
        self.enforcement.is_some_and(|it| it.network == EnforcementLevel::Kernel)
    }

    /// Returns what is in reach of a command that only words deny, and what would hold.
    fn reach_of_command(&self, words: &str) -> (String, Vec<String>) {
        let mut instead = Vec::new();
        if self.enforcement.is_none() {
            instead.push(SANDBOX.to_owned());
        }
        let hosts = &self.settings.requires.net.hosts;
        instead.push(match (self.holds_network(), hosts.as_slice()) {
            (true, []) => {
                "no host: no rule grants one, so the kernel keeps commands off the network"
                    .to_owned()
            }
            (true, hosts) => {
                format!("no host: {} granted; grant none of them", list_with_verb(hosts))
            }
            (false, _) => NETWORK.to_owned(),
        });
        let program = words.split_whitespace().next().unwrap_or(words);
        let program = program.rsplit('/').next().unwrap_or(program);
        let found = credentials_in_reach(program, self.settings, self.host);
        let (reach, credential) = match found.as_deref() {
            None => (
                format!("haft does not know where {program} keeps credentials"),
                format!("no credential: keep those of {program} out of the workspace"),
            ),
            Some([]) => (
                format!("no credential for {words} is in reach"),
                "no credential: commands reach no such file or variable; keep it so".to_owned(),
            ),
            Some(places) => {
                let places: Vec<String> =
                    places.iter().map(|place| self.host.shown_path(place)).collect();
                (
                    format!("a credential for {words} is in reach: {}", places.join(", ")),
                    format!("no credential: take it out of {}", places.join(", ")),
                )
            }
        };
        instead.push(credential);
        instead.push("no file: deny fs.read or fs.write on the files that it needs".to_owned());
        (reach, instead)
    }
}

/// Returns names with the verb that fits their number.
fn list_with_verb(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}
