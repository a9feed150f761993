//! Archives of the format ustar: sorted by path, owned by root, all of one time, so that the same files give the same bytes.

use anyhow::ensure;

/// Bytes of a block of the format.
const BLOCK_BYTES: usize = 512;
/// Bytes that the header has for a path, and for a target of a link.
const PATH_BYTES_MAX: usize = 100;

/// One file or directory of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveEntry {
    /// Relative, with forward slashes, and without one at the end.
    pub(super) path: String,
    pub(super) mode: u32,
    /// The contents of a file; a directory has none.
    pub(super) contents: Option<Vec<u8>>,
}

impl ArchiveEntry {
    /// Returns a file that all may read.
    pub(super) fn file(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), mode: 0o644, contents: Some(contents.into()) }
    }

    /// Returns a file that all may execute.
    pub(super) fn program(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::file(path, contents) }
    }
}

/// Returns the archive of these files, with every directory above them.
pub(super) fn archive(files: Vec<ArchiveEntry>, time_s: u64) -> anyhow::Result<Vec<u8>> {
    let mut entries = directories(&files);
    entries.extend(files);
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let mut bytes = Vec::new();
    for entry in &entries {
        bytes.extend(header(entry, time_s)?);
        let contents = entry.contents.as_deref().unwrap_or_default();
        bytes.extend(contents);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    bytes.resize(bytes.len() + 2 * BLOCK_BYTES, 0);
    Ok(bytes)
}

/// Returns the directories above the files, each once.
fn directories(files: &[ArchiveEntry]) -> Vec<ArchiveEntry> {
    let above = files
        .iter()
        .flat_map(|file| file.path.match_indices('/').map(|(end, _)| file.path[..end].to_owned()));
    let above: std::collections::BTreeSet<String> = above.collect();
    above.into_iter().map(|path| ArchiveEntry { path, mode: 0o755, contents: None }).collect()
}

fn header(entry: &ArchiveEntry, time_s: u64) -> anyhow::Result<[u8; BLOCK_BYTES]> {
    let is_directory = entry.contents.is_none();
    let path = if is_directory { format!("{}/", entry.path) } else { entry.path.clone() };
    ensure!(path.len() <= PATH_BYTES_MAX, "{path} is too long for an archive");
    let size = entry.contents.as_ref().map_or(0, Vec::len);
    let mut block = [0; BLOCK_BYTES];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &path);
    put(100, &format!("{:07o}\0", entry.mode));
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{size:011o}\0"));
    put(136, &format!("{time_s:011o}\0"));
    // While the checksum is computed, its place is blank.
    put(148, "        ");
    put(156, if is_directory { "5" } else { "0" });
    put(257, "ustar\x0000");
    put(265, "root");
    put(297, "root");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::capture;

    #[test]
    fn other_programs_read_the_archive() {
        let files = vec![
            ArchiveEntry::program("b/bin/run", "#!/bin/sh\n"),
            ArchiveEntry::file("a", vec![b'x'; 1_000]),
        ];
        let bytes = archive(files, 1_700_000_000).unwrap();
        let path = std::env::temp_dir().join(format!("haft-archive-{}.tar", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--list", "--verbose", "--utc", "--full-time", "--file"]).arg(&path);
        let listing = capture(&mut tar);
        std::fs::remove_file(&path).unwrap();
        let lines: Vec<String> = listing
            .unwrap()
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "-rw-r--r-- root/root 1000 2023-11-14 22:13:20 a",
                "drwxr-xr-x root/root 0 2023-11-14 22:13:20 b/",
                "drwxr-xr-x root/root 0 2023-11-14 22:13:20 b/bin/",
                "-rwxr-xr-x root/root 10 2023-11-14 22:13:20 b/bin/run",
            ]
        );
    }

    #[test]
    fn a_path_that_does_not_fit_is_an_error() {
        let long = ArchiveEntry::file("x".repeat(PATH_BYTES_MAX + 1), "");
        let err = archive(vec![long], 0).unwrap_err();
        assert!(err.to_string().contains("too long"), "{err}");
        let fitting = ArchiveEntry::file("x".repeat(PATH_BYTES_MAX), "");
        assert!(archive(vec![fitting], 0).is_ok());
    }
}
