//! Why an agent cannot be talked to, in the words and with the exit status of commands.

use haft::RunError;
use haft_agent::AgentError;
use haft_journal::JournalError;
use haft_model::ModelError;

use crate::error::{CommandError, CommandErrorKind};
use haft_app::calendar::rfc3339;
use haft_app::quote;

/// Returns what the error of a session means for a command.
pub(crate) fn agent_command_error(err: AgentError) -> CommandError {
    match err {
        AgentError::UnknownAgent { .. } | AgentError::BrokenRestrictions { .. } => {
            CommandError::usage(err).hint("haft agents list")
        }
        AgentError::UnknownSession(_) => CommandError::usage(err).hint("haft sessions list"),
        AgentError::UnknownMessage { ref chat, .. } => {
            let hint = format!("haft sessions show {chat}");
            CommandError::usage(err).hint(hint)
        }
        AgentError::OtherWorkspace { ref chat, ref root } => {
            let hint = format!("haft agent --root {} --resume {chat}", quote::shell(root));
            CommandError::usage(err).hint(hint)
        }
        AgentError::EmptyPrompt | AgentError::PromptTooLong { .. } | AgentError::Scope(_) => {
            CommandError::usage(err)
        }
        AgentError::Model(err) => CommandError::from(err),
        AgentError::ModelUnavailable { ref chat, ref source, .. } => {
            let hint = if let ModelError::NoKey { variable, .. } = &**source {
                format!("export {variable}=...")
            } else {
                format!("haft agent --resume {chat} --model openai/gpt-5")
            };
            CommandError::usage(err).hint(hint)
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
            let hint = format!("haft sessions show {run}");
            CommandError::usage(err).hint(hint)
        }
        AgentError::Run(err) => CommandError::from(err),
        AgentError::Journal(err) => CommandError::from(err),
        err => CommandError::failed(err),
    }
}
