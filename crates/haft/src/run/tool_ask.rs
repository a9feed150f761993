//! The question of a driver whether it may call a tool at all. A plan asks it before its first call of a dangerous tool. It is an
//! ask of the journal like the questions about calls. Whether the question is needed is not decided here.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{CallAddress, ToolId};
use haft_journal::AskVerdict;
use serde_json::Value;

use super::Run;
use crate::ask::{ASK_INPUT_BYTES_MAX, Ask, AskKind, Asker, ShownAsk};
use crate::call::TaskAttempt;
use crate::recorded_ask::{
    AskContent, AskOutcome, AskingCall, ReceivedVerdict, permission_question,
};
use crate::run_error::RunError;

/// A question whether a driver may call a tool.
pub struct ToolAsk {
    /// The task that calls the tool first.
    pub task_attempt: TaskAttempt,
    /// The number that this call will have.
    pub seq: u32,
    /// The tool.
    pub tool: ToolId,
    /// The input of this call, without contents.
    pub input: Value,
    /// The reason to ask, one line.
    pub reason: String,
    /// Asks the person behind the front end.
    pub asker: Arc<dyn Asker>,
    /// The session that the question names.
    pub connection: String,
    /// The workspace root that the question names.
    pub root: PathBuf,
}

/// How such a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAskEnd {
    /// The driver may call the tool.
    Allowed,
    /// A person rejected it, perhaps with words.
    Rejected(Option<String>),
    /// No person answered. Holds the reason.
    Unanswered(String),
}

impl Run {
    /// Asks a person whether the driver may call a tool, and waits for the answer. Dropping the future withdraws the question.
    ///
    /// # Errors
    ///
    /// Fails if the address of the task is not valid, if another process owns the run, or if the journal fails.
    pub async fn ask_about_tool(&self, asked: ToolAsk) -> Result<ToolAskEnd, RunError> {
        let ToolAsk { task_attempt, seq, tool, input, reason, asker, connection, root } = asked;
        let state = &self.state;
        let scope = state.attempt_address(&task_attempt)?;
        let lease = state.lease().await?;
        let asking = AskingCall {
            shared: Arc::clone(&state.connection.shared),
            address: CallAddress { scope, seq },
            fencing_token: lease.fencing_token,
            front_end: state.connection.front_end.clone(),
            asker: Arc::clone(&asker),
            cancellation: tokio_util::sync::CancellationToken::new(),
            progress: Arc::new(()),
        };
        let mut text = input.to_string();
        if text.len() > ASK_INPUT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(ASK_INPUT_BYTES_MAX));
            text.push('…');
        }
        let ask = Ask {
            id: asking.new_ask_id(),
            call_id: asking.address.to_string(),
            driver_call_id: None,
            tool,
            input: text,
            accesses: Vec::new(),
            reasons: vec![reason],
            always_rules: Vec::new(),
            exact_rules: Vec::new(),
            connection,
            root,
        };
        let shown = ShownAsk { kind: AskKind::Tool, ..ShownAsk::new(&ask, input) };
        let content = AskContent { summary: shown.clone(), shown };
        let question = permission_question(&asker, ask);
        let outcome = self.note_lost_lease(asking.ask_in_task(content, question).await)?;
        Ok(match outcome {
            AskOutcome::Answered(ReceivedVerdict { verdict, words, .. }) => match verdict {
                AskVerdict::Once
                | AskVerdict::Session
                | AskVerdict::SessionExact
                | AskVerdict::Always
                | AskVerdict::AlwaysExact => ToolAskEnd::Allowed,
                // Such an answer does not fit this ask, so it allows nothing.
                AskVerdict::Edited | AskVerdict::Reject | AskVerdict::RejectSession => {
                    ToolAskEnd::Rejected(words)
                }
            },
            AskOutcome::Unanswered => {
                ToolAskEnd::Unanswered("no person answered whether it may run".to_owned())
            }
            AskOutcome::Expired(ms) => {
                ToolAskEnd::Unanswered(format!("no person answered within {} seconds", ms / 1_000))
            }
            AskOutcome::Withdrawn | AskOutcome::Cancelled => {
                ToolAskEnd::Unanswered("the question whether it may run was withdrawn".to_owned())
            }
            AskOutcome::Failed(why) => ToolAskEnd::Unanswered(format!("asking failed: {why}")),
        })
    }
}
