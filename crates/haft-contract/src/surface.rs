//! The world as a tool sees it: typed surfaces that the runtime implements and guards.
//!
//! A tool never opens a path: it asks [`Fs`] to resolve one, which judges it against the call's grant, and
//! gets a [`FilePath`] whose symlinks are all expanded. Only a `FilePath` can be opened, and opening it follows no
//! link, so nothing can be swapped between the check and the use.

use std::fs::File;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ConfinementReport, Excerpt, ToolError};

/// A boxed future, as the surfaces return them.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A resolved place beneath one of the roots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath {
    root: usize,
    relative: PathBuf,
    display: String,
}

impl FilePath {
    /// Returns the place `relative` to the root of that index, shown to models as `display`.
    ///
    /// Implementations of [`Fs`] make these, after they resolved the path.
    pub fn new(root: usize, relative: PathBuf, display: String) -> Self {
        Self { root, relative, display }
    }

    /// Returns which root it lies beneath.
    pub fn root(&self) -> usize {
        self.root
    }

    /// Returns the path relative to its root; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// Returns the path as a model should read and repeat it.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Returns the entry `name` of this directory; opening it fails if it is a symlink.
    pub fn join(&self, name: &std::ffi::OsStr) -> Self {
        let display = match self.display.as_str() {
            "." => name.to_string_lossy().into_owned(),
            directory => format!("{}/{}", directory.trim_end_matches('/'), name.to_string_lossy()),
        };
        Self { root: self.root, relative: self.relative.join(name), display }
    }
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum FsEntryKind {
    Regular,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
}

impl FsEntryKind {
    /// Returns the kind with its article, for messages.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Regular => "a regular file",
            Self::Directory => "a directory",
            Self::Symlink => "a symlink",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::CharDevice | Self::BlockDevice => "a device",
        }
    }
}

/// Tells whether a file is still the one that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Time of the last change of anything, in nanoseconds since 1970.
    pub changed_ns: i128,
    /// Permission bits.
    pub mode: u32,
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenRegularFile {
    /// The file.
    pub file: File,
    /// Its stamp when it was opened.
    pub stamp: FileStamp,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: std::ffi::OsString,
    /// Its kind.
    pub kind: FsEntryKind,
}

/// One change of [`Fs::apply`].
#[derive(Clone, Debug)]
pub enum FileChange {
    /// Creates or replaces a file; missing parent directories are created.
    Write {
        /// Where.
        path: FilePath,
        /// The new content.
        contents: Vec<u8>,
        /// Permission bits to set; `None` keeps those of the file replaced, or the usual ones of a new file.
        mode: Option<u32>,
        /// The condition for the change.
        precondition: Precondition,
    },
    /// Removes a file.
    Remove {
        /// Which.
        path: FilePath,
        /// The condition for the change.
        precondition: Precondition,
    },
}

/// The condition for a change, checked when the change takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    Any,
    /// There is no such file.
    Absent,
    /// The file is the one that was looked at.
    Unchanged(FileStamp),
}

/// Files beneath the roots, as far as the call's grant reaches. Methods block; call them from
/// [`execute_blocking`](crate::ToolBuilder::execute_blocking).
pub trait Fs: Send + Sync {
    /// Returns the place that `path` names, all symlinks expanded, and what is there, `None` if nothing is.
    fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError>;

    /// Opens a regular file for reading. FIFOs, devices and sockets are refused, never waited for.
    fn open(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError>;

    /// Opens a file that [`Fs::resolve`] or [`Fs::list`] has just said to be regular, which saves a check. If
    /// another entry has taken its place since, opening fails all the same.
    fn open_regular(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        self.open(path)
    }

    /// Returns whether the kernel has the whole file in memory and the file has at most so many bytes, so that reading it
    /// now does not wait. Implementations that cannot know say no.
    fn is_cached(&self, path: &str, bytes_max: u64) -> bool {
        let (_, _) = (path, bytes_max);
        false
    }

    /// Returns the entries of a directory that the grant lets the call see, sorted by name.
    fn list(&self, path: &FilePath) -> Result<Vec<DirectoryEntry>, ToolError>;

    /// Returns how many entries all lists of this call left out, because the grant does not let the call see them.
    fn unlisted(&self) -> usize {
        0
    }

    /// Makes all of the changes or none.
    fn apply(&self, changes: Vec<FileChange>) -> Result<(), FileChangeError>;

    /// Makes all of the changes or none, and says what the call will answer once they are made.
    ///
    /// If the process dies in the middle, the next resume finds out from the files whether the changes were made. Then this
    /// is the answer. It is recorded, so it must not contain data that the journal must not store.
    fn apply_with_answer(
        &self,
        changes: Vec<FileChange>,
        answer: &serde_json::Value,
    ) -> Result<(), FileChangeError> {
        let _ = answer;
        self.apply(changes)
    }
}

/// Why [`Fs::apply`] made no change.
#[derive(Clone, Debug)]
pub enum FileChangeError {
    /// A file is no longer what the change expected: look at it again and retry.
    Changed {
        /// The file.
        path: String,
    },
    /// Anything else.
    Failed(ToolError),
}

impl From<ToolError> for FileChangeError {
    fn from(err: ToolError) -> Self {
        Self::Failed(err)
    }
}

impl From<FileChangeError> for ToolError {
    fn from(err: FileChangeError) -> Self {
        match err {
            FileChangeError::Failed(err) => err,
            FileChangeError::Changed { path } => {
                let message = format!(
                    "{path} keeps changing while it is edited; nothing was written: read it again"
                );
                Self::new(crate::ErrorCode::PathInvalid, message)
            }
        }
    }
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct ShellRequest {
    /// The executable's name or path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Working directory; `None` is the root.
    pub cwd: Option<String>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnding {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Its time was up and its whole process tree was killed.
    TimedOut,
    /// The call was cancelled and its whole process tree was killed.
    Aborted,
}

/// Returns a signal that ended a process in words: its number and its name on Linux.
///
/// ```
/// assert_eq!(haft_contract::signal_text(9), "signal 9 (SIGKILL)");
/// assert_eq!(haft_contract::signal_text(40), "signal 40");
/// ```
pub fn signal_text(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct ShellOutcome {
    /// How it ended.
    pub ending: ProcessEnding,
    /// Its stdout and stderr, in the order of arrival.
    pub output: Excerpt,
    /// The report about its confinement.
    pub confined: ConfinementReport,
    /// One sentence about what of its confinement was in its way, where it failed and its output hints at that.
    pub confinement_hint: Option<String>,
}

/// Runs commands under the call's grant, within the call's time.
pub trait Shell: Send + Sync {
    /// Runs the command to its end, its timeout or the call's cancellation.
    fn run(&self, request: ShellRequest) -> BoxFuture<'_, Result<ShellOutcome, ToolError>>;
}

/// One entry of a session's todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// To a model, the list of them says what they are.
#[schemars(description = "")]
pub struct Todo {
    /// The text of the entry.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// How important it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TodoPriority>,
}

/// How far a todo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it, and models read them")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// How important a todo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it, and models read them")]
pub enum TodoPriority {
    High,
    Medium,
    Low,
}

/// The session's todo list.
pub trait TodoStore: Send + Sync {
    /// Stores the list in place of the former one.
    fn replace(&self, todos: Vec<Todo>);

    /// Returns the list.
    fn current(&self) -> Vec<Todo>;
}
