//! The content store beside an SQLite journal: a directory for each run, with a file for each text, named by its SHA-256. Only
//! the owner can read them. SQLite would keep a removed text in unused pages and in its log; a removed file is gone.
//!
//! Files are written inside transactions of the database, whose lock keeps out other processes. A text is on disk before the
//! commit whose rows name it, and is removed only when the commit that drops its rows is on disk. So a crash leaves at most a
//! text that no row names. It goes with its run. The directory of a run that the database does not have is swept.
//!
//! The commit gives the lock of the database back before the files are removed, and a new run of the same name may begin then. So
//! these files have their own lock. A transaction takes it before it writes or removes its first text, and keeps it until the
//! removed ones are gone. It removes the files that it saw, and no others.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_contract::sha256_hex;

use crate::JournalError;
use crate::limits::LOCK_WAIT_MS_MAX;
use crate::store::{Column, Inserted, Row, RowCondition, RowQuery, StoreFailure, Value, contents};

/// The name of the directory is the name of the database with this suffix.
const DIRECTORY_SUFFIX: &str = "-contents";
/// The name of a run's directory begins with this, because the name of a run can be two dots.
const RUN_PREFIX: &str = "run-";
/// The file that a text is written to before it has its name.
const UNFINISHED: &str = "unfinished";
/// The file whose lock keeps apart those who write and remove texts.
const LOCK: &str = "lock";
/// Pause between two tries to take the lock, in milliseconds.
const LOCK_PAUSE_MS: u64 = 2;

/// The files of one journal.
#[derive(Clone, Debug)]
pub(super) struct ContentFiles {
    journal: PathBuf,
    directory: PathBuf,
}

/// The files that one transaction writes and removes.
#[derive(Debug)]
pub(super) struct ContentWrites<'a> {
    /// The path of the database. Most transactions have nothing to do with its files, and do not look for them.
    journal: &'a Path,
    removed: RemovedTexts,
}

/// The files that go once a transaction is on disk, and the lock that keeps others from writing them meanwhile.
#[derive(Debug, Default)]
pub(super) struct RemovedTexts {
    /// The files.
    files: Vec<PathBuf>,
    /// The directories that go if nothing is in them then.
    directories: Vec<PathBuf>,
    /// The lock of the texts, once the transaction wrote or removed one.
    lock: Option<File>,
}

impl ContentFiles {
    /// Returns the files beside the database at `journal`.
    pub(super) fn beside(journal: &Path) -> Self {
        // A link to a database has its contents beside the database, where haft hides both.
        let journal = journal.canonicalize().unwrap_or_else(|_| journal.to_owned());
        let mut name = journal.as_os_str().to_owned();
        name.push(DIRECTORY_SUFFIX);
        Self { directory: name.into(), journal }
    }

    /// Shows the texts that a query asks for.
    pub(super) fn scan(
        &self,
        query: &RowQuery,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let rows = self.rows(query).map_err(|err| self.error(&err))?;
        query.answer(rows.iter(), visit);
        Ok(())
    }

