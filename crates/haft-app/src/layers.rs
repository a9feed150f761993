//! Reads the two files that settings come from: the manifest of the workspace, and the user's own configuration. Of a file
//! that the user has not trusted yet, only values that do not widen hold. Other modules put the values of both together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use haft_contract::ToolId;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::manifest::{ExampleChecks, Manifest, ManifestFile};
use crate::overrides::SettingOverrides;
use crate::privileged_keys::split_privileged;
use crate::trust::TrustStore;
use crate::user_configuration;

/// The parts of a file that do not hold because the user has not trusted its present content yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedSettings {
    /// The file.
    pub file: PathBuf,
    /// Which file it is, and what of it does not hold, a line each.
    pub message: String,
    /// The names in the file that do not hold.
    pub names: UntrustedNames,
}

/// The names that a file would bring if the user trusted it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedNames {
    /// MCP servers.
    pub servers: BTreeSet<String>,
    /// Commands that are declared as tools.
    pub commands: BTreeSet<ToolId>,
    /// The model.
    pub model: Option<String>,
    /// Whether there are directories of Python tools, whose names are not known.
    pub has_python: bool,
}

/// A file of settings, as far as it holds.
#[derive(Default)]
pub(crate) struct SettingLayer {
    /// The values that hold.
    pub(crate) manifest: Manifest,
    /// The file, if there is one.
    pub(crate) file: Option<ManifestFile>,
    /// Whether all of it holds. An absent file counts as trusted.
    pub(crate) is_trusted: bool,
    /// The values that do not hold.
    pub(crate) untrusted: Option<UntrustedSettings>,
}

impl UntrustedSettings {
    /// Returns the step that has all of the file hold.
    pub fn next(&self) -> NextStep {
        NextStep::Trust(self.file.clone())
    }
}

impl UntrustedNames {
    /// Returns the names of a manifest.
    fn of(manifest: &Manifest) -> Self {
        Self {
            servers: manifest.mcp.keys().cloned().collect(),
            commands: manifest.commands.iter().map(|entry| entry.id.clone()).collect(),
            model: manifest.model.name.clone(),
            has_python: !manifest.python.is_empty(),
        }
    }

    /// Returns whether the file would bring tools, so that an unknown name may be one of theirs.
    pub fn has_tools(&self) -> bool {
        self.has_python || !self.commands.is_empty() || !self.servers.is_empty()
    }
}

impl SettingLayer {
    /// Returns a file all of whose values hold.
    fn trusted(manifest: Manifest, file: Option<ManifestFile>) -> Self {
        Self { manifest, file, is_trusted: true, untrusted: None }
    }

    /// Returns a file that the user has not trusted yet, and notifies the host of what does not hold.
    fn untrusted(
        manifest: &Manifest,
        file: ManifestFile,
        has_changed: bool,
        host: &AppHost,
    ) -> Result<Self, AppError> {
        let split = split_privileged(&file, manifest)?;
        let why = match has_changed {
            true => "changed since you trusted it",
            false => "is not trusted yet",
        };
        let untrusted = (!split.privileged_keys.is_empty()).then(|| UntrustedSettings {
            file: file.path().to_owned(),
            message: format!(
                "{} {why}. haft ignores these settings of it:\n  {}",
                file.path().display(),
                split.privileged_keys.join("\n  ")
            ),
            names: UntrustedNames::of(manifest),
        });
        if let Some(untrusted) = &untrusted {
            host.warn_with(&untrusted.message, untrusted.next());
        }
        Ok(Self { manifest: split.unprivileged, file: Some(file), is_trusted: false, untrusted })
    }
}

/// Returns the manifest that the user named. An empty name counts as none.
pub(crate) fn named_manifest(overrides: &SettingOverrides) -> Option<&Path> {
    overrides.config.as_deref().filter(|path| !path.as_os_str().is_empty())
}

/// Returns the manifest that is found from `directory`. The user's own configuration is the manifest of no workspace.
pub(crate) fn discovered_manifest(
    directory: &Path,
    host: &AppHost,
) -> Result<Option<ManifestFile>, AppError> {
    let found = ManifestFile::discover(directory)?;
    Ok(found.filter(|file| !user_configuration::is_at(file.path(), host)))
}

/// Reads the manifest of the workspace. The user trusts a manifest by naming it, or by its content.
pub(crate) fn workspace_layer(
    overrides: &SettingOverrides,
    host: &AppHost,
    directory: &Path,
    examples: ExampleChecks,
) -> Result<SettingLayer, AppError> {
    if let Some(path) = named_manifest(overrides) {
        let file = ManifestFile::read(path)?;
        let manifest = file.parse_with(examples)?;
        return Ok(SettingLayer::trusted(manifest, Some(file)));
    }
    let Some(file) = discovered_manifest(directory, host)? else {
        return Ok(SettingLayer::trusted(Manifest::default(), None));
    };
    let manifest = file.parse_with(examples)?;
    let trust = TrustStore::new(host.state().trust());
    if trust.is_trusted(&file) {
        return Ok(SettingLayer::trusted(manifest, Some(file)));
    }
    let has_changed = trust.last_trusted(file.path()).is_some_and(|text| !text.is_empty());
    SettingLayer::untrusted(&manifest, file, has_changed, host)
}

/// Returns the user's own configuration if the user has to confirm its present content.
///
/// # Errors
///
/// Fails if the file cannot be read, or if others could change it.
pub fn unconfirmed_user_file(host: &AppHost) -> Result<Option<ManifestFile>, AppError> {
    let Some(file) = user_configuration::find(host)? else { return Ok(None) };
    Ok((!is_user_file_trusted(&file, host)).then_some(file))
}

/// Returns whether all of the user's own configuration holds: it was confirmed, or it needs no trust yet.
fn is_user_file_trusted(file: &ManifestFile, host: &AppHost) -> bool {
    let trust = TrustStore::new(host.state().trust());
    trust.is_trusted(file) || trust.last_trusted(file.path()).is_none()
}

/// Reads the user's own configuration. A file that only the user can write needs no trust. After haft wrote the file, or the
/// user trusted its content, the user confirms each other content once.
pub(crate) fn user_layer(
    host: &AppHost,
    examples: ExampleChecks,
) -> Result<SettingLayer, AppError> {
    let Some(file) = user_configuration::find(host)? else {
        return Ok(SettingLayer::trusted(Manifest::default(), None));
    };
    let manifest = user_configuration::parse(&file, examples)?;
    if is_user_file_trusted(&file, host) {
        return Ok(SettingLayer::trusted(manifest, Some(file)));
    }
    let trust = TrustStore::new(host.state().trust());
    let has_changed = trust.last_trusted(file.path()).is_some_and(|text| !text.is_empty());
    SettingLayer::untrusted(&manifest, file, has_changed, host)
}
