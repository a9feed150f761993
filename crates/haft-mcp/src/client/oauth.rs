//! Logins to remote servers: the tokens of a login are sent to that server alone, renewed once when it rejects them, and stored
//! by the embedding program. A person takes part in [`Login`] only. A call without a login fails and says so.
//!
//! The SDK has an OAuth client too. It would bring 15 crates and save 85 lines here.

mod authorization;
mod challenge;
mod discovery;
mod identity;
mod login;
mod login_requests;
mod redirect;
mod token;

pub use self::authorization::{Authorization, OAuthOptions, TokenStore};
pub(super) use self::challenge::challenge;
pub use self::login::{LOGIN_ENTROPY_BYTES, Login, LoginError};
pub use self::redirect::RedirectListener;
