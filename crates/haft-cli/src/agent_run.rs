//! Talking to an agent at a terminal, or from a program: what is shown of a turn, who is asked and how, and the lines that
//! are typed. What an agent does in a turn is the agent crate's business; which command begins one is the commands'.

mod changes;
mod conversation;
mod editor;
mod events;
mod failure;
pub(crate) mod limits;
mod lines;
mod outcome;
mod slash;
mod turn;
mod view;

use std::sync::Arc;

use haft::{Asker, Headless};

use crate::ask::{AskerOnScreen, TerminalAsker};
use crate::project::Project;

pub(crate) use conversation::Conversation;
pub(crate) use failure::failure;
pub(crate) use outcome::{line_of_result, on_one_line};
pub(crate) use turn::{Turns, WindingDown, goes_on, note_of, status_of};
pub(crate) use view::{Look, Screen, View};

/// Whoever is asked: the person at the terminal, while a view is on it.
pub(crate) type AgentAsker = AskerOnScreen<Screen>;

/// Returns the asker for a session on this screen, if there is a person who may be asked.
pub(crate) fn asker(project: &Project, screen: Screen, headless: bool) -> Option<Arc<AgentAsker>> {
    let person = TerminalAsker::new(project).filter(|_| !headless)?;
    Some(Arc::new(AskerOnScreen::new(person.of_many_calls(), screen)))
}

/// Returns the asker as a host takes it.
pub(crate) fn or_headless(asker: Option<&Arc<AgentAsker>>) -> Arc<dyn Asker> {
    match asker {
        Some(asker) => Arc::clone(asker) as Arc<dyn Asker>,
        None => Arc::new(Headless),
    }
}
