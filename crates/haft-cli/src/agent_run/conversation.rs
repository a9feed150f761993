//! A conversation at the terminal: a line is typed, the agent has a turn, and so on. What is typed to haft itself begins
//! with a slash.

use std::path::PathBuf;
use std::sync::Arc;

use haft_agent::{AgentError, Chat, NewChat, Prompt, TurnEnd};
use haft_contract::TodoStatus;
use haft_journal::{ChatRole, MessageFinish, MessageId, MessageKind};

use super::editor::{Editor, Typed};
use super::slash::{HELP, Slash};
use super::turn::{Turns, note_of};
use super::view::Screen;
use super::{AgentAsker, failure};
use crate::compose::agent::AgentWork;
use crate::error::CommandError;
use crate::output;
use crate::signals::Asked;

/// A conversation at the terminal.
pub(crate) struct Conversation<'w> {
    work: &'w AgentWork,
    chat: Chat,
    turns: &'w mut Turns,
    editor: Editor,
    screen: Screen,
    asker: Option<Arc<AgentAsker>>,
    /// Whether there is something that an empty line goes on with.
    has_more: bool,
    /// What stands in the next line already.
    begun: String,
}

/// What is to be done next.
enum Next {
    Say(String),
    GoOn,
    Ask(Slash),
    Nothing,
    End,
}

