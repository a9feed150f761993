//! Changes of haft.toml that commands make for the user: something at its end, or a table taken out. What stands there
//! otherwise is not touched, not even its spaces; whether the file is trusted afterwards is for the user to say.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};

use haft::{Clock as _, SystemClock};

use crate::arguments::setting_args::SettingArgs;
use crate::asking::ask_confirmation;
use crate::error::CommandError;
use crate::views::output;
use haft_app::host::Host;
use haft_app::manifest::{FILE_NAME, Manifest, ManifestFile};
use haft_app::settings;
use haft_app::trust::TrustStore;

/// A manifest that is to be changed, and what it is before.
pub(crate) struct ManifestEdit {
    pub(crate) file: ManifestFile,
    before: PriorTrust,
    trust: TrustStore,
}

/// What a manifest is before it is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorTrust {
    Absent,
    /// It is named, and holds for that.
    Named,
    Trusted,
    Untrusted,
}

/// A manifest that was changed.
pub(crate) struct ManifestChange {
    pub(crate) file: ManifestFile,
    /// Whether it was made.
    pub(crate) is_new: bool,
    /// Whether it holds.
    pub(crate) is_trusted: bool,
}

impl ManifestEdit {
    /// Returns the manifest that is named or holds in the working directory, or one that is not there yet.
    pub(crate) fn open(setting_args: &SettingArgs, host: &Host) -> Result<Self, CommandError> {
        let trust = TrustStore::new(host.state().trust());
        if let Some(file) = settings::find_manifest(&setting_args.overrides(), host)? {
            let before = match (trust.is_trusted(&file), setting_args.config.is_some()) {
                (true, _) => PriorTrust::Trusted,
                (false, true) => PriorTrust::Named,
                (false, false) => PriorTrust::Untrusted,
            };
            return Ok(Self { file, before, trust });
        }
        let directory = match &setting_args.root {
            Some(root) => root.clone(),
            None => host.working_directory()?,
        };
        let directory = directory.canonicalize().map_err(|err| {
            CommandError::usage(format!("{} cannot be used: {err}", directory.display()))
        })?;
        let file = ManifestFile::of_text(directory.join(FILE_NAME), String::new());
        Ok(Self { file, before: PriorTrust::Absent, trust })
    }

    /// Returns whether there is such a file.
    pub(crate) fn is_there(&self) -> bool {
        self.before != PriorTrust::Absent
    }

    /// Returns the manifest with `entry` at its end, if that is a manifest.
    pub(crate) fn with_entry(&self, entry: &str) -> Result<ManifestFile, CommandError> {
        let text = self.file.text();
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let changed = self.with_text(format!("{text}{gap}{entry}"));
        // What it goes into may be written in one line, to which no entry of its own can be added.
        changed.parse().map(|_| changed).map_err(|err| {
            CommandError::usage(format!(
                "the entry cannot be put at the end of {}, so nothing was changed: put it in by hand, as\n\n{entry}\n{}",
                self.file.path().display(),
                err.message
            ))
        })
    }

    /// Returns the manifest without the tables whose names begin with `name`, if it says then what `expected` says.
    pub(crate) fn without_tables(
        &self,
        name: &str,
        expected: &Manifest,
    ) -> Result<ManifestFile, CommandError> {
        let changed = self.with_text(without_tables(self.file.text(), name));
        match changed.parse() {
            Ok(found) if found == *expected => Ok(changed),
            Ok(_) | Err(_) => Err(CommandError::usage(format!(
                "{name} in {} is not written as a table of its own, so nothing was changed: take it out by hand",
                self.file.path().display()
            ))),
        }
    }

    fn with_text(&self, text: String) -> ManifestFile {
        ManifestFile::of_text(self.file.path().to_owned(), text)
    }

    /// Writes the manifest, and has it trusted if it was and the user confirms it, or has done so.
    pub(crate) async fn write(
        self,
        changed: ManifestFile,
        is_confirmed: bool,
    ) -> Result<ManifestChange, CommandError> {
        write(&changed).map_err(|err| {
            CommandError::usage(format!("{} cannot be written: {err}", changed.path().display()))
        })?;
        let is_trusted = match self.before {
            PriorTrust::Absent | PriorTrust::Named => true,
            PriorTrust::Trusted => is_confirmed || confirmed_again(&changed).await,
            PriorTrust::Untrusted => false,
        };
        // That what nobody trusts does not hold is said where the settings are found out.
        if is_trusted && self.before != PriorTrust::Named {
            self.trust.grant(&changed, SystemClock.now_ms())?;
        }
        Ok(ManifestChange { file: changed, is_new: self.before == PriorTrust::Absent, is_trusted })
    }
}

