//! The head of a program file of Linux. Only as much of the format is read as a check needs: ELF, 64 bits, least
//! significant byte first.

use anyhow::{Context as _, ensure};

/// The kinds of sections that are read.
const SYMBOLS: u64 = 2;
const DYNAMIC: u64 = 6;
const NEEDED_VERSIONS: u64 = 0x6fff_fffe;
/// Bytes of one entry of the dynamic section, and the tag of an entry that names a library.
const DYNAMIC_ENTRY_BYTES: u64 = 16;
const NEEDED_LIBRARY: u64 = 1;
/// Bound against a chain of versions that leads back to itself.
const VERSIONS_MAX: usize = 10_000;

/// A program file that was read.
pub(crate) struct ElfProgram<'a> {
    bytes: &'a [u8],
    sections: Vec<ElfSection>,
}

/// A section of a program file.
struct ElfSection {
    kind: u64,
    /// Where the contents are, in bytes from the start of the file.
    begin: u64,
    size: u64,
    /// The section with the names that this one uses.
    names: u64,
}

/// A version of the C library, as its symbols name it: 2.17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl<'a> ElfProgram<'a> {
    /// Reads the table of sections.
    pub(crate) fn read(bytes: &'a [u8]) -> anyhow::Result<Self> {
        ensure!(bytes.starts_with(b"\x7fELF\x02\x01"), "this is no ELF program of 64 bits");
        let mut program = Self { bytes, sections: Vec::new() };
        // Where the section headers begin, how long one is, and how many there are.
        let begin = program.number(0x28, 8)?;
        let (size, count) = (program.number(0x3a, 2)?, program.number(0x3c, 2)?);
        for section in 0..count {
            let header = begin.checked_add(section * size).context("the program is damaged")?;
            let section = ElfSection {
                kind: program.number(header + 4, 4)?,
                begin: program.number(header + 0x18, 8)?,
                size: program.number(header + 0x20, 8)?,
                names: program.number(header + 0x28, 4)?,
            };
            if [DYNAMIC, NEEDED_VERSIONS].contains(&section.kind) {
                let end = section.begin.checked_add(section.size);
                let is_inside = end.is_some_and(|end| end <= bytes.len() as u64);
                ensure!(is_inside, "the program is cut off");
            }
            program.sections.push(section);
        }
        Ok(program)
    }

    /// Returns whether the program still has its table of all functions; a stripped program has none.
    pub(crate) fn has_symbols(&self) -> bool {
        self.sections.iter().any(|section| section.kind == SYMBOLS)
    }

    /// Returns the number of the processor that the program is made for.
    pub(crate) fn machine(&self) -> anyhow::Result<u64> {
        self.number(0x12, 2)
    }

    /// Returns the libraries that the program names.
    pub(crate) fn libraries(&self) -> anyhow::Result<Vec<String>> {
        let mut libraries = Vec::new();
        for section in self.sections.iter().filter(|section| section.kind == DYNAMIC) {
            for entry in 0..section.size / DYNAMIC_ENTRY_BYTES {
                let at = section.begin + entry * DYNAMIC_ENTRY_BYTES;
                if self.number(at, 8)? == NEEDED_LIBRARY {
                    libraries.push(self.name(section, self.number(at + 8, 8)?)?);
                }
            }
        }
        Ok(libraries)
    }

    /// Returns the oldest C library that has every symbol of the program.
    pub(crate) fn glibc(&self) -> anyhow::Result<Option<GlibcVersion>> {
        let names = self.versions()?;
        Ok(names.iter().filter_map(|name| GlibcVersion::of_symbol(name)).max())
    }

    /// Returns the names of the versions that the program needs of its libraries.
    fn versions(&self) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for section in self.sections.iter().filter(|section| section.kind == NEEDED_VERSIONS) {
            let mut library = section.begin;
            loop {
                let mut version = library + self.number(library + 8, 4)?;
                for _ in 0..self.number(library + 2, 2)? {
                    names.push(self.name(section, self.number(version + 8, 4)?)?);
                    version += self.number(version + 12, 4)?;
                }
                ensure!(names.len() <= VERSIONS_MAX, "the program is damaged");
                match self.number(library + 12, 4)? {
                    0 => break,
                    next => library += next,
                }
            }
        }
        Ok(names)
    }

    /// Returns a name that a section uses.
    fn name(&self, user: &ElfSection, at: u64) -> anyhow::Result<String> {
        let names = self.sections.get(usize::try_from(user.names)?);
        let begin = names.context("the program is damaged")?.begin.checked_add(at);
        let begin = begin.context("the program is damaged")?;
        let rest = self.bytes.get(usize::try_from(begin)?..).context("the program is cut off")?;
        let bytes = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn number(&self, at: u64, bytes: usize) -> anyhow::Result<u64> {
        let at = usize::try_from(at)?;
        let bytes = self.bytes.get(at..at.saturating_add(bytes));
        let bytes = bytes.context("the program is cut off")?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl GlibcVersion {
    /// Reads `GLIBC_2.17`. Names of other libraries are no versions.
    fn of_symbol(name: &str) -> Option<Self> {
        Self::parse(name.strip_prefix("GLIBC_")?)
    }

    /// Reads `2.17`, and `2.2.5` without its last part.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(str::parse);
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        Some(Self { major, minor })
    }
}

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the head of a program with these kinds of sections.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut program = vec![0; 0x40];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[0x28] = 0x40;
        program[0x3a] = 0x40;
        program[0x3c] = u8::try_from(kinds.len()).expect("there are few");
        for kind in kinds {
            let mut header = [0; 0x40];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            program.extend(header);
        }
        program
    }

    #[test]
    fn a_table_of_symbols_is_seen() {
        let has_symbols = |bytes: &[u8]| ElfProgram::read(bytes).map(|found| found.has_symbols());
        assert!(!has_symbols(&program(&[0, 1, 11])).unwrap());
        assert!(has_symbols(&program(&[0, 1, 2])).unwrap());
        assert!(has_symbols(&program(&[0, 1])[..0x60]).is_err());
        assert!(has_symbols(b"#!/bin/sh").is_err());
    }

    #[test]
    fn a_test_program_has_symbols_libraries_and_a_c_library() {
        let own = std::env::current_exe().and_then(std::fs::read).expect("it runs");
        let own = ElfProgram::read(&own).unwrap();
        assert!(own.has_symbols());
        assert!(own.libraries().unwrap().contains(&"libc.so.6".to_owned()));
        let oldest = own.glibc().unwrap().expect("it is linked with the C library");
        assert!(oldest >= GlibcVersion { major: 2, minor: 17 }, "{oldest}");
    }

    #[test]
    fn versions_are_compared_by_number() {
        let versions = ["GLIBC_2.4", "GLIBC_2.17", "GLIBC_2.2.5", "GCC_3.0", "GLIBC_PRIVATE"];
        let newest = versions.into_iter().filter_map(GlibcVersion::of_symbol).max();
        assert_eq!(newest.map(|version| version.to_string()).as_deref(), Some("2.17"));
    }

    #[test]
    fn a_damaged_program_is_an_error() {
        let mut damaged = program(&[6]);
        // The dynamic section is far beyond the end of the file.
        damaged[0x40 + 0x1f] = 0x7f;
        damaged[0x40 + 0x20] = 16;
        assert!(ElfProgram::read(&damaged).is_err());
    }
}
