//! The HTTP server of haft: access control, limits, and the services at each path. It knows nothing
//! of tools, runs or protocols: callers supply services for paths, and this crate treats all of
//! them alike. It deliberately does no TLS, which belongs in a proxy in front of a public server,
//! and reads neither files nor the environment.
#![deny(missing_docs)]

mod body;
mod browser_sessions;
mod connections;
mod guard;
pub mod limits;
mod page_guard;
mod pages;
mod places;
mod refusal;
mod site;
mod token;

pub use browser_sessions::{
    BrowserSession, BrowserSessions, ChangeRefusal, ForeignLinkUser, RandomSecret, SECRET_BYTES,
};
pub use connections::serve;
pub use guard::RequestGuard;
pub use pages::{LOGIN_PATH, PageParts, PublicFile, TAB_PATH};
pub use site::{HEALTH_PATH, HttpSite};
pub use token::{BearerToken, BearerTokenError};
