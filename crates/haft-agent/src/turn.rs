//! One turn: the model is asked, haft makes the calls that the answer asks for, and the model is asked again. The turn ends
//! when the agent is done or something stops it. Other modules receive answers, make calls and compact sessions.

use std::ops::ControlFlow;
use std::sync::Arc;

use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, SessionDurability, SessionMessage,
    SessionRow, SessionStatus,
};
use haft_model::{ModelError, ModelRequest, ModelUsage, ToolOffer, UserMessage};
use tokio_util::sync::CancellationToken;

use crate::abandon;
use crate::compaction;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::incoming_answer::{IncomingAnswer, ReceivedAnswer};
use crate::limits::{BROKEN_ANSWERS_MAX, TOLD_MAX};
use crate::plan_exit::agreed_plan;
use crate::prompt::system_prompt;
use crate::session_context::AgentSessionContext;
use crate::session_log::SessionLog;
use crate::subagent_notice::subagent_notice;
use crate::tool_calls::{self, OpenCallSelection};
use crate::transcript::{TranscriptEntry, limit_images, model_messages};

/// The input that a turn begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnPrompt {
    /// A message from a person, with a text, images or both. If an earlier process was killed, haft drops the calls that it had
    /// not begun.
    Message(UserMessage),
    /// Resumes an unfinished turn, or reports ended background subagents to the model. If the last turn is finished, its
    /// answer is returned. If nothing was said yet, the answer is [`AgentError::NothingSaid`].
    Continue,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent is done.
    Done {
        /// The text of the agent's last answer.
        text: String,
    },
    /// The caller stopped the turn.
    Aborted,
    /// The agent reached its limit of steps. The turn can be resumed.
    StepsSpent,
    /// The answer reached the model's output limit. The turn can be resumed.
    OutputCut,
    /// The model, or a filter around it, refused to answer.
    Refused {
        /// The reason that the provider gave.
        reason: String,
    },
}

/// How a turn of one agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentTurnEnd {
    /// The turn is over.
    Ended(TurnEnd),
    /// A person agreed to this plan, and another agent carries it out in the same session.
    HandedOver {
        /// The plan.
        plan: String,
    },
}

/// Runs one turn in a session and updates the session's row.
///
/// The first event of the turn follows once its prompt is on disk: a program that saw an event can resume the session.
pub(crate) async fn run_turn(
    context: &Arc<AgentSessionContext>,
    row: &mut SessionRow,
    prompt: TurnPrompt,
    stop: CancellationToken,
) -> Result<AgentTurnEnd, AgentError> {
    let mut usage = ModelUsage::default();
    let mut agreed_plan = None;
    let mut is_begun = false;
    let end = match SessionLog::load(context, row.clone()).await {
        Err(err) => Err(err),
        Ok(log) => {
            let mut turn = AgentTurn {
                log,
                stop,
                usage: ModelUsage::default(),
                is_begun: false,
                broken_answers: 0,
                failed_message: None,
                agreed_plan: None,
            };
            let end = turn.run(prompt).await;
            is_begun = turn.is_begun;
            // A turn that was stopped hands nothing over; the next one does.
            agreed_plan =
                turn.agreed_plan.take().filter(|_| matches!(end, Ok(TurnEnd::Done { .. })));
            if matches!(end, Ok(TurnEnd::Aborted)) {
                context.background.stop_all();
            }
            turn.log.row.status = match &end {
                _ if turn.log.row.parent_id.is_none() => SessionStatus::Idle,
                // Another turn will report the task's own subagents. If this process dies first, the next one must resume the task.
                Ok(TurnEnd::Done { .. }) if context.background.has_any() => SessionStatus::Running,
                Ok(TurnEnd::Done { .. }) => SessionStatus::Completed,
                Ok(TurnEnd::Aborted) => SessionStatus::Aborted,
                Ok(TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) | Err(_) => {
                    SessionStatus::Failed
                }
            };
            let records = vec![turn.log.row_record()];
            let recorded = match turn.failed_message {
                None => turn.log.record_rows(records, SessionDurability::Durable).await,
                Some(message) => {
                    let entry = TranscriptEntry { message, parts: Vec::new() };
                    turn.log.append_message(entry, records, SessionDurability::Durable).await
                }
            };
            usage = turn.usage;
            *row = turn.log.row;
            // If both failed, the first failure is the one to report.
            end.and_then(|end| recorded.map(|()| end))
        }
    };
    if !is_begun {
        context.notify_observer(AgentEventKind::TurnStarted);
    }
    let (name, error) = match &end {
        Ok(TurnEnd::Done { .. }) => ("done", None),
        Ok(TurnEnd::Aborted) => ("aborted", None),
        Ok(TurnEnd::StepsSpent) => ("steps_spent", None),
        Ok(TurnEnd::OutputCut) => ("output_cut", None),
        Ok(TurnEnd::Refused { reason }) => ("refused", Some(reason.clone())),
        Err(err) => ("failed", Some(err.to_string())),
    };
    context.notify_observer(AgentEventKind::TurnEnded { end: name, error, usage });
    end.map(|end| match agreed_plan {
        Some(plan) => AgentTurnEnd::HandedOver { plan },
        None => AgentTurnEnd::Ended(end),
    })
}

