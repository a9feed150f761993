//! The secrets of people who use pages with a browser. A link that works once becomes a cookie. Browsers do not separate
//! cookies by port, so a cookie alone changes nothing: a change also needs the secret of its tab and a number that works
//! once, for exactly the content that was shown. This module reads no request; the page guard does.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use subtle::ConstantTimeEq;

use crate::limits::{BROWSERS_MAX, LINKS_MAX, NONCES_MAX, TABS_MAX};

/// Bytes of each secret.
pub const SECRET_BYTES: usize = 32;

/// Returns random bytes of the system.
pub type RandomSecret = fn() -> io::Result<[u8; SECRET_BYTES]>;

/// Uses up the link with this secret, if another process of the user made one, and returns whether it did.
pub type ForeignLinkUser = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The browsers that may use the pages of a server, their tabs, and the changes that they were offered.
pub struct BrowserSessions {
    random: RandomSecret,
    foreign_links: Option<ForeignLinkUser>,
    /// Each request reads it, and logins, new tabs and offered changes write it. It is never locked across a wait.
    state: Mutex<BrowserState>,
}

/// A browser that is logged in. The guard puts it into the extensions of each request of that browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrowserSession(u64);

/// Why a change is refused that a person asked for on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeRefusal {
    /// The tab has no secret, or that of another browser.
    #[error("this tab is not known: load the page again")]
    TabUnknown,
    /// The change was not offered to this browser, or it was made already.
    #[error("this was answered already, or it was shown too long ago: load the page again")]
    NonceUnknown,
    /// The offered change is about something else than it was when it was shown.
    #[error("what was shown has changed since: look at it again")]
    ContentChanged,
}

/// The secrets of a browser that has just logged in.
pub(crate) struct BrowserLogin {
    /// The value of the cookie.
    pub(crate) cookie: String,
    /// The secret that the page keeps where only pages of this port can read it.
    pub(crate) browser_secret: String,
}

#[derive(Default)]
struct BrowserState {
    /// The number of the next browser.
    next: u64,
    links: VecDeque<String>,
    browsers: VecDeque<LoggedInBrowser>,
    tabs: VecDeque<(u64, String)>,
    nonces: HashMap<String, OfferedChange>,
    /// The nonces in the order in which they were offered.
    nonce_order: VecDeque<String>,
}

struct LoggedInBrowser {
    number: u64,
    cookie: String,
    secret: String,
}

/// A change that a page offered.
#[derive(PartialEq, Eq)]
struct OfferedChange {
    browser: u64,
    /// The action and the digest of the content that was shown.
    subject: String,
}

impl BrowserSessions {
    /// Returns sessions without any browser.
    pub fn new(random: RandomSecret) -> Self {
        Self { random, foreign_links: None, state: Mutex::default() }
    }

    /// Returns sessions that links of other processes of the user begin as well.
    #[must_use]
    pub fn with_foreign_links(mut self, links: ForeignLinkUser) -> Self {
        self.foreign_links = Some(links);
        self
    }

    /// Returns a secret that logs one browser in, once. If there are [`LINKS_MAX`] unused ones, the oldest is forgotten.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no random bytes.
    pub fn issue_link(&self) -> io::Result<String> {
        let link = self.secret()?;
        let mut state = self.lock();
        push_bounded(&mut state.links, link.clone(), LINKS_MAX);
        Ok(link)
    }

    /// Returns a number that allows one change: the action, about the content with this digest, by this browser. Until it is
    /// used, the same change has the same number: a page that is shown again takes no number from another page.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no random bytes.
    pub fn issue_nonce(
        &self,
        browser: BrowserSession,
        action: &str,
        digest: &str,
    ) -> io::Result<String> {
        let fresh = self.secret()?;
        let mut state = self.lock();
        let offered = OfferedChange { browser: browser.0, subject: subject(action, digest) };
        let known = state.nonces.iter().find(|(_, known)| **known == offered);
        let nonce = known.map_or(fresh, |(nonce, _)| nonce.clone());
        state.nonce_order.retain(|known| *known != nonce);
        if let Some(oldest) = push_bounded(&mut state.nonce_order, nonce.clone(), NONCES_MAX) {
            state.nonces.remove(&oldest);
        }
        state.nonces.insert(nonce.clone(), offered);
        Ok(nonce)
    }

