//! The restrictions of a subagent's session. They add to the restrictions of all parent sessions, and never lift one.
//! The pipeline judges calls by them.

use std::fmt::Write as _;
use std::sync::Arc;

use haft_contract::{
    BoxFuture, Contract, Cx, ErrorCode, NO_SUBAGENTS_TEXT, PatternVariables, RequirementSet,
    SubagentAnswer, SubagentSummary, SubagentTask, Subagents, ToolError, ToolId, canonical_json,
    clean, cut, sha256_hex,
};
use haft_policy::{Capabilities, Conditions, Rule, RuleScope, RuleSet, ToolScope};
use serde_json::{Value, json};

use crate::shared::RuntimeError;
use crate::suggestions::near_matches;

#[cfg(test)]
mod tests;

/// Largest part of a subagent's description that the description of `task` shows, in characters.
pub(crate) const SUBAGENT_SHOWN_CHARS_MAX: usize = 500;

/// The limits of a subagent's session. Names that the parent session does not have are ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restrictions {
    /// The tools, by id or by glob; `None` for all that the session has.
    pub tools: Option<Vec<String>>,
    /// The accesses that calls may have with any tool; `None` for all that the session's calls may have.
    pub requires: Option<RequirementSet>,
    /// Rules in addition to those of the session. The stricter decision of both counts, so an allow makes exceptions only
    /// to other rules in this list. If no rule in this list matches, the rules of the session decide.
    pub permissions: Vec<Rule>,
    /// The subagents that `task` can start. If there are none, the tool is not available.
    pub subagents: Vec<SubagentSummary>,
}

/// All restrictions of a session, the outermost first. The session of a front end has none. Cloning is cheap.
#[derive(Clone, Default)]
pub(crate) struct RestrictionStack {
    /// The levels, the outermost first.
    stack: Arc<[Arc<CompiledRestrictions>]>,
    /// The files, hosts, commands and named capabilities that all levels allow; `None` if no level limits them.
    capability_limit: Option<Capabilities>,
    /// The text of [`access_key`](Self::access_key).
    key: Arc<str>,
}

/// One level of restrictions, compiled.
struct CompiledRestrictions {
    /// The tools that the level keeps; `None` for all of them.
    tools: Option<ToolScope>,
    /// The same tools as they are written.
    tool_names: Vec<String>,
    /// The rules of the level, which can only make decisions stricter.
    rules: RuleSet,
    /// Whether the level has rules. Without rules it decides nothing.
    has_rules: bool,
    /// The part that determines whether two levels reach the same, as JSON.
    access_key: Option<Value>,
}

impl RestrictionStack {
    /// Returns these restrictions and one more level. The error names a rule or a requirement that is not valid.
    pub(crate) fn push_restrictions(
        &self,
        narrowing: &Restrictions,
        variables: &PatternVariables,
    ) -> Result<Self, RuntimeError> {
        let Restrictions { tools, requires, permissions, subagents: _ } = narrowing;
        let bound = requires.as_ref().map(|it| Capabilities::compile(it, variables)).transpose()?;
        let bound = match (&self.capability_limit, bound) {
            (Some(above), Some(bound)) => Some(above.restricted_to(&bound)),
            (above, bound) => above.clone().or(bound),
        };
        let scoped = permissions.iter().map(|rule| (RuleScope::Agent, rule.clone()));
        let is_felt = requires.is_some() || !permissions.is_empty();
        let level = CompiledRestrictions {
            tools: tools.as_deref().map(ToolScope::compile).transpose()?,
            tool_names: tools.clone().unwrap_or_default(),
            rules: RuleSet::compile(scoped, variables, Conditions::default())?,
            has_rules: !permissions.is_empty(),
            access_key: is_felt
                .then(|| json!({ "requires": requires, "permissions": permissions })),
        };
        let levels: Arc<[Arc<CompiledRestrictions>]> =
            self.stack.iter().cloned().chain([Arc::new(level)]).collect();
        // Tools and subagents are no part of the key, because each tool asks for itself.
        let felt: Vec<Value> = levels.iter().filter_map(|level| level.access_key.clone()).collect();
        let key = if felt.is_empty() {
            Arc::default()
        } else {
            Arc::from(sha256_hex(canonical_json(&felt.into()).as_bytes()))
        };
        Ok(Self { stack: levels, capability_limit: bound, key })
    }