    /// Returns the text of a key.
    pub(super) fn get(
        &self,
        key: &[Value],
        columns: &'static [Column],
    ) -> Result<Option<Row>, StoreFailure> {
        let conditions = contents::TABLE.key.iter().zip(key);
        let conditions =
            conditions.map(|(column, value)| RowCondition::Equal(*column, value.clone()));
        let mut found = None;
        self.scan(&RowQuery::of(&contents::TABLE, columns).with(conditions), &mut |row| {
            found = Some(row);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Returns the names of the runs that have texts.
    pub(super) fn runs(&self) -> io::Result<Vec<String>> {
        let names = names_in(&self.directory)?.into_iter();
        Ok(names.filter_map(|name| Some(name.strip_prefix(RUN_PREFIX)?.to_owned())).collect())
    }

    /// Removes the texts of a run. A text that cannot be removed is left to the next sweep.
    pub(super) fn remove_run(&self, run: &str) {
        let _ = std::fs::remove_dir_all(self.run_directory(run));
    }

    fn rows(&self, query: &RowQuery) -> io::Result<Vec<Vec<Value>>> {
        let is_read = query.columns.contains(&contents::CONTENT);
        let runs = match query.equal(contents::RUN) {
            Some(Value::Text(run)) => vec![run.clone()],
            Some(_) => Vec::new(),
            None => self.runs()?,
        };
        let mut rows = Vec::new();
        for run in runs {
            let directory = self.run_directory(&run);
            let names = match named_texts(query) {
                Some(names) => names,
                None => names_in(&directory)?,
            };
            for sha256 in names.into_iter().filter(|name| is_sha256(name)) {
                let path = directory.join(&sha256);
                let Some(metadata) = if_there(std::fs::metadata(&path))? else { continue };
                let bytes = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
                let mut row = contents::TABLE.empty_row();
                row[contents::RUN.at] = run.as_str().into();
                row[contents::SHA256.at] = sha256.as_str().into();
                row[contents::BYTE_COUNT.at] = Value::Integer(bytes);
                if !query
                    .conditions
                    .iter()
                    .all(|condition| condition.holds(|column| &row[column.at]))
                {
                    continue;
                }
                if is_read {
                    let Some(content) = if_there(std::fs::read(&path))? else { continue };
                    // A file that others changed is no text that a row names.
                    let text = Some(content).filter(|content| sha256_hex(content) == sha256);
                    let Some(Ok(text)) = text.map(String::from_utf8) else { continue };
                    row[contents::CONTENT.at] = text.into();
                }
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn run_directory(&self, run: &str) -> PathBuf {
        self.directory.join(format!("{RUN_PREFIX}{run}"))
    }

    fn error(&self, err: &io::Error) -> JournalError {
        let path = self.journal.clone();
        match err.kind() {
            io::ErrorKind::StorageFull => JournalError::Full { path },
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                JournalError::ReadOnly { path }
            }
            _ => {
                let detail = format!("its contents in {}: {err}", self.directory.display());
                JournalError::Failed { path, detail }
            }
        }
    }
}

impl<'a> ContentWrites<'a> {
    /// Begins with nothing written beside the database at `journal`.
    pub(super) fn new(journal: &'a Path) -> Self {
        Self { journal, removed: RemovedTexts::default() }
    }

    /// Returns the files as they are.
    pub(super) fn files(&self) -> ContentFiles {
        ContentFiles::beside(self.journal)
    }

    /// Takes the lock of the texts, unless this transaction has it.
    fn lock(&mut self, files: &ContentFiles) -> io::Result<()> {
        if self.removed.lock.is_some() {
            return Ok(());
        }
        create_directory(&files.directory)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(files.directory.join(LOCK))?;
        let end = Instant::now() + Duration::from_millis(LOCK_WAIT_MS_MAX);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!("another process keeps {LOCK} locked");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Err(TryLockError::Error(err)) => return Err(err),
            }
        }
        self.removed.lock = Some(file);
        Ok(())
    }

    /// Writes a text to the disk, unless it is there.
    pub(super) fn insert(&mut self, cells: &[(Column, Value)]) -> Result<Inserted, JournalError> {
        let text = |wanted: Column| {
            cells.iter().find_map(|(column, value)| match value {
                Value::Text(text) if *column == wanted => Some(text.as_str()),
                _ => None,
            })
        };
        let (Some(run), Some(sha256), Some(content)) =
            (text(contents::RUN), text(contents::SHA256), text(contents::CONTENT))
        else {
            unreachable!("a text is inserted with its run and its SHA-256");
        };
        let files = self.files();
        let directory = files.run_directory(run);
        let path = directory.join(sha256);
        self.lock(&files).map_err(|err| files.error(&err))?;
        // A text that this transaction removed before is wanted again.
        self.removed.files.retain(|removed| *removed != path);
        if path.exists() {
            return Ok(Inserted::Taken);
        }
        let write = || {
            create_directory(&files.directory)?;
            create_directory(&directory)?;
            // A file of this name was left by a process that died: the lock of the database is held.
            let unfinished = directory.join(UNFINISHED);
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&unfinished)?;
            file.write_all(content.as_bytes())?;
            file.sync_data()?;
            std::fs::rename(&unfinished, &path)?;
            File::open(&directory)?.sync_all()
        };
        write().map_err(|err| files.error(&err))?;
        Ok(Inserted::At(None))
    }

    /// Removes the texts that the conditions name by run and SHA-256, or else the present texts of the run, once the transaction
    /// is on disk.
    pub(super) fn remove(&mut self, conditions: &[RowCondition]) -> Result<(), JournalError> {
        let query = RowQuery::of(&contents::TABLE, &[]).with(conditions.iter().cloned());
        let Some(Value::Text(run)) = query.equal(contents::RUN) else { return Ok(()) };
        let files = self.files();
        let directory = files.run_directory(run);
        let mut remove = || -> io::Result<()> {
            let Some(metadata) = if_there(std::fs::symlink_metadata(&directory))? else {
                return Ok(());
            };
            self.lock(&files)?;
            let removed = &mut self.removed;
            match named_texts(&query) {
                // A link is no directory: what it leads to stays.
                None if !metadata.is_dir() => removed.files.push(directory.clone()),
                None => {
                    let names = names_in(&directory)?.into_iter();
                    removed.files.extend(names.map(|name| directory.join(name)));
                    removed.directories.push(directory.clone());
                }
                Some(names) => {
                    let names = names.into_iter().filter(|name| is_sha256(name));
                    let paths = names.map(|name| directory.join(name));
                    removed.files.extend(paths.filter(|path| path.exists()));
                }
            }
            Ok(())
        };
        remove().map_err(|err| files.error(&err))
    }

    /// Returns what to remove once the transaction is on disk.
    pub(super) fn into_removed(self) -> RemovedTexts {
        self.removed
    }
}

impl RemovedTexts {
    /// Returns whether nothing is to be removed.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// Removes the files, and then lets others write texts again. A file that cannot be removed is left to the next sweep.
    pub(super) fn remove(self) {
        for path in &self.files {
            let is_directory = std::fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
            let _ = match is_directory {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
        }
        for directory in &self.directories {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Creates a directory for its owner alone, and makes its name durable.
fn create_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(err) => return Err(err),
    }
    let parent = path.parent().unwrap_or(path);
    File::open(Path::new(".").join(parent))?.sync_all()
}

/// Returns the names of the files in a directory, none if there is no directory.
fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = if_there(std::fs::read_dir(directory))? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Returns the texts that a query names by their SHA-256; `None` if it asks for all.
fn named_texts(query: &RowQuery) -> Option<Vec<String>> {
    let texts = |values: &[Value]| {
        let texts = values.iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    };
    query.conditions.iter().find_map(|condition| match condition {
        RowCondition::Equal(of, value) if of.at == contents::SHA256.at => {
            Some(texts(std::slice::from_ref(value)))
        }
        RowCondition::OneOf(of, values) if of.at == contents::SHA256.at => Some(texts(values)),
        _ => None,
    })
}

fn is_sha256(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
