//! Changes that commands make to haft.toml: an entry is added at the end, or removed. Comments and layout of the rest stay.
//! The user decides whether a trusted file stays trusted.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};

use haft::{Clock as _, SystemClock};
use toml_edit::{DocumentMut, Item, RawString, Table};

use crate::arguments::setting_args::SettingArgs;
use crate::asking::ask_confirmation;
use crate::error::CommandError;
use crate::views::output;
use haft_app::TrustStore;
use haft_app::host::AppHost;
use haft_app::manifest::{FILE_NAME, Manifest, ManifestFile};
use haft_app::settings;

/// A manifest that a command changes, and its trust before the change.
pub(crate) struct ManifestEdit {
    pub(crate) file: ManifestFile,
    before: PriorTrust,
    trust: TrustStore,
}

/// The trust in a manifest before the change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PriorTrust {
    Absent,
    /// An option names it, which makes it trusted.
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
    pub(crate) fn open(setting_args: &SettingArgs, host: &AppHost) -> Result<Self, CommandError> {
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
        // The section may be written as one inline table, which takes no further entry.
        changed.parse().map(|_| changed).map_err(|err| {
            CommandError::usage(format!(
                "the entry cannot be put at the end of {}, so nothing was changed: put it in by hand, as\n\n{entry}\n{}",
                self.file.path().display(),
                err.message
            ))
        })
    }

    /// Returns the manifest without the entry `section.name`, if the rest then reads as `expected`.
    pub(crate) fn without_entry(
        &self,
        section: &str,
        name: &str,
        expected: &Manifest,
    ) -> Result<ManifestFile, CommandError> {
        let changed =
            without_entry(self.file.text(), section, name).map(|text| self.with_text(text));
        match changed.map(|changed| (changed.parse(), changed)) {
            Some((Ok(found), changed)) if found == *expected => Ok(changed),
            Some(_) | None => Err(CommandError::usage(format!(
                "{section}.{name} cannot be removed from {} without a change to the rest, so nothing was changed: \
                 remove it by hand",
                self.file.path().display()
            ))),
        }
    }

    fn with_text(&self, text: String) -> ManifestFile {
        ManifestFile::of_text(self.file.path().to_owned(), text)
    }

    /// Writes the manifest. If it was trusted, it stays trusted only if the user confirms that, or did so before.
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
            PriorTrust::Trusted => {
                let path = output::escape_controls(&changed.path().to_string_lossy());
                let question = format!("{path} was trusted and has changed. Trust it again?");
                is_confirmed || ask_confirmation(&question).await.unwrap_or(false)
            }
            PriorTrust::Untrusted => false,
        };
        // For an untrusted manifest, reading the settings prints the note about trust.
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
    // `create_new` does not follow a link that another process put there.
    let mut new = File::options().write(true).create_new(true).open(&temporary)?;
    let written = new.write_all(file.text().as_bytes()).and_then(|()| new.sync_all());
    let placed = written
        .and_then(|()| permissions.map_or(Ok(()), |found| new.set_permissions(found)))
        .and_then(|()| fs::rename(&temporary, &path));
    if placed.is_err() {
        // A partly written file must not stay behind.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Returns a text of TOML without one entry of a section, and without the comment directly above the entry. All other
/// comments stay, and so does the layout. A section that has no other entry goes too.
fn without_entry(text: &str, section: &str, name: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let entries = document.get_mut(section)?.as_table_like_mut()?;
    let removed = entries.remove(name)?;
    if entries.is_empty() {
        document.remove(section);
    }
    if let Item::Table(removed) = removed
        && let Some(prefix) = removed.decor().prefix().and_then(RawString::as_str)
        && let Some((comments, _)) = prefix.rsplit_once("\n\n")
    {
        // Comments above a blank line are not about the entry.
        let position = removed.position().unwrap_or_default();
        match table_after(document.as_table_mut(), position) {
            Some(next) => {
                let prefix = next.decor().prefix().and_then(RawString::as_str);
                let prefix = format!("{comments}\n{}", prefix.unwrap_or_default());
                next.decor_mut().set_prefix(prefix);
            }
            None => {
                let trailing = document.trailing().as_str().unwrap_or_default();
                document.set_trailing(format!("{comments}\n{trailing}"));
            }
        }
    }
    // The first entry that is left brings the blank line before it.
    Some(document.to_string().trim_start_matches('\n').to_owned())
}

/// Returns the table that comes first in the text after a position.
fn table_after(table: &mut Table, position: isize) -> Option<&mut Table> {
    let tables = table.iter_mut().filter_map(|(_, item)| item.as_table_mut());
    let after = tables.filter_map(|table| {
        if table.position().is_some_and(|found| found > position) {
            Some(table)
        } else {
            table_after(table, position)
        }
    });
    after.min_by_key(|table| table.position())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_removed_and_the_rest_stays_as_it_is() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(without_entry(text, "mcp", "git").as_deref(), expect, "{text}");
        };
        let text = "preset = \"ask\" # mine\n\n# Of git.\n[mcp.git]\ncommand = \"x\"\n[mcp.git.env]\nA = \"b\"\n\n# Of fs.\n\
                    [mcp.fs]\ncommand =  \"y\"\n# End.\n";
        let rest = "preset = \"ask\" # mine\n\n# Of fs.\n[mcp.fs]\ncommand =  \"y\"\n# End.\n";
        check(text, Some(rest));
        check("[mcp.git]\ncommand = \"x\"\n", Some(""));
        check("a = 1\n\n[ mcp . \"git\" ] # here\ncommand = \"x\"\n", Some("a = 1\n"));
        check(
            "mcp = { git = { command = \"x\" }, fs = { command = \"y\" } }\n",
            Some("mcp = { fs = { command = \"y\" } }\n"),
        );
        check("mcp.git.command = \"x\" # one\n[x]\n", Some("[x]\n"));
        check("[mcp.gitlab]\ncommand = \"x\"\n", None);
        check("[mcp.git\n", None);
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
