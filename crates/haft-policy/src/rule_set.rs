//! Rules, compiled and with their examples checked. Which rule decides is worked out elsewhere.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{CommandLine, PatternVariables};

use crate::access::{PathSubject, ResolvedAccess};
use crate::pattern::{MatchWidth, PatternDomain, PatternError, PatternFit, RulePattern};
use crate::rule::{Conditions, Permission, Rule, RuleAction, RuleCondition, RuleScope, ScopedRule};

#[cfg(test)]
mod tests;

/// The rules of all scopes, ready to decide. Their order has no meaning. Cloning is cheap.
///
/// Restrictions may lie above them: further sets of rules. An access gets the strictest action of the rules and of each
/// restriction. If no rule of a restriction matches an access, that restriction leaves it open.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Arc<[Arc<CompiledRule>]>,
    /// Rules whose condition is not met. They decide nothing; a refusal names them.
    pub(crate) inactive: Arc<[Arc<CompiledRule>]>,
    /// Sets that have no restrictions themselves.
    pub(crate) restrictions: Arc<[RuleSet]>,
}

#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) scope: RuleScope,
    pub(crate) rule: Rule,
    pub(crate) permission: Permission,
    pub(crate) pattern: RulePattern,
}

/// Everything that is wrong with a set of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleErrors {
    /// The errors, in the order of the rules; never empty.
    pub errors: Vec<RuleError>,
}

/// A mistake in one rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {fault}")]
pub struct RuleError {
    /// The rule.
    pub rule: Box<ScopedRule>,
    /// The mistake.
    pub fault: RuleFault,
}

/// The kinds of mistakes in a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFault {
    /// The permission cannot be parsed.
    #[error(
        "permission {0:?} cannot be used: expected a tool id such as bash, a capability such as fs.write, \
         mcp:<server>:<tool>, one of these with *, or *"
    )]
    Permission(String),
    /// The pattern cannot be compiled.
    #[error(transparent)]
    Pattern(PatternError),
    /// The pattern cannot be compiled as a path, and the permission does not say that it is none.
    #[error("{0} (as a path; if it is about commands, name the permission shell.run)")]
    PatternAsPath(PatternError),
    /// A condition on something else than an allow of a preset, a manifest or an agent.
    #[error(
        "it holds only when {0}: expected such a condition on an allow of a preset, a manifest or an agent; leave `when` out"
    )]
    Condition(RuleCondition),
    /// An example under `match` does not match.
    #[error("its match example {0:?} does not match the pattern")]
    MatchExample(String),
    /// An example under `not_match` matches.
    #[error("its not_match example {0:?} matches the pattern")]
    NotMatchExample(String),
}

impl RuleSet {
    /// Compiles the rules and checks their examples; all errors are reported at once, also those of rules whose
    /// condition is not met.
    pub fn compile(
        rules: impl IntoIterator<Item = (RuleScope, Rule)>,
        variables: &PatternVariables,
        conditions: Conditions,
    ) -> Result<Self, RuleErrors> {
        let mut compiled = Vec::new();
        let mut errors = Vec::new();
        for (scope, rule) in rules {
            match CompiledRule::compile(ScopedRule { scope, rule }, variables) {
                Ok(rule) => {
                    errors.extend(rule.failed_examples(variables));
                    compiled.push(Arc::new(rule));
                }
                Err(err) => errors.push(err),
            }
        }
        if !errors.is_empty() {
            return Err(RuleErrors { errors });
        }
        Ok(Self::split_by_condition(compiled.into_iter(), conditions))
    }

    /// Returns the same rules where these facts hold.
    pub fn with_conditions(&self, conditions: Conditions) -> Self {
        let own =
            Self::split_by_condition(self.rules.iter().chain(&*self.inactive).cloned(), conditions);
        Self {
            restrictions: self
                .restrictions
                .iter()
                .map(|it| it.with_conditions(conditions))
                .collect(),
            ..own
        }
    }

    /// Returns these rules with one more restriction, and with the restrictions of that one. The result never allows more than
    /// these rules did.
    ///
    /// ```
    /// use haft_contract::{ToolId, PatternVariables};
    /// use haft_policy::{RuleAction, Conditions, Rule, RuleScope, RuleSet, decide_access};
    ///
    /// let compile = |scope, rule| {
    ///     RuleSet::compile([(scope, rule)], &PatternVariables::default(), Conditions::default()).unwrap()
    /// };
    /// let restriction = compile(RuleScope::Agent, Rule::new("todo", "*", RuleAction::Deny));
    /// let rules = compile(RuleScope::Session, Rule::new("*", "*", RuleAction::Allow)).restricted_by(&restriction);
    /// let action = |tool: &str| decide_access(&ToolId::parse(tool).unwrap(), None, &rules).action;
    /// assert_eq!((action("todo"), action("skill")), (RuleAction::Deny, RuleAction::Allow));
    /// ```
    #[must_use]
    pub fn restricted_by(&self, restriction: &Self) -> Self {
        let without = Self { restrictions: Arc::default(), ..restriction.clone() };
        let above = self.restrictions.iter().chain(&*restriction.restrictions).cloned();
        Self { restrictions: above.chain([without]).collect(), ..self.clone() }
    }

    /// Returns these rules and more, as compiling all of them together would.
    pub fn with_added(
        &self,
        rules: impl IntoIterator<Item = (RuleScope, Rule)>,
        variables: &PatternVariables,
        conditions: Conditions,
    ) -> Result<Self, RuleErrors> {
        let added = Self::compile(rules, variables, conditions)?;
        let both = |one: &[Arc<CompiledRule>], other: &[Arc<CompiledRule>]| {
            one.iter().chain(other).cloned().collect()
        };
        Ok(Self {
            rules: both(&self.rules, &added.rules),
            inactive: both(&self.inactive, &added.inactive),
            // They restrict the added rules, too.
            restrictions: Arc::clone(&self.restrictions),
        })
    }

