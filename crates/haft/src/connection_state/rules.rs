//! The permission rules of one connection: its initial rules, and those that people added by answering «always». A call
//! is judged by the rules that hold when judging begins.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use haft_policy::{Conditions, Rule, RuleAction, RuleErrors, RuleScope, RuleSet, escape_path};
use tokio::sync::{Mutex, MutexGuard};

use crate::granted_places::AD_HOC_PATTERN;
use crate::shared::RuntimeShared;

/// The rules of one connection.
pub(crate) struct ConnectionRules {
    /// Read by every call, when it is judged; written after an answer «always», a few times a session. Calls are judged
    /// synchronously and in parallel, which a task that owned the rules would put one after the other.
    state: RwLock<ConnectionRulesState>,
    /// Held by the call whose question a person sees, so that there is one question at a time. Other calls with a
    /// question wait: the answer may add a rule for them.
    questions: Mutex<()>,
}

/// The rules, and what they were compiled from.
struct ConnectionRulesState {
    /// The compiled rules of the runtime, the project and the connection.
    rules: RuleSet,
    /// The number of rules added for the project that are included.
    project_count: usize,
    /// The conditions of the host with which the rules were compiled.
    conditions: Conditions,
}

impl ConnectionRules {
    /// Compiles the rules of a connection after those of the runtime. Fails if one of them is not valid.
    pub(crate) fn new(
        shared: &RuntimeShared,
        of_session: Vec<Rule>,
        of_preset: Vec<Rule>,
    ) -> Result<Self, RuleErrors> {
        let (of_project, conditions) =
            (shared.added_project_rules.added_since(0), shared.conditions());
        let project_count = of_project.len();
        let parts = &shared.parts;
        let added = scoped(RuleScope::Project, of_project);
        let given = scoped(RuleScope::Session, of_session);
        let all = parts.rules.iter().cloned().chain(added).chain(given);
        let all = all.chain(scoped(RuleScope::Preset, of_preset));
        let rules = RuleSet::compile(all, &parts.variables, conditions)?;
        let state = ConnectionRulesState { rules, project_count, conditions };
        Ok(Self { state: RwLock::new(state), questions: Mutex::default() })
    }

    /// Returns the rules that hold now, with those that another connection added for the project.
    pub(crate) fn current(&self, shared: &RuntimeShared) -> RuleSet {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.project_count == shared.added_project_rules.count()
            && state.conditions == shared.conditions()
        {
            return state.rules.clone();
        }
        drop(state);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let missing = shared.added_project_rules.added_since(state.project_count);
        state.project_count += missing.len();
        // They held when they were offered, so they compile; rules that did not would allow nothing.
        match state.with_added(scoped(RuleScope::Project, missing), shared) {
            Ok(rules) => state.rules = rules,
            Err(err) => tracing::warn!("rules of the project do not hold here: {err}"),
        }
        state.conditions = shared.conditions();
        state.rules = state.rules.with_conditions(state.conditions);
        state.rules.clone()
    }

    /// Waits until no other call has a question before the person.
    pub(crate) async fn lock_questions(&self) -> MutexGuard<'_, ()> {
        self.questions.lock().await
    }

    /// Lets calls read a place that was added by hand, and lets the rules about such places speak of it.
    pub(crate) fn add_ad_hoc(&self, place: &Path, shared: &RuntimeShared) {
        let place = escape_path(place);
        let read = Rule::new("fs.read", &place, RuleAction::Allow);
        let of_ad_hoc = shared.parts.rules.iter().filter_map(|(scope, rule)| {
            let rest = rule.pattern.strip_prefix(AD_HOC_PATTERN)?;
            let pattern = format!("{place}{rest}");
            // The examples were checked with the rule that was written.
            let (match_examples, not_match_examples) = (Vec::new(), Vec::new());
            Some((*scope, Rule { pattern, match_examples, not_match_examples, ..rule.clone() }))
        });
        let more = of_ad_hoc.chain([(RuleScope::Session, read)]);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match state.with_added(more, shared) {
            Ok(rules) => state.rules = rules,
            Err(err) => tracing::warn!("rules about {place} do not hold: {err}"),
        }
    }

    /// Adds rules for this session.
    pub(crate) fn add(&self, rules: &[Rule], shared: &RuntimeShared) -> Result<(), RuleErrors> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.rules = state.with_added(scoped(RuleScope::Session, rules.to_vec()), shared)?;
        Ok(())
    }
}

impl ConnectionRulesState {
    /// Returns the rules with further ones, which come after all rules of their scope.
    fn with_added(
        &self,
        more: impl Iterator<Item = (RuleScope, Rule)>,
        shared: &RuntimeShared,
    ) -> Result<RuleSet, RuleErrors> {
        self.rules.with_added(more, &shared.parts.variables, self.conditions)
    }
}

/// Gives all rules the same scope.
fn scoped(scope: RuleScope, rules: Vec<Rule>) -> impl Iterator<Item = (RuleScope, Rule)> {
    rules.into_iter().map(move |rule| (scope, rule))
}
