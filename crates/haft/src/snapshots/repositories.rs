//! Finds out whether a call changed git's own files, which snapshots do not hold. Each repository gets a cheap stamp before and
//! after the call. Only the stamps are compared, so this module can say what changed, and not restore it. If a setting wants refs
//! and index recorded, they are snapshots of a separate root: see the hook.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use haft_journal::{ChangedRepository, RepositoryPart};
use rustix::fs::OFlags;

/// Repositories of a root that are compared around a command.
///
/// Limit (journal): changes of git's own files in further repositories go unnoticed.
pub(crate) const REPOSITORIES_MAX: usize = 256;
/// Largest index whose entries are compared, in bytes. Of a larger one, size and times are compared, which also differ after
/// commands that only look.
const INDEX_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Largest `HEAD` or `.git` file that is read, in bytes.
const HEAD_BYTES_MAX: u64 = 4096;
/// Names below `refs` and `objects` that are looked at.
const NAMES_MAX: usize = 100_000;
/// Length of the part of an index entry that only helps git to find changed files.
const INDEX_STAT_BYTES: usize = 24;
/// Length of an index entry before its name: the stat data, mode, owner, size, object and flags.
const INDEX_ENTRY_BYTES: usize = 62;

/// The stamps of the repositories of a root, by the paths of their working directories relative to the root.
pub(super) type RepositoryStamps = BTreeMap<PathBuf, RepositoryStamp>;

/// The state of git's own files in a repository: a number for each part, which differs if the part does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RepositoryStamp {
    head: u64,
    refs: u64,
    index: u64,
    objects: u64,
    /// The names of the directories of objects and of the packs.
    object_names: BTreeSet<OsString>,
}

/// The indexes that were read before, so that an unchanged one is not read again.
#[derive(Debug, Default)]
pub(super) struct KnownIndexes(HashMap<PathBuf, (IndexIdentity, u64)>);

/// The facts that differ if a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct IndexIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl IndexIdentity {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Stamps the repositories of a root. Those that are not there any more have no stamp.
pub(super) fn stamp_repositories(
    root: &Path,
    repositories: &BTreeSet<PathBuf>,
    known: &mut KnownIndexes,
) -> RepositoryStamps {
    let places = repositories.iter().take(REPOSITORIES_MAX);
    places
        .filter_map(|place| Some((place.clone(), stamp(&root.join(place).join(".git"), known)?)))
        .collect()
}

/// Returns the repositories whose stamps differ. Of one whose refs and index are recorded, only lost objects are of interest:
/// `is_recorded` gets the path of its `.git` in the root.
pub(super) fn changed_repositories(
    (before, after): (&RepositoryStamps, &RepositoryStamps),
    is_recorded: impl Fn(&Path) -> bool,
) -> Vec<ChangedRepository> {
    let places: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changes = places.into_iter().filter_map(|place| {
        let changed = match (before.get(place), after.get(place)) {
            (Some(before), Some(after)) if is_recorded(&place.join(".git")) => {
                let are_kept = before.has_objects_of(after);
                if are_kept { Vec::new() } else { vec![RepositoryPart::Objects] }
            }
            (Some(before), Some(after)) => before.differing_parts(after),
            (Some(_), None) => vec![RepositoryPart::Removed],
            (None, _) => vec![RepositoryPart::Made],
        };
        let path = place.join(".git").to_string_lossy().into_owned();
        (!changed.is_empty()).then_some(ChangedRepository { path, changed })
    });
    changes.collect()
}

impl RepositoryStamp {
    /// Returns whether the later stamp still has all directories of objects and all packs.
    fn has_objects_of(&self, after: &Self) -> bool {
        self.object_names.is_subset(&after.object_names)
    }

    fn differing_parts(&self, other: &Self) -> Vec<RepositoryPart> {
        let parts = [
            (RepositoryPart::Head, self.head == other.head),
            (RepositoryPart::Refs, self.refs == other.refs),
            (RepositoryPart::Index, self.index == other.index),
            (RepositoryPart::Objects, self.objects == other.objects),
        ];
        parts.into_iter().filter(|(_, is_same)| !is_same).map(|(part, _)| part).collect()
    }
}

