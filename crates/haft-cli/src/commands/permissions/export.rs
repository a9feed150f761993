//! `haft permissions export`: prints the rules of the project as a part of a manifest. The rules stay where they are.

use haft_policy::Rule;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use haft_app::manifest::ExampleChecks;

/// The rules as a manifest has them.
#[derive(Serialize)]
struct ExportedRules {
    permissions: Vec<Rule>,
}

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let permissions = settings.project.rules(ExampleChecks::Unchecked)?;
    let exported = ExportedRules { permissions };
    if cx.setting_args.json {
        output::write_json(&exported)?;
    } else if exported.permissions.is_empty() {
        output::print_note("no rule was allowed for this project");
    } else {
        output::write_data(&toml_text(&exported.permissions)?)?;
    }
    Ok(CommandStatus::Done)
}

/// Returns rules as tables of TOML, which can stand at the end of a manifest.
pub(super) fn toml_text(rules: &[Rule]) -> Result<String, CommandError> {
    toml::to_string(&ExportedRules { permissions: rules.to_vec() })
        .map_err(|err| CommandError::failed(format!("the rules cannot be written as TOML: {err}")))
}
