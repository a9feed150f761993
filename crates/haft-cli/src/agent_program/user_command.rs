//! `!COMMAND` in a conversation: a command that the person runs. It is a call of the person, not of the agent: it has a separate
//! run, and the person's rules judge it without the agent's restrictions. The agent reads the command and its output later.

use std::sync::Arc;

use haft::{Asker, Call};
use haft_agent::{AgentEvent, AgentEventKind, ToolResultStatus, call_title};
use haft_contract::{
    CallProgress, Envelope, EnvelopeMetadata, ProgressSink, ToolKind, cut, end_of,
};
use haft_journal::SessionId;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation_work::ConversationWork;
use super::turn::TurnRunner;
use super::view::{SessionEvent, SessionScreen};
use crate::error::CommandError;
use crate::signals::StopSignal;
use crate::views::output;
use crate::views::remedy;
use haft_app::compose;

/// The front end of the person's own calls, as runs record it.
const FRONT_END: &str = "cli";
/// Output of a command of the person that the agent reads, in bytes.
///
/// Limit (agents): the middle is left out.
pub(crate) const COMMAND_NOTE_BYTES_MAX: usize = 8_000;

/// Shows the output of a running command.
struct CommandOutput {
    screen: SessionScreen,
    session: SessionId,
    id: String,
}

impl ProgressSink for CommandOutput {
    /// Drops the report: the view counts the time itself.
    fn report(&self, _: CallProgress) {}

    fn output(&self, tail: &str) {
        let (id, tail) = (self.id.clone(), tail.to_owned());
        show_event(&self.screen, &self.session, AgentEventKind::ToolOutput { id, tail });
    }
}

fn show_event(screen: &SessionScreen, session: &SessionId, kind: AgentEventKind) {
    screen.show_event(SessionEvent::new(AgentEvent { kind, session: session.clone() }));
}

/// Runs a command, shows its output, and returns the note that tells the agent of it.
pub(super) async fn run_user_command(
    command: &str,
    work: &ConversationWork<'_>,
    turns: &mut TurnRunner,
    session: &SessionId,
) -> Result<String, CommandError> {
    let host = &work.cx.host;
    let runtime = &work.composed.runtime;
    let connection = compose::open_connection(runtime, work.settings, host, FRONT_END)?;
    // The sidecar is all that is left of a long output; old ones are swept away by later commands.
    connection.keep_outputs();
    let run = connection.run(compose::new_run(host.now_ms())?);
    let (id, tool) = (run.id().to_string(), "bash".to_owned());
    let input = json!({ "cmd": command });
    let (screen, session) = (turns.screen.clone(), session.clone());
    let called = AgentEventKind::ToolCall {
        id: id.clone(),
        tool: tool.clone(),
        kind: ToolKind::Execute,
        input: input.clone(),
        title: call_title(&tool, &input),
        locations: Vec::new(),
    };
    show_event(&screen, &session, called);
    let stop = CancellationToken::new();
    let sink = CommandOutput { screen: screen.clone(), session: session.clone(), id: id.clone() };
    let call = Call {
        cancellation: stop.clone(),
        asker: turns.asker.clone().map(|asker| asker as Arc<dyn Asker>),
        progress: Arc::new(sink),
        // The person typed it.
        is_tool_named: true,
        ..Call::new(&tool, input)
    };
    let mut calling = std::pin::pin!(run.call(call));
    let called = loop {
        tokio::select! {
            biased;
            called = &mut calling => break called,
            asked = turns.signals.next_signal() => {
                turns.is_ending |= asked == StopSignal::Terminate;
                stop.cancel();
            }
        }
    };
    // Without an answer, it is not known what the command did, and the error says so.
    let envelope = called.unwrap_or_else(|err| Envelope::Error {
        error_text: err.to_string(),
        metadata: EnvelopeMetadata::default(),
    });
    let (status, text) = match &envelope {
        Envelope::Output { .. } => (ToolResultStatus::OutputAvailable, envelope.text()),
        Envelope::Error { error_text, metadata } => {
            let text = remedy::text_with_advice(error_text, metadata.refusal.as_deref());
            (ToolResultStatus::OutputError, text)
        }
    };
    let duration_ms = envelope.metadata().duration_ms;
    let result = AgentEventKind::ToolResult { id, tool, status, duration_ms, envelope };
    show_event(&screen, &session, result);
    turns.screen.wait_until_shown().await;
    output::write_data(&text)?;
    Ok(command_note(command, &text))
}

/// Returns what the agent reads of a command of the person.
fn command_note(command: &str, output: &str) -> String {
    let output = output.trim_end();
    let shown = if output.len() > COMMAND_NOTE_BYTES_MAX {
        let half = COMMAND_NOTE_BYTES_MAX / 2;
        let head = output.get(..output.floor_char_boundary(half)).unwrap_or_default();
        format!("{head}\n[the middle is left out]\n{}", end_of(output, half))
    } else {
        output.to_owned()
    };
    format!("[I ran this command myself: {}\n{shown}]\n\n", cut(command, COMMAND_NOTE_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_reads_the_ends_of_a_long_output() {
        assert_eq!(command_note("ls", "a\nb\n"), "[I ran this command myself: ls\na\nb]\n\n");
        let fits = "x".repeat(COMMAND_NOTE_BYTES_MAX);
        assert!(command_note("ls", &fits).contains(&fits));
        let note = command_note("ls", &format!("first{}last", "x".repeat(COMMAND_NOTE_BYTES_MAX)));
        assert!(note.contains("\nfirstx") && note.contains("xlast]"), "{note}");
        assert!(
            note.contains("[the middle is left out]") && note.len() < COMMAND_NOTE_BYTES_MAX + 100
        );
    }
}
