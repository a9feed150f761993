//! `haft trust`: lets a manifest widen what is allowed, and prints its grants. If the manifest changed since it was trusted,
//! the command shows the changes, and a person at a terminal confirms them.

mod agents;
mod changes;
mod python;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use self::agents::{TrustedAgentReport, agents};
use self::changes::changed_lines;
use self::python::{TrustedDirectoryReport, directories};
use crate::arguments::cli_context::CliContext;
use crate::asking::ask_confirmation;
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::TrustStore;
use haft_app::manifest::{ExampleChecks, ManifestFile};
use haft_app::{settings, user_configuration};
use haft_app::{split_privileged, unconfirmed_user_file};

/// Trust a manifest, so that it may widen what is allowed
///
/// Prints what the manifest grants. Only its present content at its present place is trusted: after a change it may only
/// narrow again. If the content was trusted before, the command shows the lines that changed since then. At a terminal, it
/// asks before it trusts them. With --yes, and without a terminal, as in a script, it trusts them at once. Manifests that haft
/// itself wrote or changed need no trust again.
///
/// Your own configuration, ~/.config/haft/haft.toml, needs no trust at first. After haft wrote it or you trusted it, each
/// other content is trusted once like a manifest.
///
/// The Python tools are listed with what they may do beyond reading. Trust covers their whole directories: new and changed
/// files are trusted too. The same holds for agents, if the manifest lies in the root.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft trust                      Trust the haft.toml found from the working directory
  haft trust ~/src/a/haft.toml    Trust another one
  haft trust --yes                Trust it and its changes without a question
  haft trust --revoke             Trust it no longer")]
pub(crate) struct TrustArgs {
    /// The manifest; without it, the haft.toml found from the working directory, or your own configuration if only that is
    /// not trusted
    file: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,
    /// Trust the changes without the question at the terminal
    #[arg(long, conflicts_with = "revoke")]
    yes: bool,
}

#[derive(Serialize)]
struct TrustReport {
    path: PathBuf,
    sha256: String,
    trusted: bool,
    /// The lines that changed since another content was trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    python: Vec<TrustedDirectoryReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<TrustedAgentReport>,
}

/// Runs the command.
pub(crate) async fn run(args: &TrustArgs, cx: &CliContext) -> CommandResult {
    let trust = TrustStore::new(cx.host.state().trust());
    let file = match &args.file {
        Some(path) => ManifestFile::read(path)?,
        None => {
            let found = settings::find_manifest(&cx.setting_args.overrides(), &cx.host)?;
            let is_done = found.as_ref().is_none_or(|file| trust.is_trusted(file));
            let own = match is_done && !args.revoke {
                true => unconfirmed_user_file(&cx.host)?,
                false => None,
            };
            match own.or(found) {
                Some(file) => file,
                None => return Err(settings::no_manifest(&cx.host.working_directory()?).into()),
            }
        }
    };
    let mut answer = TrustReport {
        path: file.path().to_owned(),
        sha256: file.sha256(),
        trusted: !args.revoke,
        changes: Vec::new(),
        grants: Vec::new(),
        python: Vec::new(),
        agents: Vec::new(),
    };
    // A manifest that cannot be parsed cannot be trusted, but its trust can be revoked.
    if args.revoke {
        trust.revoke(&file)?;
    } else {
        grant(&file, &trust, &mut answer, args.yes, cx).await?;
    }
    cx.print_answer(&answer, || text(&answer))?;
    Ok(CommandStatus::Done)
}

/// Trusts a manifest, after a person at a terminal confirmed what changed in it.
async fn grant(
    file: &ManifestFile,
    trust: &TrustStore,
    answer: &mut TrustReport,
    is_confirmed: bool,
    cx: &CliContext,
) -> Result<(), CommandError> {
    let manifest = match user_configuration::is_at(file.path(), &cx.host) {
        // It must be one that only the user can write.
        true => {
            user_configuration::find(&cx.host)?;
            user_configuration::parse(file, ExampleChecks::Checked)?
        }
        false => file.parse()?,
    };
    if !manifest.python.is_empty() {
        answer.python = directories(file, cx).await?;
    }
    answer.agents = agents(file, &manifest, &cx.host);
    answer.grants = split_privileged(file, &manifest)?.privileged_keys;
    let before = trust.last_trusted(file.path()).filter(|before| !before.is_empty());
    if let Some(before) = before.filter(|_| !trust.is_trusted(file)) {
        answer.changes = changed_lines(&before, file.text());
    }
    if !answer.changes.is_empty() && !is_confirmed && !cx.setting_args.json {
        let path = haft_contract::escape_controls(&file.path().to_string_lossy());
        let changes = haft_contract::escape_controls(&changes::text(&answer.changes));
        let question = format!("{path} {changes}Trust it with these changes?");
        let answered = ask_confirmation(&question).await;
        if answered == Some(false) {
            let message = format!("{path} is not trusted with its present content");
            return Err(CommandError::failed(message));
        }
        if answered.is_some() {
            // The question showed them.
            answer.changes.clear();
        }
    }
    Ok(trust.grant(file, cx.host.now_ms())?)
}

/// Returns what is printed about a manifest that was trusted, or is no longer.
fn text(answer: &TrustReport) -> String {
    let path = answer.path.display();
    let text = match (answer.trusted, answer.grants.as_slice()) {
        (false, _) => format!("{path} is not trusted"),
        (true, []) => format!("{path} is trusted; it grants nothing beyond the defaults"),
        (true, grants) => format!("{path} is trusted; it grants:\n  {}", grants.join("\n  ")),
    };
    let changes = match answer.changes.as_slice() {
        [] => String::new(),
        changes => format!("{path} {}", changes::text(changes)),
    };
    changes + &text + &python::text(&answer.python) + &agents::text(&answer.agents)
}
