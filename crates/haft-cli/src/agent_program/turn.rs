//! Turns that the command line runs. The first interrupt stops the turn, and the second one ends the process. The session
//! records each step, so both leave it as it was at that moment. Lines that are typed meanwhile wait for the next turn.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::{AgentError, AgentSession, TurnEnd, TurnPrompt};
use haft_journal::SessionId;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::AgentAsker;
use super::editor::{TerminalLineEditor, TypedInput};
use super::view::SessionScreen;
use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::signals::{StopSignal, StopSignals, exit_in_doubt, exit_with};
use crate::views::output;

/// Time between two looks whether the person types, in milliseconds.
const KEY_POLL_MS: u64 = 50;
/// Lines that are kept for the next turn.
///
/// Limit (agents): further lines are not taken.
pub(crate) const QUEUED_LINES_MAX: usize = 100;

/// Runs turns and receives signals meanwhile.
pub(crate) struct TurnRunner {
    pub(super) signals: StopSignals,
    pub(super) screen: SessionScreen,
    pub(super) asker: Option<Arc<AgentAsker>>,
    /// The settings that name the journal of the sessions.
    settings: SettingArgs,
    /// Whether a signal asked haft to end, and not only the turn.
    pub(super) is_ending: bool,
    /// Reads the lines of a conversation.
    pub(super) editor: Option<TerminalLineEditor>,
    /// The lines that were typed while a turn ran.
    pub(super) queue: VecDeque<String>,
}

impl TurnRunner {
    /// Receives signals from now on.
    pub(crate) fn new(
        screen: SessionScreen,
        asker: Option<Arc<AgentAsker>>,
        settings: &SettingArgs,
    ) -> Result<Self, CommandError> {
        let settings = settings.clone();
        let signals = StopSignals::listen()?;
        let queue = VecDeque::new();
        Ok(Self { signals, screen, asker, settings, is_ending: false, editor: None, queue })
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
        let line_prompt = line_prompt(chat.agent());
        let stop = CancellationToken::new();
        let mut key_ticks = tokio::time::interval(Duration::from_millis(KEY_POLL_MS));
        key_ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A terminal that is gone always looks as if keys were pressed.
        let mut takes_keys = self.editor.is_some();
        let mut turn = std::pin::pin!(chat.run_turn(prompt, stop.clone()));
        loop {
            tokio::select! {
                biased;
                end = &mut turn => return end,
                asked = self.signals.next_signal() => self.stop_turn(asked, &stop, &session),
                typed = next_typed(&mut self.editor) => {
                    self.screen.stop_typing();
                    match typed {
                        TypedInput::Line(line) => self.queue_line(line),
                        TypedInput::Interrupted => {
                            self.stop_turn(StopSignal::Interrupt, &stop, &session);
                        }
                        TypedInput::End => takes_keys = false,
                    }
                }
                _ = key_ticks.tick(), if takes_keys => self.read_typed_keys(&line_prompt),
            }
        }
    }

    /// Stops the turn. If it is being stopped already, ends the process.
    fn stop_turn(&mut self, asked: StopSignal, stop: &CancellationToken, session: &SessionId) {
        if stop.is_cancelled() {
            if let Some(editor) = &self.editor {
                editor.restore_terminal();
            }
            let message = "ended before the turn was over: what it did is recorded up to here";
            let hint = format!("haft agent --resume {session}");
            if !self.screen.is_json && std::io::stderr().is_terminal() {
                // The view may be in the middle of a line.
                output::print_nonblocking("\n");
            }
            exit_in_doubt(message, &self.journal_hint(&hint));
        }
        self.is_ending |= asked == StopSignal::Terminate;
        // A question is the beginning of a line.
        let is_asking = self.asker.as_ref().is_some_and(|asker| asker.is_asking());
        let begun = if is_asking { "\n" } else { "" };
        let note = format!("{begun}stopping the turn; interrupt again to end haft at once");
        self.screen.show_note(note);
        stop.cancel();
    }

    /// Begins to read a line if the person types one, unless a question is before the person.
    fn read_typed_keys(&mut self, prompt: &str) {
        let Some(editor) = self.editor.as_mut().filter(|it| !it.is_reading() && it.has_keys())
        else {
            return;
        };
        let writer = editor.above_prompt_writer();
        let screen = &self.screen;
        let start = || {
            let begin = editor.request_line_ahead(prompt.to_owned());
            screen.start_typing(writer, begin);
        };
        match &self.asker {
            Some(asker) => {
                asker.start_line(start);
            }
            None => start(),
        }
    }

    /// Keeps a line for the next turn.
    fn queue_line(&mut self, line: String) {
        if line.trim().is_empty() {
            return;
        }
        let note = match push_queued(&mut self.queue, &line) {
            true => format!("waits for the next turn: {line}"),
            false => format!("{QUEUED_LINES_MAX} lines wait already: not taken: {line}"),
        };
        self.screen.show_note(note);
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

/// Adds a line to those that wait, if there is room.
fn push_queued(queue: &mut VecDeque<String>, line: &str) -> bool {
    let has_room = queue.len() < QUEUED_LINES_MAX;
    if has_room {
        queue.push_back(line.to_owned());
    }
    has_room
}

/// Waits for the line that the person types, if one is read.
async fn next_typed(editor: &mut Option<TerminalLineEditor>) -> TypedInput {
    match editor {
        Some(editor) if editor.is_reading() => editor.next_input().await,
        Some(_) | None => std::future::pending().await,
    }
}

/// Returns what stands before a typed line.
pub(super) fn line_prompt(agent: &str) -> String {
    format!("{}> ", haft_contract::escape_controls(agent))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_wait() {
        let mut queue = VecDeque::new();
        for _ in 0..QUEUED_LINES_MAX {
            assert!(push_queued(&mut queue, "line"));
        }
        assert!(!push_queued(&mut queue, "line"));
        assert_eq!(queue.len(), QUEUED_LINES_MAX);
    }
}
