//! `haft sessions export`: a session for other programs or for people, to keep elsewhere.

use clap::{Args, ValueEnum};
use haft_journal::{ChatMessage, ChatPart, ChatSession};
use serde::Serialize;

use super::{Kept, markdown, pages};
use crate::error::{CommandError, Status};
use crate::output;

/// Write sessions as lines of JSON or as Markdown
///
/// Each line of JSON is an object whose "record" says what it is: "session", "message" or "part", with the columns that the
/// journal has for it; a session comes before its messages, and a message before its parts, in their order, those that were
/// set aside among them. Markdown has what holds: what was said, and each call as a line.
#[derive(Args)]
pub(super) struct ExportArgs {
    /// The sessions, as haft sessions list shows them, or last for the one used last in this workspace
    #[arg(required = true, value_name = "SESSION")]
    sessions: Vec<String>,
    /// The form to write
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    format: Form,
}

/// A form of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Lines of JSON
    Jsonl,
    /// A document
    Markdown,
}

#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Line<'a> {
    Session(&'a ChatSession),
    Message(&'a ChatMessage),
    Part(&'a ChatPart),
}

pub(super) async fn run(args: &ExportArgs, kept: &Kept) -> Result<Status, CommandError> {
    for named in &args.sessions {
        let (journal, session) = kept.find(named).await?;
        match args.format {
            Form::Jsonl => {
                output::json(&Line::Session(&session))?;
                pages::for_each(journal, &session.id, true, lines).await?;
            }
            Form::Markdown => {
                output::data(&markdown::head(&session))?;
                pages::for_each(journal, &session.id, false, |message, parts| {
                    output::data(&markdown::message(message, parts))
                })
                .await?;
            }
        }
    }
    Ok(Status::Done)
}

fn lines(message: &ChatMessage, parts: &[ChatPart]) -> Result<(), CommandError> {
    output::json(&Line::Message(message))?;
    parts.iter().try_for_each(|part| output::json(&Line::Part(part)))
}
