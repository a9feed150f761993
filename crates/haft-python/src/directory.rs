//! A directory of Python tools: its tool files and their contents. Files are read only here;
//! nothing is parsed or executed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use haft_contract::sha256_hex;

use crate::limits::{FILES_MAX, SOURCE_BYTES_MAX};
use crate::problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};

/// A directory of tools, and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDirectory {
    /// The directory of the files; absolute. Subdirectories are ignored.
    pub path: PathBuf,
    /// The interpreter's name or path, for example in a virtual environment.
    pub interpreter: PathBuf,
    /// The interpreter that parses the files to find out which permissions they declare. Neither
    /// the tools nor anyone whose requests they serve may be able to change it. It may differ from
    /// the interpreter that runs the tools.
    pub parser_interpreter: PathBuf,
    /// The directory where imports begin, for files that are modules of a package. Absolute, a
    /// parent of `path`.
    pub package_root: Option<PathBuf>,
    /// Additional paths that the interpreter and the tools must read, such as the result of
    /// [`interpreter_paths`](crate::interpreter_paths). Absolute paths. The tools' own directory
    /// and the package root are included automatically.
    pub readable: Vec<PathBuf>,
}

/// A file that may be a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name in the directory.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// The name of its module: within the package, if one is configured.
    pub module: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`, in hexadecimal.
    pub sha256: String,
}

/// The files of a directory that may be tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFileList {
    /// Those that could be read, by name.
    pub files: Vec<SourceFile>,
    /// The problems of other files.
    pub problems: Vec<ToolFileProblem>,
}

/// A directory's tools cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolDirectoryError {
    /// The directory cannot be read.
    #[error("the directory of Python tools {path:?} cannot be read: {source}")]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// The message.
        source: io::Error,
    },
    /// It contains too many files.
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
    /// Returns a directory of separate files that `python3` on the search path runs.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            interpreter: PathBuf::from("python3"),
            parser_interpreter: PathBuf::from("python3"),
            package_root: None,
            readable: Vec::new(),
        }
    }

    /// Returns the possible tool files: `*.py`, except names that begin with an underscore or a
    /// dot. Blocks.
    pub fn list(&self) -> Result<ToolFileList, ToolDirectoryError> {
        let package = self.package()?;
        let unreadable =
            |source| ToolDirectoryError::Unreadable { path: self.path.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".py") && !name.starts_with(['_', '.']) {
                names.push(name);
            }
            if names.len() > FILES_MAX {
                return Err(ToolDirectoryError::TooMany(self.path.clone()));
            }
        }
        names.sort();
        let mut listing = ToolFileList::default();
        for name in names {
            match self.read(&name, package.as_deref()) {
                Ok(file) => listing.files.push(file),
                Err(problem) => listing.problems.push(problem),
            }
        }
        Ok(listing)
    }

    /// Returns the additional paths that processes of these tools may read.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let mut readable = self.readable.clone();
        readable.push(self.package_root.clone().unwrap_or_else(|| self.path.clone()));
        readable
    }

    /// Returns the names of the packages around the files, outermost first.
    fn package(&self) -> Result<Option<Vec<String>>, ToolDirectoryError> {
        let Some(package_root) = &self.package_root else { return Ok(None) };
        let within = self.path.strip_prefix(package_root).map_err(|_| {
            ToolDirectoryError::OutsidePackage {
                path: self.path.clone(),
                package_root: package_root.clone(),
            }
        })?;
        Ok(Some(within.iter().map(|name| name.to_string_lossy().into_owned()).collect()))
    }

    fn read(&self, name: &str, package: Option<&[String]>) -> Result<SourceFile, ToolFileProblem> {
        let stem = name.strip_suffix(".py").unwrap_or(name);
        let mut module = stem.to_owned();
        if let Some(package) = package {
            let names: Vec<&str> = package.iter().map(String::as_str).chain([stem]).collect();
            if let Some(bad) = names.iter().find(|name| !is_identifier(name)) {
                return Err(problem(
                    name,
                    ProblemCode::FileName,
                    format!("{bad:?} cannot be the name of a module in a package"),
                    "use letters, digits and underscores, not beginning with a digit".to_owned(),
                ));
            }
            module = names.join(".");
        }
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

/// Returns the content of a regular file, or `None` if it is too large.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|count| count <= SOURCE_BYTES_MAX);
    Ok(is_whole.then_some(bytes))
}

/// Returns whether Python accepts a word as a name. For names outside ASCII it accepts slightly
/// more than Python.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut characters = word.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    starts_well && characters.all(|character| character.is_alphanumeric() || character == '_')
}

fn problem(file: &str, code: ProblemCode, message: String, mend: String) -> ToolFileProblem {
    ToolFileProblem {
        file: file.to_owned(),
        line: None,
        field: None,
        severity: ToolFileSeverity::Error,
        code,
        message,
        mend,
    }
}
