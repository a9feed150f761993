//! Checks that rules speak of something that exists. A deny with a typing mistake in its permission would hold nothing
//! and say nothing.

use haft::{Registry, near_matches};
use haft_contract::ToolId;
use haft_lsp::LSP_TOOL;
use haft_plan::drive::PLAN_TOOL;
use haft_policy::{Rule, RuleScope};
use haft_tools::Profile;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;

/// The capabilities that accesses need.
const CAPABILITIES: &[&str] = &["fs.read", "fs.write", "net.fetch", "shell.run"];

/// The tools that rules may speak of.
pub struct ToolNames<'a> {
    /// Those that there are.
    pub registry: &'a Registry,
    /// Whether there are more that could not be used, whose names are not known.
    pub has_omitted_tools: bool,
}

/// Refuses rules of the manifest whose permission names no tool and no capability; `named` are the capabilities that the
/// manifest itself requires. Where tools were left out, a name may be that of one of them, and it is only said. The user's
/// own rules may name tools of other workspaces, so only a name that looks like a typing mistake is said.
///
/// # Errors
///
/// Fails if a rule of the manifest names something unknown, and no tools are missing that could have the name.
pub fn check(
    rules: &[(RuleScope, Rule)],
    named: &[String],
    tools: ToolNames<'_>,
    host: &AppHost,
) -> Result<(), AppError> {
    let is_checked = |scope: RuleScope| matches!(scope, RuleScope::Manifest | RuleScope::User);
    if !rules.iter().any(|(scope, _)| is_checked(*scope)) {
        return Ok(());
    }
    let known = known(named, tools.registry);
    let problems = |checked: RuleScope| {
        let rules = rules.iter().filter(move |(scope, _)| *scope == checked);
        rules.filter_map(|(_, rule)| Some((rule, problem(&rule.permission, &known)?)))
    };
    let names = || known.iter().map(String::as_str);
    for (rule, problem) in problems(RuleScope::User) {
        if !near_matches(&rule.permission, names()).is_empty() {
            host.warn(format!("permissions of your own configuration: {problem}"));
        }
    }
    let unknown: Vec<String> = problems(RuleScope::Manifest).map(|(_, problem)| problem).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown.join("; ");
    if tools.has_omitted_tools {
        host.warn(format!("permissions: {unknown} (unless it is a tool that is left out)"));
        return Ok(());
    }
    Err(AppError::configuration(format!("permissions: {unknown}")).next(NextStep::ListTools))
}

/// Returns all that the permission of a rule may name, where `named` are capabilities that the manifest requires.
pub fn known(named: &[String], registry: &Registry) -> Vec<String> {
    let mut known = own_tools();
    known.extend(CAPABILITIES.iter().map(|&name| name.to_owned()));
    known.extend_from_slice(named);
    known.extend(registry.contracts().map(|contract| contract.id.to_string()));
    known.extend(registry.requires().capabilities);
    known
}

/// Returns what is wrong with a permission that names nothing of this.
pub fn problem(permission: &str, known: &[String]) -> Option<String> {
    let is_known = permission.starts_with("mcp:")
        || match permission.split_once('*') {
            None => known.iter().any(|name| name == permission),
            Some((start, end)) => known
                .iter()
                .any(|name| name.starts_with(start) && (end.contains('*') || name.ends_with(end))),
        };
    let near = near_matches(permission, known.iter().map(String::as_str));
    let hint = near.first().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default();
    (!is_known).then(|| format!("{permission:?} names no tool and no capability{hint}"))
}

/// Returns the ids that are kept for tools of haft, whatever the profile.
pub fn reserved() -> Vec<ToolId> {
    let own = own_tools();
    let names = own.iter().map(String::as_str).chain([PLAN_TOOL]);
    names.filter_map(|name| ToolId::parse(name).ok()).collect()
}

/// Returns whether a name is that of a tool of haft.
pub fn is_tool(name: &str) -> bool {
    own_tools().iter().any(|id| id == name)
}

/// Returns whether a name is that of a capability that accesses need.
pub fn is_capability(name: &str) -> bool {
    CAPABILITIES.contains(&name)
}

/// Returns the ids of all tools that haft brings along.
fn own_tools() -> Vec<String> {
    let tools = haft_tools::tools(Profile::Contract, &haft_tools::ToolOptions::default());
    let contracts = tools.iter().filter_map(|tool| tool.valid_contract().ok());
    let ids = contracts.map(|contract| contract.id.to_string());
    ids.chain([LSP_TOOL.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haft_policy::RuleAction;

    use super::*;

    #[test]
    fn a_permission_must_name_something() {
        let check = |permission: &str| {
            let rule = Rule::new(permission, "*", RuleAction::Deny);
            let registry = Registry::default();
            let tools = ToolNames { registry: &registry, has_omitted_tools: false };
            let host = AppHost::isolated(Path::new("/nowhere")).unwrap();
            check(&[(RuleScope::Manifest, rule)], &["payments".to_owned()], tools, &host)
        };
        for good in ["bash", "fs.read", "fs.*", "*", "mcp:github:*", "web_*", "payments", "task"] {
            assert!(check(good).is_ok(), "{good:?} should be accepted");
        }
        for bad in ["bsh", "fs.wirte", "FS.READ", "Read", "fs_read", "fs.", "shell", "db.*"] {
            assert!(check(bad).is_err(), "{bad:?} should be refused");
        }
        let known = ["bash".to_owned(), "fs.write".to_owned()];
        let expect = "\"fs.wirte\" names no tool and no capability: did you mean \"fs.write\"?";
        assert_eq!(problem("fs.wirte", &known).as_deref(), Some(expect));
    }
}
