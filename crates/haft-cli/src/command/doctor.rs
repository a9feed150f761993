//! `haft doctor`: what confines commands on this machine, what they see, and what is missing. It looks and changes
//! nothing; how the report reads is in `doctor/text.rs`.

mod files;
mod layers;
mod mcp;
mod model;
mod programs;
mod python;
mod reach;
mod searches;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use haft::Session;
use haft_policy::Action;
use haft_sandbox::{Availability, Kernel, Launcher, Network, Offer};
use serde::Serialize;
use serde_json::json;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::model::ModelArgs;
use crate::settings::Settings;
use crate::state::State;
use crate::{compose, output, plan_run, settings};
use files::Files;
use layers::{Layer, Networking, Reach, layers};
use mcp::{ServerReport, server_reports};
use model::{ModelReport, model_report};
use programs::{Program, programs};
use python::{PythonReport, python_reports};
use reach::Seen;
use searches::{SearchReport, searches};

/// Say what confines commands here, and what is missing
///
/// Lists what the kernel offers for the sandbox, what commands see and what is hidden from them, which Python runs the tools
/// that are written in it, which model is asked and whether its key is set, where haft keeps its files, and whether bash
/// runs without asking. Nothing is sent to the model. The exit status is 0 if the sandbox can be enforced in full and haft can
/// write its files, else 1.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft doctor
  haft doctor --json")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    model: ModelArgs,
}

/// Everything that is reported.
#[derive(Serialize)]
struct Report {
    /// Every layer of the sandbox can be enforced, and is.
    enforceable: bool,
    sandbox: SandboxReport,
    layers: Vec<Layer>,
    kernel: Vec<Mechanism>,
    programs: Vec<Program>,
    #[serde(flatten)]
    seen: Seen,
    /// Directories of Python tools, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    python: Vec<PythonReport>,
    /// MCP servers, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mcp: Vec<ServerReport>,
    /// Who is asked by web_search, if anybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    web_search: Vec<SearchReport>,
    /// The model that is asked, where one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelReport>,
    files: Files,
    bash: Bash,
    #[serde(skip)]
    home: PathBuf,
}

/// Whether commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SandboxReport {
    /// They are, or refused.
    On,
    /// They are not, because the user said so.
    Off,
}

/// A mechanism of the kernel.
#[derive(Serialize)]
struct Mechanism {
    name: &'static str,
    available: bool,
    /// What exactly is offered, or why nothing is.
    detail: String,
    /// A command that changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Whether bash runs without anybody being asked.
#[derive(Serialize)]
struct Bash {
    freely: bool,
    preset: &'static str,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(
    args: &DoctorArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let helper = compose::helper()?;
    let kernel = Kernel::probe(&helper).map_err(|err| unknown(&err))?;
    let layers = layers_here(&helper, &settings, &kernel).await?;
    let bash = bash(&settings, state).await?;
    let roots = compose::roots(&settings)?.paths();
    let places = compose::places(&settings, state, &roots);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sandbox = if settings.sandbox.is_off { SandboxReport::Off } else { SandboxReport::On };
    let is_full = layers.iter().all(|layer| layer.reach == Reach::Full);
    let report = Report {
        enforceable: is_full && sandbox == SandboxReport::On,
        sandbox,
        layers,
        kernel: kernel.offers.iter().map(mechanism).collect(),
        programs: programs(&path, &places, &roots),
        home: places.home.clone(),
        seen: Seen::find(places, &settings.sandbox, &roots),
        python: python_reports(&settings, state).await?,
        mcp: server_reports(&settings, state)?,
        web_search: searches(&compose::search(&settings)),
        model: model_report(&args.model, &settings.model),
        files: Files::find(&settings, state),
        bash,
    };
    if setting_args.json {
        output::json(&report)?;
    } else {
        output::data(&output::visible(&text::text(&report)))?;
    }
    let is_well = report.enforceable && report.files.are_writable();
    Ok(if is_well { Status::Done } else { Status::Failed })
}

fn unknown(err: &dyn std::error::Error) -> CommandError {
    CommandError::failed(format!("what can be enforced here cannot be found out: {err}"))
}

async fn layers_here(
    helper: &Path,
    settings: &Settings,
    kernel: &Kernel,
) -> Result<Vec<Layer>, CommandError> {
    let (network, networking) = if settings.allow_network {
        (Network::Host, Networking::Open)
    } else {
        (Network::Loopback, Networking::Granted)
    };
    let launcher = Launcher::new(helper.to_owned());
    let enforceable = launcher.enforceable(network, compose::mechanisms()).await;
    Ok(layers(&enforceable.map_err(|err| unknown(&err))?, networking, kernel))
}

fn mechanism(offer: &Offer) -> Mechanism {
    let (available, detail, remedy) = match &offer.state {
        Availability::Available(detail) => (true, detail.clone(), None),
        Availability::Missing { why, remedy } => (false, why.clone(), Some(remedy.clone())),
    };
    Mechanism { name: offer.mechanism.name(), available, detail, remedy }
}

/// Judges a command that is plain, and a line that nobody can know before it runs.
async fn bash(settings: &Settings, state: &State) -> Result<Bash, CommandError> {
    let preset = settings.preset.name();
    let runtime = compose::unrecorded_runtime(settings, state).await?;
    plan_run::warn_of_unknown(settings, &runtime.registry());
    if runtime.registry().contract("bash").is_none() {
        let why = Some("the tool bash is not on offer".to_owned());
        return Ok(Bash { freely: false, preset, why });
    }
    let session = compose::session(&runtime, settings, "cli")?;
    let why = why_not_freely(&session).await?;
    Ok(Bash { freely: why.is_none(), preset, why })
}

async fn why_not_freely(session: &Session) -> Result<Option<String>, CommandError> {
    for line in ["true", "eval \"$LINE\""] {
        let explanation = session.explain("bash", json!({ "cmd": line })).await?;
        if explanation.outcome != Action::Allow {
            let refusal = explanation.refusal.map(|(_, message)| message);
            let why = refusal.or_else(|| explanation.reasons.into_iter().next());
            return Ok(Some(why.unwrap_or_else(|| format!("{line} would not be executed"))));
        }
    }
    Ok(None)
}
