//! Why a call was not allowed, and what would lift that, as values. The sentences of a reader's own world, such as a command
//! to paste, are written by the front end that the reader uses.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, ToolId};

/// Why a call was refused or is in doubt, and which changes would lift that.
///
/// ```
/// use haft_contract::{ErrorCode, Refusal, RefusalSource, Remedy};
///
/// let refusal = Refusal {
///     code: ErrorCode::CapabilityDenied,
///     decided_by: RefusalSource::Capabilities,
///     because: "host docs.rs is not granted to this call".to_owned(),
///     remedies: vec![Remedy::AllowHost("docs.rs".to_owned())],
/// };
/// assert_eq!(
///     serde_json::to_value(&refusal).unwrap()["remedies"],
///     serde_json::json!([{ "allow_host": "docs.rs" }])
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable code.
    pub code: ErrorCode,
    /// Which part of haft, or which person, decided it.
    pub decided_by: RefusalSource,
    /// The reason, in plain words for any reader.
    pub because: String,
    /// The changes that would lift the refusal. Remedies of one kind are needed together; different kinds are alternatives. Empty
    /// if nothing would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
}

/// The grounds of a refusal, beside its code and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalGrounds {
    /// Which part of haft, or which person, decided it.
    pub decided_by: RefusalSource,
    /// The changes that would lift the refusal; see [`Refusal::remedies`].
    pub remedies: Vec<Remedy>,
}

/// The part of haft, or the person, that decided that a call is refused or in doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalSource {
    /// The contract: there is no such tool, or the input does not fit it.
    Contract,
    /// The capabilities of the tool or of the agent.
    Capabilities,
    /// A permission rule.
    Rule(DecidingRule),
    /// The person who was asked.
    Person,
    /// No person could be asked.
    NoAnswer,
    /// A watchdog.
    Watchdog,
    /// A path that neither tools nor commands change.
    ProtectedPath,
    /// A path that neither tools nor commands see.
    HiddenPath,
    /// The directories that calls work in.
    Roots,
    /// The list of programs and words that are refused while the network is off.
    NetworkGuard,
    /// The confinement of processes, which cannot be enforced here.
    Sandbox,
    /// The mark of a tool as dangerous, which has to be allowed by name.
    DangerousTool,
    /// A server that wants a login.
    Server,
    /// The record of earlier calls.
    Journal,
    /// The caller, who cancelled the call before it began.
    Caller,
}

/// The permission rule that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidingRule {
    /// Where the rule comes from, such as `manifest`.
    pub scope: String,
    /// The tool or capability that it is about.
    pub permission: String,
    /// The paths, commands or hosts that it picks.
    pub pattern: String,
    /// The action: `allow`, `ask` or `deny`.
    pub action: String,
}

/// One change that would lift a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The user allows all that the tool does.
    AllowTool(ToolId),
    /// The user allows the host.
    AllowHost(String),
    /// The user adds a rule that allows the access.
    AddRule(AllowingRule),
    /// The user takes this pattern off the protected paths.
    Unprotect(String),
    /// A person finds out whether the call of this name happened, and settles it.
    Settle(String),
    /// The user logs in to the server of this name.
    Login(String),
    /// The user trusts the file of settings that names what was called.
    Trust,
    /// The caller names the files that are meant, in place of these directories.
    NameFiles(Vec<String>),
    /// The user resumes the run of this name where a person can answer.
    AnswerQuestion(String),
}

/// A permission rule that allows what its pattern picks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowingRule {
    /// The tool or capability that the rule is about.
    pub permission: String,
    /// The paths, commands or hosts that it picks.
    pub pattern: String,
}

impl Refusal {
    /// Returns what a model can do about the refusal, in at most two sentences; nothing if the reason says all.
    ///
    /// If only a person can lift the refusal, the advice tells the model what to tell the user. `user_step` words a remedy as one
    /// thing that the user does.
    pub fn advice_for_model(&self, user_step: impl Fn(&Remedy) -> String) -> Option<String> {
        // Of the alternatives, a model gets the first.
        let first = self.remedies.first().map(std::mem::discriminant);
        let steps = self.remedies.iter().filter(|it| Some(std::mem::discriminant(*it)) == first);
        let steps: Vec<String> = steps.map(user_step).collect();
        let steps = steps.join(", and ");
        match self.remedies.first() {
            Some(Remedy::NameFiles(paths)) => {
                let paths = paths.join(", ");
                return Some(format!(
                    "Make the call again and name the files, in place of {paths}."
                ));
            }
            Some(Remedy::Settle(_)) => {
                return Some(format!(
                    "Do not make it again. Tell the user: find out whether it happened, then {steps}."
                ));
            }
            Some(
                Remedy::AllowTool(_)
                | Remedy::AllowHost(_)
                | Remedy::AddRule(_)
                | Remedy::Login(_)
                | Remedy::AnswerQuestion(_)
                | Remedy::Trust,
            ) => return Some(format!("Go on without it, or tell the user: {steps}.")),
            // The reason asks to leave the path, or to have the user change it.
            Some(Remedy::Unprotect(_)) | None => {}
        }
        let advice = match &self.decided_by {
            RefusalSource::Capabilities => {
                "Go on without it, or tell the user what you need and why."
            }
            RefusalSource::Rule(_) => {
                "Go on without it, or tell the user which rule is in the way."
            }
            RefusalSource::Person => "Do not try it in another way. Ask the user how to go on.",
            RefusalSource::NoAnswer | RefusalSource::Watchdog => {
                "Go on without it, or tell the user to do it."
            }
            RefusalSource::NetworkGuard => {
                "Work offline, or tell the user which host you need and why."
            }
            RefusalSource::DangerousTool => "Go on without it, or ask the user to allow the tool.",
            // The reason of these says what to do.
            RefusalSource::Contract
            | RefusalSource::ProtectedPath
            | RefusalSource::HiddenPath
            | RefusalSource::Roots
            | RefusalSource::Sandbox
            | RefusalSource::Server
            | RefusalSource::Journal
            | RefusalSource::Caller => return None,
        };
        Some(advice.to_owned())
    }
}

