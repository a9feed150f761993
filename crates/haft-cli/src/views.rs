//! The output of commands on a terminal and for programs.

pub(crate) mod above_prompt;
pub(crate) mod backlog;
pub(crate) mod drawing;
pub(crate) mod format;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod pager;
pub(crate) mod path_text;
pub(crate) mod plan;
pub(crate) mod remedy;
pub(crate) mod screen;
pub(crate) mod table;
pub(crate) mod time;
