//! A directory of Python tools: which of its files are tools, and what stands in them. Files are read here and nowhere
//! else; nothing of them is understood or executed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use haft_contract::sha256_hex;

use crate::limits::{FILES_MAX, SOURCE_BYTES_MAX};
use crate::problem::{Problem, ProblemCode, Severity};

/// A directory of tools and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDirectory {
    /// Where the files are; absolute. Directories within it are not looked into.
    pub path: PathBuf,
    /// The interpreter's name or path, such as that of a virtual environment.
    pub interpreter: PathBuf,
    /// The interpreter that parses the files to find out what they say they may do. What it is must be out of the tools'
    /// reach, and of everybody's whom they serve; it may be another one than the one that runs them.
    pub reader: PathBuf,
    /// The directory that imports begin at, for files that are modules of a package; absolute, around `path`.
    pub package_root: Option<PathBuf>,
    /// What the interpreter and the tools need to read beyond what every process may, such as what
    /// [`interpreter_places`](crate::interpreter_places) returns. Absolute paths. The tools' own directory and the package
    /// root need not be among them.
    pub readable: Vec<PathBuf>,
}

/// A file that may be a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name in the directory.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// The name of its module: within the package if one is configured.
    pub module: String,
    /// What stands in it.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`, in hexadecimal.
    pub sha256: String,
}

/// The files of a directory that may be tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Those that could be read, by name.
    pub files: Vec<SourceFile>,
    /// What was wrong with others.
    pub problems: Vec<Problem>,
}

/// Says why a directory's tools cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The directory cannot be read.
    #[error("the directory of Python tools {path:?} cannot be read: {source}")]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds too many files.
    #[error(
        "the directory of Python tools {0:?} holds more than {FILES_MAX} Python files: split it"
    )]
    TooMany(PathBuf),
    /// The package root is elsewhere.
    #[error(
        "the directory of Python tools {path:?} is not within its package_root {package_root:?}: expected the directory \
         that holds the top package"
    )]
    OutsidePackage {
        /// The directory.
        path: PathBuf,
        /// The package root.
        package_root: PathBuf,
    },
}

impl ToolDirectory {
    /// Returns a directory of single files that a `python3` on the search path runs.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            interpreter: PathBuf::from("python3"),
            reader: PathBuf::from("python3"),
            package_root: None,
            readable: Vec::new(),
        }
    }

    /// Returns the files that may be tools: `*.py`, without those that begin with an underscore or a dot. Blocks.
    pub fn list(&self) -> Result<Listing, DirectoryError> {
        let package = self.package()?;
        let mut listing = Listing::default();
        for name in self.file_names()? {
            match self.read(&name, package.as_deref()) {
                Ok(file) => listing.files.push(file),
                Err(problem) => listing.problems.push(problem),
            }
        }
        Ok(listing)
    }

    /// Returns what processes of these tools read beyond what every process may.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let mut readable = self.readable.clone();
        readable.push(self.package_root.clone().unwrap_or_else(|| self.path.clone()));
        readable
    }

    /// Returns the names of the packages around the files, outermost first.
    fn package(&self) -> Result<Option<Vec<String>>, DirectoryError> {
        let Some(package_root) = &self.package_root else { return Ok(None) };
        let within =
            self.path.strip_prefix(package_root).map_err(|_| DirectoryError::OutsidePackage {
                path: self.path.clone(),
                package_root: package_root.clone(),
            })?;
        Ok(Some(within.iter().map(|name| name.to_string_lossy().into_owned()).collect()))
    }

    fn file_names(&self) -> Result<Vec<String>, DirectoryError> {
        let unreadable = |source| DirectoryError::Unreadable { path: self.path.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".py") && !name.starts_with(['_', '.']) {
                names.push(name);
            }
            if names.len() > FILES_MAX {
                return Err(DirectoryError::TooMany(self.path.clone()));
            }
        }
        names.sort();
        Ok(names)
    }

    fn read(&self, name: &str, package: Option<&[String]>) -> Result<SourceFile, Problem> {
        let module = module_of(name, package)?;
        let path = self.path.join(name);
        let unreadable = |message: String, mend: &str| {
            problem(name, ProblemCode::FileUnreadable, message, mend.to_owned())
        };
        let bytes = read_bounded(&path).map_err(|err| {
            unreadable(
                format!("the file cannot be read: {err}"),
                "make it a readable, regular file",
            )
        })?;
        let Some(bytes) = bytes else {
            let message = format!("the file has more than {SOURCE_BYTES_MAX} bytes");
            return Err(unreadable(message, "move data and code that is not the tool's elsewhere"));
        };
        let sha256 = sha256_hex(&bytes);
        Ok(SourceFile { name: name.to_owned(), path, module, bytes, sha256 })
    }
}

/// Returns the content of a regular file, or nothing if it is too large.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|count| count <= SOURCE_BYTES_MAX);
    Ok(is_whole.then_some(bytes))
}

fn module_of(name: &str, package: Option<&[String]>) -> Result<String, Problem> {
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let Some(package) = package else { return Ok(stem.to_owned()) };
    let mut names: Vec<&str> = package.iter().map(String::as_str).collect();
    names.push(stem);
    match names.iter().find(|name| !is_identifier(name)) {
        None => Ok(names.join(".")),
        Some(bad) => Err(problem(
            name,
            ProblemCode::FileName,
            format!("{bad:?} cannot be the name of a module in a package"),
            "use letters, digits and underscores, not beginning with a digit".to_owned(),
        )),
    }
}

/// Returns whether Python takes a word as a name. Of names outside ASCII it is a little too generous.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut characters = word.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    starts_well && characters.all(|character| character.is_alphanumeric() || character == '_')
}

fn problem(file: &str, code: ProblemCode, message: String, mend: String) -> Problem {
    Problem {
        file: file.to_owned(),
        line: None,
        field: None,
        severity: Severity::Error,
        code,
        message,
        mend,
    }
}
