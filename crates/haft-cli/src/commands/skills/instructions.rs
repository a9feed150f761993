//! `haft skills instructions`: prints the project's instructions for agents as one text.

use haft::{InstructionFile, Instructions, load_instructions};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;

#[derive(Serialize)]
struct InstructionsReport<'a> {
    files: &'a [InstructionFile],
    problems: &'a [String],
    tokens: usize,
}

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let collected = load_instructions(&cx.resolve_settings()?.root, cx.host.home());
    for problem in &collected.problems {
        output::print_warning(problem, None);
    }
    if cx.setting_args.json {
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
