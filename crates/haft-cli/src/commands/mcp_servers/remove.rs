//! `haft mcp remove`: removes the table `[mcp.NAME]` from haft.toml.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::package::directory_of_program;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::manifest_edit::{ManifestEdit, ManifestPlace};
use crate::views::output;
use haft_app::{quote, settings};

/// The server to remove.
#[derive(Args)]
pub(crate) struct McpRemoveArgs {
    /// Name of the server
    name: String,
    /// Remove it from your own configuration, which holds for all of your projects
    #[arg(long, conflicts_with = "config")]
    user: bool,
    /// Accepted for older scripts: haft.toml stays trusted without a question
    #[arg(long, hide = true)]
    yes: bool,
}

#[derive(Serialize)]
struct McpRemoveReport<'a> {
    manifest: &'a Path,
    /// Whether the rest of the manifest holds.
    trusted: bool,
    name: &'a str,
}

/// Runs the command.
pub(super) fn run(args: &McpRemoveArgs, cx: &CliContext) -> CommandResult {
    let edit = ManifestEdit::open(ManifestPlace::of_option(args.user), &cx.setting_args, &cx.host)?;
    if !edit.is_there() {
        return Err(settings::no_manifest(edit.file.directory()).into());
    }
    let mut expected = edit.parse(&edit.file)?;
    let Some(removed) = expected.mcp.remove(&args.name) else {
        let path = edit.file.path().display();
        let message = format!("no server is called {:?} in {path}", args.name);
        return Err(CommandError::usage(message).hint("haft mcp list"));
    };
    let text = edit.without_entry("mcp", &args.name, &expected)?;
    let changed = edit.write(text)?;
    let path = changed.file.path();
    let answer = McpRemoveReport { manifest: path, trusted: changed.is_trusted, name: &args.name };
    cx.print_answer(&answer, || {
        format!("removed {} from {}\n{}", args.name, path.display(), changed.trust_note())
    })?;
    let program = removed.words().next();
    if let Some(directory) = program.and_then(|word| directory_of_program(word, &cx.host)) {
        output::print_note(format_args!(
            "its package stays, because other projects may use it; to remove it: rm -r {}",
            quote::shell(&directory.to_string_lossy())
        ));
    }
    Ok(CommandStatus::Done)
}
