//! Which journal calls are recorded in, and opening it: an SQLite file, or a PostgreSQL database by URL. What is in it is
//! the journal crate's affair. The URL may hold a password, so this is the only place that keeps it.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_journal::{Journal, JournalError, PostgresJournal, SqliteJournal};

use crate::error::CommandError;
use crate::state::State;

/// How URLs of databases begin.
const SCHEMES: &[&str] = &["postgres://", "postgresql://"];

/// Where a journal is. Shown without the password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct JournalPlace {
    place: Place,
    is_default: bool,
}

#[derive(Clone, PartialEq, Eq)]
enum Place {
    File(PathBuf),
    Server(String),
}

impl JournalPlace {
    /// Returns the journal that is used unless another one is named.
    pub(crate) fn of_state(state: &State) -> Self {
        Self { place: Place::File(state.journal()), is_default: true }
    }

    /// Returns the journal of that name; a relative path starts at `directory`.
    pub(crate) fn named(name: &OsStr, directory: &Path) -> Self {
        let url =
            name.to_str().filter(|name| SCHEMES.iter().any(|scheme| name.starts_with(scheme)));
        let place = match url {
            Some(url) => Place::Server(url.to_owned()),
            None => Place::File(directory.join(name)),
        };
        Self { place, is_default: false }
    }

    /// Returns the file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        }
    }

    /// Opens the journal, which is made if it is not there.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Journal>, CommandError> {
        let opened: Result<Arc<dyn Journal>, JournalError> = match &self.place {
            Place::File(path) => SqliteJournal::open(path).map(|journal| Arc::new(journal) as _),
            Place::Server(url) => {
                PostgresJournal::connect(url).await.map(|journal| Arc::new(journal) as _)
            }
        };
        opened.map_err(|err| self.explained(err))
    }

    /// Opens the journal to look at it, also where it cannot be written; `None` if there is none yet.
    pub(crate) async fn open_to_read(&self) -> Result<Option<Arc<dyn Journal>>, CommandError> {
        let Place::File(path) = &self.place else { return self.open().await.map(Some) };
        if !path.exists() {
            return Ok(None);
        }
        let opened = match SqliteJournal::open(path) {
            Err(err) if is_of_writing(&err) => SqliteJournal::open_to_read(path),
            opened => opened,
        };
        let opened = opened.map_err(|err| self.explained(err))?;
        Ok(Some(Arc::new(opened)))
    }

    fn explained(&self, err: JournalError) -> CommandError {
        let hint = if is_of_writing(&err) {
            // The quarantine and the rests of outputs are kept there, too, and would have nowhere to go.
            "export HAFT_STATE_DIR=/path/to/a/writable/directory"
        } else {
            "export HAFT_DB=/path/to/another/journal.sqlite"
        };
        let err = CommandError::from(err);
        if self.is_default { err.hint(hint) } else { err }
    }
}

/// Returns whether another file in the same directory would do no better.
fn is_of_writing(err: &JournalError) -> bool {
    matches!(
        err,
        JournalError::CannotOpen { .. } | JournalError::ReadOnly { .. } | JournalError::Full { .. }
    )
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Server(url) => f.write_str(&place_of(url)),
        }
    }
}

impl fmt::Debug for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JournalPlace({self})")
    }
}

/// Returns scheme, host and database of a URL.
fn place_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    // Whatever comes before the last @ belongs to who one is; a password may hold any other sign.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let place = place.split_once('?').map_or(place, |(place, _)| place);
    format!("{scheme}://{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_file_unless_it_is_a_url() {
        let check = |name: &str, expect: &str| {
            let place = JournalPlace::named(OsStr::new(name), Path::new("/manifest"));
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
}