impl RefusalSource {
    /// Returns what decides a refusal of this code, or `None` if the code is of a call that failed in another way.
    pub fn of_code(code: ErrorCode) -> Option<Self> {
        match code {
            ErrorCode::CapabilityDenied => Some(Self::Capabilities),
            ErrorCode::PermissionDenied => Some(Self::NoAnswer),
            ErrorCode::WatchdogDenied => Some(Self::Watchdog),
            ErrorCode::NetworkDisabled | ErrorCode::GitRemoteDisabled => Some(Self::NetworkGuard),
            ErrorCode::PathEscape => Some(Self::Roots),
            ErrorCode::SandboxUnavailable => Some(Self::Sandbox),
            ErrorCode::InDoubt => Some(Self::Journal),
            _ => None,
        }
    }
}

impl RefusalGrounds {
    /// Returns grounds that no change lifts.
    pub fn new(decided_by: RefusalSource) -> Self {
        Self { decided_by, remedies: Vec::new() }
    }

    /// Returns the grounds with a remedy.
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// Returns the refusal that rests on these grounds.
    pub fn into_refusal(self, code: ErrorCode, because: String) -> Refusal {
        Refusal { code, decided_by: self.decided_by, because, remedies: self.remedies }
    }
}

impl fmt::Display for Remedy {
    /// Writes the change as a request in plain words. A front end that has a command or a button for it says so instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllowTool(tool) => write!(f, "allow all that the tool {tool} does"),
            Self::AllowHost(host) => write!(f, "allow the host {host}"),
            Self::AddRule(AllowingRule { permission, pattern }) => {
                write!(f, "add a permission rule that allows {permission} for {pattern:?}")
            }
            Self::Trust => f.write_str("trust the settings that name it"),
            Self::Unprotect(pattern) => write!(f, "take {pattern:?} off the protected paths"),
            Self::Settle(call) => {
                write!(f, "settle call {call}")
            }
            Self::Login(server) => write!(f, "log in to the server {server}"),
            Self::NameFiles(paths) => {
                write!(f, "name the files that are meant, in place of {}", paths.join(", "))
            }
            Self::AnswerQuestion(run) => {
                write!(f, "resume run {run} where a person can answer its question")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_read_back_as_it_was_written() {
        let rule = DecidingRule {
            scope: "manifest".to_owned(),
            permission: "bash".to_owned(),
            pattern: "rm *".to_owned(),
            action: "deny".to_owned(),
        };
        let of_rule = Refusal {
            code: ErrorCode::PermissionDenied,
            decided_by: RefusalSource::Rule(rule),
            because: "bash is denied".to_owned(),
            remedies: vec![
                Remedy::AddRule(AllowingRule {
                    permission: "bash".to_owned(),
                    pattern: "rm a".to_owned(),
                }),
                Remedy::NameFiles(vec!["src".to_owned()]),
            ],
        };
        let written = json!({
            "code": "PERMISSION_DENIED",
            "decided_by": {"rule": {"scope": "manifest", "permission": "bash", "pattern": "rm *", "action": "deny"}},
            "because": "bash is denied",
            "remedies": [
                {"add_rule": {"permission": "bash", "pattern": "rm a"}},
                {"name_files": ["src"]},
            ],
        });
        assert_eq!(serde_json::to_value(&of_rule).unwrap(), written);
        assert_eq!(serde_json::from_value::<Refusal>(written).unwrap(), of_rule);
        let in_doubt = RefusalGrounds::new(RefusalSource::Journal)
            .with_remedy(Remedy::Settle("r/n/0/1/1".to_owned()))
            .into_refusal(ErrorCode::InDoubt, "its end is unknown".to_owned());
        let written = json!({
            "code": "IN_DOUBT",
            "decided_by": "journal",
            "because": "its end is unknown",
            "remedies": [{"settle": "r/n/0/1/1"}],
        });
        assert_eq!(serde_json::to_value(&in_doubt).unwrap(), written);
    }
}
