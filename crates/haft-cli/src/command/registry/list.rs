//! `haft registry list`: the Python tools with what decides how they are called.

use std::path::{Path, PathBuf};

use haft_contract::Effect;
use serde::Serialize;
use serde_json::Value;

use super::survey::{Surveyed, survey};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::output;
use crate::python::shown;
use crate::quote;
use crate::state::State;
use crate::table::table;

#[derive(Serialize)]
struct Listed<'a> {
    tool: &'a str,
    file: PathBuf,
    function: &'a str,
    description: &'a str,
    effect: Effect,
    dangerous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    context: bool,
    requires: &'a haft_contract::RequirementSet,
    parameters: &'a Value,
}

/// Runs the command.
pub(super) async fn run(
    named: Option<&Path>,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let surveyed = survey(named, setting_args, state).await?;
    let mut status = Status::Done;
    for Surveyed { entry, found } in &surveyed {
        let dir = shown(&entry.dir);
        match found {
            Ok(found) if found.checked.has_errors() => {
                let message = format!("some files in {dir} are left out, because they have errors");
                let hint = format!("haft registry check {}", quote::shell(&dir));
                output::warning(&message, Some(&hint));
            }
            Ok(_) => {}
            Err(why) => {
                output::warning(&format!("the Python tools in {dir} are left out: {why}"), None);
                status = Status::Failed;
            }
        }
    }
    let listed: Vec<Listed<'_>> = surveyed.iter().flat_map(listed).collect();
    if setting_args.json {
        output::json(&listed)?;
    } else if listed.is_empty() {
        output::data("no tools")?;
    } else {
        output::data(&output::visible(&text(&listed)))?;
    }
    Ok(status)
}

fn listed(surveyed: &Surveyed) -> Vec<Listed<'_>> {
    let Ok(found) = &surveyed.found else { return Vec::new() };
    let tools = found.checked.tools.iter();
    tools
        .map(|tool| Listed {
            tool: tool.id.as_str(),
            file: surveyed.entry.dir.join(&tool.source.name),
            function: &tool.function,
            description: &tool.description,
            effect: tool.effect,
            dangerous: tool.dangerous,
            timeout_ms: tool.timeout_ms,
            context: tool.takes_context,
            requires: &tool.permissions.requires,
            parameters: &tool.parameters,
        })
        .collect()
}

fn text(listed: &[Listed<'_>]) -> String {
    let rows = listed.iter().map(|one| {
        vec![
            one.tool.to_owned(),
            shown(&one.file),
            one.effect.as_str().to_owned(),
            if one.dangerous { "yes" } else { "no" }.to_owned(),
            parameters(one.parameters),
        ]
    });
    table(&["TOOL", "FILE", "EFFECT", "DANGEROUS", "PARAMETERS"], rows)
}

/// Returns the names of parameters, in brackets those that may be left out.
fn parameters(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let names: Vec<String> = properties
        .keys()
        .map(|name| if is_required(name) { name.clone() } else { format!("[{name}]") })
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}
