//! MCP servers of other people: what haft makes of their tools, what confines them, and that one which goes too far harms
//! its own calls and no others. The server is a script that breaks the protocol in one way at a time.

mod configuration;
mod confinement;
mod faults;
mod login;
mod official;
mod packages;
mod remote;
mod wire;

use serde_json::Value;

use crate::world::World;

/// The server, which says what it is to break.
pub(crate) const HOSTILE: &str = include_str!("../fixtures/mcp_servers/hostile.py");

/// Returns a world with a server `odd` that breaks what `mode` says, and with more in its table.
fn with_server(mode: &str, more: &str) -> World {
    let world = World::with_files();
    world.write("server/hostile.py", HOSTILE);
    world.write("work/haft.toml", &format!("{}{more}", table(&world, "odd", mode)));
    world.run(&["trust"]);
    world
}

/// Returns the table of a server.
fn table(world: &World, name: &str, mode: &str) -> String {
    let script = world.path("server/hostile.py");
    format!("[mcp.{name}]\ncommand = [\"/usr/bin/python3\", {script:?}, {mode:?}]\n")
}

/// Calls a tool that needs no asking here, and returns its envelope.
fn call(world: &World, tool: &str, input: &Value) -> Value {
    let input = input.to_string();
    let output = world.haft(&["call", tool, &input, "--allow", tool, "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", world.shown(&output)))
}

/// Returns what an envelope says: its code and message, or its data.
fn said(envelope: &Value) -> String {
    match envelope["type"].as_str() {
        Some("error") => format!(
            "{}: {}",
            envelope["metadata"]["code"].as_str().unwrap_or("-"),
            envelope["error_text"].as_str().unwrap_or_default()
        ),
        _ => envelope["data"].to_string(),
    }
}
