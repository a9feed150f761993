//! The formats of tool lists: one file for each API, with its exact wire format and the names that it accepts.

mod anthropic;
mod gemini;
mod json;
mod mcp;
mod openai;
mod table;

use clap::ValueEnum;
use haft_contract::Contract;

use crate::error::CommandError;

/// A format of a tool list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolListFormat {
    /// For people
    Table,
    /// Everything that haft knows of a tool
    Json,
    /// The tools of a request to OpenAI's Chat Completions API
    Openai,
    /// The tools of a request to Anthropic's messages
    Anthropic,
    /// One tool of a request to Gemini, with a function declaration for each of haft's
    Gemini,
    /// The answer to tools/list of MCP
    Mcp,
}

/// Prints tools in a form.
pub(crate) fn print_list(
    format: ToolListFormat,
    contracts: &[&Contract],
) -> Result<(), CommandError> {
    match format {
        ToolListFormat::Table => table::print_list(contracts),
        ToolListFormat::Json => json::print_list(contracts),
        ToolListFormat::Openai => openai::print_list(contracts),
        ToolListFormat::Anthropic => anthropic::print_list(contracts),
        ToolListFormat::Gemini => gemini::print_list(contracts),
        ToolListFormat::Mcp => mcp::print_list(contracts),
    }
}

/// Prints one tool in a form.
pub(crate) fn print_one(format: ToolListFormat, contract: &Contract) -> Result<(), CommandError> {
    match format {
        ToolListFormat::Table => table::print_one(contract),
        ToolListFormat::Json => json::print_one(contract),
        ToolListFormat::Openai => openai::print_one(contract),
        ToolListFormat::Anthropic => anthropic::print_one(contract),
        ToolListFormat::Gemini => gemini::print_one(contract),
        ToolListFormat::Mcp => mcp::print_one(contract),
    }
}
