//! Whether the user named the tool of a call. A tool that is marked dangerous runs only then: a rule about files or hosts says
//! nothing about what else the tool does. Which tools are dangerous is not known here.

use haft_contract::ToolId;

use crate::access::{MatchSubject, ResolvedAccess};
use crate::decide::PolicyRequest;
use crate::pattern::{MatchWidth, PatternFit};
use crate::rule::{Permission, RuleAction};
use crate::rule_set::{CompiledRule, RuleSet};

/// Every capability of the tools of MCP servers begins with this.
const SERVER_TOOL_PREFIX: &str = "mcp:";

/// Returns whether a rule that allows something of this call names its tool: by its id, by a pattern that matches the id, or
/// as everything. A rule about a capability, such as `fs.write`, names no tool.
///
/// ```
/// use haft_contract::{PatternVariables, ToolId};
/// use haft_policy::{Conditions, PolicyRequest, Rule, RuleAction, RuleScope, RuleSet, is_tool_named};
///
/// let tool = ToolId::parse("delete_rows").unwrap();
/// let is_named = |permission: &str| {
///     let rule = (RuleScope::Session, Rule::new(permission, "*", RuleAction::Allow));
///     let rules = RuleSet::compile([rule], &PatternVariables::default(), Conditions::default()).unwrap();
///     is_tool_named(&PolicyRequest { tool: &tool, accesses: &[] }, &rules)
/// };
/// assert!(is_named("delete_rows") && is_named("delete_*") && is_named("*"));
/// assert!(!is_named("fs.write") && !is_named("send_mail"));
/// ```
pub fn is_tool_named(question: &PolicyRequest<'_>, rules: &RuleSet) -> bool {
    let is_named = |access: Option<&ResolvedAccess>| {
        let subject = access.map_or(MatchSubject::Nothing, ResolvedAccess::subject);
        rules.iter().any(|rule| {
            rule.rule.action == RuleAction::Allow
                && names_tool(rule, question.tool, access)
                && matches!(rule.pattern.fit(subject, MatchWidth::Narrow), PatternFit::Yes(_))
        })
    };
    match question.accesses {
        [] => is_named(None),
        accesses => accesses.iter().any(|access| is_named(Some(access))),
    }
}

fn names_tool(rule: &CompiledRule, tool: &ToolId, access: Option<&ResolvedAccess>) -> bool {
    // The capability of a server's tool is the tool's own.
    let own = access
        .map(ResolvedAccess::capability)
        .filter(|capability| capability.starts_with(SERVER_TOOL_PREFIX));
    match &rule.permission {
        Permission::Everything => true,
        Permission::Partial(glob) => {
            let names = [Some(tool.as_str()), own];
            names.into_iter().flatten().any(|name| glob.matches(name.as_bytes()))
        }
        Permission::Exact(name) => name == tool.as_str(),
        Permission::McpTool(name) => Some(name.as_str()) == own,
    }
}
