//! The formats of tool lists. Each wire format of an API is one file; the MCP crate knows that of MCP.

mod anthropic;
mod gemini;
mod openai;
mod table;

use clap::ValueEnum;
use haft_contract::Contract;
use haft_mcp::tool_json;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::views::output;

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

/// Prints tools in a format.
pub(crate) fn print_list(
    format: ToolListFormat,
    contracts: &[&Contract],
) -> Result<(), CommandError> {
    let each = |tool: fn(&Contract) -> Value| -> Vec<Value> {
        contracts.iter().map(|contract| tool(contract)).collect()
    };
    match format {
        ToolListFormat::Table => table::print_list(contracts),
        ToolListFormat::Json => output::write_json(&contracts),
        ToolListFormat::Openai => output::write_pretty_json(&each(openai::tool)),
        ToolListFormat::Anthropic => output::write_pretty_json(&each(anthropic::tool)),
        ToolListFormat::Gemini => {
            let declarations = each(gemini::declaration);
            output::write_pretty_json(&json!({ "functionDeclarations": declarations }))
        }
        ToolListFormat::Mcp => output::write_pretty_json(&json!({ "tools": each(tool_json) })),
    }
}

/// Prints one tool in a format.
pub(crate) fn print_one(format: ToolListFormat, contract: &Contract) -> Result<(), CommandError> {
    match format {
        ToolListFormat::Table => table::print_one(contract),
        ToolListFormat::Json => output::write_json(contract),
        ToolListFormat::Openai => output::write_pretty_json(&openai::tool(contract)),
        ToolListFormat::Anthropic => output::write_pretty_json(&anthropic::tool(contract)),
        ToolListFormat::Gemini => output::write_pretty_json(&gemini::declaration(contract)),
        ToolListFormat::Mcp => output::write_pretty_json(&tool_json(contract)),
    }
}