impl<'w> Conversation<'w> {
    /// Begins to talk in this session.
    pub(crate) fn new(
        work: &'w AgentWork,
        chat: Chat,
        turns: &'w mut Turns,
        history: PathBuf,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            work,
            chat,
            screen: turns.screen(),
            asker: turns.asker(),
            turns,
            editor: Editor::begin(history)?,
            has_more: false,
            begun: String::new(),
        })
    }

    /// Talks until the person ends it.
    pub(crate) async fn hold(mut self) -> Result<(), CommandError> {
        self.greet().await?;
        loop {
            let done = match self.next().await {
                Next::End => break,
                Next::Nothing => Ok(()),
                Next::Say(text) => self.turn(Prompt::Say(text)).await,
                Next::GoOn => self.turn(Prompt::GoOn).await,
                Next::Ask(Slash::Quit) => break,
                Next::Ask(slash) => self.asked(slash).await,
            };
            if let Err(err) = done {
                let is_over = ends_conversation(&err);
                let is_of_model = matches!(err, AgentError::Model(_) | AgentError::Summary(_));
                let err = failure(err);
                if is_over {
                    return Err(err);
                }
                self.screen.settled().await;
                let hint = err.hint.map(|hint| self.turns.hint(&output::visible(&hint)));
                output::error(&output::visible(&err.message), hint.as_deref());
                if is_of_model {
                    self.has_more = true;
                    self.screen.note("press Enter to try again");
                }
            }
            if self.turns.is_over() {
                break;
            }
        }
        let hint = self.turns.hint(&format!("haft agent --resume {}", self.chat.id()));
        self.screen.note(format!("to go on: {hint}"));
        Ok(())
    }

    /// Says where a session stands that is gone on with, and what can be typed.
    async fn greet(&mut self) -> Result<(), CommandError> {
        let history = self.chat.history().await.map_err(failure)?;
        let said = history.iter().filter(|(message, _)| message.kind == MessageKind::Said);
        let prompts = said.clone().filter(|(message, _)| message.role == ChatRole::User).count();
        self.has_more = said.clone().next_back().is_some_and(|(message, _)| {
            let is_whole =
                matches!(message.finish, Some(MessageFinish::Stop | MessageFinish::Other));
            message.role == ChatRole::User || !is_whole
        });
        if prompts > 0 {
            let prompts =
                if prompts == 1 { "1 prompt".to_owned() } else { format!("{prompts} prompts") };
            let hint = self.turns.hint(&format!("haft sessions show {}", self.chat.id()));
            self.screen.note(format!("{prompts} so far; {hint} shows them"));
        }
        if self.has_more {
            self.screen.note("the last turn is not finished: press Enter to go on with it");
        }
        self.screen.note("/help shows what can be typed");
        Ok(())
    }

    /// Waits for a line.
    async fn next(&mut self) -> Next {
        self.screen.settled().await;
        self.screen.typing(self.editor.aside());
        let begun = std::mem::take(&mut self.begun);
        let prompt = format!("{}> ", output::visible(self.chat.agent()));
        self.editor.want(&prompt, begun);
        let mut waits_for_background = true;
        let typed = loop {
            tokio::select! {
                typed = self.editor.typed() => break typed,
                has_news = self.chat.next_background(), if waits_for_background => {
                    waits_for_background = false;
                    if has_news {
                        self.has_more = true;
                        self.screen.note("what came of it is told to the agent with your next line; press Enter to tell it now");
                    }
                }
                asked = self.turns.signal() => match asked {
                    Asked::Interrupt => {}
                    Asked::End => break Typed::End,
                },
            }
        };
        self.screen.typed();
        // A subagent may have waited with a question until the line was typed.
        if let Some(asker) = &self.asker {
            asker.answered().await;
        }
        self.meant(typed)
    }

    fn meant(&mut self, typed: Typed) -> Next {
        let line = match typed {
            Typed::End => return Next::End,
            Typed::Interrupted => {
                self.screen.note("Ctrl-D or /quit ends the conversation");
                return Next::Nothing;
            }
            Typed::Line(line) => line,
        };
        if line.trim().is_empty() {
            return if self.has_more { Next::GoOn } else { Next::Nothing };
        }
        Slash::of(&line).map_or_else(|| Next::Say(line.trim().to_owned()), Next::Ask)
    }

    async fn turn(&mut self, prompt: Prompt) -> Result<(), AgentError> {
        let end = self.turns.have(&mut self.chat, prompt).await;
        self.has_more = !matches!(end, Ok(TurnEnd::Done { .. }));
        let end = end?;
        if let Some(note) = note_of(&end) {
            self.screen.note(format!("{note}; press Enter to go on with it"));
        }
        Ok(())
    }

    async fn asked(&mut self, slash: Slash) -> Result<(), AgentError> {
        match slash {
            Slash::Help => self.screen.note(HELP),
            Slash::Unknown(why) => self.screen.note(why),
            Slash::Todos => self.todos(),
            Slash::Agent(None) => self.agents(),
            Slash::New => self.begin(self.chat.agent().to_owned()).await?,
            Slash::Agent(Some(name)) => self.begin(name).await?,
            Slash::Fork => {
                let fork = self.work.host.fork(self.chat.id(), None).await?;
                self.screen.note(format!("this is a copy; the other is {}", self.chat.id()));
                self.change_to(fork).await;
            }
            Slash::Rewind(prompts) => self.rewind(prompts).await?,
            Slash::Quit => {}
        }
        Ok(())
    }

    /// Begins another session in place of this one.
    async fn begin(&mut self, agent: String) -> Result<(), AgentError> {
        let model = Some(self.chat.model().to_owned());
        let new = NewChat { agent, model, title: None };
        let chat = self.work.host.begin(new).await?;
        self.screen.note(format!("the other session is {}", self.chat.id()));
        self.change_to(chat).await;
        self.has_more = false;
        Ok(())
    }

    /// Goes on in another session. Whoever works in the background of this one is stopped: nobody would see what it does, and
    /// its questions would come out of nowhere.
    async fn change_to(&mut self, chat: Chat) {
        let stopped = match self.chat.stop_background().await {
            0 => None,
            1 => Some("1 subagent in the background was stopped".to_owned()),
            count => Some(format!("{count} subagents in the background were stopped")),
        };
        if let Some(stopped) = stopped {
            let hint = self.turns.hint(&format!("haft agent --resume {}", self.chat.id()));
            self.screen.note(format!("{stopped} with it: {hint} goes on there"));
        }
        self.chat = chat;
    }

    async fn rewind(&mut self, prompts: usize) -> Result<(), AgentError> {
        let history = self.chat.history().await?;
        let said = history.iter().rev().filter(|(message, _)| {
            message.role == ChatRole::User && message.kind == MessageKind::Said
        });
        let Some((message, parts)) = said.clone().nth(prompts - 1) else {
            let count = said.count();
            self.screen.note(format!("there are {count} prompts to set aside"));
            return Ok(());
        };
        let from: MessageId = message.id.clone();
        let text: String = parts.iter().filter_map(|part| part.text.as_deref()).collect();
        let count = self.chat.rewind(&from).await?;
        self.screen.note(format!(
            "{count} messages are set aside; what was done stays done (haft undo takes it back)"
        ));
        self.has_more = false;
        // A text of several lines is not edited as one.
        self.begun = if text.contains('\n') { String::new() } else { output::visible(&text) };
        Ok(())
    }

    fn todos(&self) {
        let todos = self.chat.session().todos();
        if todos.is_empty() {
            self.screen.note("nothing is on the agent's list");
        }
        for todo in todos {
            let mark = match todo.status {
                TodoStatus::Pending => " ",
                TodoStatus::InProgress => ">",
                TodoStatus::Completed => "x",
                TodoStatus::Cancelled => "-",
            };
            self.screen.note(format!("[{mark}] {}", super::on_one_line(&todo.content)));
        }
    }

    fn agents(&self) {
        for agent in self.work.agents.iter().filter(|agent| agent.mode.is_primary()) {
            let is_this = agent.name == self.chat.agent();
            let mark = if is_this { "*" } else { " " };
            self.screen.note(format!(
                "{mark} {}: {}",
                agent.name,
                super::on_one_line(&agent.description)
            ));
        }
    }
}

/// Returns whether nothing more can be done in this session.
fn ends_conversation(err: &AgentError) -> bool {
    matches!(
        err,
        AgentError::Panicked | AgentError::Closed | AgentError::Run(_) | AgentError::Journal(_)
    )
}
