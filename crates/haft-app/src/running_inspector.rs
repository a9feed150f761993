//! Running inspectors of this machine, as other processes of the user find them, and links that log in one browser. An inspector
//! has a directory in the state directory, which no tool and no confined process reaches. A process that makes a link leaves
//! the SHA-256 of its secret there as an empty file, and the login removes that file: so a link works once, in one browser,
//! whichever process made it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::sha256_hex;
use haft_journal::LeaseOwner;
use serde::{Deserialize, Serialize};

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::journal_location::JournalLocation;
use crate::{id, process_identity, state_file};

/// Links to an inspector that other processes made and that were not used yet.
///
/// Limit (inspector): the oldest link stops working.
pub(crate) const FILED_LINKS_MAX: usize = 64;
/// Time in which a link that another process made works, in milliseconds.
///
/// Limit (inspector): the link stops working.
pub(crate) const FILED_LINK_MS_MAX: u64 = 86_400_000;
/// Bytes of the secret of a link.
const LINK_SECRET_BYTES: usize = 32;
/// Largest file that says how an inspector is reached, in bytes.
const ADDRESS_BYTES_MAX: u64 = 16 * 1024;
/// Directories of inspectors that are looked at.
const INSPECTORS_MAX: usize = 64;
/// The file that says how an inspector is reached.
const ADDRESS_FILE: &str = "address.json";
/// The directory of its links.
const LINKS: &str = "links";

/// How an inspector is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InspectorAddress {
    /// Scheme, host and port.
    origin: String,
    /// Whether only this machine reaches it.
    is_local: bool,
    /// The identity of the journal that it shows.
    journal: String,
    /// Its process.
    owner: LeaseOwner,
}

/// The directory of an inspector of this process. Dropping it removes the directory, and with it all links.
#[derive(Debug)]
pub struct InspectorPresence(PathBuf);

/// A running inspector that shows a journal.
#[derive(Clone, Debug)]
pub struct RunningInspector {
    address: InspectorAddress,
    links: PathBuf,
}

impl InspectorPresence {
    /// Says to other processes how an inspector of this process is reached. `authority` is host and port.
    ///
    /// # Errors
    ///
    /// Fails if the directory or the file in it cannot be made.
    pub fn announce(
        host: &AppHost,
        journal: &JournalLocation,
        (authority, is_local): (&str, bool),
    ) -> io::Result<Self> {
        let other = |err: AppError| io::Error::other(err.message);
        let owner = process_identity::this_process(host.now_ms()).map_err(other)?;
        let name = id::new("inspector", host.now_ms()).map_err(other)?;
        let directory = host.state().inspectors().join(name);
        make_directory(&directory.join(LINKS))?;
        let presence = Self(directory);
        let address = InspectorAddress {
            origin: format!("http://{authority}"),
            is_local,
            journal: journal.identity(),
            owner,
        };
        state_file::write(&presence.0.join(ADDRESS_FILE), &serde_json::to_vec(&address)?)?;
        Ok(presence)
    }

    /// Returns a function that uses up the link with a secret, and returns whether there was such a link.
    pub fn link_user(&self) -> impl Fn(&str) -> bool + Send + Sync + use<> {
        let links = self.0.join(LINKS);
        move |secret: &str| {
            let file = links.join(sha256_hex(secret.as_bytes()));
            // Of two logins with one link, one removes the file.
            !is_old(&file) && fs::remove_file(file).is_ok()
        }
    }
}

