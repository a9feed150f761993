//! The program haft-agent: the commands that ask models, one file each, and what they share. This is a session with an agent
//! at a terminal or from a program, its view, and the making of plans. The arguments of the commands are in `commands/`,
//! because `haft` reads them too.

pub(crate) mod acp;
pub(crate) mod agent;
mod completion;
mod conversation;
mod conversation_work;
pub(crate) mod do_request;
mod editor;
pub(crate) mod make_plan;
mod model_text;
mod paced_models;
mod planning;
mod slash;
mod turn;
mod user_command;
mod view;

use std::sync::Arc;

use haft::{Asker, HeadlessAsker};

use self::view::{SessionEvent, SessionScreen};
use crate::asking::{ScreenAsker, TerminalAsker, WaitingPerson};
use haft_app::ProjectRuleFile;
use haft_app::manifest::AskPolicy;

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

/// Returns the asker as a host takes it. Without a person here, calls wait for the answers of other processes if the settings say
/// so.
fn asker_or_waiting(
    asker: Option<&Arc<AgentAsker>>,
    screen: SessionScreen,
    policy: AskPolicy,
) -> Arc<dyn Asker> {
    match (asker, policy) {
        (Some(asker), _) => Arc::clone(asker) as Arc<dyn Asker>,
        (None, AskPolicy::Wait) => Arc::new(WaitingPerson::new(screen)),
        (None, AskPolicy::Deny) => Arc::new(HeadlessAsker),
    }
}
