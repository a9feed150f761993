//! The three programs for one platform, read from a directory. A set is refused unless its programs fit together and run on
//! a machine that has nothing but the C library.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use crate::elf::{ElfProgram, GlibcVersion};

/// The programs that are installed side by side.
pub(super) const PROGRAMS: [&str; 3] = ["haft", "haft-agent", "haft-reader"];

/// The oldest C library that Rust supports, which is also the oldest that PyPI has a name for on both platforms.
pub(super) const GLIBC_OLDEST: GlibcVersion = GlibcVersion { major: 2, minor: 17 };

/// Libraries that every Linux with glibc has, beside the loader. Debian has the last one in a separate package.
const C_LIBRARIES: &[&str] =
    &["libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", COMPILER_LIBRARY];
const COMPILER_LIBRARY: &str = "libgcc_s.so.1";

/// A platform that packages are made for, and its name in each world.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackagePlatform {
    /// The name of the target of the compiler.
    pub(super) target: &'static str,
    /// The name of the processor on PyPI.
    pub(super) wheel: &'static str,
    pub(super) npm: &'static str,
    pub(super) debian: &'static str,
    /// The number of the processor in a program file.
    machine: u64,
    loader: &'static str,
}

pub(super) static PLATFORMS: [PackagePlatform; 2] = [
    PackagePlatform {
        target: "x86_64-unknown-linux-gnu",
        wheel: "x86_64",
        npm: "x64",
        debian: "amd64",
        machine: 62,
        loader: "ld-linux-x86-64.so.2",
    },
    PackagePlatform {
        target: "aarch64-unknown-linux-gnu",
        wheel: "aarch64",
        npm: "arm64",
        debian: "arm64",
        machine: 183,
        loader: "ld-linux-aarch64.so.1",
    },
];

impl PackagePlatform {
    /// Returns whether its programs run on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.wheel == std::env::consts::ARCH
    }
}

/// The programs for one platform.
pub(super) struct ProgramSet {
    pub(super) platform: &'static PackagePlatform,
    /// The oldest C library that all of them run with.
    pub(super) glibc: GlibcVersion,
    /// Whether one of them needs the compiler's own library.
    pub(super) needs_compiler_library: bool,
    /// Name and contents of each.
    pub(super) programs: Vec<(&'static str, Vec<u8>)>,
}

impl ProgramSet {
    /// Reads the programs in a directory.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Self> {
        let programs = PROGRAMS.map(|name| {
            let path = dir.join(name);
            let contents = std::fs::read(&path).with_context(|| {
                format!(
                    "cannot read {}; build all programs: cargo build --locked --release --package haft-cli --bins",
                    path.display()
                )
            })?;
            anyhow::Ok((name, contents))
        });
        let programs: Vec<_> = programs.into_iter().collect::<anyhow::Result<_>>()?;
        let (mut platform, mut glibc, mut needs_compiler_library) = (None, GLIBC_OLDEST, false);
        for (name, contents) in &programs {
            let found = ProgramNeeds::look(contents)
                .with_context(|| format!("{} cannot be packaged", dir.join(name).display()))?;
            let platform = platform.get_or_insert(found.platform);
            ensure!(
                *platform == found.platform,
                "the programs in {} are made for different platforms",
                dir.display()
            );
            glibc = glibc.max(found.glibc);
            needs_compiler_library |= found.needs_compiler_library;
        }
        let platform = platform.context("there are no programs")?;
        Ok(Self { platform, glibc, needs_compiler_library, programs })
    }
}

/// The machine that one program needs.
struct ProgramNeeds {
    platform: &'static PackagePlatform,
    glibc: GlibcVersion,
    needs_compiler_library: bool,
}

impl ProgramNeeds {
    fn look(contents: &[u8]) -> anyhow::Result<Self> {
        let program = ElfProgram::read(contents)?;
        let machine = program.machine()?;
        let Some(platform) = PLATFORMS.iter().find(|platform| platform.machine == machine) else {
            let known = PLATFORMS.each_ref().map(|platform| platform.target).join(" and ");
            bail!("it is made for the processor number {machine}; packages are made for {known}");
        };
        ensure!(
            !program.has_symbols(),
            "it still has its symbols; build it with a profile that strips"
        );
        let libraries = program.libraries()?;
        let is_everywhere =
            |name: &&String| C_LIBRARIES.contains(&name.as_str()) || **name == platform.loader;
        if let Some(other) = libraries.iter().find(|name| !is_everywhere(name)) {
            bail!("it needs the library {other}, which a package cannot expect on every machine");
        }
        let needs_compiler_library = libraries.iter().any(|name| name == COMPILER_LIBRARY);
        let glibc = program.glibc()?.unwrap_or(GLIBC_OLDEST);
        Ok(Self { platform, glibc, needs_compiler_library })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_programs_is_an_error_that_says_how_to_build_them() {
        let err = ProgramSet::read(Path::new("/nonexistent")).err().map(|err| format!("{err:#}"));
        let err = err.expect("there are no programs");
        assert!(
            err.contains("cannot read /nonexistent/haft; build all programs: cargo build"),
            "{err}"
        );
    }

    #[test]
    fn a_program_with_symbols_or_for_another_processor_is_refused() {
        let own = std::env::current_exe().and_then(std::fs::read).expect("it runs");
        let refusal = |program: &[u8]| {
            ProgramNeeds::look(program).err().map(|err| err.to_string()).unwrap_or_default()
        };
        assert!(refusal(&own).contains("still has its symbols"));
        let mut foreign = own;
        foreign[0x12] = 243;
        foreign[0x13] = 0;
        assert_eq!(
            refusal(&foreign),
            "it is made for the processor number 243; packages are made for x86_64-unknown-linux-gnu and \
             aarch64-unknown-linux-gnu"
        );
    }
}
