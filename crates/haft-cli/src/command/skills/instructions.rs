//! `haft skills instructions`: what the project tells agents, as one text.

use haft::{InstructionFile, Instructions, instructions};
use serde::Serialize;

use crate::error::{CommandError, Status};
use crate::output;
use crate::settings::Settings;

#[derive(Serialize)]
struct Answer<'a> {
    files: &'a [InstructionFile],
    problems: &'a [String],
    tokens: usize,
}

/// Runs the command.
pub(super) fn run(settings: &Settings, is_json: bool) -> Result<Status, CommandError> {
    let home = std::env::home_dir();
    let collected: Instructions = instructions(&settings.root, home.as_deref());
    for problem in &collected.problems {
        output::warning(problem, None);
    }
    if is_json {
        let Instructions { files, problems } = &collected;
        output::json(&Answer { files, problems, tokens: collected.tokens() })?;
    } else if collected.files.is_empty() {
        output::note("there are no instructions: no AGENTS.md, CLAUDE.md or CONTEXT.md was found");
    } else {
        output::data(&collected.text())?;
    }
    Ok(Status::Done)
}
