//! One turn: the model is asked, the calls that it asks for are made, and it is asked again, until it has said all or
//! something stops it. What an answer is, how calls are made and how a conversation is shortened is done by the modules of
//! these names.

use std::sync::Arc;

use haft_journal::{
    ChatFirmness, ChatMessage, ChatRole, ChatSession, ChatStatus, MessageFinish, MessageKind,
};
use haft_model::{ModelError, Request, ToolOffer, Usage};
use tokio_util::sync::CancellationToken;

use crate::abandon;
use crate::answer::{Incoming, Received};
use crate::calls::{self, Which};
use crate::chat::{ChatCore, Prompt, TurnEnd};
use crate::compaction;
use crate::delegate;
use crate::error::AgentError;
use crate::event::Happened;
use crate::ledger::Ledger;
use crate::limits::{BROKEN_ANSWERS_MAX, TOLD_MAX};
use crate::prompt::system_prompt;
use crate::transcript::{Entry, messages};

/// Has one turn in a chat, and leaves its row as it is then.
pub(crate) async fn turn(
    core: &Arc<ChatCore>,
    row: &mut ChatSession,
    prompt: Prompt,
    stop: CancellationToken,
) -> Result<TurnEnd, AgentError> {
    core.tell(Happened::TurnStarted);
    let mut usage = Usage::default();
    let end = match Ledger::load(core, row.clone()).await {
        Err(err) => Err(err),
        Ok(ledger) => {
            let mut turn = Turn { ledger, stop, usage: Usage::default(), broken: 0, unsaid: None };
            let end = turn.have(prompt).await;
            let end = turn.close(end).await;
            usage = turn.usage;
            *row = turn.ledger.row;
            end
        }
    };
    core.tell(ended(&end, usage));
    end
}

fn ended(end: &Result<TurnEnd, AgentError>, usage: Usage) -> Happened {
    let (end, error) = match end {
        Ok(TurnEnd::Done { .. }) => ("done", None),
        Ok(TurnEnd::Aborted) => ("aborted", None),
        Ok(TurnEnd::StepsSpent) => ("steps_spent", None),
        Ok(TurnEnd::OutputCut) => ("output_cut", None),
        Ok(TurnEnd::Refused { reason }) => ("refused", Some(reason.clone())),
        Err(err) => ("failed", Some(err.to_string())),
    };
    Happened::TurnEnded { end, error, usage }
}

struct Turn {
    ledger: Ledger,
    stop: CancellationToken,
    usage: Usage,
    /// Answers in a row that broke off.
    broken: u32,
    /// The answer of nothing that the turn fails with.
    unsaid: Option<ChatMessage>,
}

/// What follows a step.
enum After {
    Step,
    End(TurnEnd),
}

impl Turn {
    async fn have(&mut self, prompt: Prompt) -> Result<TurnEnd, AgentError> {
        self.ledger.stand(ChatStatus::Running, ChatFirmness::Ordered).await?;
        self.ledger.settle_interrupted().await?;
        self.settle_calls(&prompt).await?;
        if self.stop.is_cancelled() {
            if self.ledger.row.parent_id.is_some() {
                // Nobody goes on with a task that was stopped.
                abandon::answer_all(&mut self.ledger).await?;
            }
            return Ok(TurnEnd::Aborted);
        }
        self.tell_ends().await?;
        match prompt {
            Prompt::Say(text) => {
                if self.ledger.row.parent_id.is_none() {
                    self.ledger.core.children.tree.count_anew();
                }
                self.ledger.say(text).await?;
            }
            Prompt::GoOn => {
                // Subagents that are begun whenever one ends would keep an agent at work for ever.
                if self.told_since_prompt() > TOLD_MAX {
                    return Ok(TurnEnd::StepsSpent);
                }
                if let Some(end) = self.go_on().await? {
                    return Ok(end);
                }
            }
        }
        self.steps().await
    }

    /// Makes the calls that a process left open which was killed, or takes down that they are not made.
    async fn settle_calls(&mut self, prompt: &Prompt) -> Result<(), AgentError> {
        let which = match prompt {
            Prompt::Say(_) => Which::LeftBegun,
            Prompt::GoOn => Which::Left,
        };
        for message in 0..self.ledger.entries.len() {
            if self.ledger.entries.get(message).is_some_and(Entry::has_open_calls) {
                calls::make(&mut self.ledger, message, which, &self.stop).await?;
            }
        }
        Ok(())
    }

