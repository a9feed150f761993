//! A decision in words: for the model that was refused, for the person that is asked, for `haft policy explain`.

use std::fmt;

use haft_contract::Command;

use crate::access::{Canonical, Subject};
use crate::decide::{Because, Decision, Ground, Remedy};
use crate::pattern::{escape, escape_path, normal_host};
use crate::rule::{Action, Condition, RuleScope, ScopedRule};

/// Longest suggested command pattern, in bytes; longer commands are suggested by their program.
pub(crate) const SUGGESTION_BYTES_MAX: usize = 200;

impl Decision {
    /// Returns what was decided, which rule decided, and what would allow the call.
    pub fn explain(&self) -> String {
        let verb = match self.action {
            Action::Allow => "may do",
            Action::Ask => "needs approval for",
            Action::Deny => "is denied",
        };
        let Because { tool, access, ground, lapsed } = &self.because;
        let what = match (access, self.action) {
            (Some(access), _) => format!("{tool} {verb} {access}"),
            (None, Action::Allow) => format!("{tool} is allowed"),
            (None, Action::Ask) => format!("{tool} needs approval"),
            (None, Action::Deny) => format!("{tool} is denied"),
        };
        let lapsed = lapsed.as_ref().and_then(|rule| {
            rule.rule.when.map(|condition| format!("the {rule} does not hold {}", unmet(condition)))
        });
        // What lapsed is the reason, and that it holds again the remedy.
        let why = match lapsed {
            Some(lapsed) if *ground == Ground::NoRule => lapsed,
            Some(lapsed) => format!("{ground}; {lapsed}"),
            None => match self.remedy_text() {
                Some(remedy) => format!("{ground}; {remedy}"),
                None => ground.to_string(),
            },
        };
        format!("{what}: {why}")
    }

    fn remedy_text(&self) -> Option<String> {
        Some(match (self.remedy.as_ref()?, &self.because.ground) {
            (Remedy::Add(rule), _) => format!("the rule `{rule}` would allow it"),
            (Remedy::Change(pinned), Ground::Pinned(_)) => match pinned.scope {
                RuleScope::Builtin => "what haft itself denies no rule allows".to_owned(),
                RuleScope::Agent => {
                    "what an agent's file denies no answer and no rule elsewhere allows".to_owned()
                }
                RuleScope::Preset
                | RuleScope::Manifest
                | RuleScope::Project
                | RuleScope::Session => {
                    "what the manifest denies only the manifest can allow".to_owned()
                }
            },
            (Remedy::Change(held), Ground::Rule(decided))
                if held.scope == RuleScope::Agent && decided.scope == RuleScope::Agent =>
            {
                "it asks every time, until the agent's file says otherwise".to_owned()
            }
            (Remedy::Change(held), Ground::Rule(_) | Ground::NoRule)
                if held.scope == RuleScope::Agent =>
            {
                format!("whatever else is allowed, the {held} stands")
            }
            (Remedy::Change(ScopedRule { scope, rule }), Ground::Rule(decided))
                if *scope == decided.scope && *rule == decided.rule =>
            {
                "that rule would have to change".to_owned()
            }
            (Remedy::Change(_), Ground::MayContain(_)) => {
                "while that rule stands, no added rule allows it".to_owned()
            }
            (Remedy::Change(_), Ground::MayReach(_)) => {
                "while that rule stands, no added rule allows it: name the files that are meant"
                    .to_owned()
            }
            (Remedy::Change(changed), Ground::Rule(_) | Ground::NoRule) => {
                let what = match self.because.access {
                    Some(Canonical::Read { .. } | Canonical::Write { .. }) => "something beneath",
                    Some(
                        Canonical::Net { .. } | Canonical::Shell { .. } | Canonical::Named { .. },
                    )
                    | None => "part of the command",
                };
                format!("the {changed} would have to change, since it may match {what}")
            }
        })
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) | Self::Pinned(rule) => write!(f, "the {rule} decides"),
            Self::MayContain(rule) => {
                write!(f, "its commands are not known, and the {rule} may match one of them")
            }
            Self::MayReach(rule) => {
                write!(f, "it reaches all beneath, and the {rule} may match something there")
            }
            Self::NoRule => f.write_str("no rule matches, and then the answer is ask"),
        }
    }
}

/// Says of a condition that it is not met.
fn unmet(condition: Condition) -> &'static str {
    match condition {
        Condition::Sandboxed => {
            "while commands are not fully confined, as with --unsafe-no-sandbox or --allow-network (see haft doctor)"
        }
    }
}

/// Returns the narrowest pattern that a rule can use to allow the access.
pub(crate) fn allowing_pattern(subject: Subject<'_>) -> String {
    match subject {
        Subject::Path(path) => escape_path(path.relative.as_ref().unwrap_or(&path.absolute)),
        Subject::Command(Command::Argv(argv)) => allowing_command(argv),
        Subject::Command(Command::Unknown(_)) | Subject::Nothing => "*".to_owned(),
        Subject::Host(host) => normal_host(host),
        Subject::Name(name) => escape(name),
    }
}

fn allowing_command(argv: &[String]) -> String {
    let spelled = argv.iter().take_while(|argument| !argument.is_empty());
    let words: Vec<String> = spelled.map(|argument| escape(argument)).collect();
    let pattern = words.join(" ");
    match words.first() {
        None => "*".to_owned(),
        Some(program) if pattern.len() > SUGGESTION_BYTES_MAX => format!("{program} *"),
        // An empty argument cannot be spelled; whatever stands from there on is left open.
        Some(_) if words.len() < argv.len() => format!("{pattern} *"),
        Some(_) => pattern,
    }
}
