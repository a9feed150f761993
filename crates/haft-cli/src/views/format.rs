//! The formats of tool lists. Each wire format of an API is one file; the MCP crate knows that of MCP.

mod anthropic;
mod gemini;
mod openai;
mod table;

use clap::{Args, ValueEnum};
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

/// The options of a tool list.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ToolListArgs {
    /// Form of the answer
    #[arg(long, value_enum, default_value_t = ToolListFormat::Table)]
    format: ToolListFormat,
    /// With --format openai: tools in strict mode
    ///
    /// Every parameter is required, and an optional one may be null, which haft reads as left out. A tool whose schema has no
    /// such form, for example because it takes any object, is listed with "strict": false.
    #[arg(long)]
    strict: bool,
}

impl ToolListArgs {
    /// Returns the format, which is JSON instead of a table if that is asked for.
    pub(crate) fn checked(self, is_json: bool) -> Result<CheckedListFormat, CommandError> {
        let format = match self.format {
            ToolListFormat::Table if is_json => ToolListFormat::Json,
            format => format,
        };
        if self.strict && format != ToolListFormat::Openai {
            let message = "--strict is a mode of OpenAI's API: use it with --format openai";
            return Err(CommandError::usage(message));
        }
        Ok(CheckedListFormat { format, is_strict: self.strict })
    }
}

/// A format of a tool list with its mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedListFormat {
    format: ToolListFormat,
    is_strict: bool,
}

impl CheckedListFormat {
    /// Returns whether the list goes into a request to a model.
    pub(crate) fn is_for_model(self) -> bool {
        !matches!(self.format, ToolListFormat::Table | ToolListFormat::Json)
    }

    fn openai_tool(self) -> fn(&Contract) -> Value {
        if self.is_strict { openai::strict_tool } else { openai::tool }
    }
}

/// Prints tools in a format.
pub(crate) fn print_list(
    form: CheckedListFormat,
    contracts: &[&Contract],
) -> Result<(), CommandError> {
    let each = |tool: fn(&Contract) -> Value| -> Vec<Value> {
        contracts.iter().map(|contract| tool(contract)).collect()
    };
    match form.format {
        ToolListFormat::Table => table::print_list(contracts),
        ToolListFormat::Json => output::write_json(&each(contract_json)),
        ToolListFormat::Openai => output::write_pretty_json(&each(form.openai_tool())),
        ToolListFormat::Anthropic => output::write_pretty_json(&each(anthropic::tool)),
        ToolListFormat::Gemini => {
            let declarations = each(gemini::declaration);
            output::write_pretty_json(&json!({ "functionDeclarations": declarations }))
        }
        ToolListFormat::Mcp => output::write_pretty_json(&json!({ "tools": each(tool_json) })),
    }
}

/// Prints one tool in a format.
pub(crate) fn print_one(form: CheckedListFormat, contract: &Contract) -> Result<(), CommandError> {
    match form.format {
        ToolListFormat::Table => table::print_one(contract),
        ToolListFormat::Json => output::write_json(&contract_json(contract)),
        ToolListFormat::Openai => output::write_pretty_json(&form.openai_tool()(contract)),
        ToolListFormat::Anthropic => output::write_pretty_json(&anthropic::tool(contract)),
        ToolListFormat::Gemini => output::write_pretty_json(&gemini::declaration(contract)),
        ToolListFormat::Mcp => output::write_pretty_json(&tool_json(contract)),
    }
}

/// Returns everything that haft knows of a tool, with its effect also as the pair of flags.
fn contract_json(contract: &Contract) -> Value {
    let mut fields = json!(contract);
    fields["sideEffect"] = contract.effect.side_effect().into();
    fields["idempotent"] = contract.effect.idempotent().into();
    fields
}
