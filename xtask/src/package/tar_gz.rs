//! The tar.gz: a prefix in one directory, to be unpacked into `~/.local` or `/usr/local`.

use super::gzip::CompressedBytes;
use super::installed_files::{PrintedTexts, installed_files};
use super::program_set::ProgramSet;
use super::release::ReleaseFacts;
use super::tar::{self, ArchiveEntry};

/// Returns the package.
pub(super) fn package(
    set: &ProgramSet,
    texts: &PrintedTexts,
    release: &ReleaseFacts,
    bill: &str,
) -> anyhow::Result<ArchiveEntry> {
    let name = format!("haft-{}-{}", release.version, set.platform.target);
    let mut entries = installed_files(set, texts, release, bill);
    entries.extend(release.license_files("share/doc/haft/"));
    for entry in &mut entries {
        entry.path = format!("{name}/{}", entry.path);
    }
    let archive = tar::archive(entries, release.time_s)?;
    let gzip = CompressedBytes::new(&archive, release.compression)?.into_gzip();
    Ok(ArchiveEntry::file(format!("{name}.tar.gz"), gzip))
}
