//! `server.json`, which describes `haft mcp` to the registry of MCP servers and to clients that install servers from it.

use serde_json::{Value, json};

use super::release::{DESCRIPTION, ReleaseFacts};
use super::wheel;

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// Characters that the registry allows for the description.
const DESCRIPTION_CHARS_MAX: usize = 100;
const _: () = assert!(DESCRIPTION.len() <= DESCRIPTION_CHARS_MAX);

/// Returns the text of the file.
pub(super) fn text(release: &ReleaseFacts) -> anyhow::Result<String> {
    let version = &release.version;
    let package = |registry: &str, identifier: &str, hint: &str| -> Value {
        json!({
            "registryType": registry,
            "identifier": identifier,
            "version": version,
            "runtimeHint": hint,
            "transport": {"type": "stdio"},
            "packageArguments": [
                {"type": "positional", "value": "mcp"},
                {
                    "type": "named",
                    "name": "--root",
                    "description": "The directory that the tools work in; without it, the directory of the nearest haft.toml, else the working directory",
                    "format": "filepath",
                    "isRequired": false,
                },
            ],
        })
    };
    let server = json!({
        "$schema": SCHEMA,
        "name": release.server_name()?,
        "title": "haft",
        "description": DESCRIPTION,
        "repository": {"url": release.repository, "source": "github"},
        "version": version,
        "packages": [package("npm", "haft", "npx"), package("pypi", wheel::NAME, "uvx")],
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&server)?))
}
