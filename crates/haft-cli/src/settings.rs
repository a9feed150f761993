//! The settings of one process: flags and environment before the manifest, the manifest before the defaults, and of a
//! manifest that nobody trusted only what narrows.

use std::path::{Path, PathBuf};

use haft::Limits;
use haft_contract::{RequirementSet, ToolId};
use haft_policy::{Action, Rule, RuleScope};
use haft_tools::Profile;

use crate::cli::SettingArgs;
use crate::error::CommandError;
use crate::manifest::{FILE_NAME, Manifest, ManifestFile};
use crate::output;
use crate::preset::Preset;
use crate::state::State;
use crate::trust::Trust;
use crate::widening::part;

/// What holds for this process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Where relative paths start.
    pub(crate) root: PathBuf,
    /// Further directories that calls may reach.
    pub(crate) roots: Vec<PathBuf>,
    /// The shapes of the tools.
    pub(crate) profile: Profile,
    /// The tools to offer, all of the profile unless named.
    pub(crate) tools: Option<Vec<ToolId>>,
    /// What the agent requires beyond its tools.
    pub(crate) requires: RequirementSet,
    /// Rules of the preset and the manifest.
    pub(crate) rules: Vec<(RuleScope, Rule)>,
    /// Tools whose every call is allowed.
    pub(crate) allow: Vec<String>,
    /// Bounds of every call.
    pub(crate) limits: Limits,
    /// Whether commands get the ordinary network.
    pub(crate) allow_network: bool,
    /// The manifest that was used.
    pub(crate) manifest: Option<PathBuf>,
}

/// A manifest as far as it holds.
struct Layer {
    manifest: Manifest,
    file: Option<ManifestFile>,
    is_trusted: bool,
}

/// Finds out what holds. What of the manifest does not is said on standard error.
pub(crate) fn resolve(args: &SettingArgs, state: &State) -> Result<Settings, CommandError> {
    let working_directory = working_directory()?;
    let layer = layer(args, state, &working_directory)?;
    let Layer { manifest, file, is_trusted } = layer;
    let directory = file.as_ref().map_or(working_directory.as_path(), ManifestFile::directory);
    let preset = args.preset.or(manifest.preset).unwrap_or_default();
    let permissions = if is_trusted {
        manifest.permissions
    } else {
        without_asks_for_denied(manifest.permissions, preset)
    };
    let of_preset = preset.rules().into_iter().map(|rule| (RuleScope::Preset, rule));
    let of_manifest = permissions.into_iter().map(|rule| (RuleScope::Manifest, rule));
    let root_given = args.root.as_deref().filter(|root| !root.as_os_str().is_empty());
    Ok(Settings {
        root: match root_given {
            Some(root) => working_directory.join(root),
            None => manifest.root.map_or(directory.to_owned(), |root| directory.join(root)),
        },
        roots: manifest.roots.iter().map(|root| directory.join(root)).collect(),
        profile: args.profile.map(Profile::from).or(manifest.profile).unwrap_or_default(),
        tools: named_tools(args)?.or(manifest.tools),
        requires: manifest.requires,
        rules: of_preset.chain(of_manifest).collect(),
        allow: args.allow.clone(),
        limits: limits(args, manifest.limits.output_bytes, manifest.limits.timeout_ms),
        allow_network: args.allow_network.or(manifest.allow_network).unwrap_or(false),
        manifest: file.map(|file| file.path().to_owned()),
    })
}

/// Returns the directory that this process works in.
pub(crate) fn working_directory() -> Result<PathBuf, CommandError> {
    std::env::current_dir()
        .map_err(|err| CommandError::usage(format!("there is no working directory: {err}")))
}

/// Returns the manifest that is named, or the one that holds in the working directory.
pub(crate) fn find_manifest(args: &SettingArgs) -> Result<Option<ManifestFile>, CommandError> {
    match named_manifest(args) {
        Some(path) => ManifestFile::read(path).map(Some),
        None => ManifestFile::discover(&working_directory()?),
    }
}

fn named_manifest(args: &SettingArgs) -> Option<&Path> {
    args.config.as_deref().filter(|path| !path.as_os_str().is_empty())
}

fn layer(args: &SettingArgs, state: &State, directory: &Path) -> Result<Layer, CommandError> {
    if let Some(path) = named_manifest(args) {
        let file = ManifestFile::read(path)?;
        return Ok(Layer { manifest: file.parse()?, file: Some(file), is_trusted: true });
    }
    let Some(file) = ManifestFile::discover(directory)? else {
        return Ok(Layer { manifest: Manifest::default(), file: None, is_trusted: true });
    };
    let manifest = file.parse()?;
    if Trust::new(state.trust()).holds(&file) {
        return Ok(Layer { manifest, file: Some(file), is_trusted: true });
    }
    let parted = part(manifest, file.directory());
    if !parted.widenings.is_empty() {
        let message = format!(
            "{} is not trusted, so this of it does not hold:\n  {}",
            file.path().display(),
            parted.widenings.join("\n  ")
        );
        output::warning(&message, Some(&trust_hint(&file)));
    }
    Ok(Layer { manifest: parted.narrow, file: Some(file), is_trusted: false })
}

fn trust_hint(file: &ManifestFile) -> String {
    format!("haft trust {}", crate::quote::shell(&file.path().to_string_lossy()))
}

/// Rules of a manifest come before those of a preset, so that an ask of a manifest would weaken what the preset denies.
fn without_asks_for_denied(rules: Vec<Rule>, preset: Preset) -> Vec<Rule> {
    let denies = preset.rules().iter().any(|rule| rule.action == Action::Deny);
    if !denies {
        return rules;
    }
    let (asks, kept): (Vec<_>, Vec<_>) =
        rules.into_iter().partition(|rule| rule.action == Action::Ask);
    for rule in asks {
        let message = format!(
            "the preset {} denies, so `{rule}` of a manifest that is not trusted does not hold",
            preset.name()
        );
        output::warning(&message, None);
    }
    kept
}

/// Returns the tools that flags or environment name. An empty name is that of a variable that is set to nothing.
fn named_tools(args: &SettingArgs) -> Result<Option<Vec<ToolId>>, CommandError> {
    let names = args.tools.iter().filter(|name| !name.is_empty());
    let ids: Vec<ToolId> = names
        .map(|name| ToolId::parse(name).map_err(CommandError::usage))
        .collect::<Result<_, _>>()?;
    Ok((!ids.is_empty()).then_some(ids))
}

fn limits(args: &SettingArgs, output_bytes: Option<usize>, timeout_ms: Option<u64>) -> Limits {
    let defaults = Limits::default();
    // The flag's own bound fits into every address space.
    let flagged = args.output_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    Limits {
        output_bytes: flagged.or(output_bytes).unwrap_or(defaults.output_bytes),
        timeout_ms: args.timeout_ms.or(timeout_ms).unwrap_or(defaults.timeout_ms),
    }
}

/// Returns the error for a place without a manifest.
pub(crate) fn no_manifest(directory: &Path) -> CommandError {
    CommandError::usage(format!("there is no {FILE_NAME} in {} or above it", directory.display()))
        .hint("haft init")
}
