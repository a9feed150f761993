//! The errors of a session as errors of a command, with their exit status and hint.

use haft::RunError;
use haft_agent::AgentError;
use haft_journal::JournalError;
use haft_model::ModelError;

use crate::error::{CommandError, CommandErrorKind};
use haft_app::calendar::rfc3339;
use haft_app::quote;

/// Returns the error of a session as the error of a command.
pub(crate) fn agent_command_error(err: AgentError) -> CommandError {
    match err {
        AgentError::UnknownAgent { .. } | AgentError::BrokenRestrictions { .. } => {
            CommandError::usage(err).hint("haft agents list")
        }
        AgentError::UnknownSession(_) => CommandError::usage(err).hint("haft sessions list"),
        AgentError::UnknownMessage { ref session, .. } => {
            CommandError::usage(&err).hint(format!("haft sessions show {session}"))
        }
        AgentError::OtherWorkspace { ref session, ref root } => {
            let root = quote::shell(root);
            CommandError::usage(&err).hint(format!("haft agent --root {root} --resume {session}"))
        }
        AgentError::NothingSaid(ref session) => {
            let hint = format!("haft agent --resume {session} 'What is to be done'");
            CommandError::usage(&err).hint(hint)
        }
        AgentError::EmptyPrompt | AgentError::PromptTooLong { .. } => CommandError::usage(err),
        AgentError::Model(err) => CommandError::from(err),
        AgentError::ModelUnavailable { ref session, ref source, .. } => {
            let hint = if let ModelError::NoKey { variable, .. } = &**source {
                format!("export {variable}=...")
            } else {
                format!("haft agent --resume {session} --model openai/gpt-5")
            };
            CommandError::usage(&err).hint(hint)
        }
        AgentError::Summary(_) | AgentError::EmptySummary => CommandError::model(err),
        AgentError::Run(RunError::Journal(JournalError::LeaseHeld { holder }))
        | AgentError::Journal(JournalError::LeaseHeld { holder }) => {
            let (session, place) = (&holder.run, &holder.owner.location);
            let until = rfc3339(holder.expires_at_ms);
            // A fork does not take the session from the process that holds it.
            CommandError::failed(format!(
                "session {session} is held by {place}, until {until} at least: nothing was done; go on there, end that \
                 process, or fork the session"
            ))
            .kind(CommandErrorKind::Held)
            .hint(format!("haft sessions fork {session}"))
        }
        AgentError::Run(RunError::Journal(JournalError::UnknownMessage { ref run, .. })) => {
            CommandError::usage(&err).hint(format!("haft sessions show {run}"))
        }
        AgentError::Run(err) => CommandError::from(err),
        AgentError::Journal(err) => CommandError::from(err),
        err => CommandError::failed(err),
    }
}