    /// Uses up a nonce. `digest` is that of the content as it is now.
    ///
    /// # Errors
    ///
    /// Says why the change must not be made. The nonce is used up then as well, unless the tab is not known.
    pub fn redeem_nonce(
        &self,
        browser: BrowserSession,
        tab: &str,
        nonce: &str,
        (action, digest): (&str, &str),
    ) -> Result<(), ChangeRefusal> {
        let mut state = self.lock();
        let is_tab = |(of, secret): &(u64, String)| is_equal(secret, tab) && *of == browser.0;
        if !state.tabs.iter().any(is_tab) {
            return Err(ChangeRefusal::TabUnknown);
        }
        let offered = state.nonces.remove(nonce).filter(|it| it.browser == browser.0);
        let offered = offered.ok_or(ChangeRefusal::NonceUnknown)?;
        state.nonce_order.retain(|known| known != nonce);
        if offered.subject == subject(action, digest) {
            Ok(())
        } else {
            Err(ChangeRefusal::ContentChanged)
        }
    }

    /// Logs a browser in with the secret of a link, which is used up. `None` if no unused link has this secret.
    pub(crate) fn log_in(&self, link: &str) -> io::Result<Option<BrowserLogin>> {
        let (cookie, browser_secret) = (self.secret()?, self.secret()?);
        let mut state = self.lock();
        match state.links.iter().position(|known| is_equal(known, link)) {
            Some(place) => drop(state.links.remove(place)),
            None if self.foreign_links.as_ref().is_some_and(|uses| uses(link)) => {}
            None => return Ok(None),
        }
        state.next += 1;
        let browser = LoggedInBrowser {
            number: state.next,
            cookie: cookie.clone(),
            secret: browser_secret.clone(),
        };
        push_bounded(&mut state.browsers, browser, BROWSERS_MAX);
        Ok(Some(BrowserLogin { cookie, browser_secret }))
    }

    /// Returns the browser that has this cookie.
    pub(crate) fn of_cookie(&self, cookie: &str) -> Option<BrowserSession> {
        let state = self.lock();
        let known = state.browsers.iter().find(|browser| is_equal(&browser.cookie, cookie));
        known.map(|browser| BrowserSession(browser.number))
    }

    /// Returns the secret of a new tab of a browser. `None` if the browser has another secret.
    pub(crate) fn open_tab(
        &self,
        browser: BrowserSession,
        browser_secret: &str,
    ) -> io::Result<Option<String>> {
        let tab = self.secret()?;
        let mut state = self.lock();
        let is_own = |known: &LoggedInBrowser| {
            known.number == browser.0 && is_equal(&known.secret, browser_secret)
        };
        if !state.browsers.iter().any(is_own) {
            return Ok(None);
        }
        push_bounded(&mut state.tabs, (browser.0, tab.clone()), TABS_MAX);
        Ok(Some(tab))
    }

