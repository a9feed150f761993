//! A conversation at the terminal. Each typed line starts a turn of the agent. Lines that begin with a slash are commands
//! to haft.

use std::path::PathBuf;
use std::sync::Arc;

use haft_agent::{AgentError, AgentSession, NewSession, TurnEnd, TurnPrompt};
use haft_contract::TodoStatus;
use haft_journal::{MessageFinish, MessageId, MessageKind, MessageRole};

use super::slash::{HELP, SlashCommand};
use super::turn::{TurnRunner, unfinished_note};
use super::{AgentAsker, agent_command_error};
use crate::error::CommandError;
use crate::signals::StopSignal;
use crate::views::output;
use crate::views::session::{SessionScreen, TerminalLineEditor, TypedInput, on_one_line};
use haft_app::compose::agent::ComposedAgent;

/// A conversation at the terminal.
pub(crate) struct TerminalConversation<'w> {
    work: &'w ComposedAgent,
    chat: AgentSession,
    turns: &'w mut TurnRunner,
    editor: TerminalLineEditor,
    screen: SessionScreen,
    asker: Option<Arc<AgentAsker>>,
    /// Whether there is something that an empty line goes on with.
    /// Whether an empty line starts a turn without a new prompt.
    can_continue: bool,
    /// The text that the next input line starts with.
    prefilled_text: String,
}

/// The next step of a conversation.
enum ConversationStep {
    SendPrompt(String),
    ContinueTurn,
    RunSlashCommand(SlashCommand),
    Nothing,
    End,
}