/// Returns the stamp of a `.git`; nothing if it does not exist.
fn stamp(git: &Path, known: &mut KnownIndexes) -> Option<RepositoryStamp> {
    let found = fs::symlink_metadata(git).ok()?;
    if !found.is_dir() {
        // A worktree or a submodule: a file that names the directory, which another repository holds.
        let head = hashed(|hasher| {
            fs::read_link(git).ok().hash(hasher);
            read_bounded(git, HEAD_BYTES_MAX).hash(hasher);
        });
        return Some(RepositoryStamp {
            head,
            refs: 0,
            index: 0,
            objects: 0,
            object_names: BTreeSet::new(),
        });
    }
    let mut names_left = NAMES_MAX;
    let head = hashed(|hasher| read_bounded(&git.join("HEAD"), HEAD_BYTES_MAX).hash(hasher));
    let refs = hashed(|hasher| {
        identity(&git.join("packed-refs")).hash(hasher);
        hash_tree(&git.join("refs"), usize::MAX, &mut names_left, hasher);
    });
    let objects = hashed(|hasher| {
        // A directory's times change with each name in it, so the names of loose objects are not listed.
        hash_tree(&git.join("objects"), 1, &mut names_left, hasher);
        hash_tree(&git.join("objects/pack"), 1, &mut names_left, hasher);
        // The repositories of submodules.
        hash_tree(&git.join("modules"), 2, &mut names_left, hasher);
    });
    let index = index_stamp(&git.join("index"), known);
    let directories = [git.join("objects"), git.join("objects/pack")];
    let names = directories.iter().filter_map(|directory| fs::read_dir(directory).ok());
    let names = names.flatten().flatten().map(|entry| entry.file_name());
    let object_names = names.take(NAMES_MAX).collect();
    Some(RepositoryStamp { head, refs, index, objects, object_names })
}

fn hashed(write: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    write(&mut hasher);
    hasher.finish()
}

fn identity(path: &Path) -> Option<IndexIdentity> {
    fs::symlink_metadata(path).ok().as_ref().map(IndexIdentity::of)
}

/// Hashes the names and identities below a directory, down to a depth. No link is followed.
fn hash_tree(
    directory: &Path,
    depth_max: usize,
    names_left: &mut usize,
    hasher: &mut DefaultHasher,
) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    for name in names {
        if *names_left == 0 {
            return;
        }
        *names_left -= 1;
        let path = directory.join(&name);
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        name.hash(hasher);
        IndexIdentity::of(&found).hash(hasher);
        if found.is_dir() && depth_max > 1 {
            hash_tree(&path, depth_max - 1, names_left, hasher);
        }
    }
}

/// Returns the number of an index: of its entries without the data that commands refresh which only look.
fn index_stamp(index: &Path, known: &mut KnownIndexes) -> u64 {
    let Ok(found) = fs::symlink_metadata(index) else { return 0 };
    let identity = IndexIdentity::of(&found);
    if let Some((_, stamp)) = known.0.get(index).filter(|(known, _)| *known == identity) {
        return *stamp;
    }
    let bytes = read_bounded(index, INDEX_BYTES_MAX);
    let stamp = hashed(|hasher| match bytes.as_deref().and_then(index_entries) {
        Some(entries) => entries.hash(hasher),
        None => identity.hash(hasher),
    });
    known.0.insert(index.to_owned(), (identity, stamp));
    stamp
}

/// Returns mode, object, flags and name of each entry of an index of version 2 or 3; nothing for any other file.
fn index_entries(index: &[u8]) -> Option<Vec<&[u8]>> {
    let number = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
    let is_known = index.get(..4)? == b"DIRC" && matches!(number(index.get(4..8)?)?, 2 | 3);
    let count = usize::try_from(number(index.get(8..12)?)?).ok().filter(|_| is_known)?;
    let mut entries = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let entry = index.get(at..)?;
        let flags = u16::from_be_bytes(entry.get(60..62)?.try_into().ok()?);
        // The flag says that two further bytes follow.
        let begin = INDEX_ENTRY_BYTES + if flags & 0x4000 == 0 { 0 } else { 2 };
        let length = entry.get(begin..)?.iter().position(|byte| *byte == 0)?;
        entries.push(entry.get(INDEX_STAT_BYTES..28)?);
        entries.push(entry.get(40..begin + length)?);
        // Entries are padded with at least one zero to a multiple of eight bytes.
        at = at.checked_add((begin + length + 8) / 8 * 8)?;
    }
    Some(entries)
}

