//! Getting from a path to a connection: directories, permissions, the write-ahead log, the schema. No check of the whole
//! file is made here, because opening happens before every first call.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::content_files::ContentFiles;
use super::{failure, schema};
use crate::JournalError;
use crate::limits::{
    COMPACT_PAGES_MIN, COMPACT_SHARE, LOCK_WAIT_MS_MAX, LOG_PAGES_MAX, STATEMENTS_MAX,
};

/// Returns the connection that writes, the database created and brought up to date.
pub(super) fn writing(path: &Path) -> Result<Connection, JournalError> {
    create(path)?;
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let fail = |err| failure::journal_error(path, &err);
    // A file that is not ours is left as it is, so this comes before anything that changes it.
    let is_current = schema::is_current(&mut db, path)?;
    // SQLite falls back to reading without a word.
    if db.is_readonly("main").map_err(fail)? {
        return Err(JournalError::ReadOnly { path: path.to_owned() });
    }
    db.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL").map_err(fail)?;
    use_write_ahead_log(&db, path)?;
    if !is_current {
        schema::migrate(&mut db, path)?;
    }
    // From here on who needs a commit on disk has the log synced: see the module `disk`. SQLite opens the log, and makes it
    // if there is none, when it first looks into the database in that mode.
    let settings =
        format!("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {LOG_PAGES_MAX}");
    db.execute_batch(&settings).map_err(fail)?;
    db.query_row("PRAGMA user_version", [], |_| Ok(())).map_err(fail)?;
    Ok(db)
}

/// Removes the texts of runs that are not in the database: of a process that died when it had written them, or before it
/// had removed them.
pub(super) fn sweep_contents(db: &mut Connection, path: &Path) -> Result<(), JournalError> {
    let files = ContentFiles::beside(path);
    // Sweeping is not what the caller is here for, so a directory that cannot be read stays as it is.
    let strays = |db: &Connection| -> rusqlite::Result<Vec<String>> {
        let mut strays = files.runs().unwrap_or_default();
        let mut known = db.prepare("SELECT 1 FROM runs WHERE id = ?1")?;
        let mut failure = Ok(());
        strays.retain(|run| {
            let is_known = known.exists([run]);
            is_known.map_or_else(
                |err| {
                    failure = Err(err);
                    false
                },
                |is_known| !is_known,
            )
        });
        failure.map(|()| strays)
    };
    let fail = |err| failure::journal_error(path, &err);
    if strays(db).map_err(fail)?.is_empty() {
        return Ok(());
    }
    // Under the lock no other process begins a run or writes a text.
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    for run in strays(&transaction).map_err(fail)? {
        files.remove_run(&run);
    }
    transaction.commit().map_err(fail)
}

/// Rewrites the database without its unused pages, if a good part of them is unused. SQLite otherwise keeps them for later
/// rows.
pub(super) fn compact(path: &Path) -> Result<(), JournalError> {
    let db = writing(path)?;
    let fail = |err| failure::journal_error(path, &err);
    let number = |pragma: &str| -> Result<u64, JournalError> {
        let text = format!("PRAGMA {pragma}");
        let number: i64 = db.query_row(&text, [], |row| row.get(0)).map_err(fail)?;
        Ok(number.unsigned_abs())
    };
    let (unused, pages) = (number("freelist_count")?, number("page_count")?);
    if unused < COMPACT_PAGES_MIN || unused.saturating_mul(COMPACT_SHARE) < pages {
        return Ok(());
    }
    db.execute_batch("VACUUM").map_err(fail)?;
    // The new pages are in the log. A process that reads at this moment puts the rest off.
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(fail)
}

/// Returns a connection that reads a database which is open for writing.
pub(super) fn reading(path: &Path) -> Result<Connection, JournalError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Returns a connection that reads a database, also one that cannot be written.
pub(super) fn looking(path: &Path) -> Result<Connection, JournalError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = || std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    match checked(reading(path)?, path) {
        // SQLite keeps files beside the database even for a reader, unless the database is immutable.
        Err(
            JournalError::CannotOpen { .. }
            | JournalError::ReadOnly { .. }
            | JournalError::Full { .. }
            | JournalError::Failed { .. },
        ) if !has_log() => checked(
            connect_to(
                &immutable(path),
                path,
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            )?,
            path,
        ),
        result => result,
    }
}

