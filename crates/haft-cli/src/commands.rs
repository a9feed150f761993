//! The commands, one file each.

pub(crate) mod acp;
pub(crate) mod agent;
pub(crate) mod agents;
pub(crate) mod asks;
pub(crate) mod bash;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod diff;
pub(crate) mod do_request;
pub(crate) mod doctor;
mod file_check_report;
pub(crate) mod help_markdown;
pub(crate) mod init;
#[cfg(feature = "inspector")]
pub(crate) mod inspect;
pub(crate) mod log;
pub(crate) mod man_pages;
pub(crate) mod mcp;
pub(crate) mod mcp_servers;
pub(crate) mod permissions;
pub(crate) mod plan;
pub(crate) mod registry;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sandbox;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod undo;