/// Writes the manifest whole or not at all, with the permissions that it has.
fn write(file: &ManifestFile) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = file.path().canonicalize().unwrap_or_else(|_| file.path().to_owned());
    let permissions: Option<Permissions> =
        fs::metadata(&path).ok().map(|found| found.permissions());
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    // A link that somebody put in its place is not followed.
    let mut new = File::options().write(true).create_new(true).open(&temporary)?;
    let written = new.write_all(file.text().as_bytes()).and_then(|()| new.sync_all());
    let placed = written
        .and_then(|()| permissions.map_or(Ok(()), |found| new.set_permissions(found)))
        .and_then(|()| fs::rename(&temporary, &path));
    if placed.is_err() {
        // What is half written is of no use to anybody.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Asks whether the manifest is to be trusted as it is now. Where nobody can be asked it is not.
async fn confirmed_again(file: &ManifestFile) -> bool {
    let path = output::escape_controls(&file.path().to_string_lossy());
    let question = format!("{path} was trusted and has changed. Trust it again?");
    ask_confirmation(&question).await.unwrap_or(false)
}

/// Returns a text of TOML without the tables whose names are `name` or begin with it. Comments before the next table stay,
/// since they are mostly about that.
fn without_tables(text: &str, name: &str) -> String {
    let mut kept = String::new();
    let mut is_out = false;
    let mut held = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(header) = header(line) {
            is_out = header == name
                || header.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            // What was held back stands before a table: what is about the one that goes is not told from the rest.
            kept.push_str(&std::mem::take(&mut held));
        }
        let says_nothing = line.trim().is_empty() || line.trim_start().starts_with('#');
        match (is_out, says_nothing) {
            (false, _) => kept.push_str(line),
            (true, true) => held.push_str(line),
            (true, false) => held.clear(),
        }
    }
    kept.push_str(&held);
    let end = kept.trim_end().len();
    let is_shorter = kept.len() < text.len();
    if is_shorter && end < kept.len() {
        kept.truncate(end);
        kept.push('\n');
    }
    kept.trim_start_matches('\n').to_owned()
}

/// Returns the name in the header of a table, without spaces and quotes.
fn header(line: &str) -> Option<String> {
    let line = line.trim();
    let line = line.split_once('#').map_or(line, |(before, _)| before.trim_end());
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    Some(name.chars().filter(|char| !char.is_whitespace() && *char != '"').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_and_the_rest_stays_as_it_is() {
        let check = |text: &str, expect: &str| {
            assert_eq!(without_tables(text, "mcp.git"), expect);
        };
        let text = "preset = \"ask\" # mine\n\n[mcp.git]\ncommand = \"x\"\n[mcp.git.env]\nA = \"b\"\n\n# Of fs.\n[mcp.fs]\n\
                    command = \"y\"\n";
        let rest = "preset = \"ask\" # mine\n\n\n# Of fs.\n[mcp.fs]\ncommand = \"y\"\n";
        check(text, rest);
        check("[mcp.git]\ncommand = \"x\"\n", "");
        check("a = 1\n\n[ mcp . \"git\" ] # here\ncommand = \"x\"\n", "a = 1\n");
        check("[mcp.gitlab]\ncommand = \"x\"\n", "[mcp.gitlab]\ncommand = \"x\"\n");
    }

    #[test]
    fn what_is_written_follows_no_link_that_waits_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join(FILE_NAME);
        let other = directory.path().join("other");
        fs::write(&other, "keep").unwrap();
        let temporary = place.with_extension(format!("{}.tmp", std::process::id()));
        std::os::unix::fs::symlink(&other, &temporary).unwrap();
        let file = ManifestFile::of_text(place.clone(), "preset = \"ask\"\n".to_owned());

        assert_eq!(write(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&other).unwrap(), "keep");
        fs::remove_file(&temporary).unwrap();
        write(&file).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "preset = \"ask\"\n");
    }
}