    fn split_by_condition(
        rules: impl Iterator<Item = Arc<CompiledRule>>,
        conditions: Conditions,
    ) -> Self {
        let is_met = |rule: &Arc<CompiledRule>| conditions.meet(rule.rule.when);
        let (rules, lapsed): (Vec<_>, Vec<_>) = rules.partition(is_met);
        Self { rules: rules.into(), inactive: lapsed.into(), restrictions: Arc::default() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<CompiledRule>> {
        self.rules.iter()
    }
}

impl CompiledRule {
    pub(crate) fn compile(
        rule: ScopedRule,
        variables: &PatternVariables,
    ) -> Result<Self, RuleError> {
        let error = |fault| RuleError { rule: Box::new(rule.clone()), fault };
        if let Some(condition) = rule.rule.when {
            // An allow may lapse: without it, less is allowed.
            let may_lapse = match rule.scope {
                RuleScope::Preset | RuleScope::Manifest | RuleScope::User | RuleScope::Agent => {
                    rule.rule.action == RuleAction::Allow
                }
                RuleScope::Builtin | RuleScope::Project | RuleScope::Session => false,
            };
            if !may_lapse {
                return Err(error(RuleFault::Condition(condition)));
            }
        }
        let text = &rule.rule.permission;
        let permission =
            Permission::parse(text).ok_or_else(|| error(RuleFault::Permission(text.clone())))?;
        let domain = rule.rule.domain();
        let pattern =
            RulePattern::compile(&rule.rule.pattern, domain, variables).map_err(|err| {
                error(match domain {
                    PatternDomain::Any => RuleFault::PatternAsPath(err),
                    PatternDomain::Path | PatternDomain::Command | PatternDomain::Host => {
                        RuleFault::Pattern(err)
                    }
                })
            })?;
        Ok(Self { scope: rule.scope, rule: rule.rule, permission, pattern })
    }

    /// An allow says only what it says; a deny or an ask also covers what amounts to it.
    pub(crate) fn reading(&self) -> MatchWidth {
        match self.rule.action {
            RuleAction::Allow => MatchWidth::Narrow,
            RuleAction::Ask | RuleAction::Deny => MatchWidth::Wide,
        }
    }

    fn failed_examples(&self, variables: &PatternVariables) -> Vec<RuleError> {
        // Without, say, an open ad-hoc file its pattern matches nothing, which is no fault of the examples.
        if self.pattern.is_void() {
            return Vec::new();
        }
        let matches = |example: &String| {
            example_accesses(example, self.rule.domain(), variables).iter().any(|access| {
                matches!(self.pattern.fit(access.subject(), self.reading()), PatternFit::Yes(_))
            })
        };
        let unmatched = self.rule.match_examples.iter().filter(|example| !matches(example));
        let matched = self.rule.not_match_examples.iter().filter(|example| matches(example));
        let error = |fault| RuleError { rule: Box::new(self.into()), fault };
        unmatched
            .map(|example| error(RuleFault::MatchExample(example.clone())))
            .chain(matched.map(|example| error(RuleFault::NotMatchExample(example.clone()))))
            .collect()
    }
}

impl From<&CompiledRule> for ScopedRule {
    fn from(compiled: &CompiledRule) -> Self {
        Self { scope: compiled.scope, rule: compiled.rule.clone() }
    }
}

impl fmt::Display for RuleErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors.as_slice() {
            [only] => write!(f, "{only}"),
            errors => {
                write!(f, "{} errors in permission rules:", errors.len())?;
                errors.iter().try_for_each(|err| write!(f, "\n  {err}"))
            }
        }
    }
}

impl std::error::Error for RuleErrors {}

/// Returns what an example may stand for: a path, a command line split at white space, a host.
fn example_accesses(
    example: &str,
    domain: PatternDomain,
    variables: &PatternVariables,
) -> Vec<ResolvedAccess> {
    let path = || {
        let expanded = match variables.split(example) {
            Ok(Some((values, rest))) => {
                values.first().map(|value| value.join(rest.trim_start_matches('/')))
            }
            Ok(None) | Err(_) => None,
        };
        let path = expanded.unwrap_or_else(|| PathBuf::from(example));
        let roots = variables.workspace.iter().map(PathBuf::as_path);
        let path = if path.is_absolute() {
            let mut relative = roots.filter_map(|root| path.strip_prefix(root).ok());
            let relative = relative.next().map(Path::to_owned);
            PathSubject { relative, ..PathSubject::outside_roots(path) }
        } else {
            // Examples have to hold wherever the rules are loaded, so without a workspace some root
            // will do.
            let root = roots.chain([Path::new("/workspace")]).next().unwrap_or(Path::new("/"));
            PathSubject::in_root(root, &path.components().collect::<PathBuf>())
        };
        ResolvedAccess::Read { path }
    };
    let command = || {
        let argv = example.split_whitespace().map(str::to_owned).collect();
        ResolvedAccess::Shell { command: CommandLine::Argv(argv) }
    };
    let host = || ResolvedAccess::Net { host: example.to_owned() };
    match domain {
        PatternDomain::Path => vec![path()],
        PatternDomain::Command => vec![command()],
        PatternDomain::Host => vec![host()],
        PatternDomain::Any => {
            vec![path(), command(), host(), ResolvedAccess::Named { name: example.to_owned() }]
        }
    }
}
