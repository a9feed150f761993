//! Records which manifests the user trusts, by their content and their path. Both count: the same text has another meaning
//! in another directory, and a stranger can copy a trusted text.

use std::io;
use std::path::{Path, PathBuf};

use haft_contract::sha256_hex;
use serde::Serialize;

use crate::app_error::{AppError, NextStep};
use crate::manifest::ManifestFile;
use crate::state_file;

/// The record of what was trusted, a file for each manifest.
pub struct TrustStore {
    /// The directory with a file for each trusted manifest.
    directory: PathBuf,
}

/// The content of a record, for people. Its existence alone decides.
#[derive(Serialize)]
struct TrustRecord<'a> {
    /// The path of the manifest.
    path: &'a Path,
    sha256: String,
    /// When the user trusted it, in milliseconds since 1970.
    trusted_at_ms: u64,
}

impl TrustStore {
    /// Returns the record that is kept in `directory`, which need not exist yet.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns whether the user trusted this very manifest. A record that cannot be read trusts nothing.
    pub fn is_trusted(&self, manifest: &ManifestFile) -> bool {
        self.record(manifest).is_file()
    }

    /// Records that the user trusts this very manifest.
    pub fn grant(&self, manifest: &ManifestFile, now_ms: u64) -> Result<(), AppError> {
        let path = self.record(manifest);
        let record =
            TrustRecord { path: manifest.path(), sha256: manifest.sha256(), trusted_at_ms: now_ms };
        serde_json::to_vec(&record)
            .map_err(io::Error::other)
            .and_then(|contents| state_file::write(&path, &contents))
            .map_err(|err| self.cannot_write(&err))
    }

    /// Forgets that the user trusted this very manifest; returns whether they had.
    pub fn revoke(&self, manifest: &ManifestFile) -> Result<bool, AppError> {
        let path = self.record(manifest);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(err) => Err(self.cannot_write(&err)),
        }
    }

    /// Returns the file that exists if the manifest is trusted with its present content.
    fn record(&self, manifest: &ManifestFile) -> PathBuf {
        let path = manifest.path().as_os_str().as_encoded_bytes();
        // No path contains NUL, so that no two manifests share a record.
        let identity = [path, b"\0", manifest.sha256().as_bytes()].concat();
        self.directory.join(format!("{}.json", sha256_hex(&identity)))
    }

    /// Returns the error of a record that cannot be written.
    fn cannot_write(&self, err: &io::Error) -> AppError {
        let directory = self.directory.display();
        AppError::configuration(format!(
            "the record of trust in {directory} cannot be changed: {err}"
        ))
        .next(NextStep::NameWritableStateDirectory)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn manifest(directory: &Path, text: &str) -> ManifestFile {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join("haft.toml"), text).unwrap();
        ManifestFile::read(&directory.join("haft.toml")).unwrap()
    }

    #[test]
    fn only_this_content_at_this_place_is_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let trust = TrustStore::new(directory.path().join("state/trust"));
        let here = manifest(&directory.path().join("a"), "preset = \"full\"\n");
        assert!(!trust.is_trusted(&here));
        trust.grant(&here, 1).unwrap();
        assert!(trust.is_trusted(&here));

        let elsewhere = manifest(&directory.path().join("b"), "preset = \"full\"\n");
        assert!(!trust.is_trusted(&elsewhere));
        let changed = manifest(&directory.path().join("a"), "preset = \"full\"");
        assert!(!trust.is_trusted(&changed));

        assert!(trust.revoke(&here).unwrap());
        assert!(!trust.is_trusted(&here) && !trust.revoke(&here).unwrap());
    }

    #[test]
    fn records_are_nobody_elses_business() {
        let directory = tempfile::tempdir().unwrap();
        let trust = TrustStore::new(directory.path().join("trust"));
        let manifest = manifest(directory.path(), "");
        trust.grant(&manifest, 1).unwrap();
        trust.grant(&manifest, 2).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&trust.directory), 0o700);
        let entries: Vec<_> = std::fs::read_dir(&trust.directory).unwrap().flatten().collect();
        assert_eq!(entries.len(), 1);
        assert_eq!(mode(&entries[0].path()), 0o600);
    }
}