impl<'w> TerminalConversation<'w> {
    /// Begins to talk in this session.
    pub(crate) fn new(
        work: &'w ComposedAgent,
        chat: AgentSession,
        turns: &'w mut TurnRunner,
        history: PathBuf,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            work,
            chat,
            screen: turns.screen(),
            asker: turns.asker(),
            turns,
            editor: TerminalLineEditor::begin(history)?,
            can_continue: false,
            prefilled_text: String::new(),
        })
    }

    /// Greets the person, then reads lines and runs turns until the person ends the conversation.
    pub(crate) async fn run_loop(mut self) -> Result<(), CommandError> {
        let history = self.chat.history().await.map_err(agent_command_error)?;
        let said = history.iter().filter(|(message, _)| message.kind == MessageKind::Said);
        let prompts = said.clone().filter(|(message, _)| message.role == MessageRole::User).count();
        self.can_continue = said.clone().next_back().is_some_and(|(message, _)| {
            let is_whole =
                matches!(message.finish, Some(MessageFinish::Stop | MessageFinish::Other));
            message.role == MessageRole::User || !is_whole
        });
        if prompts > 0 {
            let prompts =
                if prompts == 1 { "1 prompt".to_owned() } else { format!("{prompts} prompts") };
            let hint = self.turns.journal_hint(&format!("haft sessions show {}", self.chat.id()));
            self.screen.show_note(format!("{prompts} so far; {hint} shows them"));
        }
        if self.can_continue {
            self.screen.show_note("the last turn is not finished: press Enter to go on with it");
        }
        self.screen.show_note("/help shows what can be typed");
        loop {
            let done = match self.read_step().await {
                ConversationStep::End => break,
                ConversationStep::Nothing => Ok(()),
                ConversationStep::SendPrompt(text) => {
                    self.run_turn(TurnPrompt::Message(text)).await
                }
                ConversationStep::ContinueTurn => self.run_turn(TurnPrompt::Continue).await,
                ConversationStep::RunSlashCommand(SlashCommand::Quit) => break,
                ConversationStep::RunSlashCommand(slash) => self.run_slash_command(slash).await,
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
                self.screen.wait_until_shown().await;
                let hint =
                    err.hint.map(|hint| self.turns.journal_hint(&output::escape_controls(&hint)));
                output::print_error(&output::escape_controls(&err.message), hint.as_deref());
                if is_of_model {
                    self.can_continue = true;
                    self.screen.show_note("press Enter to try again");
                }
            }
            if self.turns.is_ending() {
                break;
            }
        }
        let hint = self.turns.journal_hint(&format!("haft agent --resume {}", self.chat.id()));
        self.screen.show_note(format!("to go on: {hint}"));
        Ok(())
    }

    /// Waits for a line.
    async fn read_step(&mut self) -> ConversationStep {
        self.screen.wait_until_shown().await;
        self.screen.start_typing(self.editor.above_prompt_writer());
        let begun = std::mem::take(&mut self.prefilled_text);
        let prompt = format!("{}> ", output::escape_controls(self.chat.agent()));
        self.editor.request_line(&prompt, begun);
        let mut waits_for_background = true;
        let typed = loop {
            tokio::select! {
                typed = self.editor.next_input() => break typed,
                has_news = self.chat.wait_for_background(), if waits_for_background => {
                    waits_for_background = false;
                    if has_news {
                        self.can_continue = true;
                        self.screen.show_note("what came of it is told to the agent with your next line; press Enter to tell it now");
                    }
                }
                asked = self.turns.next_signal() => match asked {
                    StopSignal::Interrupt => {}
                    StopSignal::Terminate => break TypedInput::End,
                },
            }
        };
        self.screen.stop_typing();
        // A subagent may have waited with a question until the line was typed.
        if let Some(asker) = &self.asker {
            asker.wait_for_answers().await;
        }
        let line = match typed {
            TypedInput::End => return ConversationStep::End,
            TypedInput::Interrupted => {
                self.screen.show_note("Ctrl-D or /quit ends the conversation");
                return ConversationStep::Nothing;
            }
            TypedInput::Line(line) => line,
        };
        if line.trim().is_empty() {
            return if self.can_continue {
                ConversationStep::ContinueTurn
            } else {
                ConversationStep::Nothing
            };
        }
        SlashCommand::parse(&line).map_or_else(
            || ConversationStep::SendPrompt(line.trim().to_owned()),
            ConversationStep::RunSlashCommand,
        )
    }

    async fn run_turn(&mut self, prompt: TurnPrompt) -> Result<(), AgentError> {
        let end = self.turns.run_turn(&mut self.chat, prompt).await;
        self.can_continue = !matches!(end, Ok(TurnEnd::Done { .. }));
        let end = end?;
        if let Some(note) = unfinished_note(&end) {
            self.screen.show_note(format!("{note}; press Enter to go on with it"));
        }
        Ok(())
    }

    async fn run_slash_command(&mut self, slash: SlashCommand) -> Result<(), AgentError> {
        match slash {
            SlashCommand::Help => self.screen.show_note(HELP),
            SlashCommand::Unknown(why) => self.screen.show_note(why),
            SlashCommand::Todos => {
                let todos = self.chat.connection().todos();
                if todos.is_empty() {
                    self.screen.show_note("nothing is on the agent's list");
                }
                for todo in todos {
                    let mark = match todo.status {
                        TodoStatus::Pending => " ",
                        TodoStatus::InProgress => ">",
                        TodoStatus::Completed => "x",
                        TodoStatus::Cancelled => "-",
                    };
                    self.screen.show_note(format!("[{mark}] {}", on_one_line(&todo.content)));
                }
            }
            SlashCommand::Agent(None) => {
                for agent in self.work.agents.iter().filter(|agent| agent.mode.is_primary()) {
                    let mark = if agent.name == self.chat.agent() { "*" } else { " " };
                    let description = on_one_line(&agent.description);
                    self.screen.show_note(format!("{mark} {}: {description}", agent.name));
                }
            }
            SlashCommand::New => self.begin_session(self.chat.agent().to_owned()).await?,
            SlashCommand::Agent(Some(name)) => self.begin_session(name).await?,
            SlashCommand::Fork => {
                let fork = self.work.host.fork(self.chat.id(), None).await?;
                self.screen.show_note(format!("this is a copy; the other is {}", self.chat.id()));
                self.switch_session(fork).await;
            }
            SlashCommand::Rewind(prompts) => self.rewind_session(prompts).await?,
            SlashCommand::Quit => {}
        }
        Ok(())
    }

    /// Begins another session in place of this one.
    async fn begin_session(&mut self, agent: String) -> Result<(), AgentError> {
        let model = Some(self.chat.model().to_owned());
        let new = NewSession { agent, model, title: None };
        let chat = self.work.host.begin(new).await?;
        self.screen.show_note(format!("the other session is {}", self.chat.id()));
        self.switch_session(chat).await;
        self.can_continue = false;
        Ok(())
    }

    /// Continues in another session. haft stops this session's background subagents: their progress and questions would
    /// appear in the wrong conversation.
    async fn switch_session(&mut self, chat: AgentSession) {
        let stopped = match self.chat.stop_background().await {
            0 => None,
            1 => Some("1 subagent in the background was stopped".to_owned()),
            count => Some(format!("{count} subagents in the background were stopped")),
        };
        if let Some(stopped) = stopped {
            let hint = self.turns.journal_hint(&format!("haft agent --resume {}", self.chat.id()));
            self.screen.show_note(format!("{stopped} with it: {hint} goes on there"));
        }
        self.chat = chat;
    }

    async fn rewind_session(&mut self, prompts: usize) -> Result<(), AgentError> {
        let history = self.chat.history().await?;
        let said = history.iter().rev().filter(|(message, _)| {
            message.role == MessageRole::User && message.kind == MessageKind::Said
        });
        let Some((message, parts)) = said.clone().nth(prompts - 1) else {
            let count = said.count();
            self.screen.show_note(format!("there are {count} prompts to set aside"));
            return Ok(());
        };
        let from: MessageId = message.id.clone();
        let text: String = parts.iter().filter_map(|part| part.text.as_deref()).collect();
        let count = self.chat.rewind(&from).await?;
        self.screen.show_note(format!(
            "{count} messages are set aside; what was done stays done (haft undo takes it back)"
        ));
        self.can_continue = false;
        // A text of several lines is not edited as one.
        self.prefilled_text =
            if text.contains('\n') { String::new() } else { output::escape_controls(&text) };
        Ok(())
    }
}
