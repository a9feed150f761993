//! `haft doctor`: what confines commands on this machine, what they see, and what is missing. It looks and changes
//! nothing; how the report reads is in `doctor/text.rs`.

mod apparmor;
mod files;
mod layers;
mod mcp;
mod model;
mod programs;
mod python;
mod searches;
mod text;
mod visible_paths;

use std::path::PathBuf;

use clap::Args;
use haft_policy::RuleAction;
use haft_sandbox::{Availability, KernelSupport, Launcher, Network};
use serde::Serialize;
use serde_json::json;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::model::ModelArgs;
use crate::plan_run;
use files::FilesReport;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::manifest::{AskPolicy, NotifyEntry};
use haft_app::settings::EffectiveSettings;
use layers::{CommandNetworking, LayerEnforcement, LayerReport, layers};
use mcp::{ServerReport, server_reports};
use model::{ModelReport, model_report};
use programs::{ProgramReport, programs};
use python::{PythonReport, python_reports};
use searches::{SearchReport, search_reports};
use visible_paths::VisiblePathsReport;

/// Say what confines commands here, and what is missing
///
/// Lists the kernel's mechanisms for the sandbox, the paths that commands see, the interpreters of Python tools, the model
/// and whether its key is set, the files of haft, and whether bash runs without asking. haft sends nothing to the model. The
/// exit status is 0 if the sandbox can be enforced in full and haft can write its files, else 1.
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
struct DoctorReport {
    /// Every layer of the sandbox can be enforced, and is.
    enforceable: bool,
    sandbox: SandboxReport,
    layers: Vec<LayerReport>,
    kernel: Vec<MechanismReport>,
    /// The profile that would let haft use namespaces, where AppArmor forbids them.
    #[serde(skip_serializing_if = "Option::is_none")]
    apparmor_profile: Option<String>,
    programs: Vec<ProgramReport>,
    #[serde(flatten)]
    seen: VisiblePathsReport,
    /// Directories of Python tools, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    python: Vec<PythonReport>,
    /// MCP servers, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mcp: Vec<ServerReport>,
    /// The providers that web_search asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    web_search: Vec<SearchReport>,
    /// The model, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelReport>,
    files: FilesReport,
    bash: BashReport,
    asks: AsksReport,
    /// The programs and webhooks that are notified. Of an address, this is the host alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notify: Vec<String>,
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
struct MechanismReport {
    name: &'static str,
    available: bool,
    /// The offered version or feature, or the reason why there is none.
    detail: String,
    /// A command that changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Whether bash runs without a question to the person.
#[derive(Serialize)]
struct BashReport {
    freely: bool,
    preset: &'static str,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// How a call that needs an answer goes on, if the client of `haft mcp` or `haft serve` cannot ask a person.
#[derive(Serialize)]
struct AsksReport {
    /// Whether it waits for an answer from elsewhere.
    wait: bool,
    /// How long it waits, in milliseconds.
    answer_ms: u64,
}

/// Runs the command.
pub(crate) async fn run(args: &DoctorArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let helper = cx.host.program()?;
    let kernel = KernelSupport::probe(&helper).map_err(|err| unknown(&err))?;
    let (network, networking) = if settings.allow_network {
        (Network::Host, CommandNetworking::Open)
    } else {
        (Network::Loopback, CommandNetworking::Granted)
    };
    let launcher = Launcher::new(helper.clone());
    let enforceable = launcher.probe_enforcement(network, compose::mechanisms(&cx.host)).await;
    let layers = layers(&enforceable.map_err(|err| unknown(&err))?, networking, &kernel);
    let bash = bash(&settings, &cx.host).await?;
    let roots = compose::roots(&settings)?.paths();
    let places = compose::host_paths(&settings, &cx.host, &roots);
    let path = cx.host.variable("PATH").unwrap_or_default();
    let sandbox = if settings.sandbox.is_off { SandboxReport::Off } else { SandboxReport::On };
    let is_full = layers.iter().all(|layer| layer.reach == LayerEnforcement::Full);
    let mechanisms = kernel.mechanisms.iter().map(|offer| {
        let (available, detail, remedy) = match &offer.state {
            Availability::Available(detail) => (true, detail.clone(), None),
            Availability::Missing { why, remedy } => (false, why.clone(), Some(remedy.clone())),
        };
        MechanismReport { name: offer.mechanism.name(), available, detail, remedy }
    });
    let report = DoctorReport {
        enforceable: is_full && sandbox == SandboxReport::On,
        sandbox,
        layers,
        kernel: mechanisms.collect(),
        apparmor_profile: kernel.needs_apparmor_profile().then(|| apparmor::profile(&helper)),
        programs: programs(&path, &places, &roots),
        home: places.home.clone(),
        seen: VisiblePathsReport::find(places, &settings.sandbox, &roots),
        python: python_reports(&settings, &cx.host).await?,
        mcp: server_reports(&settings, &cx.host)?,
        web_search: search_reports(&compose::search(&settings, &cx.host)),
        model: model_report(&args.model.choice(), &settings.model, &cx.host),
        files: FilesReport::find(&settings, &cx.host),
        bash,
        asks: AsksReport {
            wait: settings.asks == AskPolicy::Wait,
            answer_ms: settings.limits.answer_ms,
        },
        notify: settings.notify.iter().map(NotifyEntry::target).collect(),
    };
    cx.print_answer(&report, || text::text(&report))?;
    let is_well = report.enforceable && report.files.are_writable();
    Ok(if is_well { CommandStatus::Done } else { CommandStatus::Failed })
}

fn unknown(err: &dyn std::error::Error) -> CommandError {
    CommandError::failed(format!("what can be enforced here cannot be found out: {err}"))
}

/// Judges a plain command, and a line whose command is known only when it runs.
async fn bash(settings: &EffectiveSettings, host: &AppHost) -> Result<BashReport, CommandError> {
    let preset = settings.preset.name();
    let runtime = compose::unrecorded_runtime(settings, host).await?;
    plan_run::warn_unknown_tools(settings, &runtime.registry());
    if runtime.registry().contract("bash").is_none() {
        let why = Some("the tool bash is not on offer".to_owned());
        return Ok(BashReport { freely: false, preset, why });
    }
    let session = compose::open_connection(&runtime, settings, host, "cli")?;
    let mut why = None;
    for line in ["true", "eval \"$LINE\""] {
        let explanation = session.explain("bash", json!({ "cmd": line })).await?;
        if explanation.outcome != RuleAction::Allow {
            let refusal = explanation.refusal.map(|refusal| refusal.because);
            let reason = refusal.or_else(|| explanation.reasons.into_iter().next());
            why = Some(reason.unwrap_or_else(|| format!("{line} would not be executed")));
            break;
        }
    }
    Ok(BashReport { freely: why.is_none(), preset, why })
}
