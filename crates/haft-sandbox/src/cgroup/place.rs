//! Finding where a command's control group may be made: the directories of the groups that this process is in, as they
//! are mounted here. Directories above these are never used, even where they could be written to, because a group made
//! there would not be bound by what bounds this process. The one exception is marked as such by the init system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// A directory that groups can be made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) interface: Interface,
}

/// What is controlled there, and by which files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// Version 2: everything.
    Unified,
    /// Version 1: memory.
    Memory,
    /// Version 1: processes.
    Processes,
}

/// Returns the place for memory and processes together, or the two for each of them, or none.
pub(super) fn places() -> Vec<Place> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if let Some(own) = directory(&groups, &mounts, Hierarchy::Unified)
        && let Some(directory) = unified(&own)
    {
        return vec![Place { directory, interface: Interface::Unified }];
    }
    let memory = directory(&groups, &mounts, Hierarchy::Controller("memory"));
    let pids = directory(&groups, &mounts, Hierarchy::Controller("pids"));
    match (
        memory.filter(|path| is_hierarchical(path) && is_ours(path)),
        pids.filter(|path| is_ours(path)),
    ) {
        (Some(memory), Some(pids)) => vec![
            Place { directory: memory, interface: Interface::Memory },
            Place { directory: pids, interface: Interface::Processes },
        ],
        _ => Vec::new(),
    }
}

/// One of the trees of control groups.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hierarchy {
    Unified,
    /// Version 1, with this controller.
    Controller(&'static str),
}

/// Returns the directory of the group that `/proc/self/cgroup` names, on the first mount that shows it.
pub(super) fn directory(groups: &str, mounts: &str, hierarchy: Hierarchy) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| group_path(line, hierarchy))?;
    mounts.lines().find_map(|line| {
        let (root, mounted_at) = mount(line, hierarchy)?;
        // A container may show a part of the tree only; a group outside of it has no directory here.
        let below = Path::new(path).strip_prefix(&root).ok()?;
        let is_plain =
            below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_plain.then(|| {
            if below.as_os_str().is_empty() { mounted_at.clone() } else { mounted_at.join(below) }
        })
    })
}

/// Reads a line such as `4:memory:/user`; version 2 has number 0 and names no controller.
fn group_path(line: &str, hierarchy: Hierarchy) -> Option<&str> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_meant = match hierarchy {
        Hierarchy::Unified => number == "0" && controllers.is_empty(),
        Hierarchy::Controller(name) => controllers.split(',').any(|controller| controller == name),
    };
    is_meant.then_some(path)
}

/// Reads a line of `/proc/self/mountinfo` and returns which part of the tree is mounted where.
fn mount(line: &str, hierarchy: Hierarchy) -> Option<(PathBuf, PathBuf)> {
    let (first, last) = line.split_once(" - ")?;
    let mut fields = first.split(' ');
    let (root, mounted_at) = (fields.nth(3)?, fields.next()?);
    let mut fields = last.split(' ');
    let (kind, options) = (fields.next()?, fields.nth(1)?);
    let is_meant = match hierarchy {
        Hierarchy::Unified => kind == "cgroup2",
        Hierarchy::Controller(name) => {
            kind == "cgroup" && options.split(',').any(|option| option == name)
        }
    };
    // Spaces and the like are written as octal numbers there. No init system mounts control groups at such a place.
    let is_plain = !root.contains('\\') && !mounted_at.contains('\\');
    (is_meant && is_plain).then(|| (PathBuf::from(root), PathBuf::from(mounted_at)))
}

/// Returns where below a group of version 2 others can be made with both controllers: in itself, or where the init
/// system put this process into a group of its own for that very purpose, beside that.
fn unified(own: &Path) -> Option<PathBuf> {
    let above = own.parent().filter(|above| is_delegated(above)).map(Path::to_owned);
    [Some(own.to_owned()), above]
        .into_iter()
        .flatten()
        .find(|path| is_ours(path) && has_controllers(path))
}

/// Tells whether groups made here get both controllers, after switching them on if that can be done. A group that has
/// processes of its own refuses that.
fn has_controllers(directory: &Path) -> bool {
    let lists = |file: &str| {
        let names = fs::read_to_string(directory.join(file)).unwrap_or_default();
        ["memory", "pids"]
            .iter()
            .all(|name| names.split_ascii_whitespace().any(|listed| listed == *name))
    };
    if lists("cgroup.subtree_control") {
        return true;
    }
    lists("cgroup.controllers")
        && fs::write(directory.join("cgroup.subtree_control"), "+memory +pids").is_ok()
        && lists("cgroup.subtree_control")
}

/// Tells whether the init system has left the division of this group to whoever is in it.
fn is_delegated(directory: &Path) -> bool {
    let mut value = [0; 4];
    let length = rustix::fs::getxattr(directory, "user.delegate", &mut value[..]);
    length.is_ok_and(|length| value.get(..length) == Some(b"1"))
}

fn is_ours(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
        && access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

/// Old kernels could be told not to count a group's memory in the ones above; a command would then escape their bounds.
fn is_hierarchical(directory: &Path) -> bool {
    match fs::read_to_string(directory.join("memory.use_hierarchy")) {
        Ok(value) => value.trim() == "1",
        // Kernels without the file have no other way.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests;
