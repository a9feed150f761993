//! Records which manifests the user trusts, by their content and their path. Both count: the same text has another meaning
//! in another directory, and a stranger can copy a trusted text. The content that was trusted last is kept for each path, so
//! that a front end can show what changed since then.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::sha256_hex;
use serde::Serialize;

use crate::app_error::{AppError, NextStep};
use crate::manifest::{MANIFEST_BYTES_MAX, ManifestFile};
use crate::state_file;

/// Trusted contents that are kept to show what changed, one for each manifest. The oldest are removed.
pub(crate) const TRUSTED_CONTENTS_MAX: usize = 256;
/// The end of the names of files that hold the content that was trusted last.
const CONTENT_EXTENSION: &str = "last";

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

    /// Returns the content at this path that the user trusted last, or `None` if haft knows no such content. The content is empty if the
    /// user revoked the trust.
    pub fn last_trusted(&self, manifest: &Path) -> Option<String> {
        state_file::read(&self.last_content(manifest), MANIFEST_BYTES_MAX)
    }

    /// Records that the user trusts this very manifest.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be written. The manifest is then not trusted.
    pub fn grant(&self, manifest: &ManifestFile, now_ms: u64) -> Result<(), AppError> {
        let record =
            TrustRecord { path: manifest.path(), sha256: manifest.sha256(), trusted_at_ms: now_ms };
        self.keep_content(manifest.path(), manifest.text())?;
        serde_json::to_vec(&record)
            .map_err(io::Error::other)
            .and_then(|contents| state_file::write(&self.record(manifest), &contents))
            .map_err(|err| self.cannot_write(&err))
    }

    /// Forgets that the user trusted this very manifest; returns whether they had.
    ///
    /// # Errors
    ///
    /// Fails if the record cannot be removed. The manifest may then still be trusted.
    pub fn revoke(&self, manifest: &ManifestFile) -> Result<bool, AppError> {
        self.keep_content(manifest.path(), "")?;
        match std::fs::remove_file(self.record(manifest)) {
            Ok(()) => Ok(true),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(err) => Err(self.cannot_write(&err)),
        }
    }

    /// Keeps the content of a path that was trusted last, and removes the oldest contents if there are too many.
    fn keep_content(&self, manifest: &Path, text: &str) -> Result<(), AppError> {
        let path = self.last_content(manifest);
        state_file::write(&path, text.as_bytes()).map_err(|err| self.cannot_write(&err))?;
        let entries = std::fs::read_dir(&self.directory).map_err(|err| self.cannot_write(&err))?;
        let contents = entries.flatten().map(|entry| entry.path()).filter(|path| {
            path.extension().is_some_and(|extension| extension == CONTENT_EXTENSION)
        });
        let mut contents: Vec<(SystemTime, PathBuf)> = contents
            .filter(|content| *content != path)
            .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
            .collect();
        contents.sort();
        let surplus = contents.len().saturating_sub(TRUSTED_CONTENTS_MAX - 1);
        for (_, oldest) in contents.into_iter().take(surplus) {
            // A content that stays is only one more.
            let _ = std::fs::remove_file(oldest);
        }
        Ok(())
    }

    /// Returns the file that exists if the manifest is trusted with its present content.
    fn record(&self, manifest: &ManifestFile) -> PathBuf {
        let path = manifest.path().as_os_str().as_encoded_bytes();
        // No path contains NUL, so that no two manifests share a record.
        let identity = [path, b"\0", manifest.sha256().as_bytes()].concat();
        self.directory.join(format!("{}.json", sha256_hex(&identity)))
    }

    /// Returns the file with the content of a path that was trusted last.
    fn last_content(&self, manifest: &Path) -> PathBuf {
        let identity = sha256_hex(manifest.as_os_str().as_encoded_bytes());
        self.directory.join(format!("{identity}.{CONTENT_EXTENSION}"))
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

        assert_eq!(trust.last_trusted(here.path()).as_deref(), Some("preset = \"full\"\n"));
        assert_eq!(trust.last_trusted(elsewhere.path()), None);

        assert!(trust.revoke(&here).unwrap());
        assert_eq!(trust.last_trusted(here.path()).as_deref(), Some(""));
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
        assert_eq!(entries.len(), 2);
        assert!(entries.iter().all(|entry| mode(&entry.path()) == 0o600));
    }

    #[test]
    fn contents_are_kept_up_to_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let trust = TrustStore::new(directory.path().join("trust"));
        let place = |number: usize| PathBuf::from(format!("/nowhere/{number}/haft.toml"));
        let kept = || {
            (0..=TRUSTED_CONTENTS_MAX)
                .filter(|one| trust.last_trusted(&place(*one)).is_some())
                .count()
        };
        for number in 0..TRUSTED_CONTENTS_MAX {
            trust.keep_content(&place(number), "a").unwrap();
        }
        assert_eq!(kept(), TRUSTED_CONTENTS_MAX);
        trust.keep_content(&place(TRUSTED_CONTENTS_MAX), "a").unwrap();
        assert_eq!(kept(), TRUSTED_CONTENTS_MAX);
        assert!(trust.last_trusted(&place(TRUSTED_CONTENTS_MAX)).is_some());
    }
}
