//! Servers' tools as tools of haft. Their ids collide with no other tool's, and rules can name them. haft assumes that a tool
//! does harm, unless the user trusts the server's hints.

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
use super::tool_list::ToolHints;

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
    let spec = &server.spec;
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    let ids = ids(&spec.name, &names);
    let mut made = ConvertedServerTools {
        left_out: listing.left_out.clone(),
        ..ConvertedServerTools::default()
    };
    let mut own = BTreeSet::new();
    for (listed, id) in listing.tools.iter().zip(ids) {
        // The name of one tool can equal the id that another one gets from its digest.
        let id = id.ok_or_else(|| "no id can be made of its name".to_owned());
        let usable = id.and_then(|id| {
            check_steps(&listed.parameters)?;
            InputSchema::compile(&listed.parameters)
                .map_err(|err| format!("its schema is not valid: {err}"))?;
            match is_taken(&id) {
                Some(why) => Err(why),
                None if own.insert(id.clone()) => Ok(id),
                None => Err(format!("another tool of the server is called {id} already")),
            }
        });
        match &usable {
            Ok(id) => {
                let capability = permission(&spec.name, &listed.name);
                let effect = effect(spec, listed.hints);
                let mut accesses = vec![Access::Named { name: capability.clone() }];
                if effect != Effect::Read {
                    // A call may change everything that its server can change.
                    accesses.extend(spec.writable_directories.iter().map(Access::write));
                }
                let everything = |directory: &String| match directory.as_str() {
                    "." => "{workspace}/**".to_owned(),
                    directory => format!("{directory}/**"),
                };
                let requires = RequirementSet {
                    fs: FsRequirement {
                        read: spec.requires.fs.read.clone(),
                        write: spec.writable_directories.iter().map(everything).collect(),
                    },
                    net: NetRequirement { hosts: spec.requires.net.hosts.clone() },
                    shell: Vec::new(),
                    capabilities: vec![capability],
                };
                let timeout_ms = spec.timeout_ms;
                let (server, name) = (Arc::clone(server), Arc::<str>::from(&*listed.name));
                let (of_server, tool) = (spec.name.clone(), listed.name.clone());
                let builder = Tool::new(id.as_str())
                    .description(listed.description.clone())
                    .effect(effect)
                    .origin(ToolOrigin::Mcp { server: of_server, tool })
                    .requires(requires)
                    .accesses(move |_: &Value| accesses.clone())
                    .timeout_ms(move |_: &Value| timeout_ms);
                // A server's claim that a tool only reads is believed only if the user trusts the server.
                let builder = if effect == Effect::Read { builder } else { builder.dangerous() };
                let parameters = listed.parameters.clone();
                made.tools.push(builder.execute_json(parameters, move |input, cx| {
                    Arc::clone(&server).call(Arc::clone(&name), input, cx)
                }));
            }
            Err(why) => made.left_out.push(format!("tool {:?}: {why}", listed.name)),
        }
        made.ids.push((listed.name.clone(), usable));
    }
    made
}

/// Returns the effect of a call, as far as haft believes the server.
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
