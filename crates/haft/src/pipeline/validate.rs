//! Checks that the tool exists and that the input satisfies its schema.

use std::sync::Arc;

use haft_contract::{Contract, ErrorCode, RefusalGrounds, RefusalSource, Remedy, Tool};

use super::call_state::CallState;
use super::refusal::PipelineStop;
use crate::connection_state::ConnectionState;
use crate::input_schema::ParameterNames;
use crate::panic::catch_panic;
use crate::registry::RegisteredTool;
use crate::trained_names::{means_tool, tool_list, unknown_tool_message};

/// Evidence that the tool exists and that its schema accepts the input.
pub(super) struct Valid {
    /// The tool that is called.
    registered: Arc<RegisteredTool>,
}

/// Refuses a call of a tool that does not exist or that the connection does not have, and an input that violates the
/// schema.
pub(super) fn validate(
    state: CallState,
    connection: &ConnectionState,
) -> Result<(CallState, Valid), PipelineStop> {
    let can_ask = state.call().asker.as_ref().unwrap_or(&connection.asker).is_answerable();
    let Some(registered) = state.registered().map(Arc::clone) else {
        let name = &state.call().tool;
        if state.catalog().registry.is_untrusted(name) {
            let message = format!("tool {name:?} is not trusted yet, so it cannot be called");
            let grounds = RefusalGrounds::new(RefusalSource::Contract).with_remedy(Remedy::Trust);
            let refusal = grounds.into_refusal(ErrorCode::ToolNotFound, message);
            return Err(PipelineStop::refused_with(state, "[]".to_owned(), refusal));
        }
        let message = {
            let registry = &state.catalog().registry;
            let tools = connection.listed_tools(registry, can_ask);
            let tools: Vec<_> = tools.iter().collect();
            let is_meant = |contract: &&Contract| means_tool(name, &contract.id);
            let meant = registry.contracts().filter(|it| connection.has_tool(it)).find(is_meant);
            let is_listed = tools.iter().any(|contract| means_tool(name, &contract.id));
            let why =
                meant.filter(|_| !is_listed).and_then(|it| connection.why_unusable(it, can_ask));
            match why {
                Some((_, why)) => format!("no tool is called {name:?}: {why}"),
                None => {
                    unknown_tool_message(name, &state.call().input, &tools, connection.model_view)
                }
            }
        };
        return Err(PipelineStop::refused(state, ErrorCode::ToolNotFound, message));
    };
    let published = connection.published_name(&registered.contract().id);
    if !connection.has_tool(registered.contract()) {
        let tools = connection.listed_tools(&state.catalog().registry, can_ask);
        let names: Vec<String> =
            tools.iter().map(|contract| connection.published_name(&contract.id)).collect();
        let message =
            format!("tool {published} is not available to this agent: {}", tool_list(&names));
        return Err(PipelineStop::refused(state, ErrorCode::ToolNotFound, message));
    }
    if connection.is_hidden_until_found(&state.catalog().registry, registered.contract()) {
        let message = format!(
            "tool {published} cannot be called yet, because there are too many tools to list: find it with tool_search first"
        );
        return Err(PipelineStop::refused(state, ErrorCode::ToolNotFound, message));
    }
    let violations = match registered.schema() {
        Ok(schema) => {
            let names =
                ParameterNames { used: state.used_aliases(), tool: Some(registered.tool()) };
            schema.violation_message(&state.call().input, &names)
        }
        Err(err) => {
            let message = format!(
                "the schema of tool {published} is not valid, so no call of it works. Do without it, and tell the user: \
                 {err}"
            );
            return Err(PipelineStop::refused(state, ErrorCode::ToolBadOutput, message));
        }
    };
    // The tool's code may refuse an input that its schema accepts.
    let decode = || match catch_panic(|| registered.tool().parse(&state.call().input)) {
        Ok(parsed) => parsed.err().map(|err| err.message),
        Err(panic) => Some(format!("reading it panicked: {panic}")),
    };
    match violations.or_else(decode) {
        None => Ok((state, Valid { registered })),
        Some(violations) => {
            // A better input would not help where the tool cannot work.
            if let Some((code, why)) = connection.why_unusable(registered.contract(), can_ask) {
                return Err(PipelineStop::refused(state, code, why));
            }
            let short = format!("invalid input for {published}");
            let message = format!("{short}: {violations}");
            // A violation quotes the value found, which may be a body in the wrong parameter.
            let recorded = (!registered.contract().redacted.is_empty()).then_some(short);
            Err(PipelineStop::refused(state, ErrorCode::InvalidInput, message)
                .recorded_as(recorded))
        }
    }
}

impl Valid {
    /// Returns the code of the tool.
    pub(super) fn tool(&self) -> &Tool {
        self.registered.tool()
    }

    /// Returns the contract of the tool.
    pub(super) fn contract(&self) -> &Contract {
        self.registered.contract()
    }

    /// Returns the tool with its contract.
    pub(super) fn into_registered(self) -> Arc<RegisteredTool> {
        self.registered
    }
}
