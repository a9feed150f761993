//! One turn: the model is asked, the calls that it asks for are made, and it is asked again, until it has said all or
//! something stops it. What an answer is, how calls are made and how a conversation is shortened is done by the modules of
//! these names.

use std::sync::Arc;

use haft_journal::{
    MessageFinish, MessageKind, MessageRole, SessionDurability, SessionMessage, SessionRow,
    SessionStatus,
};
use haft_model::{ModelError, ModelRequest, ModelUsage, ToolOffer};
use tokio_util::sync::CancellationToken;

use crate::abandon;
use crate::compaction;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::incoming_answer::{IncomingAnswer, ReceivedAnswer};
use crate::limits::{BROKEN_ANSWERS_MAX, TOLD_MAX};
use crate::prompt::system_prompt;
use crate::session_context::AgentSessionContext;
use crate::session_log::SessionLog;
use crate::subagent_notice::subagent_notice;
use crate::tool_calls::{self, OpenCallSelection};
use crate::transcript::{TranscriptEntry, model_messages};

/// What a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnPrompt {
    /// A person says something. Calls that a process which was killed had not begun are not made any more.
    Message(String),
    /// The turn that was not finished is gone on with, or the model is told what came of subagents in the background. Where
    /// there is nothing to go on with, the last answer is the answer.
    Continue,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent has said all.
    Done {
        /// The last thing that it said.
        text: String,
    },
    /// It was told to stop.
    Aborted,
    /// The agent has answered as often as it may in one turn. It can be gone on with.
    StepsSpent,
    /// The answer reached its greatest length. It can be gone on with.
    OutputCut,
    /// The model, or a filter around it, would not answer.
    Refused {
        /// Why.
        reason: String,
    },
}

/// Has one turn in a chat, and leaves its row as it is then.
pub(crate) async fn run_turn(
    core: &Arc<AgentSessionContext>,
    row: &mut SessionRow,
    prompt: TurnPrompt,
    stop: CancellationToken,
) -> Result<TurnEnd, AgentError> {
    core.notify_observer(AgentEventKind::TurnStarted);
    let mut usage = ModelUsage::default();
    let end = match SessionLog::load(core, row.clone()).await {
        Err(err) => Err(err),
        Ok(ledger) => {
            let mut turn = AgentTurn {
                log: ledger,
                stop,
                usage: ModelUsage::default(),
                broken_answers: 0,
                failed_message: None,
            };
            let end = turn.run(prompt).await;
            let end = turn.record_end(end).await;
            usage = turn.usage;
            *row = turn.log.row;
            end
        }
    };
    core.notify_observer(turn_ended_event(&end, usage));
    end
}

fn turn_ended_event(end: &Result<TurnEnd, AgentError>, usage: ModelUsage) -> AgentEventKind {
    let (end, error) = match end {
        Ok(TurnEnd::Done { .. }) => ("done", None),
        Ok(TurnEnd::Aborted) => ("aborted", None),
        Ok(TurnEnd::StepsSpent) => ("steps_spent", None),
        Ok(TurnEnd::OutputCut) => ("output_cut", None),
        Ok(TurnEnd::Refused { reason }) => ("refused", Some(reason.clone())),
        Err(err) => ("failed", Some(err.to_string())),
    };
    AgentEventKind::TurnEnded { end, error, usage }
}

struct AgentTurn {
    log: SessionLog,
    stop: CancellationToken,
    usage: ModelUsage,
    /// Answers in a row that broke off.
    broken_answers: u32,
    /// The answer of nothing that the turn fails with.
    failed_message: Option<SessionMessage>,
}

/// What follows a step.
enum StepResult {
    Continue,
    End(TurnEnd),
}

impl AgentTurn {
    async fn run(&mut self, prompt: TurnPrompt) -> Result<TurnEnd, AgentError> {
        self.log.set_status(SessionStatus::Running, SessionDurability::Ordered).await?;
        self.log.finish_interrupted_answer().await?;
        self.finish_interrupted_calls(&prompt).await?;
        if self.stop.is_cancelled() {
            if self.log.row.parent_id.is_some() {
                // Nobody goes on with a task that was stopped.
                abandon::answer_open_calls(&mut self.log).await?;
            }
            return Ok(TurnEnd::Aborted);
        }
        self.append_background_ends().await?;
        match prompt {
            TurnPrompt::Message(text) => {
                if self.log.row.parent_id.is_none() {
                    self.log.context.background.tree.reset_begun_count();
                }
                self.log.append_prompt(text).await?;
            }
            TurnPrompt::Continue => {
                // Subagents that are begun whenever one ends would keep an agent at work for ever.
                if self.notices_since_prompt() > TOLD_MAX {
                    return Ok(TurnEnd::StepsSpent);
                }
                if let Some(end) = self.continue_last_turn().await? {
                    return Ok(end);
                }
            }
        }
        self.run_steps().await
    }