    fn secret(&self) -> io::Result<String> {
        Ok((self.random)()?.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BrowserState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BrowserSessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BrowserSessions(…)")
    }
}

fn subject(action: &str, digest: &str) -> String {
    format!("{action}\n{digest}")
}

fn is_equal(known: &str, guess: &str) -> bool {
    known.as_bytes().ct_eq(guess.as_bytes()).into()
}

/// Adds an entry. If there are too many, removes and returns the oldest.
fn push_bounded<T>(list: &mut VecDeque<T>, entry: T, entries_max: usize) -> Option<T> {
    list.push_back(entry);
    if list.len() > entries_max { list.pop_front() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn sessions() -> BrowserSessions {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        BrowserSessions::new(|| {
            let mut secret = [0; SECRET_BYTES];
            let number = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            secret.iter_mut().zip(number).for_each(|(byte, from)| *byte = from);
            Ok(secret)
        })
    }

    fn browser(sessions: &BrowserSessions) -> (BrowserSession, String, String) {
        let login = sessions.log_in(&sessions.issue_link().unwrap()).unwrap().unwrap();
        let browser = sessions.of_cookie(&login.cookie).unwrap();
        (browser, login.cookie, login.browser_secret)
    }

    #[test]
    fn a_link_logs_one_browser_in() {
        let sessions = sessions();
        let link = sessions.issue_link().unwrap();
        assert!(sessions.log_in("").unwrap().is_none());
        assert!(sessions.log_in(link.get(1..).unwrap()).unwrap().is_none());
        assert!(sessions.log_in(&link).unwrap().is_some());
        assert!(sessions.log_in(&link).unwrap().is_none());
        let links: Vec<_> = (0..=LINKS_MAX).map(|_| sessions.issue_link().unwrap()).collect();
        let works: Vec<_> =
            links.iter().map(|link| sessions.log_in(link).unwrap().is_some()).collect();
        assert_eq!(works.iter().position(|works| *works), Some(1));
        assert_eq!(format!("{sessions:?}"), "BrowserSessions(…)");
    }

    #[test]
    fn a_link_of_another_process_logs_one_browser_in() {
        let files = Arc::new(Mutex::new(vec!["filed".to_owned()]));
        let uses = move |link: &str| {
            let mut files = files.lock().unwrap();
            let place = files.iter().position(|file| file == link);
            place.map(|place| files.remove(place)).is_some()
        };
        let sessions = sessions().with_foreign_links(Arc::new(uses));
        assert!(sessions.log_in("other").unwrap().is_none());
        assert!(sessions.log_in("filed").unwrap().is_some());
        assert!(sessions.log_in("filed").unwrap().is_none());
    }

    #[test]
    fn a_tab_needs_the_secret_of_its_browser() {
        let sessions = sessions();
        let (one, cookie, secret) = browser(&sessions);
        let (other, _, other_secret) = browser(&sessions);
        assert!(sessions.open_tab(one, &cookie).unwrap().is_none());
        assert!(sessions.open_tab(one, &other_secret).unwrap().is_none());
        assert!(sessions.open_tab(other, &secret).unwrap().is_none());
        assert!(sessions.open_tab(one, &secret).unwrap().is_some());
    }

    #[test]
    fn a_nonce_allows_one_change_of_what_was_shown() {
        let sessions = sessions();
        let (one, _, secret) = browser(&sessions);
        let (other, _, other_secret) = browser(&sessions);
        let tab = sessions.open_tab(one, &secret).unwrap().unwrap();
        let other_tab = sessions.open_tab(other, &other_secret).unwrap().unwrap();
        let redeem = |browser, tab: &str, nonce: &str, action: &str, digest: &str| {
            sessions.redeem_nonce(browser, tab, nonce, (action, digest))
        };
        let offer = || sessions.issue_nonce(one, "undo r", "d1").unwrap();
        let nonce = offer();
        // A page that is shown again offers the same.
        assert_eq!(offer(), nonce);
        assert_ne!(sessions.issue_nonce(other, "undo r", "d1").unwrap(), nonce);
        assert_eq!(redeem(one, "", &nonce, "undo r", "d1"), Err(ChangeRefusal::TabUnknown));
        assert_eq!(redeem(one, &other_tab, &nonce, "undo r", "d1"), Err(ChangeRefusal::TabUnknown));
        assert_eq!(redeem(one, &tab, &nonce, "undo r", "d1"), Ok(()));
        assert_eq!(redeem(one, &tab, &nonce, "undo r", "d1"), Err(ChangeRefusal::NonceUnknown));
        let changed = Err(ChangeRefusal::ContentChanged);
        assert_eq!(redeem(one, &tab, &offer(), "undo r", "d2"), changed);
        assert_eq!(redeem(one, &tab, &offer(), "undo s", "d1"), changed);
        assert_eq!(redeem(one, &tab, "", "undo r", "d1"), Err(ChangeRefusal::NonceUnknown));
        let foreign = redeem(other, &other_tab, &offer(), "undo r", "d1");
        assert_eq!(foreign, Err(ChangeRefusal::NonceUnknown));
        let first = offer();
        for number in 0..NONCES_MAX {
            sessions.issue_nonce(other, "undo r", &number.to_string()).unwrap();
        }
        assert_eq!(redeem(one, &tab, &first, "undo r", "d1"), Err(ChangeRefusal::NonceUnknown));
    }
}
