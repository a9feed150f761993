//! Dangerous tools run only when the user named them, or says yes when asked. This comes before the call and beside the
//! rules: a rule that allows a tool does not mean that a plan, which a model may have written, was to use it.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft::{Run, RunError, TaskAttempt, ToolAsk, ToolAskEnd};
use haft_contract::{Contract, ErrorCode, Refusal, RefusalGrounds, RefusalSource, Remedy, ToolId};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use super::options::{AllowedDangerousTools, DangerousToolAsker};
use crate::checked::CheckedPlan;

/// The decisions about the dangerous tools of one plan, each made at the first call of the tool.
pub(super) struct DangerousToolDecisions {
    allow: AllowedDangerousTools,
    asking: Option<DangerousToolAsker>,
    /// The answer for each dangerous tool, or the reason of its refusal. Its first node asks while the others wait.
    answers: BTreeMap<ToolId, OnceCell<Result<(), Refusal>>>,
    /// Held by the tool whose question is before the person.
    turn: Mutex<()>,
}

/// The call that a question is about.
pub(super) struct DangerousToolCall<'a> {
    pub(super) run: &'a Run,
    pub(super) contract: &'a Contract,
    pub(super) task_attempt: &'a TaskAttempt,
    pub(super) seq: u32,
    pub(super) input: Value,
}

impl DangerousToolDecisions {
    pub(super) fn new(
        plan: &CheckedPlan,
        allow: AllowedDangerousTools,
        asking: Option<DangerousToolAsker>,
    ) -> Self {
        let dangerous = plan.dangerous_tools().into_iter();
        let answers = dangerous.map(|contract| (contract.id.clone(), OnceCell::new())).collect();
        Self { allow, asking, answers, turn: Mutex::default() }
    }

    /// Returns whether the tool may be called, or why not. The error says that the journal failed.
    pub(super) async fn decide(
        &self,
        asked: DangerousToolCall<'_>,
    ) -> Result<Result<(), Refusal>, RunError> {
        let Some(answer) = self.answers.get(&asked.contract.id) else { return Ok(Ok(())) };
        if self.allow.allows(&asked.contract.id) {
            return Ok(Ok(()));
        }
        answer.get_or_try_init(|| self.ask(asked)).await.cloned()
    }

    async fn ask(&self, asked: DangerousToolCall<'_>) -> Result<Result<(), Refusal>, RunError> {
        let tool = &asked.contract.id;
        let refused = |why: &str| {
            RefusalGrounds::new(RefusalSource::DangerousTool)
                .with_remedy(Remedy::AllowTool(tool.clone()))
                .into_refusal(
                    ErrorCode::PermissionDenied,
                    format!("{tool} is dangerous, and {why}"),
                )
        };
        let asking = self.asking.as_ref().filter(|asking| asking.asker.is_answerable());
        let Some(asking) = asking else { return Ok(Err(refused("the user did not name it"))) };
        let _turn =
            if asking.asker.asks_one_at_a_time() { Some(self.turn.lock().await) } else { None };
        let question = ToolAsk {
            task_attempt: asked.task_attempt.clone(),
            seq: asked.seq,
            tool: tool.clone(),
            input: asked.input,
            reason: format!(
                "the plan calls {tool}, which is dangerous; the answer holds for all its calls in this run"
            ),
            asker: Arc::clone(&asking.asker),
            connection: asking.session.clone(),
            root: asking.root.clone(),
        };
        Ok(match asked.run.ask_about_tool(question).await? {
            ToolAskEnd::Allowed => Ok(()),
            ToolAskEnd::Rejected(None) => Err(refused("the user rejected it")),
            ToolAskEnd::Rejected(Some(words)) => {
                Err(refused(&format!("the user rejected it and says: {words}")))
            }
            ToolAskEnd::Unanswered(why) => Err(refused(&why)),
        })
    }
}
