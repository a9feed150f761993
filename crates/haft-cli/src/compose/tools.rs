//! Which tools there are: those of the profile and the Python tools of the configured directories; and which of them are on
//! offer, since rules may speak of others, too. They are found once for a command, because looking at Python files takes
//! time and what they say may change meanwhile.

use haft::{ReadOnlyResidents, Registry};

use super::{command_environment, helper, launcher, places, roots, sandbox, unknown_tool};
use crate::error::CommandError;
use crate::permission_names::ToolNames;
use crate::python::{self, Finder, Readings};
use crate::settings::Settings;
use crate::state::State;

/// The tools of one command.
#[derive(Clone)]
pub(crate) struct Tools {
    all: Registry,
    offered: Registry,
    /// Whether some of those that are configured could not be used, so that what a name means is not known.
    has_left_out: bool,
}

impl Tools {
    /// Finds the tools. What of the Python tools cannot be used is said on standard error.
    pub(crate) async fn find(settings: &Settings, state: &State) -> Result<Self, CommandError> {
        let mut all = Registry::new(haft_tools::tools(settings.profile))?;
        let mut has_left_out = settings.python.has_untrusted;
        let directories = &settings.python.entries;
        if !directories.is_empty() {
            let finder = finder(settings, state)?;
            has_left_out |= python::add_tools(&mut all, directories, &finder).await?;
        }
        let offered = on_offer(all.clone(), settings)?;
        Ok(Self { all, offered, has_left_out })
    }

    /// Returns those that are on offer.
    pub(crate) fn offered(&self) -> &Registry {
        &self.offered
    }

    /// Returns what rules may speak of, also what is not on offer.
    pub(super) fn names(&self) -> ToolNames<'_> {
        ToolNames { registry: &self.all, has_left_out: self.has_left_out }
    }
}

/// Returns those that the settings name.
fn on_offer(mut registry: Registry, settings: &Settings) -> Result<Registry, CommandError> {
    let Some(tools) = &settings.tools else { return Ok(registry) };
    // A registry that refuses to be narrowed stays as it was.
    if let Err(unknown) = registry.keep_only(tools) {
        let names: Vec<String> =
            unknown.iter().map(|id| unknown_tool(&registry, id.as_str())).collect();
        return Err(CommandError::usage(format!("tools: {}", names.join("; "))));
    }
    Ok(registry)
}

/// Returns what finds out about Python tools. No process is started before a file is met that nothing is known of.
pub(crate) fn finder(settings: &Settings, state: &State) -> Result<Finder, CommandError> {
    let roots = roots(settings)?;
    let places = places(settings, state, &roots.paths());
    let sandbox = sandbox(settings, &places, &roots.paths())?;
    let launcher = launcher(helper()?, settings, state);
    let environment = command_environment(&places);
    Ok(Finder {
        roots: roots.paths(),
        residents: ReadOnlyResidents::new(launcher, sandbox, roots, environment),
        readings: Readings::new(state.python()),
        is_unconfined: settings.sandbox.is_off,
    })
}
