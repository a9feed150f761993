//! The views, one file each. A view asks the journal, puts what it found into lines of text, and has its template draw them.

pub(crate) mod asks;
pub(crate) mod call;
mod call_line;
mod call_text;
pub(crate) mod changes;
mod difference;
pub(crate) mod doubts;
pub(crate) mod permissions;
mod planned_change;
pub(crate) mod plans;
pub(crate) mod run;
mod run_line;
mod run_search;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod stop;
