//! A conversation at the terminal. Each typed line starts a turn of the agent. Lines that begin with a slash are commands
//! to haft, and those that begin with an exclamation mark are commands that the person runs.

use std::collections::VecDeque;

use haft::CallSelection;
use haft_agent::{AgentError, AgentSession, NewSession, TurnEnd, TurnPrompt};
use haft_contract::TodoStatus;
use haft_journal::{CallOrder, CallQuery, MessageFinish, MessageKind, MessageRole};
use haft_model::ModelUsage;
use tokio_util::sync::CancellationToken;

use super::completion::LineCompletion;
use super::conversation_work::ConversationWork;
use super::editor::{TerminalLineEditor, TypedInput};
use super::model_text::{context_left_percent, cost_in_words, session_usage_summary};
use super::slash::{SlashCommand, help_text};
use super::turn::{TurnRunner, line_prompt, unfinished_note};
use super::user_command::run_user_command;
use crate::agent_error::agent_command_error;
use crate::commands::{diff, permissions, undo};
use crate::error::{CommandError, CommandResult};
use crate::signals::StopSignal;
use crate::views::outcome::on_one_line;
use crate::views::output;
use crate::views::path_text::counted;

/// A conversation at the terminal.
pub(crate) struct TerminalConversation<'w> {
    work: ConversationWork<'w>,
    chat: AgentSession,
    turns: &'w mut TurnRunner,
    /// Whether an empty line starts a turn without a new prompt.
    can_continue: bool,
    /// The text that the next input line starts with.
    prefilled_text: String,
    /// Whether lines that were typed during a turn wait for the next typed line, because the turn was not done.
    holds_queue: bool,
    /// The calls since the last prompt.
    last_turn: Option<CallSelection>,
    /// Notes about commands that the person ran. The agent reads them with the next prompt.
    command_notes: String,
}

impl<'w> TerminalConversation<'w> {
    /// Opens the conversation and greets the person.
    pub(crate) async fn begin(
        work: ConversationWork<'w>,
        chat: AgentSession,
        turns: &'w mut TurnRunner,
    ) -> Result<Self, CommandError> {
        turns.editor = Some(match work.is_plain {
            true => TerminalLineEditor::begin_plain()?,
            false => {
                let agents = work.composed.agents.iter().filter(|agent| agent.mode.is_primary());
                let agents = agents.map(|agent| agent.name.clone()).collect();
                let completion = LineCompletion { root: work.settings.root.clone(), agents };
                TerminalLineEditor::begin(work.cx.host.state().agent_history(), completion)?
            }
        });
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
        Ok(Self {
            work,
            chat,
            turns,
            can_continue,
            prefilled_text: String::new(),
            holds_queue: false,
            last_turn: None,
            command_notes: String::new(),
        })
    }

