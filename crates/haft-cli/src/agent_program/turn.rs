//! Turns that the command line runs. The first interrupt stops the turn, and the second one ends the process. The session
//! records each step, so both leave it as it was at that moment.

use std::sync::Arc;

use haft_agent::{AgentError, AgentSession, TurnEnd, TurnPrompt};
use tokio_util::sync::CancellationToken;

use super::AgentAsker;
use super::view::SessionScreen;
use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::signals::{StopSignal, StopSignals, exit_in_doubt, exit_with};

/// Runs turns and receives signals meanwhile.
pub(crate) struct TurnRunner {
    pub(super) signals: StopSignals,
    pub(super) screen: SessionScreen,
    pub(super) asker: Option<Arc<AgentAsker>>,
    /// The settings that name the journal of the sessions.
    settings: SettingArgs,
    /// Whether a signal asked haft to end, and not only the turn.
    pub(super) is_ending: bool,
}

impl TurnRunner {
    /// Receives signals from now on.
    pub(crate) fn new(
        screen: SessionScreen,
        asker: Option<Arc<AgentAsker>>,
        settings: &SettingArgs,
    ) -> Result<Self, CommandError> {
        let settings = settings.clone();
        Ok(Self { signals: StopSignals::listen()?, screen, asker, settings, is_ending: false })
    }

    /// Returns a hint about the journal that the sessions are in.
    pub(super) fn journal_hint(&self, hint: &str) -> String {
        hint::with_journal_options(hint, &self.settings)
    }

    /// Runs one turn.
    pub(crate) async fn run_turn(
        &mut self,
        chat: &mut AgentSession,
        prompt: TurnPrompt,
    ) -> Result<TurnEnd, AgentError> {
        let session = chat.id().clone();
        let stop = CancellationToken::new();
        let mut turn = std::pin::pin!(chat.run_turn(prompt, stop.clone()));
        loop {
            tokio::select! {
                biased;
                end = &mut turn => return end,
                asked = self.signals.next_signal() => {
                    if stop.is_cancelled() {
                        let message = "ended before the turn was over: what it did is recorded up to here";
                        let hint = format!("haft agent --resume {session}");
                        exit_in_doubt(message, &self.journal_hint(&hint));
                    }
                    self.is_ending |= asked == StopSignal::Terminate;
                    // A question is the beginning of a line.
                    let is_asking = self.asker.as_ref().is_some_and(|asker| asker.is_asking());
                    let begun = if is_asking { "\n" } else { "" };
                    self.screen.show_note(format!("{begun}stopping the turn; interrupt again to end haft at once"));
                    stop.cancel();
                }
            }
        }
    }

    /// Runs turns until the agent has the result of every subagent in the background.
    pub(crate) async fn run_turns(
        &mut self,
        chat: &mut AgentSession,
        prompt: TurnPrompt,
    ) -> Result<TurnEnd, AgentError> {
        let mut end = self.run_turn(chat, prompt).await?;
        while matches!(end, TurnEnd::Done { .. }) && !self.is_ending {
            let has_news = tokio::select! {
                has_news = chat.wait_for_background() => has_news,
                // Subagents in the background end with the host.
                _ = self.signals.next_signal() => return Ok(TurnEnd::Aborted),
            };
            if !has_news {
                break;
            }
            end = self.run_turn(chat, TurnPrompt::Continue).await?;
        }
        Ok(end)
    }
}

/// Receives signals after the last turn. There is no work left to stop, so any signal ends haft at once.
pub(crate) struct ShutdownSignals(StopSignals);

impl ShutdownSignals {
    /// Takes over the signals of the turns, so that a signal at the end of the last turn is not lost. Listens from now on
    /// if there were no turns.
    pub(crate) fn from_turns(turns: Option<TurnRunner>) -> Result<Self, CommandError> {
        turns.map_or_else(StopSignals::listen, |turns| Ok(turns.signals)).map(Self)
    }

    /// Waits for some work. The first signal prints the message and ends the process.
    pub(crate) async fn wait_or_exit<T>(
        &mut self,
        status: CommandStatus,
        message: &str,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            _ = self.0.next_signal() => exit_with(status, message, None),
        }
    }
}

/// Returns the status of a command whose work was a turn.
pub(crate) fn turn_status(end: &TurnEnd) -> CommandStatus {
    match end {
        TurnEnd::Done { .. } => CommandStatus::Done,
        TurnEnd::Aborted | TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. } => {
            CommandStatus::Failed
        }
    }
}

/// Returns why a turn is not done, in words; nothing if it is.
pub(crate) fn unfinished_note(end: &TurnEnd) -> Option<String> {
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

/// Returns whether another turn can continue a turn that ended like this.
pub(crate) fn can_continue(end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Aborted | TurnEnd::StepsSpent | TurnEnd::OutputCut => true,
        TurnEnd::Done { .. } | TurnEnd::Refused { .. } => false,
    }
}
