//! The stages that judge a call, in their order, each with its result in words. A stage behind the one that refuses the call
//! is not reached.

use haft::CallExplanation;
use haft_contract::{Refusal, RefusalSource};
use haft_policy::RuleAction;
use haft_sandbox::Enforcement;
use serde::Serialize;

/// The stages, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum JudgingStage {
    Input,
    Capabilities,
    Permissions,
    Watchdogs,
    Person,
    Sandbox,
}

/// The result of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum StageResult {
    Passed,
    Asked,
    Refused,
    NotReached,
}

/// A stage with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct JudgingStageReport {
    stage: JudgingStage,
    result: StageResult,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<String>,
}

impl JudgingStage {
    const ALL: [Self; 6] = [
        Self::Input,
        Self::Capabilities,
        Self::Permissions,
        Self::Watchdogs,
        Self::Person,
        Self::Sandbox,
    ];

    /// Returns the stage that a refusal comes from.
    fn of(refusal: &Refusal) -> Self {
        match refusal.decided_by {
            RefusalSource::Contract => Self::Input,
            RefusalSource::Capabilities
            | RefusalSource::Roots
            | RefusalSource::ProtectedPath
            | RefusalSource::HiddenPath
            | RefusalSource::Server => Self::Capabilities,
            RefusalSource::Rule(_)
            | RefusalSource::NetworkGuard
            | RefusalSource::DangerousTool
            | RefusalSource::NoAnswer => Self::Permissions,
            RefusalSource::Watchdog => Self::Watchdogs,
            RefusalSource::Person | RefusalSource::Journal | RefusalSource::Caller => Self::Person,
            RefusalSource::Sandbox => Self::Sandbox,
        }
    }

    /// Returns the name as it is shown.
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Capabilities => "capabilities",
            Self::Permissions => "permissions",
            Self::Watchdogs => "watchdogs",
            Self::Person => "person",
            Self::Sandbox => "sandbox",
        }
    }
}

/// Returns all stages with what they make of a call. `enforcement` is what holds around commands.
pub(super) fn stages(
    explanation: &CallExplanation,
    enforcement: Option<Enforcement>,
) -> Vec<JudgingStageReport> {
    let refused = explanation.refusal.as_ref().map(JudgingStage::of);
    let report = |stage: JudgingStage| {
        let (result, lines) = match refused {
            Some(refused) if stage > refused => (StageResult::NotReached, Vec::new()),
            Some(refused) if stage == refused => {
                let refusal = explanation.refusal.iter();
                let reason = refusal.map(|it| format!("{}: {}", it.code.as_str(), it.because));
                let accesses = access_lines(stage, explanation);
                let is_said = explanation.refusal.as_ref().is_some_and(|refusal| {
                    explanation.accesses.iter().any(|access| access.text == refusal.because)
                });
                // The rule that decided is named with its access.
                let reason = reason.filter(|_| !(is_said && stage == JudgingStage::Permissions));
                (StageResult::Refused, accesses.into_iter().chain(reason).collect())
            }
            Some(_) | None => passed(stage, explanation, enforcement),
        };
        JudgingStageReport { stage, result, lines }
    };
    JudgingStage::ALL.into_iter().map(report).collect()
}

/// Returns the decision about each access, for the stage that makes it.
fn access_lines(stage: JudgingStage, explanation: &CallExplanation) -> Vec<String> {
    if stage != JudgingStage::Permissions {
        return Vec::new();
    }
    let line = |it: &haft::AccessExplanation| format!("{:<5} {}", it.action.to_string(), it.text);
    explanation.accesses.iter().map(line).collect()
}

/// Returns the result of a stage that does not refuse the call.
fn passed(
    stage: JudgingStage,
    explanation: &CallExplanation,
    enforcement: Option<Enforcement>,
) -> (StageResult, Vec<String>) {
    let asks_rule = explanation.accesses.iter().any(|it| it.action == RuleAction::Ask);
    // The accesses show what rules ask about. The other reasons come from watchdogs.
    let is_of_watchdog =
        |reason: &&String| explanation.accesses.iter().all(|access| access.text != **reason);
    let of_watchdogs: Vec<String> =
        explanation.reasons.iter().filter(is_of_watchdog).cloned().collect();
    match stage {
        JudgingStage::Input => {
            (StageResult::Passed, vec![format!("it fits the schema of {}", explanation.tool)])
        }
        JudgingStage::Capabilities => {
            let line = "all that it touches is inside what the tool and the agent may reach";
            (StageResult::Passed, vec![line.to_owned()])
        }
        JudgingStage::Permissions => {
            let result = if asks_rule { StageResult::Asked } else { StageResult::Passed };
            (result, access_lines(stage, explanation))
        }
        JudgingStage::Watchdogs if of_watchdogs.is_empty() => (StageResult::Passed, Vec::new()),
        JudgingStage::Watchdogs => (StageResult::Asked, of_watchdogs),
        JudgingStage::Person => match explanation.reasons.as_slice() {
            [] => (StageResult::Passed, vec!["no person needs to be asked".to_owned()]),
            _ => (StageResult::Asked, vec!["one question, with all reasons above".to_owned()]),
        },
        JudgingStage::Sandbox => {
            let line = match enforcement {
                None => "processes are not confined (unsafe_no_sandbox)",
                Some(held) if held.is_full() => "the kernel confines every process of the call",
                Some(_) => "the kernel confines processes in part: haft doctor",
            };
            (StageResult::Passed, vec![line.to_owned()])
        }
    }
}

impl JudgingStageReport {
    /// Returns the stage in lines, under its number.
    pub(super) fn text(&self, number: usize) -> String {
        let result = match self.result {
            StageResult::Passed => "passed",
            StageResult::Asked => "asks",
            StageResult::Refused => "refused",
            StageResult::NotReached => "not reached",
        };
        let lines: String = self.lines.iter().map(|line| format!("      {line}\n")).collect();
        format!("{number}  {:<14}{result}\n{lines}", self.stage.name())
    }
}