    /// Returns whether the last level names the tool, and not only a glob that matches it. The names of a parent are not
    /// those of its subagent.
    pub(crate) fn names_tool(&self, tool: &ToolId) -> bool {
        let last = self.stack.last();
        last.is_some_and(|level| level.tool_names.iter().any(|name| name == tool.as_str()))
    }

    /// Returns whether there is no level.
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// Returns whether all levels keep the tool.
    pub(crate) fn allows_tool(&self, tool: &ToolId) -> bool {
        let mut scopes = self.stack.iter().filter_map(|level| level.tools.as_ref());
        scopes.all(|scope| scope.contains(tool))
    }

    /// Returns what is left of a tool's capabilities.
    pub(crate) fn restrict_capabilities(&self, capabilities: Capabilities) -> Capabilities {
        match &self.capability_limit {
            Some(bound) => capabilities.restricted_to(bound),
            None => capabilities,
        }
    }

    /// Returns the rules, restricted by the rules of all levels.
    pub(crate) fn restrict_rules(&self, rules: RuleSet, conditions: Conditions) -> RuleSet {
        let ceilings = self.stack.iter().filter(|level| level.has_rules);
        ceilings.fold(rules, |rules, level| {
            rules.restricted_by(&level.rules.with_conditions(conditions))
        })
    }

    /// Returns the capabilities that all levels allow; `None` if no level limits them.
    pub(crate) fn capability_limit(&self) -> Option<&Capabilities> {
        self.capability_limit.as_ref()
    }

    /// Returns a text that is equal for restrictions with the same files and hosts. It is empty without restrictions.
    pub(crate) fn access_key(&self) -> &Arc<str> {
        &self.key
    }
}

/// Returns a contract as a session with these subagents publishes it: the description of a tool that gives them tasks ends with
/// their names and descriptions.
pub(crate) fn describe_with_subagents(
    contract: Arc<Contract>,
    subagents: &[SubagentSummary],
) -> Arc<Contract> {
    if !contract.delegates {
        return contract;
    }
    let mut description = format!("{}\n\nThe subagents are:", contract.description);
    for SubagentSummary { name, description: about } in subagents {
        // A description is one line, so that none can pass for two.
        let words: Vec<&str> = about.split_whitespace().collect();
        let shown = cut(&clean(&words.join(" ")), SUBAGENT_SHOWN_CHARS_MAX);
        let _ = write!(description, "\n- {name}: {shown}");
    }
    Arc::new(Contract { description, ..Contract::clone(&contract) })
}

/// The subagents that one call can start: only those that its session lists.
pub(crate) struct CallSubagents {
    /// Starts the subagents.
    pub(crate) delegate: Arc<dyn Subagents>,
    /// The subagents that the connection may start.
    pub(crate) listed: Arc<[SubagentSummary]>,
}

impl CallSubagents {
    /// Refuses a subagent that the connection may not start, and names similar ones.
    fn check(&self, task: &SubagentTask) -> Result<(), ToolError> {
        if self.listed.is_empty() {
            let err = ToolError::new(ErrorCode::Unavailable, NO_SUBAGENTS_TEXT);
            return Err(err.not_begun());
        }
        let wanted = &task.subagent_type;
        if self.listed.iter().any(|listed| listed.name == *wanted) {
            return Ok(());
        }
        let names = || self.listed.iter().map(|listed| listed.name.as_str());
        let near = near_matches(wanted, names());
        let all = names().collect::<Vec<_>>().join(", ");
        let advice = match near.as_slice() {
            [] => format!("expected one of {all}"),
            near => format!("did you mean {}? There are {all}", near.join(" or ")),
        };
        let shown = cut(&clean(wanted), SUBAGENT_SHOWN_CHARS_MAX);
        let message =
            format!("no subagent that can be given a task here is called {shown:?}: {advice}");
        Err(ToolError::new(ErrorCode::InvalidInput, message).not_begun())
    }
}

impl Subagents for CallSubagents {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        match self.check(&task) {
            Ok(()) => self.delegate.delegate(task, cx),
            Err(err) => Box::pin(async { Err(err) }),
        }
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        match self.check(&task) {
            Ok(()) => self.delegate.resume(task, cx),
            Err(err) => Box::pin(async { Err(err) }),
        }
    }
}
