//! Lists the files below a directory, in the order of their paths, on several threads, as ripgrep would: ignore
//! files are honoured, hidden entries passed over, symlinks not followed. Files are reached through the context
//! alone, nothing is opened but ignore files, and no handle outlives the look at its directory.

mod listing;
mod pattern;
mod queue;
mod rules;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::Path;

use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{Cx, Entry, FileKind, FilePath, ToolError};

pub(crate) use self::listing::Listing;
use self::listing::{Child, Node};
pub(crate) use self::pattern::{Pattern, Selector};
pub(crate) use self::queue::ENTRIES_MAX;
use self::queue::{Job, Queue, Visited};
pub(crate) use self::rules::IGNORE_FILE_BYTES_MAX;
use self::rules::{Rules, Verdict};

/// Most threads that one search uses.
pub(crate) const THREADS_MAX: usize = 8;

/// Returns how many threads a search may use on this machine.
pub(crate) fn threads_available() -> NonZeroUsize {
    let most = NonZeroUsize::new(THREADS_MAX).unwrap_or(NonZeroUsize::MIN);
    std::thread::available_parallelism().map_or(NonZeroUsize::MIN, |threads| threads.min(most))
}

/// A walk about to be made.
pub(crate) struct Walk<'a> {
    /// The call on whose behalf.
    pub(crate) cx: &'a Cx,
    /// The directory to start at. It is listed even if it is itself ignored or hidden: it was asked for.
    pub(crate) base: &'a FilePath,
    /// What is wanted.
    pub(crate) selector: &'a Selector,
    /// How many threads share the work; the result does not depend on it.
    pub(crate) threads: NonZeroUsize,
}

/// What becomes of an entry.
struct Seen {
    /// It is itself wanted.
    taken: bool,
    /// Wanted entries may lie in it.
    entered: bool,
}

impl Walk<'_> {
    /// Lists what the selector wants. Directories below the base that cannot be read are passed over.
    pub(crate) fn run(&self) -> Result<Listing, ToolError> {
        let entries = self.cx.fs().list(self.base)?;
        let rules = Rules::above(self.cx.fs(), self.base);
        let first = Job { directory: self.base.clone(), rules, depth: 0 };
        let queue = Queue::new(self.visit(first, entries));
        std::thread::scope(|scope| {
            // This thread works too, and a flat directory needs no other.
            for _ in 1..self.threads.get().min(queue.waiting() + 1) {
                scope.spawn(|| self.work(&queue));
            }
            self.work(&queue);
        });
        Ok(queue.into_listing())
    }

    fn work(&self, queue: &Queue) {
        while let Some(mut claim) = queue.claim() {
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
    fn visit(&self, job: Job, entries: Vec<Entry>) -> Visited {
        let rules = Rules::enter(job.rules, self.cx.fs(), &job.directory, &entries);
        let mut node = Node { directory: job.directory, children: Vec::new() };
        let (mut jobs, mut too_deep) = (Vec::new(), 0);
        let depth = job.depth + 1;
        let mut path = node.directory.relative().to_path_buf();
        for entry in entries {
            path.push(&entry.name);
            if let Some(Seen { taken, entered }) = self.look(rules.as_deref(), &path, &entry, depth)
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
                    jobs.push(Job { directory, rules: rules.clone(), depth });
                }
                let is_directory = entry.kind == FileKind::Directory;
                node.children.push(Child { name: entry.name, is_directory, taken, job });
            }
            path.pop();
        }
        node.sort();
        Visited { node, jobs, too_deep }
    }

    /// Decides about one entry; `None` is to pass it over.
    fn look(
        &self,
        rules: Option<&Rules>,
        path: &Path,
        entry: &Entry,
        depth: usize,
    ) -> Option<Seen> {
        let (base, selector) = (self.base.relative(), self.selector);
        let seen = match entry.kind {
            FileKind::Regular => Seen { taken: selector.takes_file(base, path), entered: false },
            FileKind::Directory => Seen {
                taken: selector.takes_directory(base, path),
                entered: selector.enters(base, path, depth),
            },
            FileKind::Symlink
            | FileKind::Fifo
            | FileKind::Socket
            | FileKind::CharDevice
            | FileKind::BlockDevice => return None,
        };
        // The rules are asked last because they are the dearer question.
        ((seen.taken || seen.entered) && self.admits(rules, path, entry)).then_some(seen)
    }

    /// Returns whether the entry may be seen at all.
    fn admits(&self, rules: Option<&Rules>, path: &Path, entry: &Entry) -> bool {
        if entry.name == ".git" {
            return false;
        }
        match rules.map_or(Verdict::Unmentioned, |rules| rules.verdict(path, entry.kind)) {
            Verdict::Ignored => false,
            Verdict::Kept => true,
            Verdict::Unmentioned => {
                self.selector.sees_hidden() || !entry.name.as_encoded_bytes().starts_with(b".")
            }
        }
    }
}
