//! A world for the tests of tools: files of a temporary directory, reached with the standard library, and a
//! context that offers nothing else. It checks that paths stay beneath its root, but it is no sandbox.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_contract::limits::{OUTPUT_BYTES_DEFAULT, TIMEOUT_MS_DEFAULT};
use haft_contract::{
    AttemptAddress, BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture,
    CallAddress, CallKey, Cx, CxParts, DirectoryEntry, Effect, ErrorCode, FileChange,
    FileChangeError, FilePath, FileStamp, Fs, FsEntryKind, OpenRegularFile, Precondition, RunId,
    Shell, ShellOutcome, ShellRequest, Subagents, Todo, TodoStore, ToolError, ToolId,
};
use tokio_util::sync::CancellationToken;

/// The files beneath one directory.
pub(crate) struct DiskFs {
    root: PathBuf,
}

/// The files beneath one directory, with a hook that runs before a place is opened or listed, and may refuse.
pub(crate) struct WatchedFs<F> {
    disk: DiskFs,
    hook: F,
}

/// Refuses every command.
struct NoShell;

/// Keeps no list.
struct NoTodos;

/// Makes a directory that holds these files; a name that ends in a slash makes a directory.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        let path = root.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
    }
    root
}

/// Returns the context of a call whose files lie beneath `root`.
pub(crate) fn cx(root: &Path) -> Cx {
    cx_over(root, Arc::new(DiskFs::new(root)), CancellationToken::new())
}

/// Returns the context of a call that reaches files through `fs` and ends with `cancellation`.
pub(crate) fn cx_over(root: &Path, fs: Arc<dyn Fs>, cancellation: CancellationToken) -> Cx {
    Cx::new(parts(root, fs, cancellation))
}

/// Returns the context of a call that starts programs through `residents`.
pub(crate) fn cx_with_residents(root: &Path, residents: Arc<dyn BackgroundProcesses>) -> Cx {
    let parts = parts(root, Arc::new(DiskFs::new(root)), CancellationToken::new());
    Cx::new(CxParts { background_processes: residents, ..parts })
}

/// Returns the context of a call that hands tasks to `subagents`.
pub(crate) fn cx_with_subagents(root: &Path, subagents: Arc<dyn Subagents>) -> Cx {
    let parts = parts(root, Arc::new(DiskFs::new(root)), CancellationToken::new());
    Cx::new(CxParts { subagents, ..parts })
}

fn parts(root: &Path, fs: Arc<dyn Fs>, cancellation: CancellationToken) -> CxParts {
    let scope = AttemptAddress::first_of_run(RunId::parse("test").unwrap());
    let tool = ToolId::parse("test").unwrap();
    CxParts {
        effect: Effect::Read,
        call_key: CallKey::of_first_call(&scope, tool.as_str(), "null"),
        call_address: CallAddress { scope, seq: 1 },
        tool,
        session: "test".to_owned(),
        root: root.to_path_buf(),
        allow_network: false,
        max_output_bytes: OUTPUT_BYTES_DEFAULT,
        timeout_ms: TIMEOUT_MS_DEFAULT,
        time: Arc::new(()),
        cancellation,
        progress: Arc::new(()),
        fs,
        shell: Arc::new(NoShell),
        background_processes: Arc::new(NoShell),
        net: Arc::new(()),
        questions: Arc::new(()),
        todos: Arc::new(NoTodos),
        skills: Arc::new(()),
        tool_index: Arc::new(()),
        quotas: Arc::new(()),
        client: Arc::new(()),
        subagents: Arc::new(()),
        attempt: Arc::new(()),
        restrictions: Arc::from(""),
    }
}

impl DiskFs {
    /// Returns the files beneath `root`, which must exist.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.canonicalize().unwrap() }
    }

    fn real(&self, path: &FilePath) -> PathBuf {
        self.root.join(path.relative())
    }

    /// Expands the symlinks of as much of `path` as exists.
    fn expand(path: &Path) -> PathBuf {
        let mut expanded = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    expanded.pop();
                }
                Component::Normal(name) => expanded.push(name),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
            expanded = expanded.canonicalize().unwrap_or(expanded);
        }
        expanded
    }

    fn check(&self, path: &FilePath, precondition: Precondition) -> Result<(), FileChangeError> {
        let holds = match (precondition, fs::symlink_metadata(self.real(path))) {
            (Precondition::Any, _) | (Precondition::Absent, Err(_)) => true,
            (Precondition::Absent, Ok(_)) | (Precondition::Unchanged(_), Err(_)) => false,
            (Precondition::Unchanged(expected), Ok(metadata)) => stamp(&metadata) == expected,
        };
        if holds {
            Ok(())
        } else {
            Err(FileChangeError::Changed { path: path.display().to_owned() })
        }
    }

    fn write(&self, path: &FilePath, contents: &[u8], mode: Option<u32>) -> io::Result<()> {
        let real = self.real(path);
        if let Some(parent) = real.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&real, contents)?;
        mode.map_or(Ok(()), |mode| fs::set_permissions(&real, fs::Permissions::from_mode(mode)))
    }
}

