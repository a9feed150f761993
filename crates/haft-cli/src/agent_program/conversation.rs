//! A conversation at the terminal. Each typed line starts a turn of the agent. Lines that begin with a slash are commands
//! to haft.

use std::path::PathBuf;

use haft_agent::{AgentError, AgentSession, NewSession, TurnEnd, TurnPrompt};
use haft_contract::TodoStatus;
use haft_journal::{MessageFinish, MessageKind, MessageRole};

use super::editor::{TerminalLineEditor, TypedInput};
use super::slash::{HELP, SlashCommand};
use super::turn::{TurnRunner, unfinished_note};
use crate::agent_error::agent_command_error;
use crate::error::CommandError;
use crate::signals::StopSignal;
use crate::views::outcome::on_one_line;
use crate::views::output;
use crate::views::path_text::counted;
use haft_app::compose::agent::ComposedAgent;

/// A conversation at the terminal.
pub(crate) struct TerminalConversation<'w> {
    work: &'w ComposedAgent,
    chat: AgentSession,
    turns: &'w mut TurnRunner,
    editor: TerminalLineEditor,
    /// Whether an empty line starts a turn without a new prompt.
    can_continue: bool,
    /// The text that the next input line starts with.
    prefilled_text: String,
}

impl<'w> TerminalConversation<'w> {
    /// Opens the conversation and greets the person.
    pub(crate) async fn begin(
        work: &'w ComposedAgent,
        chat: AgentSession,
        turns: &'w mut TurnRunner,
        history: PathBuf,
    ) -> Result<Self, CommandError> {
        let editor = TerminalLineEditor::begin(history)?;
        let messages = chat.history().await.map_err(agent_command_error)?;
        let said = messages.iter().filter(|(message, _)| message.kind == MessageKind::Said);
        let prompts = said.clone().filter(|(message, _)| message.role == MessageRole::User).count();
        let can_continue = said.clone().next_back().is_some_and(|(message, _)| {
            let is_whole =
                matches!(message.finish, Some(MessageFinish::Stop | MessageFinish::Other));
            message.role == MessageRole::User || !is_whole
        });
        if prompts > 0 {
            let prompts = counted(prompts, "prompt");
            let hint = turns.journal_hint(&format!("haft sessions show {}", chat.id()));
            turns.screen.show_note(format!("{prompts} so far; {hint} shows them"));
        }
        if can_continue {
            turns.screen.show_note("the last turn is not finished: press Enter to go on with it");
        }
        turns.screen.show_note("/help shows what can be typed");
        Ok(Self { work, chat, turns, editor, can_continue, prefilled_text: String::new() })
    }

    /// Reads lines and runs turns until the person ends the conversation.
    pub(crate) async fn run_loop(mut self) -> Result<(), CommandError> {
        loop {
            self.turns.screen.wait_until_shown().await;
            self.turns.screen.start_typing(self.editor.above_prompt_writer());
            let prompt = format!("{}> ", haft_contract::escape_controls(self.chat.agent()));
            self.editor.request_line(prompt, std::mem::take(&mut self.prefilled_text));
            let mut waits_for_background = true;
            let typed = loop {
                tokio::select! {
                    typed = self.editor.next_input() => break typed,
                    has_news = self.chat.wait_for_background(), if waits_for_background => {
                        waits_for_background = false;
                        if has_news {
                            self.can_continue = true;
                            self.turns.screen.show_note("the agent gets the results with your next line; press Enter to send them now");
                        }
                    }
                    asked = self.turns.signals.next_signal() => match asked {
                        StopSignal::Interrupt => {}
                        StopSignal::Terminate => break TypedInput::End,
                    },
                }
            };
            self.turns.screen.stop_typing();
            // A subagent may have waited with a question until the line was typed.
            if let Some(asker) = &self.turns.asker {
                asker.wait_for_answers().await;
            }
            let line = match typed {
                TypedInput::End => break,
                TypedInput::Interrupted => {
                    self.turns.screen.show_note("Ctrl-D or /quit ends the conversation");
                    continue;
                }
                TypedInput::Line(line) => line,
            };
            let done = match SlashCommand::parse(&line) {
                _ if line.trim().is_empty() && self.can_continue => {
                    self.run_turn(TurnPrompt::Continue).await
                }
                _ if line.trim().is_empty() => continue,
                Some(SlashCommand::Quit) => break,
                Some(slash) => self.run_slash_command(slash).await,
                None => self.run_turn(TurnPrompt::Message(line.trim().into())).await,
            };
            if let Err(err) = done {
                let is_over = matches!(
                    err,
                    AgentError::Panicked
                        | AgentError::Closed
                        | AgentError::Run(_)
                        | AgentError::Journal(_)
                );
                let is_of_model = matches!(err, AgentError::Model(_) | AgentError::Summary(_));
                let err = agent_command_error(err);
                if is_over {
                    return Err(err);
                }
                self.turns.screen.wait_until_shown().await;
                let hint = err
                    .hint
                    .map(|hint| self.turns.journal_hint(&haft_contract::escape_controls(&hint)));
                output::print_error(&haft_contract::escape_controls(&err.message), hint.as_deref());
                if is_of_model {
                    self.can_continue = true;
                    self.turns.screen.show_note("press Enter to try again");
                }
            }
            if self.turns.is_ending {
                break;
            }
        }
        let hint = self.turns.journal_hint(&format!("haft agent --resume {}", self.chat.id()));
        self.turns.screen.show_note(format!("to go on: {hint}"));
        Ok(())
    }