/// Reads a small regular file. Nothing waits for the other end of a pipe, and no link is followed.
fn read_bounded(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let file: File =
        OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A root with a repository, and the changes that a command makes to it.
    struct Workspace {
        directory: tempfile::TempDir,
        known: KnownIndexes,
    }

    impl Workspace {
        fn new() -> Self {
            let workspace =
                Self { directory: tempfile::tempdir().unwrap(), known: KnownIndexes::default() };
            workspace.run("git init -q . && git config user.email a@b && git config user.name a");
            workspace.run("echo one > a && git add a && git commit -qm first");
            workspace
        }

        fn run(&self, line: &str) {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(self.directory.path());
            shell.env("HOME", self.directory.path()).env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(shell.status().unwrap().success(), "{line}");
        }

        fn check(&mut self, line: &str, expect: &str) {
            self.check_recorded(line, &[], expect);
        }

        /// Checks a line where refs and index of these repositories are recorded.
        fn check_recorded(&mut self, line: &str, recorded: &[&str], expect: &str) {
            let places = BTreeSet::from([PathBuf::new(), PathBuf::from("nested")]);
            let before = stamp_repositories(self.directory.path(), &places, &mut self.known);
            self.run(line);
            let after = stamp_repositories(self.directory.path(), &places, &mut self.known);
            let is_recorded = |git: &Path| recorded.iter().any(|path| Path::new(path) == git);
            let changes = changed_repositories((&before, &after), is_recorded);
            let text = |change: &ChangedRepository| {
                let parts: Vec<&str> = change.changed.iter().map(|part| part.as_str()).collect();
                format!("{}: {}", change.path, parts.join(", "))
            };
            let found: Vec<String> = changes.iter().map(text).collect();
            assert_eq!(found.join("; "), expect, "{line}");
        }
    }

    #[test]
    fn of_a_recorded_repository_only_lost_objects_are_told() {
        let mut workspace = Workspace::new();
        let git = &[".git"][..];
        workspace.check_recorded("echo two > a && git commit -qam second", git, "");
        workspace.check_recorded("rm .git/index .git/HEAD && git init -q", git, "");
        workspace.check_recorded("rm -rf .git/objects/*", git, ".git: objects");
        workspace.check_recorded("rm -rf .git", git, ".git: removed");
    }

    #[test]
    fn what_changes_a_repository_shows_and_looking_does_not() {
        let mut workspace = Workspace::new();
        for looking in
            ["git status", "git log", "git diff", "touch a && git status", "ls", "echo x > b"]
        {
            workspace.check(&format!("{looking} > /dev/null"), "");
        }
        workspace.check("echo two > a && git add a", ".git: the index, objects");
        workspace.check("git commit -qm second", ".git: refs, objects");
        workspace.check("git branch side", ".git: refs");
        workspace.check("git checkout -q side", ".git: HEAD");
        workspace.check("git tag v1 && git pack-refs --all", ".git: refs");
        workspace.check("rm -rf .git/objects", ".git: objects");
        workspace.check("rm .git/index", ".git: the index");
        workspace.check("git init -q nested", "nested/.git: made");
        workspace.check("rm -rf nested", "nested/.git: removed");
        workspace.check("rm -rf .git", ".git: removed");
    }

    #[test]
    fn a_pipe_or_a_link_in_place_of_a_file_is_not_read() {
        let mut workspace = Workspace::new();
        workspace.run("rm .git/HEAD .git/index && mkfifo .git/HEAD && ln -s /dev/zero .git/index");
        workspace.check("true", "");
    }
}
