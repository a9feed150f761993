//! The way to a server as whoever keeps the connection sees it: a program of this machine, or a server that runs elsewhere.

use haft_contract::ConfinementReport;

use super::remote_link::RemoteLink;
use super::stdio_link::StdioLink;

/// The near end of the way to a server. Dropping it ends the connection.
pub(super) enum McpServerLink {
    /// To a program.
    Local(StdioLink),
    /// To a server that runs elsewhere.
    Remote(RemoteLink),
}

impl McpServerLink {
    /// Returns whether the server is not spoken to any more.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Local(link) => link.is_over(),
            Self::Remote(link) => link.is_over(),
        }
    }

    /// Waits until the connection has ended.
    pub(super) async fn wait_until_ended(&self) {
        match self {
            Self::Local(link) => link.wait_until_ended().await,
            Self::Remote(link) => link.wait_until_ended().await,
        }
    }

    /// Returns how it ended, in words; waits a while for that.
    pub(super) async fn end_reason(&self) -> String {
        match self {
            Self::Local(link) => link.end_reason().await,
            Self::Remote(link) => link.end_reason().await,
        }
    }

    /// Returns what went wrong last while the connection goes on.
    pub(super) fn last_fault(&self) -> Option<String> {
        match self {
            Self::Local(_) => None,
            Self::Remote(link) => link.last_fault(),
        }
    }

    /// Returns what happened around a program since this was last asked.
    pub(super) async fn take_confinement(&self) -> Option<ConfinementReport> {
        match self {
            Self::Local(link) => link.take_confinement().await,
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
