//! Dangerous tools run only when the user named them, or says yes when asked. This comes before the call and beside the
//! rules: a rule that allows a tool does not mean that a plan, which a model may have written, was to use it.

use std::collections::BTreeMap;

use haft::{Ask, AskAnswer};
use haft_contract::{Contract, ErrorCode, Refusal, RefusalGrounds, RefusalSource, Remedy, ToolId};
use tokio::sync::{Mutex, OnceCell};

use super::options::{AllowedDangerousTools, DangerousToolAsker};
use crate::checked::CheckedPlan;

/// Bytes of an input that a question shows.
const ASKED_INPUT_BYTES: usize = 4_096;

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
    pub(super) contract: &'a Contract,
    pub(super) call_id: String,
    pub(super) input: String,
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

    /// Returns whether the tool may be called, or why not.
    pub(super) async fn decide(&self, asked: DangerousToolCall<'_>) -> Result<(), Refusal> {
        let Some(answer) = self.answers.get(&asked.contract.id) else { return Ok(()) };
        if self.allow.allows(&asked.contract.id) {
            return Ok(());
        }
        answer.get_or_init(|| self.ask(asked)).await.clone()
    }

    async fn ask(&self, asked: DangerousToolCall<'_>) -> Result<(), Refusal> {
        let tool = &asked.contract.id;
        let refused = |why: &str| {
            RefusalGrounds::new(RefusalSource::DangerousTool)
                .with_remedy(Remedy::AllowTool(tool.clone()))
                .into_refusal(
                    ErrorCode::PermissionDenied,
                    format!("{tool} is dangerous, and {why}"),
                )
        };
        let Some(asking) = self.asking.as_ref().filter(|asking| asking.asker.can_ask()) else {
            return Err(refused("the user did not name it"));
        };
        let _turn =
            if asking.asker.asks_one_at_a_time() { Some(self.turn.lock().await) } else { None };
        let end = asked.input.floor_char_boundary(ASKED_INPUT_BYTES);
        let input = match asked.input.get(..end) {
            Some(beginning) if end < asked.input.len() => format!("{beginning}…"),
            _ => asked.input,
        };
        let question = Ask {
            id: String::new(),
            call_id: asked.call_id,
            driver_call_id: None,
            tool: tool.clone(),
            input,
            accesses: Vec::new(),
            reasons: vec![format!(
                "the plan calls {tool}, which is dangerous; the answer holds for all its calls in this run"
            )],
            always_rules: Vec::new(),
            exact_rules: Vec::new(),
            connection: asking.session.clone(),
            root: asking.root.clone(),
        };
        match asking.asker.ask(question).await {
            AskAnswer::AllowOnce | AskAnswer::AllowForSession | AskAnswer::AllowForProject => {
                Ok(())
            }
            AskAnswer::Unanswered => Err(refused("no person answered whether it may run")),
            // It was rejected; and whatever else an answer may come to mean, it is no yes.
            _ => Err(refused("the user rejected it")),
        }
    }
}
