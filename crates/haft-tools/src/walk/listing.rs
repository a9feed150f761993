//! The result of a walk, stored per directory: a file costs its name, not its path. The directories are ordered without a
//! sort of all entries.

use std::ffi::OsString;

use haft_contract::FilePath;

/// The wanted entries of a walk, ordered by the bytes of their paths.
#[derive(Debug)]
pub(crate) struct WalkListing {
    directories: Vec<FilePath>,
    entries: Vec<ListedEntry>,
    too_deep: usize,
    passed_over: usize,
    stopped: bool,
}

#[derive(Debug)]
struct ListedEntry {
    directory: usize,
    name: OsString,
    is_directory: bool,
}

/// One directory that was looked at.
#[derive(Debug)]
pub(crate) struct WalkDirectory {
    pub(crate) directory: FilePath,
    pub(crate) children: Vec<WalkDirectoryEntry>,
}

/// An entry that is wanted, or that wanted entries may lie in.
#[derive(Debug)]
pub(crate) struct WalkDirectoryEntry {
    pub(crate) name: OsString,
    pub(crate) is_directory: bool,
    /// Whether the entry is itself wanted.
    pub(crate) is_selected: bool,
    /// Which of its directory's jobs looks into it, if any does.
    pub(crate) job: Option<usize>,
}

/// A [`WalkDirectory`] of a walk that ended, and the number of the first of its jobs.
#[derive(Debug)]
pub(crate) struct WalkTreeNode {
    pub(crate) node: WalkDirectory,
    pub(crate) first_job: usize,
}

impl WalkDirectory {
    /// Puts the children in the order of the paths below them.
    ///
    /// A directory sorts as if a slash followed its name: `a-b` and `a.rs` go before `a/x`. Then the
    /// concatenation of all directories, in order, is ordered too.
    pub(crate) fn sort(&mut self) {
        self.children.sort_by(|left, right| left.sort_key().cmp(right.sort_key()));
    }
}

impl WalkDirectoryEntry {
    fn sort_key(&self) -> impl Iterator<Item = &u8> {
        let slash: &[u8] = if self.is_directory { b"/" } else { b"" };
        self.name.as_encoded_bytes().iter().chain(slash)
    }
}

impl WalkListing {
    /// Strings the directories together, beginning with the first; those that were never settled are left out.
    pub(crate) fn new(
        mut nodes: Vec<Option<WalkTreeNode>>,
        too_deep: usize,
        stopped: bool,
    ) -> Self {
        let directories = Vec::with_capacity(nodes.len());
        let mut listing =
            Self { directories, entries: Vec::new(), too_deep, passed_over: 0, stopped };
        let mut open = Vec::new();
        let mut next = Some(0);
        loop {
            if let Some(settled) = next.take().and_then(|id: usize| nodes.get_mut(id)?.take()) {
                let directory = listing.directories.len();
                listing.directories.push(settled.node.directory);
                open.push((directory, settled.first_job, settled.node.children.into_iter()));
            }
            let Some((directory, first_job, children)) = open.last_mut() else { break };
            let Some(WalkDirectoryEntry { name, is_directory, is_selected: taken, job }) =
                children.next()
            else {
                open.pop();
                continue;
            };
            next = job.map(|job| *first_job + job);
            if taken {
                listing.entries.push(ListedEntry { directory: *directory, name, is_directory });
            }
        }
        listing
    }

    /// Returns the listing of a walk that passed over this many entries.
    pub(crate) fn with_passed_over(mut self, passed_over: usize) -> Self {
        self.passed_over = passed_over;
        self
    }

    /// Returns how many files and directories were passed over, because they are hidden or ignore files name them.
    pub(crate) fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// Returns how many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the walk came to its end and left nothing out.
    pub(crate) fn is_complete(&self) -> bool {
        !self.stopped && self.too_deep == 0
    }

    /// Returns how many entries were left out, with all that lies beneath them, because their paths are too long.
    pub(crate) fn too_deep(&self) -> usize {
        self.too_deep
    }

    /// Returns the entry of that number in the order of paths.
    pub(crate) fn path(&self, index: usize) -> Option<FilePath> {
        let place = self.entries.get(index)?;
        Some(self.directories.get(place.directory)?.join(&place.name))
    }

    /// Returns the paths as models read them, directories with a slash at the end.
    pub(crate) fn displays(&self) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(|place| {
            let path = self.directories.get(place.directory)?.join(&place.name);
            let slash = if place.is_directory { "/" } else { "" };
            Some(format!("{}{slash}", path.display()))
        })
    }
}
