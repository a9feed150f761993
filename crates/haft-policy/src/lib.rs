//! Decides what a call may do: accesses, requirements and rules go in, a decision and the rule that made it
//! come out. Pure and synchronous: nothing here resolves a path, asks a person, looks at a clock or reads a file,
//! and nothing here is enforced; the runtime resolves before it asks and obeys what it is told.
//!
//! Two questions are answered apart. [`Capabilities`] say what a tool can ever reach: an access outside of them is a
//! [`Shortfall`], whatever the rules say. A [`RuleSet`] says what may happen without asking: [`decide`] finds the
//! rule that decides and explains itself. Both are narrowed for whoever acts for somebody else: capabilities lie
//! [within](Capabilities::within) others, and rules [beneath](RuleSet::beneath) a ceiling. A [`Grant`] joins the two for one call while it runs, path by path, and a [`HostScope`] host
//! by host.
//!
//! ```
//! use haft_contract::{Command, ToolId, Variables};
//! use haft_policy::{Action, Canonical, Conditions, Question, Rule, RuleScope, RuleSet, decide};
//!
//! let push = Rule::new("bash", "git push*", Action::Deny);
//! let rules = RuleSet::compile([(RuleScope::Manifest, push)], &Variables::default(), Conditions::default());
//! let rules = rules.unwrap();
//!
//! let argv = ["git", "push", "origin"].map(String::from).to_vec();
//! let accesses = [Canonical::Shell { command: Command::Argv(argv) }];
//! let tool = ToolId::parse("bash").unwrap();
//! let decision = decide(&Question { tool: &tool, accesses: &accesses }, &rules);
//! assert_eq!(decision.action, Action::Deny);
//! ```
#![deny(missing_docs)]

mod access;
mod capability;
mod decide;
mod explain;
mod glob;
mod grant;
mod host_scope;
mod lasting;
pub mod limits;
mod network_guard;
mod pattern;
mod preset;
mod rank;
mod rule;
mod rule_set;
mod sweep;
mod tool_scope;

pub use access::{Canonical, PathSubject, Reach};
pub use capability::{Capabilities, Shortfall, Trees};
pub use decide::{Because, Decision, Ground, Question, Remedy, decide, judge, judge_ceilings};
pub use grant::Grant;
pub use host_scope::{HostGrant, HostScope, is_local_host};
pub use lasting::{LASTING_RULES_MAX, lasting_rules};
pub use network_guard::{
    NetworkGuard, NetworkRefusal, git_subcommand, rough_commands, stays_on_loopback,
    wrapped_commands,
};
pub use pattern::{Domain, Fault, Pattern, PatternError, Reading, escape, escape_path};
pub use preset::PRESETS;
pub use rule::{Action, Condition, Conditions, Rule, RuleScope, ScopedRule};
pub use rule_set::{RuleError, RuleErrors, RuleFault, RuleSet};
pub use sweep::Sweep;
pub use tool_scope::ToolScope;