    /// Tells the model what there is to go on with, or returns how the last turn ended.
    async fn go_on(&mut self) -> Result<Option<TurnEnd>, AgentError> {
        let is_spoken =
            |entry: &&Entry| entry.message.kind != MessageKind::Summary && !entry.is_unsaid();
        let Some(last) = self.ledger.entries.iter().rev().find(is_spoken) else {
            return Ok(Some(TurnEnd::Done { text: String::new() }));
        };
        let notice = match (last.message.role, last.message.finish) {
            (ChatRole::User, _) | (ChatRole::Assistant, Some(MessageFinish::ToolCalls)) => {
                return Ok(None);
            }
            (ChatRole::Assistant, Some(MessageFinish::Stop | MessageFinish::Other)) => {
                return Ok(Some(TurnEnd::Done { text: last.text() }));
            }
            (ChatRole::Assistant, Some(MessageFinish::Length)) => {
                "Your last answer was cut because it reached its greatest length. Go on where it stops."
            }
            (ChatRole::Assistant, Some(MessageFinish::Interrupted) | None) => {
                "haft ended while your last answer came, so it is not whole, and none of its calls was made. Go on."
            }
            (ChatRole::Assistant, Some(MessageFinish::Aborted)) => {
                "Your last answer was stopped, and is now to be gone on with. Calls that say so were not made."
            }
            (ChatRole::Assistant, Some(MessageFinish::Error)) => BROKE_OFF,
        };
        self.ledger.notice(notice.to_owned(), Vec::new()).await?;
        Ok(None)
    }

    /// Tells the model what came of subagents in the background.
    async fn tell_ends(&mut self) -> Result<(), AgentError> {
        let children = Arc::clone(&self.ledger.core.children);
        while let Some(end) = children.first_end() {
            let told = delegate::told(&self.ledger.core, &end).await?;
            self.ledger.notice(told.text, told.rows).await?;
            children.forget_first();
        }
        Ok(())
    }

    /// Returns how often the agent was told something since somebody last said something.
    fn told_since_prompt(&self) -> usize {
        let since = self.ledger.entries.iter().rev().take_while(|entry| !entry.is_prompt());
        since.filter(|entry| entry.message.kind == MessageKind::Notice).count()
    }

    async fn steps(&mut self) -> Result<TurnEnd, AgentError> {
        let core = Arc::clone(&self.ledger.core);
        let bound = core.host.parts.bounds.steps;
        let steps_max = core.agent.max_steps.map_or(bound, |steps| steps.min(bound));
        let system = system_prompt(&core.agent, &core.host.parts.surroundings);
        for step in 1..=steps_max {
            if self.stop.is_cancelled() {
                return Ok(TurnEnd::Aborted);
            }
            if step > 1 {
                self.tell_ends().await?;
            }
            match self.step(step, &system).await? {
                After::Step => {}
                After::End(end) => return Ok(end),
            }
        }
        Ok(TurnEnd::StepsSpent)
    }

    /// Asks the model once, and makes the calls that it asks for.
    async fn step(&mut self, step: u32, system: &str) -> Result<After, AgentError> {
        let mut was_shortened = false;
        loop {
            let tools = offers(&self.ledger.core);
            if compaction::is_full(&self.ledger, system, &tools) && !was_shortened {
                was_shortened = true;
                self.shorten().await?;
                if self.stop.is_cancelled() {
                    return Ok(After::End(TurnEnd::Aborted));
                }
            }
            let request = self.request(system, tools);
            let core = Arc::clone(&self.ledger.core);
            let incoming = Incoming::new(&mut self.ledger);
            let message = incoming.message().id.clone();
            core.tell(Happened::StepStarted { step, message });
            let received = incoming.receive(request, &self.stop).await?;
            if let Some(finish) = received.broken_off() {
                core.tell(Happened::StepEnded { finish, usage: Usage::default() });
            }
            if let Received::Failed { error: ModelError::ContextTooLong { .. }, .. } = &received
                && !was_shortened
            {
                was_shortened = true;
                self.shorten().await?;
                continue;
            }
            return self.follow(received).await;
        }
    }

