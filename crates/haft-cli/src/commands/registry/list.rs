//! `haft registry list`: lists the Python tools with the facts that decide how they are called.

use std::path::{Path, PathBuf};

use haft_contract::Effect;
use serde::Serialize;
use serde_json::Value;

use super::directory_scan::{ScannedDirectory, scan_directories};
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown;
use crate::views::table::table;
use haft_app::python::{PythonToolSource, REGISTRY_FILE_NAME, ToolRegistry};
use haft_app::quote;

#[derive(Serialize)]
struct PythonToolListEntry<'a> {
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
pub(super) async fn run(named: Option<&Path>, cx: &CliContext) -> CommandResult {
    let scanned = scan_directories(named, cx).await?;
    let mut status = CommandStatus::Done;
    for ScannedDirectory { entry, contents: found } in &scanned {
        let dir = shown(&entry.dir);
        match found {
            Ok(PythonToolSource { registry: ToolRegistry::Unusable(why), .. }) => {
                let message = format!(
                    "the Python tools in {dir} are not offered: {REGISTRY_FILE_NAME} cannot be used: {why}"
                );
                let hint = format!("haft registry check {}", quote::shell(&dir));
                output::print_warning(&message, Some(&hint));
                status = CommandStatus::Failed;
            }
            Ok(found) if found.checked.has_errors() => {
                let message = format!("some files in {dir} are left out, because they have errors");
                let hint = format!("haft registry check {}", quote::shell(&dir));
                output::print_warning(&message, Some(&hint));
            }
            Ok(found) if found.offered_tools().count() < found.checked.tools.len() => {
                let message = format!(
                    "some tools in {dir} are not offered, because {REGISTRY_FILE_NAME} does not list them"
                );
                let hint = format!("haft registry check {}", quote::shell(&dir));
                output::print_warning(&message, Some(&hint));
            }
            Ok(_) => {}
            Err(why) => {
                output::print_warning(
                    &format!("the Python tools in {dir} are left out: {why}"),
                    None,
                );
                status = CommandStatus::Failed;
            }
        }
    }
    let found = scanned.iter().filter_map(|one| Some((&one.entry, one.contents.as_ref().ok()?)));
    let listed = found.flat_map(|(entry, found)| {
        found.offered_tools().map(|tool| PythonToolListEntry {
            tool: tool.id.as_str(),
            file: entry.dir.join(&tool.source.name),
            function: &tool.function,
            description: &tool.description,
            effect: tool.effect,
            dangerous: tool.dangerous,
            timeout_ms: tool.timeout_ms,
            context: tool.takes_context,
            requires: &tool.permissions.requires,
            parameters: &tool.parameters,
        })
    });
    let listed: Vec<PythonToolListEntry<'_>> = listed.collect();
    cx.print_answer(&listed, || {
        if listed.is_empty() {
            return "no tools".to_owned();
        }
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
    })?;
    Ok(status)
}

/// Returns the names of parameters. Those that may be left out are in brackets.
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
