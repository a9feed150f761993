//! Finds rules that certainly never decide, whatever the call. It does not report doubtful cases: users switch off a check
//! that raises false alarms.

use haft_contract::PatternVariables;
use haft_policy::{Rule, RuleAction, RuleScope, ScopedRule};
use serde::Serialize;

use super::examples::{ExampleExpectation, ExampleResult, check_example};
use haft_app::permission_names::{is_capability, is_tool};

/// A rule that never decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct UnusedRule {
    /// The rule.
    pub(super) rule: String,
    /// Why it does not.
    pub(super) why: String,
}

/// Returns the rules that never decide.
pub(super) fn unused_rules(
    rules: &[(RuleScope, Rule)],
    variables: &PatternVariables,
) -> Vec<UnusedRule> {
    // The user cannot change the rules of presets and of haft.
    let is_written = |scope: RuleScope| match scope {
        RuleScope::Manifest | RuleScope::User | RuleScope::Project | RuleScope::Session => true,
        RuleScope::Preset | RuleScope::Builtin | RuleScope::Agent => false,
    };
    let written = rules.iter().enumerate().filter(|(_, (scope, _))| is_written(*scope));
    written
        .filter_map(|(index, (scope, rule))| {
            let is_empty = || {
                let example = (ExampleExpectation::Match, "anything");
                check_example(*scope, rule, example, variables) == ExampleResult::NothingToMatch
            };
            let why = same_rule_reason(rules, index)
                .or_else(|| manifest_deny_reason(rules, index))
                .or_else(|| {
                    is_empty().then(|| {
                        "its pattern matches nothing here, where its variable stands for nothing"
                            .to_owned()
                    })
                })?;
            let rule = ScopedRule { scope: *scope, rule: rule.clone() }.to_string();
            Some(UnusedRule { rule, why })
        })
        .collect()
}

/// Returns a reason if another rule of the same scope has the same pattern and is stricter, or equal and earlier.
fn same_rule_reason(rules: &[(RuleScope, Rule)], index: usize) -> Option<String> {
    let (scope, rule) = rules.get(index)?;
    let others = rules.iter().enumerate().filter(|(other, (other_scope, other_rule))| {
        *other != index && other_scope == scope && has_same_pattern(other_rule, rule)
    });
    for (other, (_, stricter)) in others {
        // If its condition does not hold, the stricter rule does not apply.
        if stricter.when.is_some() && stricter.when != rule.when {
            continue;
        }
        if stricter.action > rule.action {
            return Some(format!("`{stricter}` of the same scope always comes before it"));
        }
        if stricter.action == rule.action && other < index {
            return Some("an earlier rule of the same scope says the same".to_owned());
        }
    }
    None
}

/// Returns a reason if a deny rule of the manifest covers the rule and no other rule of the manifest could come before it.
fn manifest_deny_reason(rules: &[(RuleScope, Rule)], index: usize) -> Option<String> {
    let (scope, rule) = rules.get(index)?;
    let is_nearer = matches!(scope, RuleScope::User | RuleScope::Project | RuleScope::Session);
    if !is_nearer || rule.action == RuleAction::Deny {
        return None;
    }
    let manifest =
        || rules.iter().filter(|(scope, _)| *scope == RuleScope::Manifest).map(|(_, rule)| rule);
    let is_exact = |name: &str| !name.contains('*');
    let mut softer = manifest().filter(|rule| rule.action != RuleAction::Deny);
    let may_come_before = softer.any(|softer| {
        // One call may need a tool and a capability together. Two tools, or two capabilities, do not meet in one access. An
        // unknown name may be a tool of the user's, or a capability that such a tool needs.
        let (one, other) = (softer.permission.as_str(), rule.permission.as_str());
        let are_both = |is_one: fn(&str) -> bool| is_one(one) && is_one(other);
        let are_apart = are_both(is_tool) || are_both(is_capability);
        !is_exact(one) || !is_exact(other) || one == other || !are_apart
    });
    if may_come_before {
        return None;
    }
    let mut denies = manifest().filter(|rule| rule.action == RuleAction::Deny);
    // Permissions give patterns their meaning, so only `*` and the same pattern certainly cover a rule.
    let deny = denies.find(|deny| {
        let permission = deny.permission == "*" || deny.permission == rule.permission;
        (permission && deny.pattern == "*") || has_same_pattern(deny, rule)
    })?;
    Some(format!("`{deny}` of the manifest always holds"))
}

fn has_same_pattern(one: &Rule, other: &Rule) -> bool {
    one.permission == other.permission && one.pattern == other.pattern
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(rules: &[(RuleScope, &str, &str, RuleAction)], expect: &Expect) {
        let rules: Vec<(RuleScope, Rule)> = rules
            .iter()
            .map(|(scope, permission, pattern, action)| {
                (*scope, Rule::new(*permission, *pattern, *action))
            })
            .collect();
        let lines = unused_rules(&rules, &PatternVariables::default());
        let lines: String =
            lines.iter().map(|finding| format!("{}: {}\n", finding.rule, finding.why)).collect();
        expect.assert_eq(&lines);
    }

    #[test]
    fn what_never_decides_is_found() {
        use RuleAction::{Allow, Ask, Deny};
        use RuleScope::{Manifest, Project, Session};
        check(
            &[
                (Manifest, "bash", "git push*", Deny),
                (Manifest, "bash", "git push*", Deny),
                (Manifest, "bash", "git push*", Ask),
                (Project, "bash", "git push*", Allow),
                (Session, "read", "*", Allow),
                (Session, "read", "*", Allow),
                (Manifest, "fs.read", "{ad-hoc}/**", Allow),
            ],
            &expect![[r#"
                manifest rule `deny bash "git push*"`: an earlier rule of the same scope says the same
                manifest rule `ask bash "git push*"`: `deny bash "git push*"` of the same scope always comes before it
                session rule `allow read "*"`: an earlier rule of the same scope says the same
                manifest rule `allow fs.read "{ad-hoc}/**"`: its pattern matches nothing here, where its variable stands for nothing
            "#]],
        );
        check(
            &[
                (Manifest, "bash", "*", Deny),
                (Manifest, "read", "*", Allow),
                (Project, "bash", "git status", Allow),
            ],
            &expect![[r#"
                project rule `allow bash "git status"`: `deny bash "*"` of the manifest always holds
            "#]],
        );
    }

    #[test]
    fn what_may_decide_is_not() {
        use RuleAction::{Allow, Ask, Deny};
        use RuleScope::{Builtin, Manifest, Preset, Project};
        check(
            &[
                // An allow of the manifest may come before its deny.
                (Manifest, "bash", "*", Deny),
                (Manifest, "bash", "git*", Allow),
                (Project, "bash", "git status", Allow),
                // A deny of a capability is less exact than a rule for a tool of the manifest.
                (Manifest, "shell.run", "git*", Ask),
                // The user cannot change the rules of presets and of haft.
                (Preset, "todo", "*", Allow),
                (Preset, "todo", "*", Allow),
                (Builtin, "fs.write", "a", Deny),
                (Builtin, "fs.write", "a", Deny),
                // Capabilities that the manifest requires, and patterns.
                (Manifest, "payments", "*", Ask),
                (Manifest, "mcp:*", "*", Ask),
                (Manifest, "fs.read", "secrets", Ask),
                (Project, "fs.read", "secrets", Deny),
            ],
            &expect![""],
        );
    }
}
