//! Turns as they are had from the command line: an interrupt stops the turn, a second one the process. What a turn came to
//! is kept by the session, so either leaves it as it was when it was stopped.

use std::sync::Arc;

use haft_agent::{AgentError, Chat, Prompt, TurnEnd};
use tokio_util::sync::CancellationToken;

use super::AgentAsker;
use super::view::Screen;
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::hint;
use crate::signals::{Asked, Signals, exit_now, exit_with};

/// Has turns, and hears signals meanwhile.
pub(crate) struct Turns {
    signals: Signals,
    screen: Screen,
    asker: Option<Arc<AgentAsker>>,
    /// What names the journal that the sessions are in.
    settings: SettingArgs,
    /// Whether haft was told to end, and not only the turn.
    is_over: bool,
}

impl Turns {
    /// Receives signals from now on.
    pub(crate) fn new(
        screen: Screen,
        asker: Option<Arc<AgentAsker>>,
        settings: &SettingArgs,
    ) -> Result<Self, CommandError> {
        let settings = settings.clone();
        Ok(Self { signals: Signals::listen()?, screen, asker, settings, is_over: false })
    }

    /// Returns whether haft was told to end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn screen(&self) -> Screen {
        self.screen.clone()
    }

    pub(super) fn asker(&self) -> Option<Arc<AgentAsker>> {
        self.asker.clone()
    }

    /// Returns a hint about the journal that the sessions are in.
    pub(super) fn hint(&self, hint: &str) -> String {
        hint::in_same_journal(hint, &self.settings)
    }

    /// Has one turn.
    pub(crate) async fn have(
        &mut self,
        chat: &mut Chat,
        prompt: Prompt,
    ) -> Result<TurnEnd, AgentError> {
        let session = chat.id().clone();
        let stop = CancellationToken::new();
        let mut turn = std::pin::pin!(chat.turn(prompt, stop.clone()));
        loop {
            tokio::select! {
                biased;
                end = &mut turn => return end,
                asked = self.signals.next() => {
                    if stop.is_cancelled() {
                        let message = "ended before the turn was over: what it did is recorded up to here";
                        let hint = format!("haft agent --resume {session}");
                        exit_now(message, &hint::in_same_journal(&hint, &self.settings));
                    }
                    self.is_over |= asked == Asked::End;
                    // A question is the beginning of a line.
                    let is_asking = self.asker.as_ref().is_some_and(|asker| asker.is_asking());
                    let begun = if is_asking { "\n" } else { "" };
                    self.screen.note(format!("{begun}stopping the turn; interrupt again to end haft at once"));
                    stop.cancel();
                }
            }
        }
    }

    /// Has turns until no subagent in the background is left whose end the agent is to be told.
    pub(crate) async fn have_all(
        &mut self,
        chat: &mut Chat,
        prompt: Prompt,
    ) -> Result<TurnEnd, AgentError> {
        let mut end = self.have(chat, prompt).await?;
        while matches!(end, TurnEnd::Done { .. }) && !self.is_over {
            let is_told = tokio::select! {
                is_told = chat.next_background() => is_told,
                // What is in the background ends with the host.
                _ = self.signals.next() => return Ok(TurnEnd::Aborted),
            };
            if !is_told {
                break;
            }
            end = self.have(chat, Prompt::GoOn).await?;
        }
        Ok(end)
    }

    /// Waits for a signal while no turn is had, and returns what it asks for.
    pub(super) async fn signal(&mut self) -> Asked {
        self.signals.next().await
    }
}

/// What is left when the last turn is over: nothing that could be stopped, so that any signal ends haft at once.
pub(crate) struct WindingDown(Signals);

impl WindingDown {
    /// Goes on to receive the signals of the turns, so that none is lost that came with the end of the last; from now on
    /// where there were no turns.
    pub(crate) fn after(turns: Option<Turns>) -> Result<Self, CommandError> {
        turns.map_or_else(Signals::listen, |turns| Ok(turns.signals)).map(Self)
    }

    /// Waits for some work, or ends the process with the first signal, which is said so.
    pub(crate) async fn or_exit<T>(
        &mut self,
        status: Status,
        message: &str,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            _ = self.0.next() => exit_with(status, message, None),
        }
    }
}

/// Returns the status of a command whose work was a turn.
pub(crate) fn status_of(end: &TurnEnd) -> Status {
    match end {
        TurnEnd::Done { .. } => Status::Done,
        TurnEnd::Aborted | TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. } => {
            Status::Failed
        }
    }
}

/// Returns why a turn is not done, in words; nothing if it is.
pub(crate) fn note_of(end: &TurnEnd) -> Option<String> {
    match end {
        TurnEnd::Done { .. } => None,
        TurnEnd::Aborted => Some("the turn was stopped; what was done until then is kept".to_owned()),
        TurnEnd::StepsSpent => Some(
            "the agent has answered as often as it may in one turn ([agent] max_steps in haft.toml, or the agent's own), and \
             is not done"
                .to_owned(),
        ),
        TurnEnd::OutputCut => Some("the answer reached the model's greatest length and is cut".to_owned()),
        TurnEnd::Refused { reason } => Some(format!("the model would not answer: {reason}")),
    }
}

/// Returns whether a turn that ended so can be gone on with as it is.
pub(crate) fn goes_on(end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Aborted | TurnEnd::StepsSpent | TurnEnd::OutputCut => true,
        TurnEnd::Done { .. } | TurnEnd::Refused { .. } => false,
    }
}
