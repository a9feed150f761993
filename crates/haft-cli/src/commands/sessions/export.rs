//! `haft sessions export`: writes sessions for other programs or for people.

use clap::{Args, ValueEnum};
use haft_journal::{MessagePart, SessionMessage, SessionRow};
use serde::Serialize;

use super::{WorkspaceSessions, markdown, pages};
use crate::arguments::candidates;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;

/// Write sessions as lines of JSON or as Markdown
///
/// Each line of JSON is an object whose "record" says what it is: "session", "message" or "part", with the columns that the
/// journal has for it; a session comes before its messages, and a message before its parts, in their order, including those
/// that were set aside. Markdown has the present messages, and each call as a line.
#[derive(Args)]
pub(super) struct SessionsExportArgs {
    /// The sessions, as haft sessions list shows them, or last for the one used last in this workspace
    #[arg(required = true, value_name = "SESSION", add = candidates::sessions())]
    sessions: Vec<String>,
    /// The form to write
    #[arg(long, value_enum, default_value_t = SessionsExportFormat::Jsonl)]
    format: SessionsExportFormat,
}

/// A form of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SessionsExportFormat {
    /// Lines of JSON
    Jsonl,
    /// A document
    Markdown,
}

#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum SessionsExportLine<'a> {
    Session(&'a SessionRow),
    Message(&'a SessionMessage),
    Part(&'a MessagePart),
}

pub(super) async fn run(args: &SessionsExportArgs, kept: &WorkspaceSessions) -> CommandResult {
    for named in &args.sessions {
        let (journal, session) = kept.find_session(named).await?;
        match args.format {
            SessionsExportFormat::Jsonl => {
                output::write_json(&SessionsExportLine::Session(&session))?;
                let lines = |message: &SessionMessage, parts: &[MessagePart]| {
                    output::write_json(&SessionsExportLine::Message(message))?;
                    parts
                        .iter()
                        .try_for_each(|part| output::write_json(&SessionsExportLine::Part(part)))
                };
                pages::for_each_message(journal, &session.id, true, lines).await?;
            }
            SessionsExportFormat::Markdown => {
                output::write_data(&markdown::head(&session))?;
                pages::for_each_message(journal, &session.id, false, |message, parts| {
                    output::write_data(&markdown::message(message, parts))
                })
                .await?;
            }
        }
    }
    Ok(CommandStatus::Done)
}
