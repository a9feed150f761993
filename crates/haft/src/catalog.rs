//! The tools of a runtime as they are now. They can change while it runs, for example when an MCP server reports other
//! tools. The catalog then has a new version, and owners of the old version keep it. A call keeps the version that it
//! began with, so a change never affects a running call. The catalog does not know which front end lists which tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use haft_contract::{Contract, PatternVariables, RequirementSet, ToolId, ToolOrigin};
use haft_policy::{Capabilities, PatternError};
use tokio::sync::watch;

use crate::granted_places::{AD_HOC_PATTERN, is_outside_pattern};
use crate::registry::Registry;

/// The tools of a runtime as they are now. Cloning is cheap; all clones are the same catalog.
#[derive(Clone)]
pub struct Catalog {
    /// Replaced as a whole, and read by every call as it begins.
    current: Arc<watch::Sender<Arc<CatalogVersion>>>,
    /// The requirements of the agent in addition to those of its tools.
    agent_requirements: Arc<AgentRequirements>,
}

/// The requirements of the agent besides those of its tools.
struct AgentRequirements {
    /// The requirements of the agent beyond those of its tools.
    requires: RequirementSet,
    /// The values of the variables in path patterns.
    variables: PatternVariables,
}

/// The tools at one time, and what they require together.
pub(crate) struct CatalogVersion {
    /// The tools of this version.
    pub(crate) registry: Arc<Registry>,
    /// Of all tools and the manifest together: what lies outside of this lies outside for every call.
    pub(crate) effective: Capabilities,
    /// Each tool's own, compiled at its first call.
    tool_capabilities: BTreeMap<ToolId, OnceLock<Capabilities>>,
    /// The number of the version. The first one is 0, and each change of the tools adds 1.
    version: u64,
}

/// Tells when the tools have changed.
#[derive(Clone)]
pub struct CatalogWatcher {
    /// The last version that the watcher returned.
    seen: watch::Receiver<Arc<CatalogVersion>>,
}

impl Catalog {
    pub(crate) fn new(
        registry: Registry,
        requires: RequirementSet,
        variables: PatternVariables,
    ) -> Result<Self, PatternError> {
        let agent = AgentRequirements { requires, variables };
        let first = CatalogVersion::new(registry, &agent, 0)?;
        let current = Arc::new(watch::Sender::new(Arc::new(first)));
        Ok(Self { current, agent_requirements: Arc::new(agent) })
    }

    /// Returns the current tools. The returned registry never changes.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.current.borrow().registry)
    }

    /// Returns how often the tools have changed so far.
    pub fn version(&self) -> u64 {
        self.current.borrow().version
    }

    /// Replaces the tools. Calls that have begun keep the tools of their version.
    ///
    /// # Errors
    ///
    /// Names a requirement of a tool that is not valid. The current tools then stay.
    pub fn replace(&self, registry: Registry) -> Result<(), PatternError> {
        // The requirements of the agent do not depend on the version.
        let mut offer = CatalogVersion::new(registry, &self.agent_requirements, 0)?;
        self.current.send_modify(|current| {
            offer.version = current.version + 1;
            *current = Arc::new(offer);
        });
        Ok(())
    }

    /// Returns a watcher for later changes.
    pub fn watch(&self) -> CatalogWatcher {
        CatalogWatcher { seen: self.current.subscribe() }
    }

    pub(crate) fn current_version(&self) -> Arc<CatalogVersion> {
        Arc::clone(&self.current.borrow())
    }

    /// Returns the capabilities that the tool itself requires, without those of other tools, and the effective ones of the
    /// agent. `ad_hoc` are the places that were added by hand since the runtime began.
    pub(crate) fn capabilities_of(
        &self,
        offer: &CatalogVersion,
        contract: &Contract,
        ad_hoc: &[PathBuf],
    ) -> Result<(Capabilities, Capabilities), PatternError> {
        let agent = &self.agent_requirements;
        if !ad_hoc.is_empty() {
            let with_ad_hoc = agent.with_ad_hoc(ad_hoc);
            let own = with_ad_hoc.requirements_of(contract);
            let all = with_ad_hoc.requires.clone().union(&offer.registry.requires());
            let compile = |requires| Capabilities::compile(requires, &with_ad_hoc.variables);
            return Ok((compile(&own)?, compile(&all)?));
        }
        let compile = || Capabilities::compile(&agent.requirements_of(contract), &agent.variables);
        let effective = offer.effective.clone();
        let Some(cached) = offer.tool_capabilities.get(&contract.id) else {
            return Ok((compile()?, effective));
        };
        let own = match cached.get() {
            Some(capabilities) => capabilities.clone(),
            None => compile().map(|capabilities| cached.get_or_init(|| capabilities).clone())?,
        };
        Ok((own, effective))
    }
}

