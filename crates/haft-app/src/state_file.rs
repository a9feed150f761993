//! Reads and writes small files in the state directory, such as decisions of the user and caches. Only the user can read
//! them. A file is written completely or not at all.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Writes a file whole or not at all, and makes its directory if there is none.
///
/// # Errors
///
/// Fails if the directory or the file cannot be made, written, synchronised or renamed. The old file then still has its
/// content.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// Returns what is in a file, if it is there, can be read, is text and is no longer than that.
pub fn read(path: &Path, bytes_max: u64) -> Option<String> {
    let mut text = String::new();
    let read = File::open(path).ok()?.take(bytes_max.saturating_add(1)).read_to_string(&mut text);
    u64::try_from(read.ok()?).ok().filter(|bytes| *bytes <= bytes_max).map(|_| text)
}
