//! Decides what a call may do: accesses, requirements and rules go in, a decision and the rule that made it
//! come out. Pure and synchronous: nothing here resolves a path, asks a person, looks at a clock or reads a file,
//! and nothing here is enforced; the runtime resolves before it asks and obeys what it is told.
//!
//! Two questions are answered apart. [`Capabilities`] say what a tool can ever reach: an access outside of them is a
//! [`CapabilityShortfall`], whatever the rules say. A [`RuleSet`] says what may happen without asking: [`decide`] finds the
//! rule that decides and explains itself. Both can be restricted for a subagent: capabilities with
//! [restricted_to](Capabilities::restricted_to), and rules with [restricted_by](RuleSet::restricted_by). A [`Grant`] joins
//! the two for one call while it runs, path by path, and a [`HostScope`] host by host.
//!
//! ```
//! use haft_contract::{CommandLine, ToolId, PatternVariables};
//! use haft_policy::{RuleAction, ResolvedAccess, Conditions, PolicyRequest, Rule, RuleScope, RuleSet, decide};
//!
//! let push = Rule::new("bash", "git push*", RuleAction::Deny);
//! let rules = RuleSet::compile([(RuleScope::Manifest, push)], &PatternVariables::default(), Conditions::default());
//! let rules = rules.unwrap();
//!
//! let argv = ["git", "push", "origin"].map(String::from).to_vec();
//! let accesses = [ResolvedAccess::Shell { command: CommandLine::Argv(argv) }];
//! let tool = ToolId::parse("bash").unwrap();
//! let decision = decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &rules);
//! assert_eq!(decision.action, RuleAction::Deny);
//! ```
#![deny(missing_docs)]

mod access;
mod capability;
mod command_reach;
mod decide;
mod decision;
mod exception;
mod explain;
mod glob;
mod grant;
mod host_scope;
mod lasting;
mod network_guard;
mod path_denials;
mod pattern;
mod pattern_fault;
mod preset;
mod rank;
mod rule;
mod rule_set;
mod tool_naming;
mod tool_scope;

pub use access::{PathReach, PathSubject, ResolvedAccess};
pub use capability::{Capabilities, CapabilityShortfall, DirectoryTrees};
pub use command_reach::CommandReach;
pub use decide::{PolicyRequest, decide, decide_access, decide_restrictions};
pub use decision::{DecisionBasis, DecisionReason, PolicyDecision, RuleRemedy};
pub use exception::{exception_rules, has_exception, is_allowed_by_user};
pub use grant::Grant;
pub use host_scope::{HostGrant, HostScope, is_local_host};
pub use lasting::{AlwaysWidth, LASTING_RULES_MAX, lasting_rules};
pub use network_guard::{
    NetworkGuard, NetworkRefusal, git_subcommand, rough_commands, stays_on_loopback,
    wrapped_commands,
};
pub use path_denials::{HeldRule, NotHeldReason, PathDenials, held_rules, subjects_of};
pub use pattern::{MatchWidth, PatternDomain, PatternError, RulePattern, escape, escape_path};
pub use pattern_fault::PatternFault;
pub use preset::PRESETS;
pub use rule::{Conditions, Rule, RuleAction, RuleCondition, RuleScope, ScopedRule};
pub use rule_set::{RuleError, RuleErrors, RuleFault, RuleSet};
pub use tool_naming::is_tool_named;
pub use tool_scope::ToolScope;
