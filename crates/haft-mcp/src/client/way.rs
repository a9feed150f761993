//! The way to a server as whoever keeps the connection sees it: a program of this machine, or a server that runs elsewhere.

use haft_contract::Confined;

use super::http::RemoteLink;
use super::link::Link;

/// The near end of the way to a server. Dropping it ends the connection.
pub(super) enum Way {
    /// To a program.
    Local(Link),
    /// To a server that runs elsewhere.
    Remote(RemoteLink),
}

impl Way {
    /// Returns whether the server is not spoken to any more.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Local(link) => link.is_over(),
            Self::Remote(link) => link.is_over(),
        }
    }

    /// Waits until the connection has ended.
    pub(super) async fn ended(&self) {
        match self {
            Self::Local(link) => link.ended().await,
            Self::Remote(link) => link.ended().await,
        }
    }

    /// Returns how it ended, in words; waits a while for that.
    pub(super) async fn end(&self) -> String {
        match self {
            Self::Local(link) => link.end().await,
            Self::Remote(link) => link.end().await,
        }
    }

    /// Returns what went wrong last while the connection goes on.
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Self::Local(_) => None,
            Self::Remote(link) => link.fault(),
        }
    }

    /// Returns what happened around a program since this was last asked.
    pub(super) async fn confined(&self) -> Option<Confined> {
        match self {
            Self::Local(link) => link.confined().await,
            Self::Remote(_) => None,
        }
    }

    /// Ends the connection, and waits for that.
    pub(super) async fn close(&self) {
        match self {
            Self::Local(link) => link.close().await,
            Self::Remote(link) => link.close().await,
        }
    }
}
