//! `haft mcp remove`: removes the table `[mcp.NAME]` from haft.toml.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::manifest_edit::ManifestEdit;
use haft_app::settings;

/// The server to remove.
#[derive(Args)]
pub(crate) struct McpRemoveArgs {
    /// Name of the server
    name: String,
    /// Trust the changed haft.toml again without asking, if it was trusted
    #[arg(long)]
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
pub(super) async fn run(args: &McpRemoveArgs, cx: &CliContext) -> CommandResult {
    let edit = ManifestEdit::open(&cx.setting_args, &cx.host)?;
    if !edit.is_there() {
        return Err(settings::no_manifest(edit.file.directory()).into());
    }
    let mut expected = edit.file.parse()?;
    if expected.mcp.remove(&args.name).is_none() {
        let path = edit.file.path().display();
        let message = format!("no server is called {:?} in {path}", args.name);
        return Err(CommandError::usage(message).hint("haft mcp list"));
    }
    let text = edit.without_entry("mcp", &args.name, &expected)?;
    let changed = edit.write(text, args.yes).await?;
    let path = changed.file.path();
    let answer = McpRemoveReport { manifest: path, trusted: changed.is_trusted, name: &args.name };
    cx.print_answer(&answer, || format!("removed {} from {}\n", args.name, path.display()))?;
    Ok(CommandStatus::Done)
}
