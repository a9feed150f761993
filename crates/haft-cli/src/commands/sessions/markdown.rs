//! A session as Markdown: messages as they were written, and calls as lines.

use haft_journal::{MessageKind, MessagePart, MessageRole, PartKind, SessionMessage, SessionRow};

use super::show::{failure_text, line_of_part};
use crate::views::outcome::on_one_line;
use haft_app::calendar::rfc3339;

/// Returns the beginning of the document.
pub(super) fn head(session: &SessionRow) -> String {
    let title = session.title.as_deref().map_or_else(|| session.id.to_string(), on_one_line);
    format!(
        "# {title}\n\nSession `{}` of the agent {} with {}, {}.\n",
        session.id,
        on_one_line(&session.agent),
        on_one_line(&session.model),
        rfc3339(session.created_at_ms)
    )
}

/// Returns a message. Thoughts are left out.
pub(super) fn message(message: &SessionMessage, parts: &[MessagePart]) -> String {
    let who = match (message.kind, message.role) {
        (MessageKind::Said, MessageRole::User) => "You".to_owned(),
        (MessageKind::Said, MessageRole::Assistant) => {
            on_one_line(message.agent.as_deref().unwrap_or("agent"))
        }
        (MessageKind::Summary, _) => "Summary".to_owned(),
        (MessageKind::Notice, _) => "haft".to_owned(),
    };
    let mut text = format!("\n## {who}\n");
    let mut is_list = false;
    for part in parts {
        match part.kind {
            PartKind::Text => {
                let said = part.text.as_deref().unwrap_or_default().trim();
                text.push_str(&format!("\n{said}\n"));
                is_list = false;
            }
            PartKind::Reasoning => {}
            PartKind::Tool => {
                let gap = if is_list { "" } else { "\n" };
                // A backtick in the line would end the code span.
                let line = line_of_part(part).replace('`', "'");
                text.push_str(&format!("{gap}- `{line}`\n"));
                is_list = true;
            }
        }
    }
    text.extend(failure_text(message).map(|why| format!("\n> failed: {why}\n")));
    text
}