    async fn run_turn(&mut self, prompt: TurnPrompt) -> Result<(), AgentError> {
        let end = self.turns.run_turn(&mut self.chat, prompt).await;
        self.can_continue = !matches!(end, Ok(TurnEnd::Done { .. }));
        let end = end?;
        if let Some(note) = unfinished_note(&end) {
            self.turns.screen.show_note(format!("{note}; press Enter to go on with it"));
        }
        Ok(())
    }

    async fn run_slash_command(&mut self, slash: SlashCommand) -> Result<(), AgentError> {
        match slash {
            SlashCommand::Help => self.turns.screen.show_note(HELP),
            SlashCommand::Unknown(why) => self.turns.screen.show_note(why),
            SlashCommand::Todos => {
                let todos = self.chat.connection().todos();
                if todos.is_empty() {
                    self.turns.screen.show_note("nothing is on the agent's list");
                }
                for todo in todos {
                    let mark = match todo.status {
                        TodoStatus::Pending => " ",
                        TodoStatus::InProgress => ">",
                        TodoStatus::Completed => "x",
                        TodoStatus::Cancelled => "-",
                    };
                    self.turns.screen.show_note(format!("[{mark}] {}", on_one_line(&todo.content)));
                }
            }
            SlashCommand::Agent(None) => {
                for agent in self.work.agents.iter().filter(|agent| agent.mode.is_primary()) {
                    let mark = if agent.name == self.chat.agent() { "*" } else { " " };
                    let description = on_one_line(&agent.description);
                    self.turns.screen.show_note(format!("{mark} {}: {description}", agent.name));
                }
            }
            SlashCommand::New => self.begin_session(self.chat.agent().to_owned()).await?,
            SlashCommand::Agent(Some(name)) => self.begin_session(name).await?,
            SlashCommand::Fork => {
                let fork = self.work.host.fork(self.chat.id(), None).await?;
                self.turns
                    .screen
                    .show_note(format!("this is a copy; the other is {}", self.chat.id()));
                self.switch_session(fork).await;
            }
            SlashCommand::Rewind(prompts) => {
                let history = self.chat.history().await?;
                let said = history.iter().rev().filter(|(message, _)| {
                    message.role == MessageRole::User && message.kind == MessageKind::Said
                });
                let Some((message, parts)) = said.clone().nth(prompts - 1) else {
                    let count = said.count();
                    self.turns.screen.show_note(format!("there are {count} prompts to set aside"));
                    return Ok(());
                };
                let text: String = parts.iter().filter_map(|part| part.text.as_deref()).collect();
                let count = self.chat.rewind(&message.id).await?;
                self.turns.screen.show_note(format!(
                    "{count} messages are set aside; what was done stays done (haft undo takes it back)"
                ));
                self.can_continue = false;
                // A text of several lines is not edited as one.
                self.prefilled_text = if text.contains('\n') {
                    String::new()
                } else {
                    haft_contract::escape_controls(&text)
                };
            }
            SlashCommand::Quit => {}
        }
        Ok(())
    }

    /// Begins another session in place of this one.
    async fn begin_session(&mut self, agent: String) -> Result<(), AgentError> {
        let model = Some(self.chat.model().to_owned());
        let new = NewSession { agent, model, title: None };
        let chat = self.work.host.begin(new).await?;
        self.turns.screen.show_note(format!("the other session is {}", self.chat.id()));
        self.switch_session(chat).await;
        self.can_continue = false;
        Ok(())
    }

    /// Continues in another session. haft stops this session's background subagents: their progress and questions would
    /// appear in the wrong conversation.
    async fn switch_session(&mut self, chat: AgentSession) {
        let stopped = self.chat.stop_background().await;
        if stopped > 0 {
            let were = if stopped == 1 { "was" } else { "were" };
            let stopped =
                format!("{} in the background {were} stopped", counted(stopped, "subagent"));
            let hint = self.turns.journal_hint(&format!("haft agent --resume {}", self.chat.id()));
            self.turns.screen.show_note(format!("{stopped} with it: {hint} goes on there"));
        }
        self.chat = chat;
    }
}
