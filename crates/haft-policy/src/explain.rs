//! A decision in words: for the model that was refused, for the person that is asked, for `haft permissions explain`.

use std::fmt;

use haft_contract::{DecidingRule, RefusalGrounds, RefusalSource, Remedy};

use crate::access::ResolvedAccess;
use crate::decision::{DecisionBasis, DecisionReason, PolicyDecision, RuleRemedy};
use crate::rule::{RuleAction, RuleCondition, RuleScope, ScopedRule};

impl PolicyDecision {
    /// Returns what was decided, which rule decided, and what would allow the call.
    pub fn explain(&self) -> String {
        let verb = match self.action {
            RuleAction::Allow => "may do",
            RuleAction::Ask => "needs approval for",
            RuleAction::Deny => "is denied",
        };
        let DecisionReason { tool, access, basis: ground, inactive_rule: lapsed } = &self.reason;
        let what = match (access, self.action) {
            (Some(access), _) => format!("{tool} {verb} {access}"),
            (None, RuleAction::Allow) => format!("{tool} is allowed"),
            (None, RuleAction::Ask) => format!("{tool} needs approval"),
            (None, RuleAction::Deny) => format!("{tool} is denied"),
        };
        let lapsed = lapsed.as_ref().and_then(|rule| {
            let unmet = match rule.rule.when? {
                RuleCondition::Sandboxed => {
                    "while commands are not fully confined, as without the sandbox or with the network allowed"
                }
            };
            Some(format!("the {rule} does not hold {unmet}"))
        });
        // If a rule lapsed, that is the reason, and no other remedy is named.
        let why = match lapsed {
            Some(lapsed) if *ground == DecisionBasis::NoRule => lapsed,
            Some(lapsed) => format!("{ground}; {lapsed}"),
            None => match self.remedy_text() {
                Some(remedy) => format!("{ground}; {remedy}"),
                None => ground.to_string(),
            },
        };
        format!("{what}: {why}")
    }

    /// Returns what was decided and which rule decided, in one short sentence for a model. It names no remedy, which the refusal
    /// carries as a value.
    pub fn explain_briefly(&self) -> String {
        let verb = match self.action {
            RuleAction::Allow => "may do",
            RuleAction::Ask => "needs approval for",
            RuleAction::Deny => "is denied",
        };
        let DecisionReason { tool, access, basis, inactive_rule } = &self.reason;
        let what = match access {
            Some(access) => format!("{tool} {verb} {access}"),
            None => format!(
                "{tool} {}",
                if self.action == RuleAction::Ask { "needs approval" } else { verb }
            ),
        };
        match (basis, inactive_rule) {
            (_, Some(_)) | (DecisionBasis::NoRule, None) => what,
            (DecisionBasis::Rule(rule) | DecisionBasis::Fixed(rule), None) => {
                format!("{what} by the {rule}")
            }
            (DecisionBasis::MayContain(rule), None) => {
                format!(
                    "{what}, because not all of its words are known and the {rule} may match them; write the commands in plain words"
                )
            }
            (DecisionBasis::MayReach(rule), None) => {
                format!("{what}, because the {rule} may match a file there")
            }
        }
    }