impl AgentRequirements {
    /// Returns the requirements where these places were added by hand. Adding one lets calls read it.
    fn with_ad_hoc(&self, ad_hoc: &[PathBuf]) -> Self {
        let (mut requires, mut variables) = (self.requires.clone(), self.variables.clone());
        requires.fs.read.push(AD_HOC_PATTERN.to_owned());
        variables.ad_hoc.extend_from_slice(ad_hoc);
        Self { requires, variables }
    }

    /// Returns what a tool requires. A built-in tool that reaches all of the workspace also reaches the places outside the roots
    /// that the agent requires: it declares no places itself.
    fn requirements_of(&self, contract: &Contract) -> RequirementSet {
        let mut requires = contract.requires.clone();
        if contract.origin == ToolOrigin::Native {
            let sides = [
                (&mut requires.fs.read, &self.requires.fs.read),
                (&mut requires.fs.write, &self.requires.fs.write),
            ];
            for (own, of_agent) in sides {
                if own.iter().any(|pattern| pattern == WORKSPACE_PATTERN) {
                    let outside = of_agent.iter().filter(|pattern| is_outside_pattern(pattern));
                    own.extend(outside.cloned());
                }
            }
        }
        requires
    }
}

/// How a tool requires all of the workspace.
const WORKSPACE_PATTERN: &str = "{workspace}/**";

impl CatalogVersion {
    fn new(
        registry: Registry,
        agent: &AgentRequirements,
        version: u64,
    ) -> Result<Self, PatternError> {
        let requires = agent.requires.clone().union(&registry.requires());
        let effective = Capabilities::compile(&requires, &agent.variables)?;
        let own =
            registry.contracts().map(|contract| (contract.id.clone(), OnceLock::new())).collect();
        Ok(Self { registry: Arc::new(registry), effective, tool_capabilities: own, version })
    }
}

impl CatalogWatcher {
    /// Waits until the tools have changed since the last call. The future can be dropped and called again without loss. It
    /// never completes once the runtime is gone.
    pub async fn changed(&mut self) {
        if self.seen.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the number of changes so far. [`changed`](Self::changed) then waits for later ones.
    pub fn version(&mut self) -> u64 {
        self.seen.borrow_and_update().version
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{Tool, ToolError};
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    fn registry(ids: &[&str]) -> Registry {
        let tool = |id: &&str| {
            let requires =
                RequirementSet { capabilities: vec![format!("use-{id}")], ..Default::default() };
            let builder = Tool::new(id).requires(requires);
            builder.execute(|_: Nothing| async { Ok::<_, ToolError>("done") })
        };
        Registry::new(ids.iter().map(tool)).unwrap()
    }

    fn ids(registry: &Registry) -> Vec<String> {
        registry.contracts().map(|contract| contract.id.to_string()).collect()
    }

    #[tokio::test]
    async fn who_holds_an_offer_keeps_it_and_who_waits_is_told() {
        let requires = RequirementSet::default();
        let catalog =
            Catalog::new(registry(&["a"]), requires, PatternVariables::default()).unwrap();
        let (before, mut changes) = (catalog.current_version(), catalog.watch());
        assert_eq!((catalog.version(), changes.version()), (0, 0));

        catalog.replace(registry(&["a", "b"])).unwrap();
        changes.changed().await;
        assert_eq!((catalog.version(), changes.version()), (1, 1));
        assert_eq!(ids(&catalog.registry()), ["a", "b"]);
        assert_eq!(ids(&before.registry), ["a"]);

        let names = |offer: &CatalogVersion| format!("{:?}", offer.effective);
        assert!(
            names(&catalog.current_version()).contains("use-b")
                && !names(&before).contains("use-b")
        );
    }
}
