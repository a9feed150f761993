//! Servers' tools as haft's own: with ids that take nobody's place, behind rules that can name them, and taken for what does
//! harm unless somebody who trusts the server says otherwise.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft::InputSchema;
use haft_contract::{
    Access, Effect, FsRequirement, NetRequirement, RequirementSet, Tool, ToolId, ToolOrigin,
};
use serde_json::Value;

use super::naming::{ids, permission};
use super::schema_cost::check_steps;
use super::server::{McpServer, McpServerSpec};
use super::tool_list::{ListedTool, ToolHints};

/// What haft makes of the tools of one server.
#[derive(Default)]
pub(super) struct ConvertedServerTools {
    pub(super) tools: Vec<Tool>,
    /// Of each tool, its id, or why it is left out.
    pub(super) ids: Vec<(String, Result<ToolId, String>)>,
    pub(super) left_out: Vec<String>,
}

/// Makes the tools of a server that are known. None gets an id for which `is_taken` says why it cannot be had.
pub(super) fn convert_tools(
    server: &Arc<McpServer>,
    is_taken: &mut dyn FnMut(&ToolId) -> Option<String>,
) -> ConvertedServerTools {
    let Some(listing) = server.tool_list() else { return ConvertedServerTools::default() };
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    let ids = ids(&server.spec.name, &names);
    let mut made = ConvertedServerTools {
        left_out: listing.left_out.clone(),
        ..ConvertedServerTools::default()
    };
    let mut own = BTreeSet::new();
    for (listed, id) in listing.tools.iter().zip(ids) {
        // A server can call a tool as the digest of another one's name makes that be called.
        let usable = check_tool(listed, id, is_taken).and_then(|id| match own.insert(id.clone()) {
            true => Ok(id),
            false => Err(format!("another tool of the server is called {id} already")),
        });
        match &usable {
            Ok(id) => made.tools.push(build_tool(server, listed, id)),
            Err(why) => made.left_out.push(format!("tool {:?}: {why}", listed.name)),
        }
        made.ids.push((listed.name.clone(), usable));
    }
    made
}

fn check_tool(
    listed: &ListedTool,
    id: Option<ToolId>,
    is_taken: &mut dyn FnMut(&ToolId) -> Option<String>,
) -> Result<ToolId, String> {
    let id = id.ok_or_else(|| "no id can be made of its name".to_owned())?;
    check_steps(&listed.parameters)?;
    InputSchema::compile(&listed.parameters)
        .map_err(|err| format!("its schema is not valid: {err}"))?;
    match is_taken(&id) {
        Some(why) => Err(why),
        None => Ok(id),
    }
}

fn build_tool(server: &Arc<McpServer>, listed: &ListedTool, id: &ToolId) -> Tool {
    let spec = &server.spec;
    let capability = permission(&spec.name, &listed.name);
    let effect = effect(spec, listed.hints);
    let mut accesses = vec![Access::Named { name: capability.clone() }];
    if effect != Effect::Read {
        // What a server can change, a call may: judged as that, and recorded around it.
        accesses.extend(spec.writable_directories.iter().map(Access::write));
    }
    let timeout_ms = spec.timeout_ms;
    let (server, name): (_, Arc<str>) = (Arc::clone(server), listed.name.as_str().into());
    let origin = ToolOrigin::Mcp { server: spec.name.clone(), tool: listed.name.clone() };
    let builder = Tool::new(id.as_str())
        .description(listed.description.clone())
        .effect(effect)
        .origin(origin)
        .requires(requires(spec, capability))
        .accesses(move |_: &Value| accesses.clone())
        .timeout_ms(move |_: &Value| timeout_ms);
    // What a server says it does not do is believed only where somebody who trusts it said so.
    let builder = if effect == Effect::Read { builder } else { builder.dangerous() };
    builder.execute_json(listed.parameters.clone(), move |input, cx| {
        Arc::clone(&server).call(Arc::clone(&name), input, cx)
    })
}

/// Returns what a call does to the world, as far as haft believes the server.
pub(super) fn effect(spec: &McpServerSpec, hints: ToolHints) -> Effect {
    if !spec.trusts_annotations {
        return Effect::Once;
    }
    match (hints.is_read_only, hints.is_idempotent) {
        (true, _) => Effect::Read,
        (false, true) => Effect::Idempotent,
        (false, false) => Effect::Once,
    }
}

fn requires(spec: &McpServerSpec, capability: String) -> RequirementSet {
    let everything = |directory: &String| match directory.as_str() {
        "." => "{workspace}/**".to_owned(),
        directory => format!("{directory}/**"),
    };
    RequirementSet {
        fs: FsRequirement {
            read: spec.requires.fs.read.clone(),
            write: spec.writable_directories.iter().map(everything).collect(),
        },
        net: NetRequirement { hosts: spec.requires.net.hosts.clone() },
        shell: Vec::new(),
        capabilities: vec![capability],
    }
}
