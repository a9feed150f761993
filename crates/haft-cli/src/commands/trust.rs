//! `haft trust`: lets a manifest widen what is allowed, and prints its grants.

mod agents;
mod python;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use self::agents::{TrustedAgentReport, agents};
use self::python::{TrustedDirectoryReport, directories};
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use haft_app::TrustStore;
use haft_app::manifest::ManifestFile;
use haft_app::settings;
use haft_app::split_privileged;

/// Trust a manifest, so that it may widen what is allowed
///
/// Prints what the manifest grants. Only its present content at its present place is trusted: after a change it may
/// only narrow again.
///
/// The Python tools are listed with what they may do beyond reading. Trust covers their whole directories: new and changed
/// files are trusted too. The same holds for agents, if the manifest lies in the root.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft trust                      Trust the haft.toml found from the working directory
  haft trust ~/src/a/haft.toml    Trust another one
  haft trust --revoke             Trust it no longer")]
pub(crate) struct TrustArgs {
    /// The manifest; without it, the haft.toml found from the working directory
    file: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,
}

#[derive(Serialize)]
struct TrustReport {
    path: PathBuf,
    sha256: String,
    trusted: bool,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    python: Vec<TrustedDirectoryReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<TrustedAgentReport>,
}

/// Runs the command.
pub(crate) async fn run(args: &TrustArgs, cx: &CliContext) -> CommandResult {
    let file = match &args.file {
        Some(path) => ManifestFile::read(path)?,
        None => match settings::find_manifest(&cx.setting_args.overrides(), &cx.host)? {
            Some(file) => file,
            None => return Err(settings::no_manifest(&cx.host.working_directory()?).into()),
        },
    };
    let trust = TrustStore::new(cx.host.state().trust());
    let mut answer = TrustReport {
        path: file.path().to_owned(),
        sha256: file.sha256(),
        trusted: !args.revoke,
        grants: Vec::new(),
        python: Vec::new(),
        agents: Vec::new(),
    };
    // A manifest that cannot be parsed cannot be trusted, but its trust can be revoked.
    if args.revoke {
        trust.revoke(&file)?;
    } else {
        let manifest = file.parse()?;
        if !manifest.python.is_empty() {
            answer.python = directories(&file, cx).await?;
        }
        answer.agents = agents(&file, &manifest, &cx.host);
        answer.grants = split_privileged(&file, &manifest)?.privileged_keys;
        trust.grant(&file, cx.host.now_ms())?;
    }
    cx.print_answer(&answer, || {
        let path = answer.path.display();
        let text = match (answer.trusted, answer.grants.as_slice()) {
            (false, _) => format!("{path} is not trusted"),
            (true, []) => format!("{path} is trusted; it grants nothing beyond the defaults"),
            (true, grants) => format!("{path} is trusted; it grants:\n  {}", grants.join("\n  ")),
        };
        text + &python::text(&answer.python) + &agents::text(&answer.agents)
    })?;
    Ok(CommandStatus::Done)
}
