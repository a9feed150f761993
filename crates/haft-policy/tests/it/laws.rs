//! The laws of deciding.

use haft_contract::{FsRequirement, NetRequirement, RequirementSet};
use haft_policy::{
    AlwaysWidth, Capabilities, Conditions, DecisionBasis, Grant, HostScope, PathReach, PathSubject,
    PolicyDecision, PolicyRequest, ResolvedAccess, Rule, RuleAction, RuleCondition, RuleRemedy,
    RuleScope, RuleSet, decide, decide_access, lasting_rules,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::vocabulary::{
    Scoped, access, accesses, action, path, rule, rule_set, rules, scope, tool, variables,
};

/// Places in a directory.
const WITHIN: &[&str] = &["a.rs", ".env", "src", "src/gen", "src/gen/a.rs", "gen/a.rs", "x/y/.env"];
const HOSTS: &[&str] = &["example.com", "a.example.com", "localhost", "10.0.0.1"];

fn decide_with(
    rules: &[Scoped],
    tool: &haft_contract::ToolId,
    accesses: &[ResolvedAccess],
) -> PolicyDecision {
    decide(&PolicyRequest { tool, accesses }, &rule_set(rules))
}

/// Gives the allows of presets and manifests that the mask picks the condition that they only hold while sandboxed.
fn conditioned(rules: &[Scoped], mask: u8) -> Vec<Scoped> {
    let with_condition = |(index, (scope, rule)): (usize, &Scoped)| {
        let may = matches!(scope, RuleScope::Preset | RuleScope::Manifest);
        let picked = may && rule.action == RuleAction::Allow && mask & (1 << (index % 8)) != 0;
        (*scope, Rule { when: picked.then_some(RuleCondition::Sandboxed), ..rule.clone() })
    };
    rules.iter().enumerate().map(with_condition).collect()
}

/// Returns the rules of the scopes whose denies no other scope changes.
fn pinning(rules: &[Scoped]) -> Vec<Scoped> {
    let is_pinning =
        |scope| matches!(scope, RuleScope::Builtin | RuleScope::Manifest | RuleScope::Agent);
    rules.iter().filter(|(scope, _)| is_pinning(*scope)).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_pinned_deny_is_never_overturned(rules in rules(), tool in tool(), accesses in accesses()) {
        let alone = decide_with(&pinning(&rules), &tool, &accesses);
        let together = decide_with(&rules, &tool, &accesses);
        if alone.action == RuleAction::Deny {
            prop_assert_eq!(together.action, RuleAction::Deny);
        }
        if let DecisionBasis::Fixed(_) = together.reason.basis {
            prop_assert_eq!(alone.action, RuleAction::Deny);
        }
    }

    #[test]
    fn a_manifest_deny_outlives_the_strongest_rule_against_it(
        manifest in prop::collection::vec(rule(Just(RuleScope::Manifest), Just(RuleAction::Deny)), 0..4),
        tool in tool(),
        access in access(),
    ) {
        let mut manifest = manifest;
        manifest.push((RuleScope::Manifest, Rule::new("*", "*", RuleAction::Deny)));
        let denied = decide_access(&tool, Some(&access), &rule_set(&manifest));
        prop_assert_eq!(denied.action, RuleAction::Deny);
        // Without the manifest, this is the narrowest rule that allows the very access.
        let Some(RuleRemedy::Add(allow)) = decide_access(&tool, Some(&access), &rule_set(&[])).remedy else {
            return Err(TestCaseError::fail("without rules, a rule can be added"));
        };
        for scope in [RuleScope::Session, RuleScope::Project, RuleScope::Preset] {
            let mut with_allow = manifest.clone();
            with_allow.push((scope, allow.clone()));
            prop_assert_eq!(decide_access(&tool, Some(&access), &rule_set(&with_allow)), denied.clone());
        }
    }

    #[test]
    fn adding_a_deny_never_allows_more(
        rules in rules(), deny in rule(scope(), Just(RuleAction::Deny)), tool in tool(), accesses in accesses(),
    ) {
        let before = decide_with(&rules, &tool, &accesses).action;
        let mut rules = rules;
        rules.push(deny);
        prop_assert!(decide_with(&rules, &tool, &accesses).action >= before);
    }

    #[test]
    fn what_is_allowed_of_a_tree_is_allowed_of_everything_in_it(
        rules in rules(), tool in tool(), tree in path(), within in select(WITHIN), is_write in any::<bool>(),
    ) {
        let access = |path| if is_write { ResolvedAccess::Write { path } } else { ResolvedAccess::Read { path } };
        let beneath = PathSubject {
            absolute: tree.absolute.join(within),
            relative: tree.relative.as_ref().map(|relative| relative.join(within)),
            reach: PathReach::PathOnly,
        };
        let rules = rule_set(&rules);
        let place = decide_access(&tool, Some(&access(tree.clone().with_reach(PathReach::PathOnly))), &rules);
        let tree = decide_access(&tool, Some(&access(tree.with_reach(PathReach::Tree))), &rules);
        prop_assert!(tree.action >= place.action);
        if tree.action == RuleAction::Allow {
            prop_assert_eq!(decide_access(&tool, Some(&access(beneath)), &rules).action, RuleAction::Allow);
        }
    }

    #[test]
    fn a_builtin_deny_outlives_every_other_rule(
        rules in rules(), deny in rule(Just(RuleScope::Builtin), Just(RuleAction::Deny)), tool in tool(), access in access(),
    ) {
        let alone = decide_access(&tool, Some(&access), &rule_set(std::slice::from_ref(&deny)));
        // Other rules of haft's own may be exceptions to it.
        let mut rules: Vec<_> = rules.into_iter().filter(|(scope, _)| *scope != RuleScope::Builtin).collect();
        rules.push(deny);
        if alone.action == RuleAction::Deny {
            prop_assert_eq!(decide_access(&tool, Some(&access), &rule_set(&rules)), alone);
        }
    }

    #[test]
    fn a_condition_never_widens(
        rules in rules(), mask in any::<u8>(), sandboxed in any::<bool>(), tool in tool(), accesses in accesses(),
    ) {
        let free = decide_with(&rules, &tool, &accesses);
        let rules = conditioned(&rules, mask);
        let conditions = Conditions { sandboxed };
        let otherwise = Conditions { sandboxed: !sandboxed };
        let compiled = RuleSet::compile(rules.clone(), &variables(), otherwise).unwrap().with_conditions(conditions);
        let at_once = RuleSet::compile(rules, &variables(), conditions).unwrap();
        let question = PolicyRequest { tool: &tool, accesses: &accesses };
        prop_assert_eq!(decide(&question, &compiled), decide(&question, &at_once));
        let bound = decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &compiled);
        prop_assert!(bound.action >= free.action);
        if sandboxed {
            prop_assert_eq!(bound.action, free.action);
        }
        if let Some(lapsed) = bound.reason.inactive_rule {
            prop_assert!(!sandboxed && lapsed.rule.when.is_some() && bound.action != RuleAction::Allow);
        }
    }

    #[test]
    fn what_always_adds_allows_the_call_and_nothing_that_was_denied(
        rules in rules(), tool in tool(), accesses in accesses(), other in access(),
        width in select(vec![AlwaysWidth::Narrow, AlwaysWidth::Wide]),
    ) {
        let rules = rule_set(&rules);
        let question = PolicyRequest { tool: &tool, accesses: &accesses };
        let added = lasting_rules(&question, &rules, &variables(), width);
        if added.is_empty() {
            return Ok(());
        }
        let added: Vec<_> = added.into_iter().map(|rule| (RuleScope::Session, rule)).collect();
        let after = rules.with_added(added, &variables(), Conditions::default()).unwrap();
        prop_assert_eq!(decide(&question, &after).action, RuleAction::Allow);
        let before = decide_access(&tool, Some(&other), &rules);
        if let DecisionBasis::Fixed(_) = before.reason.basis {
            prop_assert_eq!(decide_access(&tool, Some(&other), &after).action, RuleAction::Deny);
        }
    }

    #[test]
    fn a_denied_host_is_never_admitted(
        rules in rules(), deny in select(vec!["example.com", "*.example.com", "*"]), host in select(HOSTS), tool in tool(),
    ) {
        let requires = RequirementSet { net: NetRequirement { hosts: vec!["*".to_owned()] }, ..RequirementSet::default() };
        let all = Capabilities::compile(&requires, &variables()).unwrap();
        let deny = (RuleScope::Builtin, Rule::new("net.fetch", deny, RuleAction::Deny));
        let is_denied = decide_access(&tool, Some(&ResolvedAccess::Net { host: host.to_owned() }), &rule_set(std::slice::from_ref(&deny)))
            .action == RuleAction::Deny;
        let mut rules: Vec<_> = rules.into_iter().filter(|(scope, _)| *scope != RuleScope::Builtin).collect();
        let open = [HostScope::of_tool(&tool, &all, &all, &rule_set(&rules)), HostScope::of_commands(&tool, &all, &all, &rule_set(&rules))];
        rules.push(deny);
        let rules = rule_set(&rules);
        let closed = [HostScope::of_tool(&tool, &all, &all, &rules), HostScope::of_commands(&tool, &all, &all, &rules)];
        for (open, closed) in open.into_iter().zip(closed) {
            let closed = closed.with_allowed(&[ResolvedAccess::Net { host: host.to_owned() }]);
            if is_denied {
                prop_assert_eq!(closed.admits(host), None);
            } else {
                prop_assert!(closed.admits(host).is_some() || open.admits(host).is_none());
            }
        }
    }

    #[test]
    fn a_tool_reaches_a_host_unasked_as_far_as_rules_about_it_go(rules in rules(), host in select(HOSTS), tool in tool()) {
        let requires = RequirementSet { net: NetRequirement { hosts: vec!["*".to_owned()] }, ..RequirementSet::default() };
        let all = Capabilities::compile(&requires, &variables()).unwrap();
        let rules = rule_set(&rules);
        let judged = decide_access(&tool, Some(&ResolvedAccess::Net { host: host.to_owned() }), &rules);
        let is_open = judged.action == RuleAction::Allow || judged.reason.basis == DecisionBasis::NoRule;
        prop_assert_eq!(HostScope::of_tool(&tool, &all, &all, &rules).admits(host).is_some(), is_open);
    }

    #[test]
    fn the_order_of_rules_does_not_matter(
        (rules, shuffled) in rules().prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        tool in tool(),
        accesses in accesses(),
    ) {
        prop_assert_eq!(decide_with(&rules, &tool, &accesses), decide_with(&shuffled, &tool, &accesses));
    }

    #[test]
    fn without_rules_the_answer_is_ask(tool in tool(), accesses in accesses()) {
        let decision = decide_with(&[], &tool, &accesses);
        prop_assert_eq!(decision.action, RuleAction::Ask);
        prop_assert_eq!(decision.reason.basis, DecisionBasis::NoRule);
    }

    #[test]
    fn the_strictest_access_decides(rules in rules(), tool in tool(), accesses in accesses()) {
        let rules = rule_set(&rules);
        let each = accesses.iter().map(|access| decide_access(&tool, Some(access), &rules).action);
        let strictest = each.max().unwrap_or_else(|| decide_access(&tool, None, &rules).action);
        prop_assert_eq!(decide(&PolicyRequest { tool: &tool, accesses: &accesses }, &rules).action, strictest);
    }

    #[test]
    fn what_a_remedy_adds_allows_the_access(rules in rules(), tool in tool(), access in access()) {
        let mut rules = rules;
        let before = decide_access(&tool, Some(&access), &rule_set(&rules));
        prop_assert_eq!(before.remedy.is_none(), before.action == RuleAction::Allow);
        if let Some(RuleRemedy::Add(rule)) = before.remedy {
            rules.push((RuleScope::Session, rule));
            prop_assert_eq!(decide_access(&tool, Some(&access), &rule_set(&rules)).action, RuleAction::Allow);
        }
    }

    #[test]
    fn a_rule_that_has_to_change_is_in_the_way(
        rules in rules(),
        tool in tool(),
        access in access(),
        added in rule(select(vec![RuleScope::Project, RuleScope::Session]), action()),
    ) {
        let before = decide_access(&tool, Some(&access), &rule_set(&rules));
        let Some(RuleRemedy::Change(in_the_way)) = before.remedy.clone() else { return Ok(()) };
        let in_the_way = (in_the_way.scope, in_the_way.rule);
        prop_assert!(rules.contains(&in_the_way));
        let others: Vec<_> = rules.iter().filter(|rule| **rule != in_the_way).cloned().collect();
        prop_assert_ne!(&decide_access(&tool, Some(&access), &rule_set(&others)), &before);
        if matches!(before.reason.basis, DecisionBasis::Fixed(_) | DecisionBasis::MayContain(_) | DecisionBasis::MayReach(_)) {
            let mut rules = rules;
            rules.push(added);
            prop_assert_ne!(decide_access(&tool, Some(&access), &rule_set(&rules)).action, RuleAction::Allow);
        }
    }

    #[test]
    fn an_explanation_names_the_tool_and_the_rule(rules in rules(), tool in tool(), accesses in accesses()) {
        let decision = decide_with(&rules, &tool, &accesses);
        let text = decision.explain();
        prop_assert!(text.starts_with(tool.as_str()));
        if let DecisionBasis::Rule(rule) | DecisionBasis::Fixed(rule) | DecisionBasis::MayContain(rule) | DecisionBasis::MayReach(rule) =
            decision.reason.basis
        {
            prop_assert!(text.contains(&rule.rule.to_string()), "{text}");
        }
    }

    #[test]
    fn a_grant_agrees_with_capabilities_and_rules(
        rules in rules(),
        tool in tool(),
        path in path(),
        read in select(vec!["{workspace}/**", "src", "**/*.rs", "/etc/**"]),
    ) {
        let fs = FsRequirement { read: vec![read.to_owned()], write: vec!["src/**".to_owned()] };
        let requires = RequirementSet { fs, ..RequirementSet::default() };
        let capabilities = Capabilities::compile(&requires, &variables()).unwrap();
        let rules = rule_set(&rules);
        let grant = Grant::of_call(&tool, &capabilities, &rules);
        let is_free = |access: &ResolvedAccess| {
            capabilities.check(access).is_ok() && decide_access(&tool, Some(access), &rules).action == RuleAction::Allow
        };
        prop_assert_eq!(grant.permits_read(&path), is_free(&ResolvedAccess::Read { path: path.clone() }));
        prop_assert_eq!(grant.permits_write(&path), is_free(&ResolvedAccess::Write { path: path.clone() }));
    }

    #[test]
    fn an_answer_lifts_asks_and_never_a_deny(
        rules in rules(), tool in tool(), path in path(), answered in path(),
    ) {
        let fs = FsRequirement { read: vec!["/**".to_owned()], write: Vec::new() };
        let capabilities = Capabilities::compile(&RequirementSet { fs, ..RequirementSet::default() }, &variables()).unwrap();
        let rules = rule_set(&rules);
        let unasked = Grant::of_call(&tool, &capabilities, &rules);
        let grant = unasked.clone().with_allowed(&[ResolvedAccess::Read { path: answered.clone() }]);
        let action = decide_access(&tool, Some(&ResolvedAccess::Read { path: path.clone() }), &rules).action;
        match action {
            RuleAction::Allow => prop_assert!(grant.permits_read(&path)),
            RuleAction::Deny => prop_assert!(!grant.permits_read(&path)),
            RuleAction::Ask => {
                prop_assert!(!unasked.permits_read(&path));
                if !path.absolute.starts_with(&answered.absolute) {
                    prop_assert!(!grant.permits_read(&path));
                }
                if path == answered {
                    prop_assert!(grant.permits_read(&path));
                }
            }
        }
    }
}
