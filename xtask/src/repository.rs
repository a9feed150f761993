//! The input of the checks: the files that git knows or would add, and the packages as Cargo sees them.
//!
//! Reading is done here once; the checks get values and touch no file.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::process::{capture, cargo};
use crate::rust_text::RustText;

/// Everything that the checks look at.
pub(crate) struct Repository {
    pub(crate) sources: Vec<RepositoryFile>,
    pub(crate) packages: Vec<Package>,
}

impl Repository {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut listing = Command::new("git");
        listing.current_dir(root).args(["ls-files", "-coz", "--exclude-standard"]);
        let mut sources = Vec::new();
        for path in capture(&mut listing)?.split('\0').filter(|path| !path.is_empty()) {
            let file = root.join(path);
            // A file deleted but not yet committed is still listed.
            if !file.is_file() {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
            // Files that are no text, such as pictures, have no lines to check.
            if let Ok(text) = String::from_utf8(bytes) {
                sources.push(RepositoryFile::new(path, text));
            }
        }
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata = capture(cargo().current_dir(root).args(arguments))?;
        let metadata: Value =
            serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        // Cargo resolves symbolic links, so its own idea of the root is the one to cut off.
        let root = metadata["workspace_root"].as_str().context("cargo metadata has no root")?;
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        let packages = packages.iter().map(|package| parse_package(package, root));
        Ok(Self { sources, packages: packages.collect::<anyhow::Result<_>>()? })
    }
}

/// One text file of the repository.
pub(crate) struct RepositoryFile {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Present for Rust files that are built, which fixtures are not.
    pub(crate) rust: Option<RustText>,
}

impl RepositoryFile {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let is_built = path.ends_with(".rs") && !path.split('/').any(|part| part == "fixtures");
        Self { rust: is_built.then(|| RustText::split(&text)), path, text }
    }

    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the file's extension, or nothing for names such as `.gitignore`.
    pub(crate) fn extension(&self) -> &str {
        match self.file_name().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => extension,
            _ => "",
        }
    }

    /// Returns whether all of the file is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.file_name() == "tests.rs" || self.path.split('/').any(|part| part == "tests")
    }
}

/// One member of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the root.
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a package's dependencies.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
    pub(crate) origin: DependencyOrigin,
}

/// Where Cargo uses a dependency; what build scripts use counts as normal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Dev,
}

/// Whose crate a dependency is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DependencyOrigin {
    Workspace,
    Registry,
}

pub(crate) fn parse_package(package: &Value, root: &str) -> anyhow::Result<Package> {
    let name = package["name"].as_str().context("a package has no name")?;
    let manifest = package["manifest_path"].as_str().context("a package has no manifest")?;
    let relative = manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/');
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let dependencies = dependencies.iter().filter_map(|dependency| {
        Some(Dependency {
            name: dependency["name"].as_str()?.to_owned(),
            kind: match dependency["kind"].as_str() {
                Some("dev") => DependencyKind::Dev,
                _ => DependencyKind::Normal,
            },
            origin: match dependency["path"].as_str() {
                Some(_) => DependencyOrigin::Workspace,
                None => DependencyOrigin::Registry,
            },
        })
    });
    Ok(Package {
        name: name.to_owned(),
        manifest_path: relative.to_owned(),
        dependencies: dependencies.collect(),
    })
}
