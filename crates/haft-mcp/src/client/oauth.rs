//! Who haft is to a server that runs elsewhere: the tokens of a login, which are sent to that server alone, renewed once when
//! it takes them no more, and kept by whoever configures it. A person takes part in [`Login`] only; whatever is
//! called without a login fails and says so.
//!
//! The SDK has an OAuth client too. It would bring 15 crates and save 85 lines here.

mod asker;
mod authorization;
mod challenge;
mod discovery;
mod encoding;
mod identity;
mod login;
mod redirect;
mod token;

pub use self::authorization::{Authorization, OAuthOptions, TokenStore};
pub(super) use self::challenge::challenge;
pub use self::login::{LOGIN_ENTROPY_BYTES, Login, LoginError};
pub use self::redirect::RedirectListener;
