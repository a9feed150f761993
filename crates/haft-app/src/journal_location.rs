//! Selects and opens the journal in which calls are recorded: an SQLite file, or a PostgreSQL database by URL. The
//! journal crate defines its content. The URL may hold a password, so no other module keeps it.

mod server;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "postgres")]
use haft_journal::PostgresJournal;
use haft_journal::{Journal, JournalError, SqliteJournal};

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;

/// How URLs of databases begin.
const SCHEMES: &[&str] = &["postgres://", "postgresql://"];

/// Where a journal is. Shown without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct JournalLocation {
    /// The file or the server.
    store: JournalStore,
    /// Whether neither the user nor a manifest named the journal.
    is_default: bool,
}

/// The place in which a journal stores its rows.
#[derive(Clone, PartialEq, Eq)]
enum JournalStore {
    /// A file at this path.
    File(PathBuf),
    /// A PostgreSQL server at this URL, which may hold a password.
    Server(String),
}

impl JournalLocation {
    /// Returns the journal that is used unless another one is named.
    pub fn of_state(host: &AppHost) -> Self {
        Self { store: JournalStore::File(host.state().journal()), is_default: true }
    }

    /// Returns the journal of that name; a relative path starts at `directory`.
    pub fn named(name: &OsStr, directory: &Path) -> Self {
        let url =
            name.to_str().filter(|name| SCHEMES.iter().any(|scheme| name.starts_with(scheme)));
        let place = match url {
            Some(url) => JournalStore::Server(url.to_owned()),
            None => JournalStore::File(directory.join(name)),
        };
        Self { store: place, is_default: false }
    }

    /// Returns what is wrong with a name: one that begins like a URL is not taken for a file.
    pub fn problem_of(name: &str) -> Option<String> {
        let (scheme, _) = name.split_once("://")?;
        let is_url = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
        let is_known = SCHEMES.iter().any(|known| name.starts_with(known));
        (is_url && !is_known).then(|| {
            format!(
                "expected the path of a file, or a URL that begins with {}; found one that begins with {scheme}://",
                SCHEMES.join(" or ")
            )
        })
    }

    /// Returns the file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.store {
            JournalStore::File(path) => Some(path),
            JournalStore::Server(_) => None,
        }
    }

    /// Returns what tells the journal from all others that this user has, however it is named: the file, or
    /// the database and who one is to it. There is no password in it.
    pub fn identity(&self) -> String {
        match &self.store {
            JournalStore::File(path) => {
                // A journal that is not made yet is found under the same name as later.
                let of_missing =
                    || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
                let found = path.canonicalize().ok().or_else(of_missing);
                let found = found.or_else(|| std::path::absolute(path).ok());
                found.as_ref().unwrap_or(path).to_string_lossy().into_owned()
            }
            JournalStore::Server(url) => server::identity(url),
        }
    }

    /// Returns whether there is none yet. An empty file is none, and is not made one by looking at it.
    pub fn is_missing(&self) -> bool {
        let JournalStore::File(path) = &self.store else { return false };
        match path.metadata() {
            Ok(metadata) => metadata.is_file() && metadata.len() == 0,
            Err(err) => err.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Opens the journal, which is made if it is not there.
    ///
    /// A file is opened on another thread from this call on, so that the caller can do other work meanwhile. The caller must
    /// be in a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails if the file or the server cannot be reached, if it holds something else than a journal or one of a newer haft,
    /// and if this haft was built without PostgreSQL. The error names the step that helps, if there is one.
    pub fn open(&self) -> impl Future<Output = Result<Arc<dyn Journal>, AppError>> + Send + use<> {
        let location = self.clone();
        let opening = match &self.store {
            JournalStore::File(path) => {
                let path = path.clone();
                Some(tokio::task::spawn_blocking(move || SqliteJournal::open(&path)))
            }
            JournalStore::Server(_) => None,
        };
        async move {
            let opened: Result<Arc<dyn Journal>, JournalError> = match (&location.store, opening) {
                (JournalStore::File(_), opening) => {
                    match opening.expect("a file is being opened").await {
                        Ok(opened) => opened.map(|journal| Arc::new(journal) as _),
                        Err(err) => std::panic::resume_unwind(err.into_panic()),
                    }
                }
                #[cfg(feature = "postgres")]
                (JournalStore::Server(url), _) => {
                    PostgresJournal::connect(url).await.map(|journal| Arc::new(journal) as _)
                }
                #[cfg(not(feature = "postgres"))]
                (JournalStore::Server(_), _) => {
                    let message = "this haft was built without PostgreSQL, so it opens files only: build it with the \
                                   feature postgres, or name a file";
                    return Err(AppError::configuration(message));
                }
            };
            opened.map_err(|err| location.explained(err))
        }
    }

    /// Opens the journal to look at it, also where it cannot be written; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::open`], but not because a file cannot be written.
    pub async fn open_to_read(&self) -> Result<Option<Arc<dyn Journal>>, AppError> {
        let JournalStore::File(path) = &self.store else { return self.open().await.map(Some) };
        if self.is_missing() {
            return Ok(None);
        }
        let opened = match SqliteJournal::open(path) {
            Err(err) if is_of_writing(&err) => SqliteJournal::open_to_read(path),
            opened => opened,
        };
        let opened = opened.map_err(|err| self.explained(err))?;
        Ok(Some(Arc::new(opened)))
    }

    /// Adds the step that helps. Another journal helps only a user who has none yet, because it lacks the earlier calls.
    fn explained(&self, err: JournalError) -> AppError {
        let next = match (&err, &self.store) {
            (_, JournalStore::Server(_)) => None,
            (JournalError::Full { .. }, JournalStore::File(path)) => {
                let directory = path.parent().filter(|parent| parent.exists());
                directory.map(|parent| NextStep::InspectDisk(parent.to_owned()))
            }
            (err, JournalStore::File(path)) if is_of_writing(err) && path.exists() => {
                Some(NextStep::InspectFile(path.clone()))
            }
            // The quarantine and the rests of outputs are kept there, too, and would have nowhere to go.
            (err, JournalStore::File(_)) if is_of_writing(err) && self.is_default => {
                Some(NextStep::NameWritableStateDirectory)
            }
            (_, JournalStore::File(_)) => None,
        };
        AppError { next, ..AppError::from(err) }
    }
}

/// Returns whether it is writing that did not work.
fn is_of_writing(err: &JournalError) -> bool {
    matches!(
        err,
        JournalError::CannotOpen { .. } | JournalError::ReadOnly { .. } | JournalError::Full { .. }
    )
}

impl fmt::Display for JournalLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.store {
            JournalStore::File(path) => write!(f, "{}", path.display()),
            JournalStore::Server(url) => {
                // The text before the last @ names the user; a password may hold any other sign.
                let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
                let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
                let place = place.split_once('?').map_or(place, |(place, _)| place);
                write!(f, "{scheme}://{place}")
            }
        }
    }
}