struct AgentTurn {
    log: SessionLog,
    stop: CancellationToken,
    usage: ModelUsage,
    /// Whether observers were notified that the turn began.
    is_begun: bool,
    /// The number of answers in a row that broke off.
    broken_answers: u32,
    /// The empty answer that records why the turn failed.
    failed_message: Option<SessionMessage>,
    /// The plan that a person agreed to hand over.
    agreed_plan: Option<String>,
}

impl AgentTurn {
    async fn run(&mut self, prompt: TurnPrompt) -> Result<TurnEnd, AgentError> {
        if prompt == TurnPrompt::Continue {
            self.notify_begun();
        }
        self.log.set_status(SessionStatus::Running, SessionDurability::Ordered).await?;
        self.log.finish_interrupted_answer().await?;
        let interrupted = match &prompt {
            TurnPrompt::Message(_) => OpenCallSelection::InterruptedBegun,
            TurnPrompt::Continue => OpenCallSelection::Interrupted,
        };
        for message in 0..self.log.entries.len() {
            if self.log.entries.get(message).is_some_and(TranscriptEntry::has_open_calls) {
                tool_calls::make_open_calls(&mut self.log, message, interrupted, &self.stop)
                    .await?;
            }
        }
        if self.stop.is_cancelled() {
            if self.log.row.parent_id.is_some() {
                // A stopped task is never resumed, so its calls need answers now.
                abandon::answer_open_calls(&mut self.log).await?;
            }
            return Ok(TurnEnd::Aborted);
        }
        self.append_background_ends().await?;
        match prompt {
            TurnPrompt::Message(message) => {
                if self.log.row.parent_id.is_none() {
                    self.log.context.background.tree.reset_begun_count();
                }
                self.log.append_prompt(message).await?;
                self.notify_begun();
            }
            TurnPrompt::Continue => {
                // An agent that begins a subagent each time one ends would otherwise never stop.
                let entries = self.log.entries.iter().rev();
                let since_prompt = entries.take_while(|entry| !entry.is_prompt());
                let is_notice =
                    |entry: &&TranscriptEntry| entry.message.kind == MessageKind::Notice;
                if since_prompt.filter(is_notice).count() > TOLD_MAX {
                    return Ok(TurnEnd::StepsSpent);
                }
                let is_spoken = |entry: &&TranscriptEntry| {
                    entry.message.kind != MessageKind::Summary && !entry.is_failed_answer()
                };
                let Some(last) = self.log.entries.iter().rev().find(is_spoken) else {
                    return Err(AgentError::NothingSaid(self.log.context.id.clone()));
                };
                // The process may have died between the agreement and the turn of the other agent.
                self.agreed_plan = self.find_agreed_plan(&last.parts);
                if self.agreed_plan.is_some() {
                    return Ok(TurnEnd::Done { text: last.text() });
                }
                let notice = match (last.message.role, last.message.finish) {
                    (MessageRole::User, _) | (_, Some(MessageFinish::ToolCalls)) => None,
                    (_, Some(MessageFinish::Stop | MessageFinish::Other)) => {
                        return Ok(TurnEnd::Done { text: last.text() });
                    }
                    (_, Some(MessageFinish::Length)) => Some(CUT),
                    (_, Some(MessageFinish::Interrupted) | None) => Some(INTERRUPTED),
                    (_, Some(MessageFinish::Aborted)) => Some(STOPPED),
                    (_, Some(MessageFinish::Error)) => Some(BROKE_OFF),
                };
                if let Some(notice) = notice {
                    self.log.append_notice(notice.to_owned(), Vec::new()).await?;
                }
            }
        }
        let context = Arc::clone(&self.log.context);
        let limit = context.host.parts.bounds.steps;
        let steps_max = context.agent.max_steps.map_or(limit, |steps| steps.min(limit));
        let system = system_prompt(&context.agent, &context.host.parts.prompt_context);
        for step in 1..=steps_max {
            if self.stop.is_cancelled() {
                return Ok(TurnEnd::Aborted);
            }
            if step > 1 {
                self.append_background_ends().await?;
            }
            if let ControlFlow::Break(end) = self.run_step(step, &system).await? {
                return Ok(end);
            }
        }
        Ok(TurnEnd::StepsSpent)
    }