impl Fs for DiskFs {
    fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        let real = Self::expand(&self.root.join(path));
        let Ok(relative) = real.strip_prefix(&self.root) else {
            let message = format!("{path:?} lies outside the root");
            return Err(ToolError::new(ErrorCode::PathEscape, message));
        };
        let display = match relative.to_string_lossy() {
            text if text.is_empty() => ".".to_owned(),
            text => text.into_owned(),
        };
        let kind = fs::symlink_metadata(&real).ok().map(|metadata| kind(metadata.file_type()));
        Ok((FilePath::new(0, relative.to_path_buf(), display), kind))
    }

    fn open(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        let real = self.real(path);
        let metadata = fs::symlink_metadata(&real)?;
        if !metadata.is_file() {
            let found = kind(metadata.file_type()).with_article();
            return Err(invalid(
                path.display(),
                &format!("expected a regular file, found {found}"),
            ));
        }
        let file = fs::File::open(&real)?;
        let stamp = stamp(&file.metadata()?);
        Ok(OpenRegularFile { file, stamp })
    }

    fn list(&self, path: &FilePath) -> Result<Vec<DirectoryEntry>, ToolError> {
        let entry = |entry: fs::DirEntry| {
            Ok(DirectoryEntry { name: entry.file_name(), kind: kind(entry.file_type()?) })
        };
        let entries: io::Result<Vec<DirectoryEntry>> =
            fs::read_dir(self.real(path))?.map(|found| entry(found?)).collect();
        let mut entries = entries?;
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    fn apply(&self, changes: Vec<FileChange>) -> Result<(), FileChangeError> {
        for change in &changes {
            match change {
                FileChange::Write { path, precondition, .. }
                | FileChange::Remove { path, precondition } => {
                    self.check(path, *precondition)?;
                }
            }
        }
        for change in changes {
            match change {
                FileChange::Write { path, contents, mode, .. } => {
                    self.write(&path, &contents, mode).map_err(ToolError::from)?
                }
                FileChange::Remove { path, .. } => {
                    fs::remove_file(self.real(&path)).map_err(ToolError::from)?
                }
            }
        }
        Ok(())
    }
}

impl<F: Fn(&FilePath) -> Result<(), ToolError>> WatchedFs<F> {
    /// Returns the files beneath `root`, watched by `hook`.
    pub(crate) fn new(root: &Path, hook: F) -> Self {
        Self { disk: DiskFs::new(root), hook }
    }
}

impl<F: Fn(&FilePath) -> Result<(), ToolError> + Send + Sync> Fs for WatchedFs<F> {
    fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        self.disk.resolve(path)
    }

    fn open(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        (self.hook)(path)?;
        self.disk.open(path)
    }

    fn list(&self, path: &FilePath) -> Result<Vec<DirectoryEntry>, ToolError> {
        (self.hook)(path)?;
        self.disk.list(path)
    }

    fn apply(&self, changes: Vec<FileChange>) -> Result<(), FileChangeError> {
        self.disk.apply(changes)
    }
}

impl Shell for NoShell {
    fn run(&self, request: ShellRequest) -> BoxFuture<'_, Result<ShellOutcome, ToolError>> {
        let message = format!("{:?} cannot be run here: there is no shell", request.program);
        Box::pin(async move { Err(ToolError::new(ErrorCode::ProcessSpawnFailed, message)) })
    }
}

impl BackgroundProcesses for NoShell {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        let message = format!("{:?} cannot be started here: there is no shell", request.program);
        Box::pin(async move { Err(ToolError::new(ErrorCode::ProcessSpawnFailed, message)) })
    }
}

impl TodoStore for NoTodos {
    fn replace(&self, _: Vec<Todo>) {}

    fn current(&self) -> Vec<Todo> {
        Vec::new()
    }
}

fn invalid(path: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::PathInvalid, format!("{path:?} cannot be used: {why}"))
}

fn kind(file_type: fs::FileType) -> FsEntryKind {
    if file_type.is_dir() {
        FsEntryKind::Directory
    } else if file_type.is_symlink() {
        FsEntryKind::Symlink
    } else if file_type.is_fifo() {
        FsEntryKind::Fifo
    } else if file_type.is_socket() {
        FsEntryKind::Socket
    } else if file_type.is_char_device() {
        FsEntryKind::CharDevice
    } else if file_type.is_block_device() {
        FsEntryKind::BlockDevice
    } else {
        FsEntryKind::Regular
    }
}

fn stamp(metadata: &fs::Metadata) -> FileStamp {
    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    FileStamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        mode: metadata.mode() & 0o7777,
    }
}
