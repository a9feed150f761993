//! Names of tools and capabilities that agents use and that do not exist. An agent can only restrict, so an unknown name is
//! no danger. But a misspelt `raed` makes an agent that cannot read, and only these warnings show why.

use std::collections::BTreeSet;

use haft::{FileProblem, ProblemSeverity, Registry, near_matches};
use haft_agent::{AgentFileReference, AgentFileReferenceField};
use haft_contract::ToolId;
use haft_policy::ToolScope;

use crate::error::CommandError;
use crate::views::output;
use haft_app::compose::AvailableTools;
use haft_app::host::AppHost;
use haft_app::permission_names::{self, ToolNames};
use haft_app::settings::EffectiveSettings;

/// All that agents may name.
struct KnownNames {
    tools: BTreeSet<ToolId>,
    capabilities: BTreeSet<String>,
    /// Names that rules may use.
    permissions: Vec<String>,
    /// Whether some tools could not be used, so that their names are unknown.
    has_left_out: bool,
}

/// Returns a warning for each unknown name. Looks for configured tools only if a name is not one of haft's own, because that
/// may start programs.
pub(super) async fn name_problems(
    named: &[AgentFileReference],
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Vec<FileProblem> {
    let of_haft = ToolNames { registry: &Registry::default(), has_omitted_tools: false };
    let unknown = KnownNames::new(of_haft, settings).unknown_names(named);
    if unknown.is_empty() {
        return unknown;
    }
    match AvailableTools::find(settings, host).await {
        Ok(tools) => KnownNames::new(tools.names(), settings).unknown_names(named),
        Err(err) => {
            let err = CommandError::from(err);
            let message = format!(
                "whether there are the tools that agents name is not known: {}",
                err.message
            );
            output::print_warning(&message, err.hint.as_deref());
            Vec::new()
        }
    }
}

impl KnownNames {
    fn new(names: ToolNames<'_>, settings: &EffectiveSettings) -> Self {
        let ToolNames { registry, has_omitted_tools: has_left_out } = names;
        let named = &settings.requires.capabilities;
        let ids = registry.contracts().map(|contract| contract.id.clone());
        Self {
            tools: permission_names::reserved().into_iter().chain(ids).collect(),
            capabilities: named.iter().cloned().chain(registry.requires().capabilities).collect(),
            permissions: permission_names::known(named, registry),
            has_left_out,
        }
    }

    fn unknown_names(&self, named: &[AgentFileReference]) -> Vec<FileProblem> {
        let problem = |naming: &AgentFileReference| {
            let name = naming.name.as_str();
            let mut message = match naming.field {
                AgentFileReferenceField::Tools => {
                    let scope = ToolScope::compile(std::slice::from_ref(&naming.name)).ok()?;
                    if self.tools.iter().any(|tool| scope.contains(tool)) {
                        return None;
                    }
                    let near = did_you_mean(name, self.tools.iter().map(ToolId::as_str));
                    let near =
                        near.unwrap_or_else(|| "haft tools list shows those there are".into());
                    format!("tools: no tool is called {name:?}: {near}")
                }
                AgentFileReferenceField::Capabilities => {
                    if self.capabilities.iter().any(|known| known == name) {
                        return None;
                    }
                    let near = did_you_mean(name, self.capabilities.iter().map(String::as_str));
                    let near = near.map(|near| format!(": {near}")).unwrap_or_default();
                    format!("requires.capabilities: no tool needs {name:?}{near}")
                }
                AgentFileReferenceField::Permissions => {
                    let problem = permission_names::problem(name, &self.permissions)?;
                    format!("permissions: {problem}")
                }
            };
            if self.has_left_out {
                message.push_str(" (unless it is one that is left out)");
            }
            Some(FileProblem {
                severity: ProblemSeverity::Warning,
                file: naming.file.clone(),
                line: Some(naming.line),
                message,
            })
        };
        named.iter().filter_map(problem).collect()
    }
}

fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = near_matches(name, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}
