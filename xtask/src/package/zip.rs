//! Archives of the format zip, as wheels are. Entries keep the order that they are given in, and all have the time that
//! maturin gives them: the first that the format can hold.

use super::gzip::{CompressedBytes, Compression};
use super::tar::ArchiveEntry;

/// The version of the format that compression needs.
const VERSION: u16 = 20;
/// Marks the permissions of an entry as those of Unix.
const MADE_ON_UNIX: u16 = 3 << 8;
const DEFLATED: u16 = 8;
/// The first of January 1980.
const FIRST_DAY: u16 = 1 << 5 | 1;
const REGULAR_FILE: u32 = 0o100_000;

/// Returns the archive of these files.
pub(super) fn archive(files: &[ArchiveEntry], compression: Compression) -> anyhow::Result<Vec<u8>> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let contents = file.contents.as_deref().unwrap_or_default();
        let compressed = CompressedBytes::new(contents, compression)?;
        // Both headers of a file contain this.
        let mut described = Vec::new();
        for number in [VERSION, 0, DEFLATED, 0, FIRST_DAY] {
            described.extend(number.to_le_bytes());
        }
        described.extend(compressed.checksum());
        for size in [compressed.deflated().len(), contents.len()] {
            described.extend(u32::try_from(size)?.to_le_bytes());
        }
        for length in [file.path.len(), 0] {
            described.extend(u16::try_from(length)?.to_le_bytes());
        }
        directory.extend(b"PK\x01\x02");
        directory.extend((MADE_ON_UNIX | VERSION).to_le_bytes());
        directory.extend(&described);
        // No comment, one disk, no attributes of other systems.
        directory.extend([0; 6]);
        directory.extend(((REGULAR_FILE | file.mode) << 16).to_le_bytes());
        directory.extend(u32::try_from(bytes.len())?.to_le_bytes());
        directory.extend(file.path.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(described);
        bytes.extend(file.path.as_bytes());
        bytes.extend(compressed.deflated());
    }
    let begin = u32::try_from(bytes.len())?;
    let (count, size) = (u16::try_from(files.len())?, u32::try_from(directory.len())?);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    for number in [count, count] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [size, begin] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([0; 2]);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process::capture;

    #[test]
    fn other_programs_read_the_archive() {
        let files = [
            ArchiveEntry::program("a-1.data/scripts/a", "#!/bin/sh\n".repeat(500)),
            ArchiveEntry::file("a-1.dist-info/RECORD", ""),
        ];
        let path = std::env::temp_dir().join(format!("haft-archive-{}.zip", std::process::id()));
        std::fs::write(&path, archive(&files, Compression::Smallest).unwrap()).unwrap();
        let script = "import sys, zipfile\n\
                      with zipfile.ZipFile(sys.argv[1]) as archive:\n    \
                      assert archive.testzip() is None\n    \
                      for entry in archive.infolist():\n        \
                      print(entry.filename, oct(entry.external_attr >> 16), entry.file_size, entry.date_time[:3])";
        let listing = capture(Command::new("python3").args(["-c", script]).arg(&path));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            listing.unwrap(),
            "a-1.data/scripts/a 0o100755 5000 (1980, 1, 1)\n\
             a-1.dist-info/RECORD 0o100644 0 (1980, 1, 1)\n"
        );
    }
}