    /// Makes the calls that a process left open which was killed, or takes down that they are not made.
    async fn finish_interrupted_calls(&mut self, prompt: &TurnPrompt) -> Result<(), AgentError> {
        let which = match prompt {
            TurnPrompt::Message(_) => OpenCallSelection::InterruptedBegun,
            TurnPrompt::Continue => OpenCallSelection::Interrupted,
        };
        for message in 0..self.log.entries.len() {
            if self.log.entries.get(message).is_some_and(TranscriptEntry::has_open_calls) {
                tool_calls::make_open_calls(&mut self.log, message, which, &self.stop).await?;
            }
        }
        Ok(())
    }

    /// Tells the model what there is to go on with, or returns how the last turn ended.
    async fn continue_last_turn(&mut self) -> Result<Option<TurnEnd>, AgentError> {
        let is_spoken = |entry: &&TranscriptEntry| {
            entry.message.kind != MessageKind::Summary && !entry.is_failed_answer()
        };
        let Some(last) = self.log.entries.iter().rev().find(is_spoken) else {
            return Ok(Some(TurnEnd::Done { text: String::new() }));
        };
        let notice = match (last.message.role, last.message.finish) {
            (MessageRole::User, _) | (MessageRole::Assistant, Some(MessageFinish::ToolCalls)) => {
                return Ok(None);
            }
            (MessageRole::Assistant, Some(MessageFinish::Stop | MessageFinish::Other)) => {
                return Ok(Some(TurnEnd::Done { text: last.text() }));
            }
            (MessageRole::Assistant, Some(MessageFinish::Length)) => {
                "Your last answer was cut because it reached its greatest length. Go on where it stops."
            }
            (MessageRole::Assistant, Some(MessageFinish::Interrupted) | None) => {
                "haft ended while your last answer came, so it is not whole, and none of its calls was made. Go on."
            }
            (MessageRole::Assistant, Some(MessageFinish::Aborted)) => {
                "Your last answer was stopped, and is now to be gone on with. Calls that say so were not made."
            }
            (MessageRole::Assistant, Some(MessageFinish::Error)) => BROKE_OFF,
        };
        self.log.append_notice(notice.to_owned(), Vec::new()).await?;
        Ok(None)
    }

    /// Tells the model what came of subagents in the background.
    async fn append_background_ends(&mut self) -> Result<(), AgentError> {
        let children = Arc::clone(&self.log.context.background);
        while let Some(end) = children.first_end() {
            let told = subagent_notice(&self.log.context, &end).await?;
            self.log.append_notice(told.text, told.rows).await?;
            children.remove_first_end();
        }
        Ok(())
    }

    /// Returns how often the agent was told something since somebody last said something.
    fn notices_since_prompt(&self) -> usize {
        let since = self.log.entries.iter().rev().take_while(|entry| !entry.is_prompt());
        since.filter(|entry| entry.message.kind == MessageKind::Notice).count()
    }

    async fn run_steps(&mut self) -> Result<TurnEnd, AgentError> {
        let core = Arc::clone(&self.log.context);
        let bound = core.host.parts.bounds.steps;
        let steps_max = core.agent.max_steps.map_or(bound, |steps| steps.min(bound));
        let system = system_prompt(&core.agent, &core.host.parts.prompt_context);
        for step in 1..=steps_max {
            if self.stop.is_cancelled() {
                return Ok(TurnEnd::Aborted);
            }
            if step > 1 {
                self.append_background_ends().await?;
            }
            match self.run_step(step, &system).await? {
                StepResult::Continue => {}
                StepResult::End(end) => return Ok(end),
            }
        }
        Ok(TurnEnd::StepsSpent)
    }

    /// Asks the model once, and makes the calls that it asks for.
    async fn run_step(&mut self, step: u32, system: &str) -> Result<StepResult, AgentError> {
        let mut was_shortened = false;
        loop {
            let tools = tool_offers(&self.log.context);
            if compaction::is_context_full(&self.log, system, &tools) && !was_shortened {
                was_shortened = true;
                self.compact_session().await?;
                if self.stop.is_cancelled() {
                    return Ok(StepResult::End(TurnEnd::Aborted));
                }
            }
            let request = self.model_request(system, tools);
            let core = Arc::clone(&self.log.context);
            let incoming = IncomingAnswer::new(&mut self.log);
            let message = incoming.message().id.clone();
            core.notify_observer(AgentEventKind::StepStarted { step, message });
            let received = incoming.receive(request, &self.stop).await?;
            if let Some(finish) = received.finish_if_incomplete() {
                core.notify_observer(AgentEventKind::StepEnded {
                    finish,
                    usage: ModelUsage::default(),
                });
            }
            if let ReceivedAnswer::Failed { error: ModelError::ContextTooLong { .. }, .. } =
                &received
                && !was_shortened
            {
                was_shortened = true;
                self.compact_session().await?;
                continue;
            }
            return self.handle_answer(received).await;
        }
    }