impl Drop for InspectorPresence {
    fn drop(&mut self) {
        // If the directory stays, others see that the process is gone.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl RunningInspector {
    /// Returns the inspector of a journal that was started last on this machine, if one runs.
    pub fn find(host: &AppHost, journal: &JournalLocation) -> Option<Self> {
        let journal = journal.identity();
        let entries = fs::read_dir(host.state().inspectors()).ok()?.flatten();
        let mut directories: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        // Their names begin with the time.
        directories.sort();
        directories.into_iter().rev().take(INSPECTORS_MAX).find_map(|directory| {
            let text = state_file::read(&directory.join(ADDRESS_FILE), ADDRESS_BYTES_MAX)?;
            let address: InspectorAddress = serde_json::from_str(&text).ok()?;
            if process_identity::is_gone(&address.owner) {
                let _ = fs::remove_dir_all(&directory);
                return None;
            }
            let links = directory.join(LINKS);
            (address.journal == journal).then_some(Self { address, links })
        })
    }

    /// Returns the address of a page, for a browser that is logged in.
    pub fn page(&self, path: &str) -> String {
        format!("{}{path}", self.address.origin)
    }

    /// Returns a link to a page, which logs in one browser, once. If other machines reach the inspector, the link has no secret
    /// and needs a browser that is logged in: a notification may go through servers of others.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no random bytes, and if the inspector has just ended.
    pub fn link_to(&self, path: &str) -> io::Result<String> {
        let page = self.page(path);
        if !self.address.is_local {
            return Ok(page);
        }
        let secret = id::random_bytes::<LINK_SECRET_BYTES>();
        let secret = secret.map_err(|err| io::Error::other(err.message))?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        remove_old_links(&self.links);
        let file = self.links.join(sha256_hex(secret.as_bytes()));
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
        Ok(format!("{page}#token={secret}"))
    }
}

/// Returns the path of an ask's page.
pub fn ask_page(ask: &str) -> String {
    format!("/asks/{ask}")
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes links whose time is over, and the oldest ones if there is no place for one more.
fn remove_old_links(links: &Path) {
    let entries = fs::read_dir(links).into_iter().flatten().flatten().map(|entry| entry.path());
    let (old, mut kept): (Vec<_>, Vec<_>) = entries.partition(|file| is_old(file));
    kept.sort_by_key(|file| made_at(file));
    let surplus = (kept.len() + 1).saturating_sub(FILED_LINKS_MAX);
    for file in old.into_iter().chain(kept.into_iter().take(surplus)) {
        let _ = fs::remove_file(file);
    }
}

fn made_at(file: &Path) -> Option<SystemTime> {
    file.symlink_metadata().and_then(|found| found.modified()).ok()
}

/// Returns whether the time of a link is over. The clock of the file system decides, as it did when the file was made.
fn is_old(file: &Path) -> bool {
    let age = made_at(file).and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_millis(FILED_LINK_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_of(link: &str) -> &str {
        link.split_once("#token=").unwrap().1
    }

    #[test]
    fn a_link_of_another_process_works_once() {
        let directory = tempfile::tempdir().unwrap();
        let host = AppHost::isolated(directory.path()).unwrap();
        let journal = JournalLocation::of_state(&host);
        assert!(RunningInspector::find(&host, &journal).is_none());
        let own = InspectorPresence::announce(&host, &journal, ("127.0.0.1:9", true)).unwrap();
        let uses = own.link_user();
        let found = RunningInspector::find(&host, &journal).unwrap();
        let link = found.link_to(&ask_page("ask_1")).unwrap();
        assert!(link.starts_with("http://127.0.0.1:9/asks/ask_1#token="), "{link}");
        assert!(!uses("") && !uses("../address.json") && !uses(&sha256_hex(b"x")));
        assert!(uses(secret_of(&link)) && !uses(secret_of(&link)));
        let links: Vec<String> =
            (0..=FILED_LINKS_MAX).map(|_| found.link_to("/asks").unwrap()).collect();
        let works = links.iter().filter(|link| uses(secret_of(link))).count();
        assert_eq!(works, FILED_LINKS_MAX);
        let other = JournalLocation::named("other.sqlite".as_ref(), directory.path());
        assert!(RunningInspector::find(&host, &other).is_none());
        drop(own);
        assert!(RunningInspector::find(&host, &journal).is_none());
        assert!(found.link_to("/asks").is_err());
    }

    #[test]
    fn a_link_to_an_inspector_that_others_reach_has_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        let host = AppHost::isolated(directory.path()).unwrap();
        let journal = JournalLocation::of_state(&host);
        let reached = ("tools.example.org:80", false);
        let _own = InspectorPresence::announce(&host, &journal, reached).unwrap();
        let found = RunningInspector::find(&host, &journal).unwrap();
        assert_eq!(found.link_to("/asks/a").unwrap(), "http://tools.example.org:80/asks/a");
    }

    #[test]
    fn the_directory_of_a_process_that_is_gone_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let host = AppHost::isolated(directory.path()).unwrap();
        let journal = JournalLocation::of_state(&host);
        let own = InspectorPresence::announce(&host, &journal, ("127.0.0.1:9", true)).unwrap();
        let file = own.0.join(ADDRESS_FILE);
        let mut address: InspectorAddress =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        // The same number, of a process that began at another time.
        let mut words: Vec<&str> = address.owner.id.split(' ').collect();
        let is_seen = words.len() == 7;
        if let Some(began) = words.get_mut(5) {
            *began = "1";
        }
        address.owner.id = words.join(" ");
        fs::write(&file, serde_json::to_vec(&address).unwrap()).unwrap();
        // Where a process cannot be seen, it may live.
        assert_eq!(RunningInspector::find(&host, &journal).is_none(), is_seen);
        assert_eq!(own.0.exists(), !is_seen);
    }
}
