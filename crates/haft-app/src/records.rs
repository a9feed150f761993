//! The facts of a journal that people ask for: pending asks, the calls in doubt, their settlement, the session that a run is, and the
//! undone calls. Command line and inspector show the same facts from here. Nothing here is worded for one of them.

mod asks;
mod call_summary;
mod dead_holders;
mod doubts;
mod run_session;
mod settlement;
mod undo_references;

pub use asks::{AskReply, FindAskError, answer_ask, find_ask, find_pending_asks};
pub use call_summary::input_summary;
pub use dead_holders::abandon_dead_runs;
pub use doubts::{find_doubts, is_holder_dead, is_in_doubt};
pub use run_session::{
    NodeSession, RunSession, find_node_sessions, find_run_session, is_session_run,
};
pub use settlement::{SettleError, record_verdict, settle_call};
pub use undo_references::{UndoReference, UndoneCalls, find_undo_references};

/// The tool that the journal names for the call of an undo.
pub const UNDO_TOOL: &str = "undo";
