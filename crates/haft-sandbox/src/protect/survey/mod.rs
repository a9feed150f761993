//! What exists under protected names, before a command runs and after. It says what has to be held while the command
//! runs, and puts back in order what could not be: names that did not exist yet. It deliberately mounts nothing.

mod cache;
mod conclude;
mod copies;
mod directory;
mod elders;
mod judge;
mod look;
mod note;
mod other_names;
mod pins;
mod shape;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use super::report::{self, Means, Pin, SurveyError, Undone};
pub use cache::SurveyCache;
pub(crate) use cache::{CONTENTS_MAX, DIRECTORIES_MAX, NAME_SETS_MAX};
pub(crate) use conclude::LOOKS_MAX;
pub(crate) use copies::{COPIES_BYTES_MAX, SMALL_BYTES_MAX, SMALL_BYTES_TOTAL};
pub(crate) use directory::Moment;
pub(super) use directory::{BUFFER_BYTES, Kind, Listed, State, Unlocked, open_beneath, read_names};
pub(crate) use look::UNLOCKED_MAX;
pub(crate) use note::{moment_of_end, settle};
pub(crate) use other_names::{HIDDEN_DEPTH_MAX, HIDDEN_FILES_MAX};

use self::copies::Copies;
use self::elders::Elders;
use self::look::{Bounds, Links, Look, OpenRoot, Scope};
use super::ProtectedNames;
use crate::process::Note;

/// What exists under protected names in the writable directories of one command.
///
/// It is taken before the command starts and concluded when nothing of the command is alive. In between the
/// [pins](Survey::pins) are held by whoever confines the command. What exists cannot be changed then; what comes to be
/// under a protected name meanwhile is undone at the end, so that no placeholder has to stand for it.
///
/// Any directory that has the shape of a git repository is treated as if it were named `.git`. A new repository may keep
/// what git itself puts there: a configuration that names no program, and sample hooks.
///
/// Protected is what has the name, wherever it is moved: a directory around it can be renamed, and what then takes its
/// place is new. What a protected symbolic link leads to inside of the writable directories is protected as well.
#[derive(Debug)]
pub struct Survey {
    roots: Vec<OpenRoot>,
    names: ProtectedNames,
    cache: SurveyCache,
    means: Means,
    bounds: Bounds,
    before: Arc<Look>,
    elders: Elders,
    copies: Copies,
    pins: Vec<Pin>,
    /// What tells a later process of this one, should it be killed.
    note: Option<Note>,
    /// When nothing of the command was alive any more, where that was another process's command.
    ended: Option<Moment>,
}

impl Survey {
    /// Looks at the writable directories, before the command is started.
    ///
    /// This reads directories and blocks. The roots are canonical; what is beneath another one is part of it.
    ///
    /// # Errors
    ///
    /// A [`SurveyError`] inside of an [`io::Error`] when a root cannot be looked at completely: the command must not run.
    pub fn take(
        cache: &SurveyCache,
        roots: &[PathBuf],
        names: &ProtectedNames,
        means: Means,
    ) -> io::Result<Survey> {
        Survey::take_within(cache, roots, names, means, Bounds::DEFAULT)
    }

    fn take_within(
        cache: &SurveyCache,
        roots: &[PathBuf],
        names: &ProtectedNames,
        means: Means,
        bounds: Bounds,
    ) -> io::Result<Survey> {
        let (roots, names, cache) = (open_roots(roots)?, names.clone(), cache.clone());
        let scope = Scope { roots: &roots, names: &names, cache: &cache, bounds };
        let beginning = cache.open_surveys().begin(&roots);
        let mut before = Look::take(scope, Links::All);
        if let Some(problem) = before.problem.take() {
            return Err(problem.into());
        }
        let other_names = other_names::find(scope, &before, &means.hidden)?;
        let copies = Copies::take(scope, &before, means.holding)?;
        let pins = pins::choose(&roots, &before, other_names, means.holding);
        // Directories that their owner shut are shut again while the command runs.
        before.lock();
        let before = Arc::new(before);
        let elders = cache.open_surveys().open(&beginning, Arc::clone(&before));
        Ok(Survey {
            roots,
            names,
            cache,
            means,
            bounds,
            before,
            elders,
            copies,
            pins,
            note: None,
            ended: None,
        })
    }

    /// Returns what has to be held while the command runs, each before what is beneath it.
    ///
    /// Where nothing is mounted these are the other names of hidden files alone, which then must not be readable.
    #[must_use]
    pub fn pins(&self) -> &[Pin] {
        &self.pins
    }

    /// Looks again and undoes what was done to protected names; blocks as well.
    ///
    /// Nothing of the command may be alive any more. What is answered is in the order of the paths, first what is new or
    /// changed, then what was missing. A survey that is dropped without this leaves in place whatever is new.
    #[must_use]
    pub fn conclude(&self) -> Vec<Undone> {
        let undone = conclude::conclude(self);
        self.forget();
        undone
    }

    /// Writes down what another process needs to conclude this, should this one be killed.
    pub(crate) fn write_down(
        &mut self,
        write: impl FnOnce(&[u8]) -> io::Result<Note>,
    ) -> io::Result<()> {
        self.forget();
        // Where nothing is writable, nothing can be left.
        self.note = if self.roots.is_empty() { None } else { Some(write(&self.encode()?)?) };
        Ok(())
    }

    /// Removes what was written down: nobody has to conclude this any more.
    pub(crate) fn forget(&self) {
        if let Some(note) = &self.note {
            note.erase();
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { roots: &self.roots, names: &self.names, cache: &self.cache, bounds: self.bounds }
    }
}

/// Opens the roots that are not beneath another one.
fn open_roots(paths: &[PathBuf]) -> Result<Vec<OpenRoot>, SurveyError> {
    let mut sorted: Vec<&PathBuf> = paths.iter().collect();
    sorted.sort();
    let mut roots: Vec<OpenRoot> = Vec::new();
    for path in sorted {
        if roots.iter().any(|root| path.starts_with(&root.path)) {
            continue;
        }
        let failed = |source| SurveyError::Unreadable { path: path.clone(), source };
        let directory = File::open(path).map_err(failed)?;
        if !directory.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        roots.push(OpenRoot { path: path.clone(), directory: OwnedFd::from(directory) });
    }
    Ok(roots)
}