    async fn compact_session(&mut self) -> Result<(), AgentError> {
        match compaction::compact_session(&mut self.log, &self.stop).await {
            Ok(usage) => self.usage = self.usage.plus(usage),
            Err(err) => {
                self.failed_message = Some(self.log.failed_message(err.to_string()));
                return Err(err);
            }
        }
        Ok(())
    }

    fn model_request(&self, system: &str, tools: Vec<ToolOffer>) -> ModelRequest {
        ModelRequest {
            system: Some(system.to_owned()),
            messages: model_messages(&self.log.visible_entries(), &self.log.context.model_name),
            tools,
            max_output_tokens: self.log.context.host.parts.bounds.output_tokens,
            cancellation: self.stop.child_token(),
            ..ModelRequest::default()
        }
    }

    async fn handle_answer(&mut self, received: ReceivedAnswer) -> Result<StepResult, AgentError> {
        match received {
            ReceivedAnswer::Stopped => Ok(StepResult::End(TurnEnd::Aborted)),
            ReceivedAnswer::Failed {
                error: ModelError::Refused { detail },
                failed_message: unsaid,
            } => {
                self.failed_message = unsaid.map(|message| *message);
                Ok(StepResult::End(TurnEnd::Refused { reason: detail }))
            }
            ReceivedAnswer::Failed { error, failed_message: unsaid } => {
                self.broken_answers += 1;
                // What failed before anything came was tried again where that helps.
                let is_final = unsaid.is_some() || !error.is_passing();
                if is_final || self.broken_answers > BROKEN_ANSWERS_MAX {
                    self.failed_message = unsaid.map(|message| *message);
                    return Err(error.into());
                }
                self.log.append_notice(BROKE_OFF.to_owned(), Vec::new()).await?;
                Ok(StepResult::Continue)
            }
            ReceivedAnswer::Whole { finish, usage } => {
                self.broken_answers = 0;
                self.usage = self.usage.plus(usage);
                let end = self.handle_finish(finish).await;
                self.log.context.notify_observer(AgentEventKind::StepEnded { finish, usage });
                end
            }
        }
    }

    async fn handle_finish(&mut self, finish: MessageFinish) -> Result<StepResult, AgentError> {
        match finish {
            MessageFinish::ToolCalls => {
                let last = self.log.entries.len().saturating_sub(1);
                tool_calls::make_open_calls(
                    &mut self.log,
                    last,
                    OpenCallSelection::New,
                    &self.stop,
                )
                .await?;
                if self.stop.is_cancelled() {
                    return Ok(StepResult::End(TurnEnd::Aborted));
                }
                Ok(StepResult::Continue)
            }
            MessageFinish::Length => Ok(StepResult::End(TurnEnd::OutputCut)),
            MessageFinish::Stop
            | MessageFinish::Other
            | MessageFinish::Interrupted
            | MessageFinish::Aborted
            | MessageFinish::Error => {
                let text = self.log.entries.last().map(TranscriptEntry::text).unwrap_or_default();
                Ok(StepResult::End(TurnEnd::Done { text }))
            }
        }
    }

    /// Records how the turn ended. Of a turn that failed that may fail, too; what failed first is what is said.
    async fn record_end(
        &mut self,
        end: Result<TurnEnd, AgentError>,
    ) -> Result<TurnEnd, AgentError> {
        if matches!(end, Ok(TurnEnd::Aborted)) {
            self.log.context.background.stop_all();
        }
        let is_task = self.log.row.parent_id.is_some();
        let status = match &end {
            _ if !is_task => SessionStatus::Idle,
            // A turn follows for what its own subagents come to, and whoever goes on with it has to have that one.
            Ok(TurnEnd::Done { .. }) if self.log.context.background.has_any() => {
                SessionStatus::Running
            }
            Ok(TurnEnd::Done { .. }) => SessionStatus::Completed,
            Ok(TurnEnd::Aborted) => SessionStatus::Aborted,
            Ok(TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) | Err(_) => {
                SessionStatus::Failed
            }
        };
        let recorded = match self.failed_message.take() {
            Some(message) => self.log.set_status_with_failure(status, message).await,
            None => self.log.set_status(status, SessionDurability::Durable).await,
        };
        end.and_then(|end| recorded.map(|()| end))
    }
}

/// What the model is told of an answer that broke off.
const BROKE_OFF: &str =
    "Your last answer broke off before its end, and none of its calls was made. Go on.";

/// Returns the tools that the agent may call, as a model is told of them.
fn tool_offers(core: &AgentSessionContext) -> Vec<ToolOffer> {
    let listed = core.connection.listed_tools().into_iter();
    let offer = |contract: Arc<haft_contract::Contract>| ToolOffer {
        name: contract.id.wire_name(),
        description: contract.listed_description().into_owned(),
        parameters: contract.parameters.clone(),
    };
    listed.map(offer).collect()
}