    async fn shorten(&mut self) -> Result<(), AgentError> {
        match compaction::shorten(&mut self.ledger, &self.stop).await {
            Ok(usage) => self.usage = self.usage.plus(usage),
            Err(err) => {
                self.unsaid = Some(self.ledger.unsaid(err.to_string()));
                return Err(err);
            }
        }
        Ok(())
    }

    fn request(&self, system: &str, tools: Vec<ToolOffer>) -> Request {
        Request {
            system: Some(system.to_owned()),
            messages: messages(&self.ledger.in_force(), &self.ledger.core.model_name),
            tools,
            max_output_tokens: self.ledger.core.host.parts.bounds.output_tokens,
            cancellation: self.stop.child_token(),
            ..Request::default()
        }
    }

    async fn follow(&mut self, received: Received) -> Result<After, AgentError> {
        match received {
            Received::Stopped => Ok(After::End(TurnEnd::Aborted)),
            Received::Failed { error: ModelError::Refused { detail }, unsaid } => {
                self.unsaid = unsaid.map(|message| *message);
                Ok(After::End(TurnEnd::Refused { reason: detail }))
            }
            Received::Failed { error, unsaid } => {
                self.broken += 1;
                // What failed before anything came was tried again where that helps.
                let is_final = unsaid.is_some() || !error.is_passing();
                if is_final || self.broken > BROKEN_ANSWERS_MAX {
                    self.unsaid = unsaid.map(|message| *message);
                    return Err(error.into());
                }
                self.ledger.notice(BROKE_OFF.to_owned(), Vec::new()).await?;
                Ok(After::Step)
            }
            Received::Whole { finish, usage } => {
                self.broken = 0;
                self.usage = self.usage.plus(usage);
                let end = self.answered(finish).await;
                self.ledger.core.tell(Happened::StepEnded { finish, usage });
                end
            }
        }
    }

    async fn answered(&mut self, finish: MessageFinish) -> Result<After, AgentError> {
        match finish {
            MessageFinish::ToolCalls => {
                let last = self.ledger.entries.len().saturating_sub(1);
                calls::make(&mut self.ledger, last, Which::New, &self.stop).await?;
                if self.stop.is_cancelled() {
                    return Ok(After::End(TurnEnd::Aborted));
                }
                Ok(After::Step)
            }
            MessageFinish::Length => Ok(After::End(TurnEnd::OutputCut)),
            MessageFinish::Stop
            | MessageFinish::Other
            | MessageFinish::Interrupted
            | MessageFinish::Aborted
            | MessageFinish::Error => {
                let text = self.ledger.entries.last().map(Entry::text).unwrap_or_default();
                Ok(After::End(TurnEnd::Done { text }))
            }
        }
    }

    /// Records how the turn ended. Of a turn that failed that may fail, too; what failed first is what is said.
    async fn close(&mut self, end: Result<TurnEnd, AgentError>) -> Result<TurnEnd, AgentError> {
        if matches!(end, Ok(TurnEnd::Aborted)) {
            self.ledger.core.children.stop_all();
        }
        let is_task = self.ledger.row.parent_id.is_some();
        let status = match &end {
            _ if !is_task => ChatStatus::Idle,
            // A turn follows for what its own subagents come to, and whoever goes on with it has to have that one.
            Ok(TurnEnd::Done { .. }) if self.ledger.core.children.has_any() => ChatStatus::Running,
            Ok(TurnEnd::Done { .. }) => ChatStatus::Completed,
            Ok(TurnEnd::Aborted) => ChatStatus::Aborted,
            Ok(TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) | Err(_) => {
                ChatStatus::Failed
            }
        };
        let recorded = match self.unsaid.take() {
            Some(message) => self.ledger.stand_with(status, message).await,
            None => self.ledger.stand(status, ChatFirmness::Durable).await,
        };
        end.and_then(|end| recorded.map(|()| end))
    }
}

/// What the model is told of an answer that broke off.
const BROKE_OFF: &str =
    "Your last answer broke off before its end, and none of its calls was made. Go on.";

/// Returns the tools that the agent may call, as a model is told of them.
fn offers(core: &ChatCore) -> Vec<ToolOffer> {
    let listed = core.session.listed().into_iter();
    let offer = |contract: Arc<haft_contract::Contract>| ToolOffer {
        name: contract.id.wire_name(),
        description: contract.listed_description().into_owned(),
        parameters: contract.parameters.clone(),
    };
    listed.map(offer).collect()
}
