//! `haft skills instructions`: prints the project's instructions for agents as one text.

use haft::{InstructionFile, Instructions, load_instructions};
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

#[derive(Serialize)]
struct InstructionsReport<'a> {
    files: &'a [InstructionFile],
    problems: &'a [String],
    tokens: usize,
}

/// Runs the command.
pub(super) fn run(
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let home = host.home();
    let collected: Instructions = load_instructions(&settings.root, home);
    for problem in &collected.problems {
        output::print_warning(problem, None);
    }
    if is_json {
        let Instructions { files, problems } = &collected;
        output::write_json(&InstructionsReport { files, problems, tokens: collected.tokens() })?;
    } else if collected.files.is_empty() {
        output::print_note(
            "there are no instructions: no AGENTS.md, CLAUDE.md or CONTEXT.md was found",
        );
    } else {
        output::write_data(&collected.text())?;
    }
    Ok(CommandStatus::Done)
}
