//! The facts of a journal that people ask for: pending asks, the calls in doubt, their settlement, the session that a run is, and the
//! undone calls. Command line and inspector show the same facts from here. Nothing here is worded for one of them.

mod asks;
mod call_summary;
mod dead_holders;
mod doubts;
mod latest_work;
mod numbered_calls;
mod run_session;
mod settlement;
mod short_ids;
mod undo_references;
mod work;

pub use asks::{
    AnswerAskError, FindAskError, answer_ask, find_ask, find_pending_asks, shown_or_summary,
};
pub use call_summary::input_summary;
pub use dead_holders::abandon_dead_runs;
pub use doubts::{find_doubts, is_holder_dead, is_in_doubt};
pub use latest_work::LatestWork;
pub use numbered_calls::{find_call_of_number, numbers_of_calls};
pub use run_session::{
    NodeSession, RunSession, find_node_sessions, find_run_session, is_session_run,
};
pub use settlement::{SettleError, record_verdict, settle_call};
pub use short_ids::short_id;
pub use undo_references::{UndoReference, UndoneCalls, find_undo_references, undone_by};
pub use work::{Work, WorkFilter, has_messages};

/// The kind of front end that runs of agents are recorded with.
pub const AGENT_FRONT_END: &str = "agent";
/// The tool that the journal names for the call of an undo.
pub const UNDO_TOOL: &str = "undo";
