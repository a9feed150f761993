//! Recording what a workspace looks like: as a whole, with a cache that spares reading what looks unchanged, or some paths on
//! top of an earlier record. A file's bytes are taken as they are. Bringing anything back is not this module's part.

mod cache;
mod heavy;
mod options;
mod reading;
mod rules;
mod update;
mod walk;

use std::path::{Path, PathBuf};

use haft_sandbox::{Root, RootError};

pub use self::options::{Lasting, Options};

use self::cache::{Cache, Fresh};
use self::rules::Rules;
use self::update::{Base, Extent, Place, Update, Wanted};
use self::walk::{Walk, Walked};
use crate::error::RecordError;
use crate::id::TreeId;
use crate::state::LeftOut;
use crate::store::Store;

/// What may have changed since something was recorded.
#[derive(Debug, Clone, Copy)]
pub enum Changed<'a> {
    /// Anything may have.
    Anything,
    /// Nothing but what is at these canonical paths, and beneath them.
    Beneath {
        /// What is taken over for everything else.
        previous: TreeId,
        /// What is recorded anew. They need not exist.
        paths: &'a [PathBuf],
    },
    /// Nothing else is of interest: of everything but these canonical paths, and what is beneath them, no more is recorded than
    /// the directories that lead there. Two such records of the same paths say what happened to them between, at a cost that
    /// does not depend on what is beside them.
    Only {
        /// What is recorded. They need not exist.
        paths: &'a [PathBuf],
    },
    /// As [`Changed::Only`], without what is beneath the paths: of a directory among them, that it is there and its bits.
    Exactly {
        /// What is recorded. They need not exist.
        paths: &'a [PathBuf],
    },
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The state of the workspace.
    pub tree: TreeId,
    /// How many files, directories and links were looked at.
    pub files: u64,
    /// How many files were read.
    pub read: u64,
    /// How many bytes they had.
    pub read_bytes: u64,
    /// How many objects were new to the store.
    pub written: u64,
    /// How many bytes they have.
    pub written_bytes: u64,
    /// What was left out of what was looked at, as far as it is listed.
    pub left_out: Vec<LeftOutPath>,
    /// How many paths were left out of what was looked at.
    pub left_out_total: u64,
}

/// A path that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutPath {
    /// The canonical path.
    pub path: PathBuf,
    /// What is there, and why it was left out.
    pub left_out: LeftOut,
}

impl Store {
    /// Records what the workspace looks like.
    ///
    /// The record lasts through a loss of power when this returns, unless `options` ask for less. See the [crate] for what is recorded of what.
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the store or the root cannot be used, or when there is more than `options` allow. What
    /// cannot be read, or does not hold still, is no error: it is left out, and listed.
    pub fn record(
        &self,
        root: &Root,
        options: &Options,
        changed: Changed<'_>,
    ) -> Result<Recorded, RecordError> {
        if self.is_inside(root.path()) {
            return Err(RecordError::Inside);
        }
        let _hold = self.hold()?;
        match changed {
            Changed::Anything => self.record_all(root, options),
            Changed::Beneath { previous, paths } => self.record_some(
                root,
                options,
                Base::Record(previous),
                &Wanted::of(paths, Extent::Beneath)?,
            ),
            Changed::Only { paths } => {
                self.record_some(root, options, Base::Nothing, &Wanted::of(paths, Extent::Beneath)?)
            }
            Changed::Exactly { paths } => {
                self.record_some(root, options, Base::Nothing, &Wanted::of(paths, Extent::Itself)?)
            }
        }
    }

    fn record_some(
        &self,
        root: &Root,
        options: &Options,
        base: Base,
        wanted: &Wanted,
    ) -> Result<Recorded, RecordError> {
        if wanted.whole {
            return self.record_all(root, options);
        }
        let cache = Cache::default();
        let mut walk = self.walk(root, options, &cache)?;
        let place = Place { above: &Rules::default(), depth: 0 };
        let mut update = Update { store: self, walk: &mut walk };
        let walked = update.directory(Path::new(""), base, wanted, place)?;
        walk.finish(walked)
    }

    fn record_all(&self, root: &Root, options: &Options) -> Result<Recorded, RecordError> {
        let directory = self.root_directory(root)?;
        let fingerprint = options.fingerprint();
        let cache = Cache::load(&directory, fingerprint);
        let fresh = Fresh::begin(&self.objects, &directory, fingerprint)?;
        let mut walk = self.walk(root, options, &cache)?;
        walk.fresh = Some(fresh);
        let walked = walk.directory(Path::new(""), &Rules::default(), 0)?;
        walk.finish(walked)
    }

    fn walk<'a>(
        &'a self,
        root: &'a Root,
        options: &'a Options,
        cache: &'a Cache,
    ) -> Result<Walk<'a>, RecordError> {
        Ok(Walk {
            root,
            options,
            excluded: rules::excluded(&options.excluded)?,
            hidden: self.hidden_within(root),
            writing: self.objects.writing(options.lasting),
            cache,
            fresh: None,
            counts: Counts::default(),
        })
    }
}

/// What is counted while a record is made.
#[derive(Debug, Default)]
struct Counts {
    files: u64,
    read: u64,
    read_bytes: u64,
    left_out: Vec<LeftOutPath>,
    left_out_total: u64,
}

impl Walk<'_> {
    /// Makes the record last, the cache only after the objects that it speaks of.
    fn finish(self, walked: Walked) -> Result<Recorded, RecordError> {
        let tree = match walked {
            Walked::Tree(tree) => tree,
            Walked::Gone | Walked::Not(_) => return Err(unreadable(self.root)),
        };
        self.writing.finish()?;
        if let Some(fresh) = self.fresh {
            fresh.finish(self.cache)?;
        }
        let Counts { files, read, read_bytes, left_out, left_out_total } = self.counts;
        Ok(Recorded {
            tree,
            files,
            read,
            read_bytes,
            written: self.writing.written,
            written_bytes: self.writing.written_bytes,
            left_out,
            left_out_total,
        })
    }
}

/// Returns why the root itself cannot be recorded.
fn unreadable(root: &Root) -> RecordError {
    let path = PathBuf::new();
    match root.list(&path) {
        Err(err) => err.into(),
        Ok(_) => RootError::Exchanged { path }.into(),
    }
}
