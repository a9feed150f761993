//! Tools for people: a table, or one tool with its details.

use haft_contract::{Contract, OutputLimit, RequirementSet};

use crate::error::CommandError;
use crate::views::output;
use crate::views::table::table;

pub(super) fn print_list(contracts: &[&Contract]) -> Result<(), CommandError> {
    let rows = contracts.iter().map(|contract| {
        // The first sentence of the description fits a line.
        let about = contract.description.as_str();
        let about = about.split_once(". ").map_or(about, |(first, _)| first).trim_end_matches('.');
        vec![
            contract.id.to_string(),
            contract.effect.as_str().to_owned(),
            contract.kind.as_str().to_owned(),
            about.to_owned(),
        ]
    });
    output::write_data(&haft_contract::escape_controls(&table(
        &["TOOL", "EFFECT", "KIND", "DESCRIPTION"],
        rows,
    )))
}

pub(super) fn print_one(contract: &Contract) -> Result<(), CommandError> {
    let limit = match contract.output_limit {
        OutputLimit::Configured => "as many bytes as configured".to_owned(),
        OutputLimit::Bytes(bytes) => format!("{bytes} bytes"),
        OutputLimit::Entries(entries) => format!("{entries} entries"),
    };
    let dangerous = if contract.dangerous { "yes" } else { "no" };
    let rows = [
        ("effect", contract.effect.as_str().to_owned()),
        ("kind", contract.kind.as_str().to_owned()),
        ("dangerous", dangerous.to_owned()),
        ("requires", requires(&contract.requires)),
        ("output", limit),
    ];
    let rows = rows.map(|(name, value)| format!("{name:<10} {value}\n")).concat();
    let parameters = serde_json::to_string_pretty(&contract.parameters).unwrap_or_default();
    output::write_data(&haft_contract::escape_controls(&format!(
        "{}\n\n{}\n\n{rows}\nparameters\n{parameters}\n",
        contract.id, contract.description
    )))
}

fn requires(requires: &RequirementSet) -> String {
    let list = |name: &str, items: &[String]| {
        (!items.is_empty()).then(|| format!("{name} {}", items.join(" ")))
    };
    let commands: Vec<String> = requires.shell.iter().map(|shell| shell.cmd.clone()).collect();
    let parts = [
        list("fs.read", &requires.fs.read),
        list("fs.write", &requires.fs.write),
        list("net.fetch", &requires.net.hosts),
        list("shell.run", &commands),
        list("capabilities", &requires.capabilities),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
