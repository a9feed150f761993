//! Runs the turns of a session, and lets another model or agent take it over. If a person agreed to a plan in a turn, the agent
//! that carries plans out takes the session over and has the next turn. Front ends run both as one turn.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::error::AgentError;
use crate::open::{self, SessionChanges};
use crate::plan_exit::{PLAN_EXECUTOR, handover_prompt};
use crate::session::AgentSession;
use crate::turn::{AgentTurnEnd, TurnEnd, TurnPrompt};

impl AgentSession {
    /// Runs one turn, and the turn of another agent if a person agreed to hand a plan over. Cancelling the token or dropping the
    /// future stops the turn at the next possible moment, and haft records what was done until then. The next operation on this
    /// session waits for that.
    pub async fn run_turn(
        &mut self,
        mut prompt: TurnPrompt,
        cancellation: CancellationToken,
    ) -> Result<TurnEnd, AgentError> {
        loop {
            match self.run_one_turn(prompt, cancellation.clone()).await? {
                AgentTurnEnd::Ended(end) => return Ok(end),
                AgentTurnEnd::HandedOver { plan } => {
                    self.hand_over().await?;
                    prompt = TurnPrompt::Message(handover_prompt(&plan).into());
                }
            }
        }
    }

    /// Lets another model answer from now on. It reads all earlier messages. An unusable model leaves the session as it is.
    pub async fn change_model(&mut self, model: &str) -> Result<(), AgentError> {
        self.wait_for_row().await?;
        self.context().host.parts.models.model(Some(model))?;
        let changes = SessionChanges { model: Some(model.to_owned()), ..SessionChanges::default() };
        self.reopen(&changes).await
    }

    /// Lets the agent that carries plans out take the session over.
    async fn hand_over(&mut self) -> Result<(), AgentError> {
        let changes =
            SessionChanges { agent: Some(PLAN_EXECUTOR.to_owned()), ..SessionChanges::default() };
        self.reopen(&changes).await
    }

    async fn reopen(&mut self, changes: &SessionChanges) -> Result<(), AgentError> {
        let (host, id) = (Arc::clone(&self.context().host), self.id().clone());
        // A session can be open only once in a process.
        self.context().open_guard.release();
        *self = open::open_session(&host, &id, changes).await?;
        Ok(())
    }
}
