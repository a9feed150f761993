//! The files that belong to the programs in a prefix such as `/usr`: manual pages, completions, the profile for AppArmor and
//! documents. The .deb and the tar.gz have almost the same.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::program_set::ProgramSet;
use super::release::ReleaseFacts;
use super::tar::ArchiveEntry;
use crate::files;
use crate::process::{capture, run as run_program};

/// Where the completions of each shell are looked for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/haft"),
    ("fish", "share/fish/vendor_completions.d/haft.fish"),
    ("zsh", "share/zsh/site-functions/_haft"),
];

/// The template of the profile, which `haft doctor` prints as well.
const PROFILE: &str = "crates/haft-cli/src/commands/doctor/apparmor.profile";

/// Texts that a program prints about itself. They are the same on every platform.
pub(super) struct PrintedTexts {
    /// Name and text of each manual page.
    manual: Vec<(String, String)>,
    /// Place and text for each shell.
    completions: Vec<(&'static str, String)>,
}

impl PrintedTexts {
    /// Asks the programs of this machine among the sets. `dir` is a directory for their files, which is emptied first.
    pub(super) fn read(sets: &[ProgramSet], dir: &Path) -> anyhow::Result<Self> {
        let set = sets.iter().find(|set| set.platform.is_here()).with_context(|| {
            format!(
                "manual pages and completions come from a program that runs here; add one for {}",
                std::env::consts::ARCH
            )
        })?;
        files::remove_dir(dir)?;
        files::create_dir(dir)?;
        let (haft, pages) = (dir.join("haft"), dir.join("man"));
        let (_, contents) = set.programs.first().context("there are no programs")?;
        files::write(&haft, contents)?;
        run_program(Command::new("chmod").arg("+x").arg(&haft))?;
        // Neither the machine's settings nor its terminal may show in the texts.
        let asked = || {
            let mut haft = Command::new(&haft);
            haft.env_clear().env("HOME", dir);
            haft
        };
        files::create_dir(&pages)?;
        run_program(asked().arg("man-pages").arg(&pages))?;
        let mut manual = Vec::new();
        for page in files::list(&pages)? {
            let name =
                page.file_name().context("a page has a name")?.to_string_lossy().into_owned();
            manual.push((name, files::read(&page)?));
        }
        // A program that takes no arguments: the page of haft names it.
        manual.push(("haft-reader.1".to_owned(), ".so man1/haft.1\n".to_owned()));
        manual.sort();
        let mut completions = Vec::new();
        for (shell, place) in COMPLETIONS {
            completions.push((place, capture(asked().args(["completions", shell]))?));
        }
        files::remove_dir(dir)?;
        Ok(Self { manual, completions })
    }
}

#[cfg(test)]
impl PrintedTexts {
    /// Returns texts that no program printed.
    pub(super) fn for_tests() -> Self {
        Self {
            manual: vec![("haft.1".to_owned(), ".TH haft 1\n".to_owned())],
            completions: COMPLETIONS.map(|(shell, place)| (place, shell.to_owned())).into(),
        }
    }
}

/// Returns the profile for AppArmor with the programs of this directory.
pub(super) fn apparmor_profile(root: &Path, dir: &str) -> anyhow::Result<String> {
    Ok(files::read(&root.join(PROFILE))?.replace("@PROGRAMS@", &format!("{dir}/haft{{,-agent}}")))
}

/// Returns what is installed in a prefix beside the licences.
pub(super) fn installed_files(
    set: &ProgramSet,
    texts: &PrintedTexts,
    release: &ReleaseFacts,
    bill: &str,
) -> Vec<ArchiveEntry> {
    let mut entries: Vec<ArchiveEntry> = set
        .programs
        .iter()
        .map(|(name, contents)| ArchiveEntry::program(format!("bin/{name}"), contents.as_slice()))
        .collect();
    entries.extend(
        texts.manual.iter().map(|(name, text)| {
            ArchiveEntry::file(format!("share/man/man1/{name}"), text.as_str())
        }),
    );
    entries.extend(
        texts.completions.iter().map(|(place, text)| ArchiveEntry::file(*place, text.as_str())),
    );
    let documents = [("README.md", &release.readme), ("CHANGELOG.md", &release.changelog)];
    entries.extend(
        documents.into_iter().map(|(name, text)| {
            ArchiveEntry::file(format!("share/doc/haft/{name}"), text.as_str())
        }),
    );
    entries.push(ArchiveEntry::file("share/doc/haft/haft.cdx.json", bill));
    entries
}
