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

/// Returns what a search says of skipped entries, as in ` (skipped: 2 binary, 1 not permitted)`. Without any, it says nothing.
pub(crate) fn skipped_note(counts: &[(usize, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, kind)| format!("{count} {kind}")).collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!(" (skipped: {})", counts.join(", ")),
    }
}

/// A walk about to be made.
pub(crate) struct DirectoryWalk<'a> {
    /// The call on whose behalf.
    pub(crate) cx: &'a Cx,
    /// The directory to start at. It is listed even if it is itself ignored or hidden: it was asked for.
    pub(crate) base: &'a FilePath,
    /// Which entries are wanted.
    pub(crate) selector: &'a EntrySelector,
    /// How many threads share the work; the result does not depend on it.
    pub(crate) threads: NonZeroUsize,
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
        let (mut jobs, mut too_deep, mut passed_over) = (Vec::new(), 0, 0);
        let depth = job.depth + 1;
        let mut path = node.directory.relative().to_path_buf();
        let (base, selector) = (self.base.relative(), self.selector);
        for entry in entries {
            path.push(&entry.name);
            let is_directory = entry.kind == FsEntryKind::Directory;
            let (is_selected, is_entered) = match entry.kind {
                FsEntryKind::Regular => (selector.selects_file(base, &path), false),
                FsEntryKind::Directory => (
                    selector.selects_directory(base, &path),
                    selector.enters_directory(base, &path, depth),
                ),
                FsEntryKind::Symlink
                | FsEntryKind::Fifo
                | FsEntryKind::Socket
                | FsEntryKind::CharDevice
                | FsEntryKind::BlockDevice => (false, false),
            };
            // The rules cost more than the selector, so they come last.
            let is_wanted = (is_selected || is_entered) && entry.name != ".git";
            let is_visible = is_wanted && {
                let verdict = rules.as_ref().map(|rules| rules.verdict(&path, entry.kind));
                match verdict.unwrap_or(WalkIgnoreVerdict::NoRule) {
                    WalkIgnoreVerdict::Ignored => false,
                    WalkIgnoreVerdict::ReIncluded => true,
                    WalkIgnoreVerdict::NoRule => {
                        selector.includes_hidden()
                            || !entry.name.as_encoded_bytes().starts_with(b".")
                    }
                }
            };
            // No tool could open an entry with a longer path, or an entry beneath it.
            let is_reachable = path.as_os_str().len() < PATH_BYTES_MAX;
            path.pop();
            passed_over += usize::from(is_wanted && !is_visible);
            if is_visible && !is_reachable {
                too_deep += 1;
            } else if is_visible {
                let job = is_entered.then_some(jobs.len());
                if is_entered {
                    let directory = node.directory.join(&entry.name);
                    jobs.push(WalkJob { directory, rules: rules.clone(), depth });
                }
                let name = entry.name;
                node.children.push(WalkDirectoryEntry { name, is_directory, is_selected, job });
            }
        }
        node.sort();
        DirectoryVisit { node, jobs, too_deep, passed_over }
    }
}
