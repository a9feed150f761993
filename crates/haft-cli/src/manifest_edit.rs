//! Changes that commands make to haft.toml: an entry is added at the end, or removed. Comments and layout of the rest stay.
//! A trusted file stays trusted, because the user made the change by the command. An untrusted file stays untrusted.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use haft::{Clock as _, SystemClock};
use toml_edit::{DocumentMut, Item, RawString, Table};

use crate::arguments::setting_args::SettingArgs;
use crate::error::CommandError;
use haft_app::TrustStore;
use haft_app::host::AppHost;
use haft_app::manifest::{ExampleChecks, FILE_NAME, Manifest, ManifestFile};
use haft_app::{quote, settings, user_configuration};

/// The mode of a new file that only its owner may write.
const OWNER_FILE_MODE: u32 = 0o600;
/// The mode of a new directory that only its owner may enter.
const OWNER_DIRECTORY_MODE: u32 = 0o700;

/// The file that a command changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManifestPlace {
    /// The manifest that is named or holds in the working directory.
    Workspace,
    /// The user's own configuration, for all projects.
    User,
}

/// A manifest that a command changes, and its trust before the change.
pub(crate) struct ManifestEdit {
    pub(crate) file: ManifestFile,
    place: ManifestPlace,
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

impl ManifestPlace {
    /// Returns the place that the option `--user` of a command means.
    pub(crate) fn of_option(is_user: bool) -> Self {
        if is_user { Self::User } else { Self::Workspace }
    }
}

impl ManifestChange {
    /// Returns a line about a file that the user has not trusted yet. Empty for a trusted file.
    pub(crate) fn trust_note(&self) -> String {
        if self.is_trusted {
            return String::new();
        }
        let path = self.file.path();
        let quoted = quote::shell(&path.to_string_lossy());
        format!("{} is not trusted yet; trust it with: haft trust {quoted}\n", path.display())
    }
}

impl ManifestEdit {
    /// Returns the file to change, or one that is not there yet.
    pub(crate) fn open(
        place: ManifestPlace,
        setting_args: &SettingArgs,
        host: &AppHost,
    ) -> Result<Self, CommandError> {
        let trust = TrustStore::new(host.state().trust());
        match place {
            ManifestPlace::Workspace => Self::open_workspace(setting_args, host, trust),
            ManifestPlace::User => Self::open_user(host, trust),
        }
    }

    /// Returns the manifest that is named or holds in the working directory, or one that is not there yet.
    fn open_workspace(
        setting_args: &SettingArgs,
        host: &AppHost,
        trust: TrustStore,
    ) -> Result<Self, CommandError> {
        let place = ManifestPlace::Workspace;
        if let Some(file) = settings::find_manifest(&setting_args.overrides(), host)? {
            let before = match (trust.is_trusted(&file), setting_args.config.is_some()) {
                (true, _) => PriorTrust::Trusted,
                (false, true) => PriorTrust::Named,
                (false, false) => PriorTrust::Untrusted,
            };
            return Ok(Self { file, place, before, trust });
        }
        let directory = match &setting_args.root {
            Some(root) => root.clone(),
            None => host.working_directory()?,
        };
        let directory = directory.canonicalize().map_err(|err| {
            CommandError::usage(format!("{} cannot be used: {err}", directory.display()))
        })?;
        let file = ManifestFile::of_text(directory.join(FILE_NAME), String::new());
        Ok(Self { file, place, before: PriorTrust::Absent, trust })
    }

    /// Returns the user's own configuration, or one that is not there yet.
    fn open_user(host: &AppHost, trust: TrustStore) -> Result<Self, CommandError> {
        let place = ManifestPlace::User;
        if let Some(file) = user_configuration::find(host)? {
            // A file that only the user can write holds, unless haft wrote or the user trusted another content.
            let is_trusted = trust.is_trusted(&file) || trust.last_trusted(file.path()).is_none();
            let before = if is_trusted { PriorTrust::Trusted } else { PriorTrust::Untrusted };
            return Ok(Self { file, place, before, trust });
        }
        let path = user_configuration::path(host).ok_or_else(|| {
            CommandError::usage("there is no home directory for your own configuration")
                .hint("export XDG_CONFIG_HOME=/path/to/a/directory")
        })?;
        let file = ManifestFile::of_text(path, String::new());
        Ok(Self { file, place, before: PriorTrust::Absent, trust })
    }

    /// Returns whether there is such a file.
    pub(crate) fn is_there(&self) -> bool {
        self.before != PriorTrust::Absent
    }

    /// Returns whether the file holds as it is.
    pub(crate) fn is_trusted(&self) -> bool {
        self.before != PriorTrust::Untrusted
    }

    /// Returns what a text at the place of the file says.
    pub(crate) fn parse(&self, file: &ManifestFile) -> Result<Manifest, CommandError> {
        Ok(match self.place {
            ManifestPlace::Workspace => file.parse()?,
            ManifestPlace::User => user_configuration::parse(file, ExampleChecks::Checked)?,
        })
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
        self.parse(&changed).map(|_| changed).map_err(|err| {
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

    /// Returns the file with another text.
    pub(crate) fn with_text(&self, text: String) -> ManifestFile {
        self.file.with_text(text)
    }

    /// Writes the manifest. A trusted file stays trusted, and so is a new one.
    pub(crate) fn write(self, changed: ManifestFile) -> Result<ManifestChange, CommandError> {
        let cannot_write = |err: io::Error| {
            CommandError::usage(format!("{} cannot be written: {err}", changed.path().display()))
        };
        let is_new = self.before == PriorTrust::Absent;
        let mut mode = None;
        if is_new && self.place == ManifestPlace::User {
            let mut directories = DirBuilder::new();
            directories.recursive(true).mode(OWNER_DIRECTORY_MODE);
            directories.create(changed.directory()).map_err(cannot_write)?;
            mode = Some(OWNER_FILE_MODE);
        }
        replace_file(changed.path(), changed.text(), mode).map_err(cannot_write)?;
        // Reading gives the path of the file as trust is recorded for it.
        let file = if is_new { ManifestFile::read(changed.path())? } else { changed };
        let is_trusted = self.is_trusted();
        if is_trusted && self.before != PriorTrust::Named {
            self.trust.grant(&file, SystemClock.now_ms())?;
        }
        Ok(ManifestChange { file, is_new, is_trusted })
    }
}

/// Writes a file whole or not at all, with the permissions that it has. A new file gets this mode, if one is given.
pub(crate) fn replace_file(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions: Option<Permissions> =
        fs::metadata(&path).ok().map(|found| found.permissions());
    let permissions = permissions.or(mode.map(Permissions::from_mode));
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    // `create_new` does not follow a link that another process put there.
    let mut new = File::options().write(true).create_new(true).open(&temporary)?;
    let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
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
        let text = "preset = \"ask\"\n";

        assert_eq!(
            replace_file(&place, text, None).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(fs::read_to_string(&other).unwrap(), "keep");
        fs::remove_file(&temporary).unwrap();
        replace_file(&place, text, None).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), text);
    }
}
