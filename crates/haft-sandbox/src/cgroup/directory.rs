//! Finds the directories where a command's control group may be created: the mounted directories of
//! the groups that this process is in. Directories above these are never used, even if they are
//! writable, because a group there would escape this process's limits. The only exception is a
//! directory that the init system marked as delegated.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// A directory of a control group, or one that groups can be made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CgroupDirectory {
    pub(super) directory: PathBuf,
    pub(super) interface: CgroupInterface,
}

/// The resources that are controlled in a directory, and through which files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupInterface {
    /// Version 2: all resources.
    Unified,
    /// Version 1: memory.
    Memory,
    /// Version 1: processes.
    Processes,
}

/// Returns one directory for memory and processes together, or one for each, or none.
pub(super) fn find_directories() -> Vec<CgroupDirectory> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if let Some(own) = directory(&groups, &mounts, CgroupHierarchy::Unified) {
        let above = own.parent().filter(|above| {
            let mut value = [0; 4];
            let length = rustix::fs::getxattr(*above, "user.delegate", &mut value[..]);
            length.is_ok_and(|length| value.get(..length) == Some(b"1"))
        });
        // The own group or, if the init system delegated a group for this purpose, its parent.
        let mut candidates = [Some(own.as_path()), above].into_iter().flatten();
        if let Some(usable) = candidates.find(|path| is_ours(path) && has_controllers(path)) {
            let directory = usable.to_path_buf();
            return vec![CgroupDirectory { directory, interface: CgroupInterface::Unified }];
        }
    }
    // Old kernels could be configured not to count a group's memory in its ancestors. A command
    // would then escape their limits.
    let is_hierarchical =
        |directory: &Path| match fs::read_to_string(directory.join("memory.use_hierarchy")) {
            Ok(value) => value.trim() == "1",
            // Kernels without this file always count hierarchically.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
    let memory = directory(&groups, &mounts, CgroupHierarchy::Controller("memory"));
    let pids = directory(&groups, &mounts, CgroupHierarchy::Controller("pids"));
    match (
        memory.filter(|path| is_hierarchical(path) && is_ours(path)),
        pids.filter(|path| is_ours(path)),
    ) {
        (Some(memory), Some(pids)) => vec![
            CgroupDirectory { directory: memory, interface: CgroupInterface::Memory },
            CgroupDirectory { directory: pids, interface: CgroupInterface::Processes },
        ],
        _ => Vec::new(),
    }
}

/// A hierarchy of control groups.
#[derive(Clone, Copy, Debug)]
pub(super) enum CgroupHierarchy {
    Unified,
    /// Version 1, with this controller.
    Controller(&'static str),
}

/// Returns the directory of the group that `/proc/self/cgroup` names, on the first mount that
/// contains it.
pub(super) fn directory(groups: &str, mounts: &str, hierarchy: CgroupHierarchy) -> Option<PathBuf> {
    // A line such as `4:memory:/user`. Version 2 has number 0 and names no controller.
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_match = match hierarchy {
            CgroupHierarchy::Unified => number == "0" && controllers.is_empty(),
            CgroupHierarchy::Controller(name) => {
                controllers.split(',').any(|controller| controller == name)
            }
        };
        is_match.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        // A line of `/proc/self/mountinfo` says which part of the tree is mounted where.
        let (first, last) = line.split_once(" - ")?;
        let mut fields = first.split(' ');
        let (root, mounted_at) = (fields.nth(3)?, fields.next()?);
        let mut fields = last.split(' ');
        let (kind, options) = (fields.next()?, fields.nth(1)?);
        let is_match = match hierarchy {
            CgroupHierarchy::Unified => kind == "cgroup2",
            CgroupHierarchy::Controller(name) => {
                kind == "cgroup" && options.split(',').any(|option| option == name)
            }
        };
        // Spaces and similar characters are written as octal numbers. No init system mounts control
        // groups at such a path.
        if !is_match || root.contains('\\') || mounted_at.contains('\\') {
            return None;
        }
        // A container may see only a part of the tree. A group outside that part has no directory
        // here.
        let below = Path::new(path).strip_prefix(root).ok()?;
        let is_plain =
            below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_plain.then(|| {
            let mounted_at = Path::new(mounted_at);
            if below.as_os_str().is_empty() { mounted_at.into() } else { mounted_at.join(below) }
        })
    })
}

/// Returns whether groups created here get both controllers. Enables the controllers if possible;
/// the kernel refuses this for a group that contains processes.
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

fn is_ours(directory: &Path) -> bool {
    access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
        && access(directory.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests;
