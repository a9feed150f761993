//! Removes old outputs that were cut and stored beyond their sessions, so that a run can be recalled with them. Each
//! session has one directory. Its outputs are removed after some days, or with their run. A live session locks its
//! directory, and the lock ends with the process. Nothing in a locked directory is removed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, Journal, JournalError};
use rustix::fs::OFlags;

/// Days that a sidecar outlives its connection.
///
/// Limit (calls): the next start removes it.
pub const SIDECARS_KEPT_DAYS: u64 = 30;
/// Old sessions that one start removes.
pub const SESSIONS_SWEPT_MAX: usize = 16;

/// The seconds of a day.
const DAY_S: u64 = 24 * 60 * 60;

/// Removes the outputs of sessions that were quiet for longer than they are kept. Failing costs only space, so it is not
/// reported.
pub fn remove_old_sidecars(sessions: &Path, now: SystemTime, kept_days: Option<u64>) {
    let Ok(entries) = std::fs::read_dir(sessions) else { return };
    let kept_days = kept_days.unwrap_or(SIDECARS_KEPT_DAYS);
    let kept = Duration::from_secs(kept_days.saturating_mul(DAY_S));
    let is_old = |entry: &std::fs::DirEntry| {
        // Of a link this is the link's own time.
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > kept))
    };
    let old = entries.flatten().filter(is_old).map(|entry| entry.path());
    let mut removed = 0;
    for directory in old {
        if removed == SESSIONS_SWEPT_MAX {
            return;
        }
        let is_removed = match directory.symlink_metadata() {
            // The lock of a session that lives keeps its directory.
            Ok(found) if found.is_dir() => {
                lock(&directory).and_then(|_lock| std::fs::remove_dir_all(&directory))
            }
            // A link is removed itself, and where it leads is left alone.
            Ok(_) => std::fs::remove_file(&directory),
            Err(err) => Err(err),
        };
        if is_removed.is_ok() {
            removed += 1;
        }
    }
}

/// Returns the kept outputs of a run: those of its calls' outputs that lie where sessions keep them.
///
/// # Errors
///
/// Fails if the journal cannot be read.
pub async fn sidecars_of_run(
    journal: &dyn Journal,
    run: &RunId,
    sessions: &Path,
) -> Result<BTreeSet<PathBuf>, JournalError> {
    let mut found = BTreeSet::new();
    // No output lies beneath a directory that cannot be resolved.
    let Ok(sessions) = sessions.canonicalize() else { return Ok(found) };
    let mut query = CallQuery { order: CallOrder::Change, ..CallQuery::of_run(run.clone()) };
    loop {
        let calls = journal.calls(query.clone()).await?;
        let Some(last) = calls.last() else { return Ok(found) };
        query.after_change = Some(last.change);
        for call in &calls {
            let envelope = call.parsed_envelope().ok().flatten();
            let path = envelope.and_then(|envelope| envelope.metadata().output_path.clone());
            found.extend(path.map(PathBuf::from).filter(|path| is_sidecar_path(path, &sessions)));
        }
    }
}

/// Removes kept outputs, and the directories of sessions that are empty then; returns how many there were.
pub fn remove_sidecars(outputs: &BTreeSet<PathBuf>) -> usize {
    let removed = outputs.iter().filter(|path| std::fs::remove_file(path).is_ok()).count();
    let directories: BTreeSet<&Path> = outputs.iter().filter_map(|path| path.parent()).collect();
    for directory in directories {
        if let Ok(_lock) = lock(directory) {
            // One that holds outputs of other runs is not empty and stays.
            let _ = std::fs::remove_dir(directory);
        }
    }
    removed
}

/// Returns whether a path is a file directly inside the directory of a session, by its name alone: a record is a text,
/// and must not name something else to be removed.
fn is_sidecar_path(path: &Path, sessions: &Path) -> bool {
    let Some(directory) = path.parent() else { return false };
    let is_plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    let is_session = directory.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_plain && is_session && directory.parent() == Some(sessions)
}

/// Takes the lock that a living session holds.
fn lock(directory: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let opened = File::options().read(true).custom_flags(flags).open(directory)?;
    opened.try_lock()?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(count: u64) -> SystemTime {
        SystemTime::now() + Duration::from_secs(count * DAY_S)
    }

    #[test]
    fn only_old_sessions_that_do_not_live_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().join("sessions");
        let (dead, alive) = (sessions.join("session_1"), sessions.join("session_2"));
        for session in [&dead, &alive] {
            std::fs::create_dir_all(session).unwrap();
            std::fs::write(session.join("1-bash.txt"), "").unwrap();
        }
        let held = lock(&alive).unwrap();
        remove_old_sidecars(&sessions, days(SIDECARS_KEPT_DAYS - 1), None);
        assert!(dead.exists() && alive.exists());
        remove_old_sidecars(&sessions, days(SIDECARS_KEPT_DAYS + 1), Some(SIDECARS_KEPT_DAYS + 2));
        assert!(dead.exists());
        remove_old_sidecars(&sessions, days(SIDECARS_KEPT_DAYS + 1), None);
        assert!(!dead.exists() && alive.join("1-bash.txt").exists());
        drop(held);
        remove_old_sidecars(&sessions, days(3), Some(2));
        assert!(!alive.exists());
    }

    #[test]
    fn one_start_sweeps_a_bounded_number() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path();
        for number in 0..SESSIONS_SWEPT_MAX + 2 {
            std::fs::create_dir(sessions.join(number.to_string())).unwrap();
        }
        remove_old_sidecars(sessions, days(SIDECARS_KEPT_DAYS + 1), None);
        assert_eq!(std::fs::read_dir(sessions).unwrap().count(), 2);
    }

    #[test]
    fn no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = directory.path().canonicalize().unwrap().join("sessions");
        let elsewhere = directory.path().canonicalize().unwrap().join("elsewhere");
        std::fs::create_dir_all(&sessions).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(elsewhere.join("precious"), "").unwrap();
        let link = |name: &str| {
            let link = sessions.join(name);
            std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
            link
        };
        let inside = sessions.join("session_1");
        std::fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(&elsewhere, inside.join("link")).unwrap();
        let linked = link("session_2");
        for path in [
            linked.join("precious"),
            sessions.join("session_1/../../elsewhere/precious"),
            elsewhere.join("precious"),
            sessions.join("session_1"),
        ] {
            assert!(!is_sidecar_path(&path, &sessions), "{}", path.display());
        }
        remove_old_sidecars(&sessions, days(SIDECARS_KEPT_DAYS + 1), None);
        assert!(elsewhere.join("precious").exists());
        assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), 0);
    }

    #[test]
    fn outputs_go_and_a_directory_with_others_stays() {
        let directory = tempfile::tempdir().unwrap();
        let session = directory.path().join("session_1");
        std::fs::create_dir(&session).unwrap();
        let (first, second) = (session.join("1-bash.txt"), session.join("2-grep.txt"));
        for file in [&first, &second] {
            std::fs::write(file, "").unwrap();
        }
        assert!(is_sidecar_path(&first, directory.path()));
        assert_eq!(remove_sidecars(&BTreeSet::from([first.clone(), session.join("gone.txt")])), 1);
        assert!(!first.exists() && second.exists());
        assert_eq!(remove_sidecars(&BTreeSet::from([second])), 1);
        assert!(!session.exists());
    }
}
