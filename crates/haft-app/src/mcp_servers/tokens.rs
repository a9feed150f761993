//! Stores logins to remote servers, one file each, in the state directory, which only the user can read. This module does
//! not know the content of these files.

use std::io;
use std::path::{Path, PathBuf};

use haft_contract::sha256_hex;
use haft_mcp::TokenStore;

use crate::state_file;

/// Longest file of a login, in bytes.
pub(crate) const LOGIN_BYTES_MAX: u64 = 128 * 1024;
/// Digits of the digest of an address that are part of a name.
const DIGEST_DIGITS: usize = 16;

/// Keeps the login to one server.
pub(super) struct LoginFile {
    /// The file with the tokens.
    path: PathBuf,
}

impl LoginFile {
    /// Returns where the login to a server is kept. One at another address is another server.
    pub(super) fn new(directory: &Path, name: &str, url: &str) -> Self {
        let digest = sha256_hex(url.as_bytes());
        let digest = digest.get(..DIGEST_DIGITS).unwrap_or_default();
        Self { path: directory.join(format!("{name}-{digest}.json")) }
    }
}

impl TokenStore for LoginFile {
    fn get(&self) -> Option<String> {
        state_file::read(&self.path, LOGIN_BYTES_MAX)
    }

    fn put(&self, text: &str) -> io::Result<()> {
        state_file::write(&self.path, text.as_bytes())
    }

    fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_login_is_kept_for_its_user_and_its_server() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("logins");
        let login = |url: &str| LoginFile::new(&directory, "tracker", url);
        assert_eq!(login("https://a").get(), None);
        login("https://a").put("secret").unwrap();
        assert_eq!(login("https://a").get().as_deref(), Some("secret"));
        assert_eq!(login("https://b").get(), None);
        let mode = std::fs::metadata(&login("https://a").path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let longest = "x".repeat(usize::try_from(LOGIN_BYTES_MAX).unwrap());
        login("https://a").put(&longest).unwrap();
        assert_eq!(login("https://a").get(), Some(longest.clone()));
        login("https://a").put(&format!("{longest}x")).unwrap();
        assert_eq!(login("https://a").get(), None);
        login("https://a").remove().unwrap();
        login("https://a").remove().unwrap();
        assert_eq!(login("https://a").get(), None);
    }
}
