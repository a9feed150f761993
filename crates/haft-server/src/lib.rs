//! The HTTP side of haft: who may speak to it, how much and for how long, and what lies at which path. It knows nothing of
//! tools, runs or protocols: what answers at a path is handed in as a service, and what this crate adds is the same for all
//! of them. It deliberately does no TLS, which is the business of the proxy in front of a server that others reach, and
//! reads neither files nor the environment.
#![deny(missing_docs)]

mod body;
mod connections;
mod guard;
pub mod limits;
mod refusal;
mod site;
mod token;

pub use connections::serve;
pub use guard::Guard;
pub use site::{HEALTH_PATH, Site};
pub use token::{Token, TokenError};
