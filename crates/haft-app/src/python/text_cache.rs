//! Caches the facts about Python files in the user's state, so that an unchanged file needs no interpreter. If a record
//! cannot be read or written, the file is read again. Old records are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use haft_python::ParsedToolFileCache;

use crate::state_file;

/// Files of which it is kept what was found out about them.
pub(crate) const READINGS_KEPT_MAX: usize = 2_000;
/// Largest record about one file, in bytes.
pub(crate) const READING_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The records, a file each.
pub struct KeyedTextCache {
    /// The directory with the records.
    directory: PathBuf,
    /// Whether one was written by this process, so that there may be too many.
    has_grown: AtomicBool,
}

impl KeyedTextCache {
    /// Returns the records in `directory`, which need not exist yet.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, has_grown: AtomicBool::new(false) }
    }

    /// Returns the file of a record.
    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

impl ParsedToolFileCache for KeyedTextCache {
    fn get(&self, key: &str) -> Option<String> {
        state_file::read(&self.path(key), READING_FILE_BYTES_MAX)
    }

    fn put(&self, key: &str, text: &str) {
        // Without it the file is read again next time, which is all that it is for.
        if state_file::write(&self.path(key), text.as_bytes()).is_ok() {
            self.has_grown.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for KeyedTextCache {
    fn drop(&mut self) {
        if self.has_grown.load(Ordering::Relaxed) {
            sweep(&self.directory, READINGS_KEPT_MAX);
        }
    }
}

/// Removes the oldest records beyond those that are kept.
fn sweep(directory: &Path, kept_max: usize) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let aged = |entry: fs::DirEntry| {
        let written = entry.metadata().and_then(|found| found.modified());
        (written.unwrap_or(SystemTime::UNIX_EPOCH), entry.path())
    };
    let mut records: Vec<_> = entries.flatten().map(aged).collect();
    let surplus = records.len().saturating_sub(kept_max);
    records.sort();
    for (_, path) in records.into_iter().take(surplus) {
        // Another process may have removed it first.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_kept_is_found_again_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("python");
        let readings = KeyedTextCache::new(place.clone());
        assert_eq!(readings.get("aa"), None);
        for (age, key) in [(3, "aa"), (2, "bb"), (1, "cc")] {
            readings.put(key, &format!("\"{key}\""));
            let written = SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age);
            File::options()
                .write(true)
                .open(readings.path(key))
                .unwrap()
                .set_modified(written)
                .unwrap();
        }
        assert_eq!(readings.get("bb").as_deref(), Some("\"bb\""));
        let longest = "x".repeat(usize::try_from(READING_FILE_BYTES_MAX).unwrap());
        fs::write(readings.path("dd"), &longest).unwrap();
        assert_eq!(readings.get("dd"), Some(longest.clone()));
        fs::write(readings.path("dd"), longest + "x").unwrap();
        assert_eq!(readings.get("dd"), None);
        fs::remove_file(readings.path("dd")).unwrap();
        sweep(&place, 2);
        assert_eq!(readings.get("aa"), None);
        assert!(readings.get("bb").is_some() && readings.get("cc").is_some());
    }

    #[test]
    fn a_place_that_cannot_be_written_costs_nothing_but_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("file");
        fs::write(&place, "").unwrap();
        let readings = KeyedTextCache::new(place);
        readings.put("aa", "{}");
        assert_eq!(readings.get("aa"), None);
    }
}
