//! Lists the files below a directory, in the order of their paths, on several threads, as ripgrep would: ignore
//! files are honoured, hidden entries passed over, symlinks not followed. Files are reached through the context
//! alone, nothing is opened but ignore files, and no handle outlives the look at its directory.

mod glob;
mod ignore_rules;
mod listing;
mod queue;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::Path;

use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{Cx, DirectoryEntry, FilePath, FsEntryKind, ToolError};

pub(crate) use self::glob::{EntrySelector, WalkGlob};
use self::ignore_rules::{WalkIgnoreRules, WalkIgnoreVerdict};
pub(crate) use self::listing::WalkListing;
use self::listing::{WalkDirectory, WalkDirectoryEntry};
use self::queue::{DirectoryVisit, WalkJob, WalkQueue};

/// Most threads that one search uses.
pub(crate) const THREADS_MAX: usize = 8;

/// Returns how many threads a search may use on this machine.
pub(crate) fn threads_available() -> NonZeroUsize {
    let most = NonZeroUsize::new(THREADS_MAX).unwrap_or(NonZeroUsize::MIN);
    std::thread::available_parallelism().map_or(NonZeroUsize::MIN, |threads| threads.min(most))
}

/// A walk about to be made.
pub(crate) struct DirectoryWalk<'a> {
    /// The call on whose behalf.
    pub(crate) cx: &'a Cx,
    /// The directory to start at. It is listed even if it is itself ignored or hidden: it was asked for.
    pub(crate) base: &'a FilePath,
    /// What is wanted.
    pub(crate) selector: &'a EntrySelector,
    /// How many threads share the work; the result does not depend on it.
    pub(crate) threads: NonZeroUsize,
}

/// What becomes of an entry.
struct WalkDecision {
    /// It is itself wanted.
    is_selected: bool,
    /// Wanted entries may lie in it.
    is_entered: bool,
}

impl DirectoryWalk<'_> {
    /// Lists what the selector wants. Directories below the base that cannot be read are passed over.
    pub(crate) fn run(&self) -> Result<WalkListing, ToolError> {
        let entries = self.cx.fs().list(self.base)?;
        let rules = WalkIgnoreRules::load_ancestors(self.cx.fs(), self.base);
        let first = WalkJob { directory: self.base.clone(), rules, depth: 0 };
        let queue = WalkQueue::new(self.visit(first, entries));
        std::thread::scope(|scope| {
            // This thread works too, and a flat directory needs no other.
            for _ in 1..self.threads.get().min(queue.waiting() + 1) {
                scope.spawn(|| self.work(&queue));
            }
            self.work(&queue);
        });
        Ok(queue.into_listing())
    }

    fn work(&self, queue: &WalkQueue) {
        while let Some(mut claim) = queue.next_job() {
            if self.cx.is_cancelled() {
                queue.stop();
                return;
            }
            let Some(job) = claim.take_job() else { continue };
            if let Ok(entries) = self.cx.fs().list(&job.directory) {
                claim.finish(self.visit(job, entries));
            }
        }
    }

    /// Sorts out the entries of one directory.
    fn visit(&self, job: WalkJob, entries: Vec<DirectoryEntry>) -> DirectoryVisit {
        let rules =
            WalkIgnoreRules::load_directory(job.rules, self.cx.fs(), &job.directory, &entries);
        let mut node = WalkDirectory { directory: job.directory, children: Vec::new() };
        let (mut jobs, mut too_deep) = (Vec::new(), 0);
        let depth = job.depth + 1;
        let mut path = node.directory.relative().to_path_buf();
        for entry in entries {
            path.push(&entry.name);
            if let Some(WalkDecision { is_selected: taken, is_entered: entered }) =
                self.decide(rules.as_deref(), &path, &entry, depth)
            {
                // No tool could open it, and nothing beneath it.
                if path.as_os_str().len() >= PATH_BYTES_MAX {
                    too_deep += 1;
                    path.pop();
                    continue;
                }
                let job = entered.then_some(jobs.len());
                if entered {
                    let directory = node.directory.join(&entry.name);
                    jobs.push(WalkJob { directory, rules: rules.clone(), depth });
                }
                let is_directory = entry.kind == FsEntryKind::Directory;
                node.children.push(WalkDirectoryEntry {
                    name: entry.name,
                    is_directory,
                    is_selected: taken,
                    job,
                });
            }
            path.pop();
        }
        node.sort();
        DirectoryVisit { node, jobs, too_deep }
    }

    /// Decides about one entry; `None` is to pass it over.
    fn decide(
        &self,
        rules: Option<&WalkIgnoreRules>,
        path: &Path,
        entry: &DirectoryEntry,
        depth: usize,
    ) -> Option<WalkDecision> {
        let (base, selector) = (self.base.relative(), self.selector);
        let seen = match entry.kind {
            FsEntryKind::Regular => {
                WalkDecision { is_selected: selector.selects_file(base, path), is_entered: false }
            }
            FsEntryKind::Directory => WalkDecision {
                is_selected: selector.selects_directory(base, path),
                is_entered: selector.enters_directory(base, path, depth),
            },
            FsEntryKind::Symlink
            | FsEntryKind::Fifo
            | FsEntryKind::Socket
            | FsEntryKind::CharDevice
            | FsEntryKind::BlockDevice => return None,
        };
        // The rules are asked last because they are the dearer question.
        ((seen.is_selected || seen.is_entered) && self.is_visible(rules, path, entry))
            .then_some(seen)
    }

    /// Returns whether the entry may be seen at all.
    fn is_visible(
        &self,
        rules: Option<&WalkIgnoreRules>,
        path: &Path,
        entry: &DirectoryEntry,
    ) -> bool {
        if entry.name == ".git" {
            return false;
        }
        match rules.map_or(WalkIgnoreVerdict::NoRule, |rules| rules.verdict(path, entry.kind)) {
            WalkIgnoreVerdict::Ignored => false,
            WalkIgnoreVerdict::ReIncluded => true,
            WalkIgnoreVerdict::NoRule => {
                self.selector.includes_hidden() || !entry.name.as_encoded_bytes().starts_with(b".")
            }
        }
    }
}