/// Returns the connection if the database is one that this haft can read as it is.
fn checked(mut db: Connection, path: &Path) -> Result<Connection, JournalError> {
    match schema::is_current(&mut db, path)? {
        true => Ok(db),
        false => Err(JournalError::ReadOnly { path: path.to_owned() }),
    }
}

/// Returns the name that tells SQLite that the file does not change.
fn immutable(path: &Path) -> PathBuf {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let spelled = path.as_os_str().as_bytes().iter().map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    let dot = if path.is_absolute() { "" } else { "./" };
    PathBuf::from(format!("file:{dot}{}?immutable=1", spelled.collect::<String>()))
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, JournalError> {
    // A relative path gets a dot in front, because SQLite takes some names, `:memory:` for one, to be no files.
    connect_to(&Path::new(".").join(path), path, access)
}

fn connect_to(name: &Path, path: &Path, access: OpenFlags) -> Result<Connection, JournalError> {
    let fail = |err| failure::journal_error(path, &err);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(name, flags).map_err(fail)?;
    db.busy_handler(Some(wait_for_lock)).map_err(fail)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(db)
}

/// Waits a millisecond at a time. SQLite's own handler soon waits 100 ms between two looks, which starves a process
/// whose neighbour commits without pause.
pub(super) fn wait_for_lock(waits: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    u64::try_from(waits).is_ok_and(|waits| waits < LOCK_WAIT_MS_MAX)
}

/// The change to the write-ahead log is made once in the life of a file. Where two processes make it at once,
/// SQLite tells one of them that the file is busy without asking its handler.
fn use_write_ahead_log(db: &Connection, path: &Path) -> Result<(), JournalError> {
    let mut waits = 0;
    loop {
        let mode = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let reason =
                    format!("expected to use a write-ahead log there, found mode {mode:?}");
                return Err(JournalError::CannotOpen { path: path.to_owned(), reason });
            }
            Err(err)
                if err.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && wait_for_lock(waits) =>
            {
                waits += 1;
            }
            Err(err) => return Err(failure::journal_error(path, &err)),
        }
    }
}

/// Creates the file, for its owner alone, unless it is there; SQLite gives the files that it puts beside it the same
/// permissions.
fn create(path: &Path) -> Result<(), JournalError> {
    let cannot = |err: io::Error| match err.kind() {
        io::ErrorKind::ReadOnlyFilesystem => JournalError::ReadOnly { path: path.to_owned() },
        io::ErrorKind::StorageFull => JournalError::Full { path: path.to_owned() },
        _ => JournalError::CannotOpen { path: path.to_owned(), reason: err.to_string() },
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) => {
            let found = if metadata.is_dir() { "a directory" } else { "not a regular file" };
            let reason = format!("it is {found}");
            return Err(JournalError::NotAJournal { path: path.to_owned(), reason });
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => {}
        Err(err) => return Err(cannot(err)),
    }
    create_directories(path).map_err(cannot)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            // Left open on purpose, once in the life of a journal: closing any descriptor of a file drops every lock
            // that this process has on it, and another thread may have the new file open already.
            std::mem::forget(file);
            Ok(())
        }
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(err) => Err(cannot(err)),
    }
}

/// Creates the directories that lead to `path`, for their owner alone, and makes their names durable: what is durable
/// in a file is lost with the name of its directory.
fn create_directories(path: &Path) -> io::Result<()> {
    let missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|directory| !directory.as_os_str().is_empty() && !directory.exists())
        .map(Path::to_owned)
        .collect();
    for directory in missing.iter().rev() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        if let Some(parent) = directory.parent() {
            File::open(Path::new(".").join(parent))?.sync_all()?;
        }
    }
    Ok(())
}