    /// Returns the plan of a message that a person agreed to hand over. The agent of a subagent's session never changes.
    fn find_agreed_plan(&self, parts: &[MessagePart]) -> Option<String> {
        agreed_plan(parts).filter(|_| self.log.row.parent_id.is_none())
    }

    fn notify_begun(&mut self) {
        self.is_begun = true;
        self.log.context.notify_observer(AgentEventKind::TurnStarted);
    }

    /// Reports ended background subagents to the model.
    async fn append_background_ends(&mut self) -> Result<(), AgentError> {
        let background = Arc::clone(&self.log.context.background);
        while let Some(end) = background.first_end() {
            let (notice, rows) = subagent_notice(&self.log.context, &end).await?;
            self.log.append_notice(notice, rows).await?;
            background.remove_first_end();
        }
        Ok(())
    }

    /// Asks the model once, and makes the calls that its answer asks for.
    async fn run_step(
        &mut self,
        step: u32,
        system: &str,
    ) -> Result<ControlFlow<TurnEnd>, AgentError> {
        let context = Arc::clone(&self.log.context);
        let mut is_compacted = false;
        loop {
            let offer = |contract: Arc<haft_contract::Contract>| ToolOffer {
                name: contract.id.wire_name(),
                description: contract.listed_description().into_owned(),
                parameters: contract.listed_parameters(),
            };
            let tools: Vec<ToolOffer> = {
                let can_ask = context.asker().is_answerable();
                context.connection.tools_listed_for(can_ask).into_iter().map(offer).collect()
            };
            if compaction::is_context_full(&self.log, system, &tools) && !is_compacted {
                is_compacted = true;
                self.compact_session().await?;
                if self.stop.is_cancelled() {
                    return Ok(ControlFlow::Break(TurnEnd::Aborted));
                }
            }
            let mut messages = model_messages(&self.log.visible_entries(), &context.model_name);
            limit_images(&mut messages, context.model.takes_images());
            let request = ModelRequest {
                system: Some(system.to_owned()),
                messages,
                tools,
                max_output_tokens: context.host.parts.bounds.output_tokens,
                cancellation: self.stop.child_token(),
                ..ModelRequest::default()
            };
            let incoming = IncomingAnswer::new(&mut self.log);
            let message = incoming.message().id.clone();
            context.notify_observer(AgentEventKind::StepStarted { step, message });
            let received = incoming.receive(request, &self.stop).await?;
            let incomplete = match &received {
                ReceivedAnswer::Whole { .. } => None,
                ReceivedAnswer::Stopped => Some(MessageFinish::Aborted),
                ReceivedAnswer::Failed { .. } => Some(MessageFinish::Error),
            };
            if let Some(finish) = incomplete {
                let usage = ModelUsage::default();
                context.notify_observer(AgentEventKind::StepEnded { finish, usage });
            }
            if let ReceivedAnswer::Failed { error: ModelError::ContextTooLong { .. }, .. } =
                &received
                && !is_compacted
            {
                is_compacted = true;
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

    async fn handle_answer(
        &mut self,
        received: ReceivedAnswer,
    ) -> Result<ControlFlow<TurnEnd>, AgentError> {
        match received {
            ReceivedAnswer::Stopped => Ok(ControlFlow::Break(TurnEnd::Aborted)),
            ReceivedAnswer::Failed { error: ModelError::Refused { detail }, failed_message } => {
                self.failed_message = failed_message.map(|message| *message);
                Ok(ControlFlow::Break(TurnEnd::Refused { reason: detail }))
            }
            ReceivedAnswer::Failed { error, failed_message } => {
                self.broken_answers += 1;
                // The model has already retried a request that failed before its first event.
                let is_final = failed_message.is_some() || !error.is_passing();
                if is_final || self.broken_answers > BROKEN_ANSWERS_MAX {
                    self.failed_message = failed_message.map(|message| *message);
                    return Err(error.into());
                }
                self.log.append_notice(BROKE_OFF.to_owned(), Vec::new()).await?;
                Ok(ControlFlow::Continue(()))
            }
            ReceivedAnswer::Whole { finish, usage } => {
                self.broken_answers = 0;
                self.usage = self.usage.plus(usage);
                let result = match finish {
                    MessageFinish::ToolCalls => {
                        let last = self.log.entries.len().saturating_sub(1);
                        let new = OpenCallSelection::New;
                        let made =
                            tool_calls::make_open_calls(&mut self.log, last, new, &self.stop).await;
                        let entry = self.log.entries.get(last);
                        self.agreed_plan =
                            entry.and_then(|entry| self.find_agreed_plan(&entry.parts));
                        let is_handed_over = self.agreed_plan.is_some();
                        made.map(|()| match self.stop.is_cancelled() {
                            true => ControlFlow::Break(TurnEnd::Aborted),
                            false if is_handed_over => {
                                ControlFlow::Break(TurnEnd::Done { text: String::new() })
                            }
                            false => ControlFlow::Continue(()),
                        })
                    }
                    MessageFinish::Length => Ok(ControlFlow::Break(TurnEnd::OutputCut)),
                    MessageFinish::Stop
                    | MessageFinish::Other
                    | MessageFinish::Interrupted
                    | MessageFinish::Aborted
                    | MessageFinish::Error => {
                        let last = self.log.entries.last();
                        let text = last.map(TranscriptEntry::text).unwrap_or_default();
                        Ok(ControlFlow::Break(TurnEnd::Done { text }))
                    }
                };
                self.log.context.notify_observer(AgentEventKind::StepEnded { finish, usage });
                result
            }
        }
    }
}

/// The notices from which the model continues an answer that broke off, was cut, was interrupted or was stopped.
const BROKE_OFF: &str =
    "Your last answer broke off before its end, and none of its calls was made. Continue.";
const CUT: &str =
    "Your last answer was cut because it reached its greatest length. Continue where it stops.";
const INTERRUPTED: &str = "haft ended while your last answer was arriving. The answer is incomplete, and none of its calls was made. Continue.";
const STOPPED: &str = "Your last answer was stopped. Continue it now. Some of its calls were not made; their results say so.";
