//! The program haft-agent: the commands that ask models, one file each, and what they share. This is a session with an agent
//! at a terminal or from a program, its view, and the making of plans. The arguments of the commands are in `commands/`,
//! because `haft` reads them too.

pub(crate) mod acp;
pub(crate) mod agent;
mod conversation;
pub(crate) mod do_request;
mod editor;
pub(crate) mod make_plan;
mod model_text;
mod paced_models;
mod planning;
mod slash;
mod turn;
mod view;

use std::sync::Arc;

use haft::{Asker, HeadlessAsker};

use self::view::{SessionEvent, SessionScreen};
use crate::asking::{ScreenAsker, TerminalAsker};
use haft_app::ProjectRuleFile;

/// Asks the person at the terminal while the session's view is on it.
type AgentAsker = ScreenAsker<SessionEvent>;

/// Returns the asker for a session on this screen, if there is a person who may be asked.
fn asker(
    project: &ProjectRuleFile,
    screen: SessionScreen,
    headless: bool,
) -> Option<Arc<AgentAsker>> {
    let person = TerminalAsker::new(project).filter(|_| !headless)?;
    Some(Arc::new(ScreenAsker::new(person.for_many_calls(), screen)))
}

/// Returns the asker as a host takes it.
fn asker_or_headless(asker: Option<&Arc<AgentAsker>>) -> Arc<dyn Asker> {
    match asker {
        Some(asker) => Arc::clone(asker) as Arc<dyn Asker>,
        None => Arc::new(HeadlessAsker),
    }
}