impl fmt::Debug for JournalLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JournalPlace({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_something_else_is_no_file() {
        let check = |name: &str, expect: Option<&str>| {
            let problem = JournalLocation::problem_of(name);
            assert_eq!(problem.is_some(), expect.is_some(), "{name}: {problem:?}");
            assert!(problem.unwrap_or_default().contains(expect.unwrap_or_default()));
        };
        check("mysql://ada:secret@db/haft", Some("found one that begins with mysql://"));
        check("sqlite:///j", Some("postgres:// or postgresql://"));
        check("POSTGRES://db/haft", Some("POSTGRES://"));
        check("postgres://db/haft", None);
        check("./a://b", None);
        check("log/j.sqlite", None);
    }

    #[test]
    fn a_name_is_a_file_unless_it_is_a_url() {
        let check = |name: &str, expect: &str| {
            let place = JournalLocation::named(OsStr::new(name), Path::new("/manifest"));
            assert_eq!(place.to_string(), expect);
            assert_eq!(place.file().is_some(), !expect.contains("://"));
            assert!(!format!("{place:?}").contains("secret"));
        };
        check("log/j.sqlite", "/manifest/log/j.sqlite");
        check("/log/postgres:", "/log/postgres:");
        check("postgres://db/haft", "postgres://db/haft");
        check("postgresql://ada:secret@db:5432/haft", "postgresql://db:5432/haft");
        check("postgres://ada:se?secret/@db/haft?password=secret", "postgres://db/haft");
    }

    #[test]
    fn a_file_is_the_same_by_whatever_name() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        std::fs::create_dir(top.join("log")).unwrap();
        std::fs::write(top.join("log/j"), "").unwrap();
        std::os::unix::fs::symlink("log", top.join("link")).unwrap();
        let identity = |name: &str| JournalLocation::named(OsStr::new(name), top).identity();
        for name in ["link/j", "log/../log/j", "link/./j"] {
            assert_eq!(identity(name), identity("log/j"), "{name}");
        }
        assert_ne!(identity("log/k"), identity("log/j"));
        // A journal that is not there yet.
        let before = identity("link/k");
        std::fs::write(top.join("log/k"), "").unwrap();
        assert_eq!([identity("log/k"), identity("link/k")], [before.clone(), before]);
    }
}
