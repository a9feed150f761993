//! `haft trust`: lets a manifest widen what is allowed, after saying what that is.

mod agents;
mod python;

use std::path::PathBuf;

use clap::Args;
use haft::{Clock, SystemClock};
use serde::Serialize;

use self::agents::{AgentAnswer, agents};
pub(crate) use self::python::TRUSTED_TOOLS_LISTED_MAX;
use self::python::{DirectoryAnswer, directories};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::manifest::ManifestFile;
use crate::state::State;
use crate::trust::Trust;
use crate::widening::part;
use crate::{output, settings};

/// Trust a manifest, so that it may widen what is allowed
///
/// Prints what the manifest grants. Only its present content at its present place is trusted: after a change it may
/// only narrow again.
///
/// Python tools are listed with what they may do beyond reading. What is trusted of them is their directories: files
/// that come later, and what is changed in these, is trusted as well. So it is with agents, where the manifest lies in the
/// root.
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
struct Answer {
    path: PathBuf,
    sha256: String,
    trusted: bool,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    python: Vec<DirectoryAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<AgentAnswer>,
}

/// Runs the command.
pub(crate) async fn run(
    args: &TrustArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let file = match &args.file {
        Some(path) => ManifestFile::read(path)?,
        None => match settings::find_manifest(setting_args)? {
            Some(file) => file,
            None => return Err(settings::no_manifest(&settings::working_directory()?)),
        },
    };
    let trust = Trust::new(state.trust());
    let mut answer = Answer {
        path: file.path().to_owned(),
        sha256: file.sha256(),
        trusted: !args.revoke,
        grants: Vec::new(),
        python: Vec::new(),
        agents: Vec::new(),
    };
    // What cannot be read need not be trusted, but can still be trusted no longer.
    if args.revoke {
        trust.revoke(&file)?;
    } else {
        let manifest = file.parse()?;
        if !manifest.python.is_empty() {
            answer.python = directories(&file, setting_args, state).await?;
        }
        answer.agents = agents(&file, &manifest);
        answer.grants = part(manifest, file.directory()).widenings;
        trust.grant(&file, SystemClock.now_ms())?;
    }
    if setting_args.json {
        output::json(&answer)?
    } else {
        output::data(&text(&answer))?
    }
    Ok(Status::Done)
}

fn text(answer: &Answer) -> String {
    let path = answer.path.display();
    let text = match (answer.trusted, answer.grants.as_slice()) {
        (false, _) => format!("{path} is not trusted"),
        (true, []) => format!("{path} is trusted; it grants nothing beyond the defaults"),
        (true, grants) => format!("{path} is trusted; it grants:\n  {}", grants.join("\n  ")),
    };
    output::visible(&(text + &python::text(&answer.python) + &agents::text(&answer.agents)))
}
