//! A session with an agent at a terminal or from a program: the turns, the typed lines, and the questions to the person.
//! The agent crate runs the turns. The commands decide which session a turn belongs to.

mod conversation;
mod failure;
mod slash;
mod turn;

use std::sync::Arc;

use haft::{Asker, HeadlessAsker};

use crate::asking::{ScreenAsker, TerminalAsker};
use crate::views::session::{SessionEvent, SessionScreen};
use haft_app::project_rules::ProjectRuleFile;

pub(crate) use conversation::TerminalConversation;
pub(crate) use failure::agent_command_error;
pub(crate) use turn::{ShutdownSignals, TurnRunner, can_continue, turn_status, unfinished_note};

/// Asks the person at the terminal while the session's view is on it.
pub(crate) type AgentAsker = ScreenAsker<SessionEvent>;

/// Returns the asker for a session on this screen, if there is a person who may be asked.
pub(crate) fn asker(
    project: &ProjectRuleFile,
    screen: SessionScreen,
    headless: bool,
) -> Option<Arc<AgentAsker>> {
    let person = TerminalAsker::new(project).filter(|_| !headless)?;
    Some(Arc::new(ScreenAsker::new(person.for_many_calls(), screen)))
}

/// Returns the asker as a host takes it.
pub(crate) fn asker_or_headless(asker: Option<&Arc<AgentAsker>>) -> Arc<dyn Asker> {
    match asker {
        Some(asker) => Arc::clone(asker) as Arc<dyn Asker>,
        None => Arc::new(HeadlessAsker),
    }
}
