//! The facts of a release that every package states: name, version, licence, texts, and the time that files get. All come from
//! the checkout, so that the same checkout gives the same packages.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::gzip::Compression;
use super::tar::ArchiveEntry;
use crate::files;
use crate::process::{capture, cargo};

/// The package of Cargo that has the programs.
const CRATE: &str = "haft-cli";

/// Stands in the packages until `repository` of `[workspace.package]` in Cargo.toml names the real place. Its owner cannot
/// exist, because names on GitHub have no dot.
const REPOSITORY_UNKNOWN: &str = "https://github.com/owner.unknown/haft";

/// The place of repositories from which the registry of MCP servers accepts names.
const GITHUB: &str = "https://github.com/";

/// Lines of text for people who look for a package.
pub(super) const DESCRIPTION: &str =
    "Runtime for the tools of AI agents: confined, permitted, journaled, undoable";

/// Shown by package managers as responsible. The domain cannot exist, so that no stranger gets the mail.
pub(super) const MAINTAINER: &str = "The haft project <haft@haft.invalid>";

/// The facts of a release.
pub(super) struct ReleaseFacts {
    pub(super) version: String,
    pub(super) license: String,
    /// Where the source code is, without a slash at the end.
    pub(super) repository: String,
    /// Seconds since 1970 that files in packages have: `SOURCE_DATE_EPOCH`, else the time of the last commit.
    pub(super) time_s: u64,
    pub(super) compression: Compression,
    pub(super) changelog: String,
    /// A short text for registries.
    pub(super) readme: String,
    /// Names and texts of the licences.
    pub(super) licenses: Vec<(&'static str, String)>,
}

impl ReleaseFacts {
    /// Reads the checkout.
    pub(super) fn read(root: &Path, compression: Compression) -> anyhow::Result<Self> {
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata = capture(cargo().current_dir(root).args(arguments))?;
        let metadata: Value =
            serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        let package = packages.iter().find(|package| package["name"] == CRATE);
        let package = package.with_context(|| format!("there is no package {CRATE}"))?;
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let (version, license) = (text("version"), text("license"));
        let repository = text("repository").unwrap_or_else(|| REPOSITORY_UNKNOWN.to_owned());
        let repository = repository.trim_end_matches(['/']).trim_end_matches(".git").to_owned();
        let readme = files::read(&root.join("packaging/README.md"))?;
        let mut release = Self {
            version: version.context("the package has no version")?,
            license: license.context("the package has no license")?,
            repository,
            time_s: time_s(root)?,
            compression,
            changelog: files::read(&root.join("CHANGELOG.md"))?,
            readme,
            licenses: vec![
                ("LICENSE-APACHE", files::read(&root.join("LICENSE-APACHE"))?),
                ("LICENSE-MIT", files::read(&root.join("LICENSE-MIT"))?),
            ],
        };
        let server = release.server_name()?;
        release.readme = release
            .readme
            .replace("@SERVER@", &server)
            .replace("@REPOSITORY@", &release.repository);
        Ok(release)
    }

    /// Returns whether Cargo.toml names the repository.
    pub(super) fn has_repository(&self) -> bool {
        self.repository != REPOSITORY_UNKNOWN
    }

    /// Returns the name of haft in the registry of MCP servers, which follows from the place of the repository.
    pub(super) fn server_name(&self) -> anyhow::Result<String> {
        let name = self.repository.strip_prefix(GITHUB).and_then(|rest| rest.split_once('/'));
        let (owner, name) = name.filter(|(_, name)| !name.contains('/')).with_context(|| {
            format!(
                "`repository` in Cargo.toml is {}; the registry of MCP servers needs {GITHUB}OWNER/NAME",
                self.repository
            )
        })?;
        Ok(format!("io.github.{owner}/{name}"))
    }

    /// Returns the texts of the licences as files below a directory.
    pub(super) fn license_files(&self, dir: &str) -> impl Iterator<Item = ArchiveEntry> {
        self.licenses
            .iter()
            .map(move |(name, text)| ArchiveEntry::file(format!("{dir}{name}"), text.as_str()))
    }

    /// Returns the time of the release as `date` prints it.
    pub(super) fn date(&self, format: &str) -> anyhow::Result<String> {
        let mut date = Command::new("date");
        date.env("LC_ALL", "C").args(["--utc", &format!("--date=@{}", self.time_s), format]);
        Ok(capture(&mut date)?.trim().to_owned())
    }
}

/// Returns the time that files get.
fn time_s(root: &Path) -> anyhow::Result<u64> {
    let (text, origin) = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => (text, "SOURCE_DATE_EPOCH"),
        Err(_) => {
            let mut git = Command::new("git");
            git.current_dir(root).args(["log", "-1", "--format=%ct"]);
            let text =
                capture(&mut git).context("set SOURCE_DATE_EPOCH, or work in a checkout of git")?;
            (text, "the time of the last commit")
        }
    };
    let time_s = text.trim().parse::<u64>();
    let time_s = time_s.with_context(|| {
        format!("{origin} is `{}` and should be seconds since 1970", text.trim())
    })?;
    // As many digits as the format of archives has for a time.
    ensure!(time_s < 1 << 33, "{origin} is {time_s}, which is too late for an archive");
    Ok(time_s)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a release whose texts are short.
    pub(crate) fn release() -> ReleaseFacts {
        ReleaseFacts {
            version: "1.2.3".to_owned(),
            license: "MIT OR Apache-2.0".to_owned(),
            repository: "https://github.com/ada/haft".to_owned(),
            time_s: 1_700_000_000,
            compression: Compression::Fastest,
            changelog: "# Changelog\n".to_owned(),
            readme: "# haft\n".to_owned(),
            licenses: vec![("LICENSE-MIT", "MIT\n".to_owned())],
        }
    }

    #[test]
    fn the_name_of_the_server_follows_the_repository() {
        let mut release = release();
        assert_eq!(release.server_name().unwrap(), "io.github.ada/haft");
        for other in
            ["https://example.org/ada/haft", "https://github.com/ada", "https://github.com/a/b/c"]
        {
            release.repository = other.to_owned();
            assert!(release.server_name().is_err(), "{other}");
        }
        release.repository = REPOSITORY_UNKNOWN.to_owned();
        assert!(!release.has_repository());
        assert_eq!(release.server_name().unwrap(), "io.github.owner.unknown/haft");
    }

    #[test]
    fn dates_are_of_the_release() {
        assert_eq!(release().date("+%Y-%m-%dT%H:%M:%SZ").unwrap(), "2023-11-14T22:13:20Z");
    }
}