    /// Returns the source of a refusal, and the remedies of the caller. The remedies of a user depend on more than the rules,
    /// so the runtime adds them.
    pub fn grounds(&self) -> RefusalGrounds {
        let DecisionReason { access, basis, .. } = &self.reason;
        let decided_by = match basis {
            DecisionBasis::Rule(ScopedRule { scope, rule })
            | DecisionBasis::Fixed(ScopedRule { scope, rule })
            | DecisionBasis::MayContain(ScopedRule { scope, rule })
            | DecisionBasis::MayReach(ScopedRule { scope, rule })
                if self.action == RuleAction::Deny =>
            {
                RefusalSource::Rule(DecidingRule {
                    scope: scope.to_string(),
                    permission: rule.permission.clone(),
                    pattern: rule.pattern.clone(),
                    action: rule.action.to_string(),
                })
            }
            DecisionBasis::Rule(_)
            | DecisionBasis::Fixed(_)
            | DecisionBasis::MayContain(_)
            | DecisionBasis::MayReach(_)
            | DecisionBasis::NoRule => RefusalSource::NoAnswer,
        };
        // If a call reaches a whole directory, a rule may be about only some of its files.
        let may_name_files = matches!(basis, DecisionBasis::MayReach(_))
            && matches!(self.remedy, Some(RuleRemedy::Change(_)));
        let remedies = match access {
            Some(ResolvedAccess::Read { path } | ResolvedAccess::Write { path })
                if may_name_files =>
            {
                vec![Remedy::NameFiles(vec![path.to_string()])]
            }
            _ => Vec::new(),
        };
        RefusalGrounds { decided_by, remedies }
    }

    fn remedy_text(&self) -> Option<String> {
        Some(match (self.remedy.as_ref()?, &self.reason.basis) {
            // A deny that a person wrote is that person's word: no advice leads around it.
            (RuleRemedy::Add(_), DecisionBasis::Rule(_)) if self.is_written_deny() => {
                "that rule would have to change".to_owned()
            }
            (RuleRemedy::Add(rule), _) => format!("the rule `{rule}` would allow it"),
            (RuleRemedy::Change(pinned), DecisionBasis::Fixed(_)) => match pinned.scope {
                RuleScope::Builtin => "what haft itself denies no rule allows".to_owned(),
                RuleScope::Agent => {
                    "what an agent's file denies no answer and no rule elsewhere allows".to_owned()
                }
                RuleScope::Manifest => {
                    "what the manifest denies only the manifest can allow".to_owned()
                }
                // Denies of these scopes are not fixed.
                RuleScope::Preset | RuleScope::User | RuleScope::Project | RuleScope::Session => {
                    "that rule would have to change".to_owned()
                }
            },
            (RuleRemedy::Change(held), DecisionBasis::Rule(decided))
                if held.scope == RuleScope::Agent && decided.scope == RuleScope::Agent =>
            {
                "it asks every time, until the agent's file says otherwise".to_owned()
            }
            (RuleRemedy::Change(held), DecisionBasis::Rule(_) | DecisionBasis::NoRule)
                if held.scope == RuleScope::Agent =>
            {
                format!("whatever else is allowed, the {held} stands")
            }
            (RuleRemedy::Change(ScopedRule { scope, rule }), DecisionBasis::Rule(decided))
                if *scope == decided.scope && *rule == decided.rule =>
            {
                "that rule would have to change".to_owned()
            }
            (RuleRemedy::Change(_), DecisionBasis::MayContain(_) | DecisionBasis::MayReach(_)) => {
                "while that rule stands, no added rule allows it".to_owned()
            }
            (RuleRemedy::Change(changed), DecisionBasis::Rule(_) | DecisionBasis::NoRule) => {
                let what = match self.reason.access {
                    Some(ResolvedAccess::Read { .. } | ResolvedAccess::Write { .. }) => {
                        "something beneath"
                    }
                    Some(
                        ResolvedAccess::Net { .. }
                        | ResolvedAccess::Shell { .. }
                        | ResolvedAccess::Named { .. },
                    )
                    | None => "part of the command",
                };
                format!("the {changed} would have to change, since it may match {what}")
            }
        })
    }
}

impl fmt::Display for DecisionBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) | Self::Fixed(rule) => write!(f, "the {rule} decides"),
            Self::MayContain(rule) => {
                write!(f, "not all of its words are known, and the {rule} may match them")
            }
            Self::MayReach(rule) => {
                write!(f, "it reaches all beneath, and the {rule} may match something there")
            }
            Self::NoRule => f.write_str("no rule matches, and then the answer is ask"),
        }
    }
}