    /// Reads lines and runs turns until the person ends the conversation.
    pub(crate) async fn run_loop(mut self) -> Result<(), CommandError> {
        while let Some(line) = self.next_line().await {
            let done = match SlashCommand::parse(&line) {
                _ if line.trim().is_empty() && self.can_continue => {
                    self.run_turn(TurnPrompt::Continue).await
                }
                _ if line.trim().is_empty() => continue,
                Some(SlashCommand::Quit) => break,
                Some(slash) => self.run_slash_command(slash).await,
                None => match line.strip_prefix('!').map(str::trim) {
                    Some("") => {
                        self.turns
                            .screen
                            .show_note("a command follows the mark, as in !git status");
                        continue;
                    }
                    Some(command) => {
                        let session = self.chat.id().clone();
                        let ran = run_user_command(command, &self.work, self.turns, &session).await;
                        match ran {
                            Ok(note) => self.command_notes.push_str(&note),
                            Err(err) => self.show_error(&err),
                        }
                        Ok(())
                    }
                    None => {
                        let notes = std::mem::take(&mut self.command_notes);
                        let text = format!("{notes}{}", line.trim());
                        self.run_turn(TurnPrompt::Message(text.into())).await
                    }
                },
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
                if !self.is_typing() {
                    self.turns.screen.wait_until_shown().await;
                }
                self.show_error(&err);
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

    /// Returns the next line: one that was typed during the last turn, or else one that the person types now. `None` ends the
    /// conversation.
    async fn next_line(&mut self) -> Option<String> {
        let has_queued = !self.turns.queue.is_empty();
        // A line that is being typed comes after those that wait, but nothing else may be shown in the middle of it.
        if has_queued && !self.holds_queue && !self.is_typing() {
            let text = take_queued(&mut self.turns.queue)?;
            self.turns.screen.show_note(format!("> {text}"));
            return Some(text);
        }
        loop {
            let typed = self.read_line().await;
            self.turns.screen.stop_typing();
            // A subagent may have waited with a question until the line was typed.
            if let Some(asker) = &self.turns.asker {
                asker.wait_for_answers().await;
            }
            match typed {
                TypedInput::End => return None,
                TypedInput::Interrupted => {
                    self.turns.screen.show_note("Ctrl-D or /quit ends the conversation");
                }
                TypedInput::Line(line) if self.turns.queue.is_empty() || is_for_haft(&line) => {
                    return Some(line);
                }
                TypedInput::Line(line) => {
                    self.holds_queue = false;
                    if !line.trim().is_empty() {
                        self.turns.queue.push_back(line);
                    }
                    return take_queued(&mut self.turns.queue);
                }
            }
        }
    }

    fn is_typing(&self) -> bool {
        self.turns.editor.as_ref().is_some_and(TerminalLineEditor::is_reading)
    }

    /// Reads a line. One that was begun during the last turn goes on.
    async fn read_line(&mut self) -> TypedInput {
        if !self.is_typing() {
            self.turns.screen.wait_until_shown().await;
        }
        // A subagent in the background may ask at this moment.
        if let Some(asker) = self.turns.asker.clone().filter(|_| !self.is_typing()) {
            asker.wait_for_answers().await;
        }
        let turns = &mut *self.turns;
        let Some(editor) = &mut turns.editor else { return TypedInput::End };
        if !editor.is_reading() {
            let text = std::mem::take(&mut self.prefilled_text);
            let begin = editor.request_line(line_prompt(self.chat.agent()), text);
            turns.screen.start_typing(editor.above_prompt_writer(), begin);
        }
        let mut waits_for_background = true;
        loop {
            tokio::select! {
                typed = editor.next_input() => return typed,
                has_news = self.chat.wait_for_background(), if waits_for_background => {
                    waits_for_background = false;
                    if has_news {
                        self.can_continue = true;
                        turns.screen.show_note("the agent gets the results with your next line; press Enter to send them now");
                    }
                }
                asked = turns.signals.next_signal() => match asked {
                    StopSignal::Interrupt => {}
                    StopSignal::Terminate => return TypedInput::End,
                },
            }
        }
    }

    /// Shows an error, above the typed line if there is one.
    fn show_error(&self, err: &CommandError) {
        let message = haft_contract::escape_controls(&err.message);
        if self.is_typing() {
            self.turns.screen.show_note(format!("error: {message}"));
            return;
        }
        let hint = err.hint.as_ref();
        let hint = hint.map(|hint| self.turns.journal_hint(&haft_contract::escape_controls(hint)));
        output::print_error(&message, hint.as_deref());
    }

    async fn run_turn(&mut self, prompt: TurnPrompt) -> Result<(), AgentError> {
        if matches!(prompt, TurnPrompt::Message(_)) || self.last_turn.is_none() {
            self.last_turn = Some(self.calls_from_now().await?);
        }
        let end = self.turns.run_turn(&mut self.chat, prompt).await;
        self.can_continue = !matches!(end, Ok(TurnEnd::Done { .. }));
        self.holds_queue = self.can_continue;
        if self.holds_queue && !self.turns.queue.is_empty() {
            let lines = counted(self.turns.queue.len(), "typed line");
            self.turns.screen.show_note(format!("{lines} will be sent with your next line"));
        }
        let end = end?;
        if let Some(note) = unfinished_note(&end) {
            self.turns.screen.show_note(format!("{note}; press Enter to go on with it"));
        }
        Ok(())
    }

    /// Returns the selection of the calls that the session makes from now on.
    async fn calls_from_now(&self) -> Result<CallSelection, AgentError> {
        let run = self.chat.id().run();
        let latest =
            CallQuery { limit: 1, order: CallOrder::Latest, ..CallQuery::of_run(run.clone()) };
        let rows = self.work.composed.runtime.journal().calls(latest).await?;
        Ok(match rows.first() {
            Some(row) => CallSelection::After(row.id()),
            None => CallSelection::Run(run),
        })
    }

    /// Runs a command of haft in the middle of the conversation. Returns whether it worked.
    async fn run_haft_command(&mut self, command: impl Future<Output = CommandResult>) -> bool {
        self.turns.screen.wait_until_shown().await;
        let ran = command.await;
        if let Err(err) = &ran {
            self.show_error(err);
        }
        ran.is_ok()
    }

    /// Returns the name of a call of this session: `3` is its third call.
    fn call_name(&self, typed: &str) -> String {
        match typed.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("{}/{typed}", self.chat.id()),
            false => typed.to_owned(),
        }
    }

    async fn undo(&mut self, call: Option<String>) {
        let cx = self.work.cx;
        let is_last_turn = call.is_none();
        let selected = match call {
            Some(call) => undo::find_call(&self.call_name(&call), cx).await,
            None => match self.last_turn.clone() {
                Some(calls) => Ok(calls),
                None => {
                    let note = "there is no turn to undo: /undo CALL undoes a call, as /diff and haft log name it";
                    self.turns.screen.show_note(note);
                    return;
                }
            },
        };
        let calls = match selected {
            Ok(calls) => calls,
            Err(err) => return self.show_error(&err),
        };
        let is_undone = self.run_haft_command(undo::undo_in_session(&calls, cx)).await;
        if is_undone && is_last_turn {
            self.last_turn = None;
        }
    }

    async fn compact(&mut self) {
        self.turns.screen.show_note("the model summarises the earlier messages");
        let stop = CancellationToken::new();
        let compacted = {
            let mut compacting = std::pin::pin!(self.chat.compact(&stop));
            loop {
                tokio::select! {
                    biased;
                    compacted = &mut compacting => break compacted,
                    asked = self.turns.signals.next_signal() => {
                        self.turns.is_ending |= asked == StopSignal::Terminate;
                        stop.cancel();
                    }
                }
            }
        };
        match compacted {
            // The view says that they are summarised.
            Ok(true) => {}
            Ok(false) => self.turns.screen.show_note("nothing was summarised"),
            Err(err) => self.show_error(&agent_command_error(err)),
        }
    }

    async fn show_cost(&mut self) -> Result<(), AgentError> {
        let row = self.chat.row().await?;
        let usage = |tokens: haft_journal::TokenCounts| ModelUsage {
            input: tokens.input,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
        };
        self.turns.screen.show_note(session_usage_summary(usage(row.tokens), row.steps));
        let prices = self.work.settings.model.prices();
        match prices.filter(|prices| prices.model == self.chat.model()) {
            Some(prices) => {
                let cost = cost_in_words(&prices, usage(row.tokens));
                self.turns.screen.show_note(format!("cost: {cost}, without subagents"));
            }
            None => {
                let note = "the cost is not known: [model] input_cents and output_cents give the prices of a model";
                self.turns.screen.show_note(note);
            }
        }
        let context_tokens = self.work.settings.agent.bounds().context_tokens;
        let history = self.chat.history().await?;
        let answers = history.iter().filter(|(message, _)| message.role == MessageRole::Assistant);
        let last = answers.map(|(message, _)| usage(message.tokens)).next_back();
        if let Some(left) = last.and_then(|last| context_left_percent(last, context_tokens)) {
            let note = format!("{left}% of the context of {context_tokens} tokens is left");
            self.turns.screen.show_note(note);
        }
        Ok(())
    }

    async fn run_slash_command(&mut self, slash: SlashCommand) -> Result<(), AgentError> {
        match slash {
            SlashCommand::Help => self.turns.screen.show_note(help_text()),
            SlashCommand::Model(None) => {
                self.turns.screen.show_note(format!("this session asks {}", self.chat.model()));
            }
            SlashCommand::Model(Some(name)) => match self.chat.change_model(&name).await {
                Ok(()) => {}
                Err(err) => self.show_error(&agent_command_error(err)),
            },
            SlashCommand::Compact => self.compact().await,
            SlashCommand::Cost => self.show_cost().await?,
            SlashCommand::Diff(call) => {
                let of = call.map_or(self.chat.id().to_string(), |call| self.call_name(&call));
                let cx = self.work.cx;
                self.run_haft_command(diff::show_changes(of, cx)).await;
            }
            SlashCommand::Undo(call) => self.undo(call).await,
            SlashCommand::Permissions => {
                let cx = self.work.cx;
                self.run_haft_command(permissions::list_rules(cx)).await;
            }
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
                for agent in
                    self.work.composed.agents.iter().filter(|agent| agent.mode.is_primary())
                {
                    let mark = if agent.name == self.chat.agent() { "*" } else { " " };
                    let description = on_one_line(&agent.description);
                    self.turns.screen.show_note(format!("{mark} {}: {description}", agent.name));
                }
            }
            SlashCommand::New => self.begin_session(self.chat.agent().to_owned()).await?,
            SlashCommand::Agent(Some(name)) => self.begin_session(name).await?,
            SlashCommand::Fork => {
                let fork = self.work.composed.host.fork(self.chat.id(), None).await?;
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
        let chat = self.work.composed.host.begin(new).await?;
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
        self.last_turn = None;
    }
}

/// Returns whether a line is for haft and not for the agent.
fn is_for_haft(line: &str) -> bool {
    line.starts_with('!') || SlashCommand::parse(line).is_some()
}

/// Takes the next of the lines that wait: one for haft, or all lines before it as one prompt.
fn take_queued(queue: &mut VecDeque<String>) -> Option<String> {
    let mut text = queue.pop_front()?;
    if is_for_haft(&text) {
        return Some(text);
    }
    while let Some(next) = queue.pop_front_if(|next| !is_for_haft(next)) {
        text.push_str("\n\n");
        text.push_str(&next);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_wait_are_one_prompt_up_to_a_command() {
        let mut queue: VecDeque<String> =
            ["one", "two", "/cost", "!ls", "three"].map(str::to_owned).into();
        let mut take = || take_queued(&mut queue);
        assert_eq!(take().unwrap(), "one\n\ntwo");
        assert_eq!(take().unwrap(), "/cost");
        assert_eq!(take().unwrap(), "!ls");
        assert_eq!(take().unwrap(), "three");
        assert_eq!(take(), None);
    }
}
