//! The entries `[[python]]` of a manifest: directories of Python tools and how they are run. Whether the files are tools
//! is found out elsewhere.

use std::path::{Path, PathBuf};

use haft_python::limits::WORKERS_MAX;

use super::problem::{KeyProblem, out_of_bounds};
use super::{SANDBOX_MEMORY_BYTES_MAX, SANDBOX_MEMORY_BYTES_MIN};

/// Directories of Python tools.
///
/// Limit (settings): the manifest is refused.
pub const PYTHON_DIRECTORIES_MAX: usize = 16;
/// Largest `python.idle_ms`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const PYTHON_IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// One directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonEntry {
    /// Where the files are.
    pub dir: PathBuf,
    /// A Python, by path or by name, or the directory of a virtual environment; python3 unless named.
    pub interpreter: Option<PathBuf>,
    /// Where an environment would be that is called like an interpreter on PATH: it would be taken in its place.
    pub interpreter_place: Option<PathBuf>,
    /// The directory that holds the top package, for files that are modules of one.
    pub package_root: Option<PathBuf>,
    /// Further directories and files that the tools can read.
    pub readable: Vec<PathBuf>,
    /// Processes of one file that run at once.
    pub workers: Option<usize>,
    /// Time after which an idle process is ended, in milliseconds.
    pub idle_ms: Option<u64>,
    /// Memory of one process, where that is to be less than what every process may have.
    pub memory_bytes: Option<u64>,
}

impl PythonEntry {
    /// Returns an entry that says nothing but where the files are.
    pub fn of_directory(dir: PathBuf) -> Self {
        Self {
            dir,
            interpreter: None,
            interpreter_place: None,
            package_root: None,
            readable: Vec::new(),
            workers: None,
            idle_ms: None,
            memory_bytes: None,
        }
    }

    /// Returns whether the entry, which was placed, is about a directory, however that is spelled.
    pub fn is_at(&self, dir: &Path) -> bool {
        let place = dir.canonicalize().ok();
        place.is_some() && place == self.dir.canonicalize().ok()
    }

    /// Returns the entry in the words of the manifest, as far as it says what is run and read.
    pub fn summary(&self) -> String {
        let mut words = vec![format!("dir = {:?}", self.dir)];
        let paths = [("interpreter", &self.interpreter), ("package_root", &self.package_root)];
        let named = paths.into_iter().filter_map(|(key, path)| Some((key, path.as_ref()?)));
        words.extend(named.map(|(key, path)| format!("{key} = {path:?}")));
        if !self.readable.is_empty() {
            words.push(format!("readable = {:?}", self.readable));
        }
        format!("python = [{{ {} }}]", words.join(", "))
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let paths = [
            ("dir", Some(&self.dir), "a directory"),
            ("interpreter", self.interpreter.as_ref(), "a Python or a virtual environment"),
            ("package_root", self.package_root.as_ref(), "a directory"),
        ];
        let empty = paths.into_iter().filter_map(|(key, path, expected)| {
            path.filter(|path| path.as_os_str().is_empty())?;
            Some((key, format!("{key}: expected {expected}, found an empty text")))
        });
        // The bounds are far below what the narrower type holds.
        let workers = self.workers.map(|workers| u64::try_from(workers).unwrap_or(u64::MAX));
        let memory = SANDBOX_MEMORY_BYTES_MIN..=SANDBOX_MEMORY_BYTES_MAX;
        let outside = [
            out_of_bounds("workers", workers, 1..=WORKERS_MAX as u64, "processes"),
            out_of_bounds("idle_ms", self.idle_ms, 1..=PYTHON_IDLE_MS_MAX, "milliseconds"),
            out_of_bounds("memory_bytes", self.memory_bytes, memory, "bytes"),
        ];
        empty.chain(outside.into_iter().flatten()).collect()
    }

    /// Returns the entry with paths found from `directory`. An interpreter that is a bare name is looked up in PATH.
    pub fn resolve_paths(self, directory: &Path) -> Self {
        let place = |path: PathBuf| directory.join(path);
        let interpreter_place = self.interpreter.clone().map(place);
        let interpreter = self.interpreter.map(|named| {
            let is_bare = named.components().count() == 1 && !directory.join(&named).is_dir();
            if is_bare { named } else { directory.join(named) }
        });
        Self {
            dir: place(self.dir),
            interpreter,
            interpreter_place,
            package_root: self.package_root.map(place),
            readable: self.readable.into_iter().map(place).collect(),
            ..self
        }
    }
}
