//! Where in which run a command's calls belong: flags and environment before the manifest, the manifest before a run of
//! the command's own. That the parts make sense together is seen when the run is opened.

use clap::{Args, ValueEnum};
use haft::{Place, Resume};
use haft_contract::{RunId, Scope};

use crate::compose;
use crate::error::CommandError;
use crate::manifest::ScopeSection;

/// Where calls belong, and how to go on there.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Place in a run")]
pub(crate) struct PlacementArgs {
    /// Run that calls belong to; a new one unless given
    #[arg(long, env = "HAFT_RUN", hide_env_values = true)]
    pub(crate) run: Option<String>,

    /// Task inside the run; main unless given
    #[arg(long, env = "HAFT_NODE", hide_env_values = true)]
    node: Option<String>,

    /// Loop index of the task, from 0
    #[arg(long, env = "HAFT_ITERATION", hide_env_values = true)]
    iteration: Option<u32>,

    /// Retry number of the task, from 1
    ///
    /// Keys stay the same in every attempt. Where earlier attempts called tools whose effect is not safe to repeat, that
    /// is said before one of them is called again.
    #[arg(long, env = "HAFT_ATTEMPT", hide_env_values = true)]
    attempt: Option<u32>,

    /// How to go on with an attempt that was begun before; continue unless given
    ///
    /// With replay each process counts from the start: the same call made again by another process is the same call, and
    /// is answered from the record. Calls with names of their own (--call of haft call, `haft/call` over MCP) are known
    /// by them without replay.
    #[arg(long, value_enum, value_name = "HOW", env = "HAFT_RESUME", hide_env_values = true)]
    resume: Option<ResumeName>,
}

/// How to go on with an attempt, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResumeName {
    /// After what was called so far: calls are new ones
    Continue,
    /// From its start: a call that was made before is answered from the record, and what is in doubt is not repeated
    Replay,
}

impl From<ResumeName> for Resume {
    fn from(name: ResumeName) -> Self {
        match name {
            ResumeName::Continue => Self::Continue,
            ResumeName::Replay => Self::Replay,
        }
    }
}

/// Where the calls of one process belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) run: RunId,
    pub(crate) place: Place,
    pub(crate) resume: Resume,
}

impl PlacementArgs {
    /// Returns where calls belong by flags, environment and manifest.
    pub(crate) fn placement(&self, section: &ScopeSection) -> Result<Placement, CommandError> {
        let named = self.run.as_ref().or(section.run.as_ref()).filter(|run| !run.is_empty());
        let resume = self.resume.map(Resume::from).unwrap_or_default();
        if named.is_none() && resume != Resume::Continue {
            let message = "--resume replay starts a run over, and no run is named: give --run";
            return Err(CommandError::usage(message).hint("haft runs list"));
        }
        let run = match named {
            Some(run) => RunId::parse(run).map_err(CommandError::usage)?,
            None => compose::new_run()?,
        };
        let usual = Place::default();
        let node = self.node.clone().or_else(|| section.node.clone());
        let scope = Scope {
            run,
            node: node.unwrap_or(usual.node),
            iteration: self.iteration.or(section.iteration).unwrap_or(usual.iteration),
            attempt: self.attempt.or(section.attempt).unwrap_or(usual.attempt),
        };
        let Scope { run, node, iteration, attempt } =
            scope.checked().map_err(CommandError::usage)?;
        Ok(Placement { run, place: Place { node, iteration, attempt }, resume })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> PlacementArgs {
        PlacementArgs { run: None, node: None, iteration: None, attempt: None, resume: None }
    }

    fn section() -> ScopeSection {
        ScopeSection {
            run: Some("nightly".to_owned()),
            node: Some("build".to_owned()),
            iteration: Some(3),
            attempt: Some(2),
        }
    }

    #[test]
    fn flags_come_before_the_manifest_and_that_before_a_run_of_ones_own() {
        let check = |args: PlacementArgs, section: ScopeSection, expect: &str| {
            let placement = args.placement(&section).unwrap();
            let Placement { run, place: Place { node, iteration, attempt }, .. } = placement;
            let run = if run.as_str().starts_with("run_") { "(new)" } else { run.as_str() };
            assert_eq!(format!("{run}/{node}/{iteration}/{attempt}"), expect);
        };
        check(args(), ScopeSection::default(), "(new)/main/0/1");
        check(args(), section(), "nightly/build/3/2");
        let flags = PlacementArgs { run: Some("r".to_owned()), attempt: Some(5), ..args() };
        check(flags, section(), "r/build/3/5");
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let check = |args: PlacementArgs, expect: &str| {
            let message = args.placement(&ScopeSection::default()).unwrap_err().message;
            assert!(message.contains(expect), "{message}");
        };
        check(PlacementArgs { resume: Some(ResumeName::Replay), ..args() }, "no run is named");
        check(PlacementArgs { run: Some("a/b".to_owned()), ..args() }, "a/b");
        check(PlacementArgs { node: Some("a/b".to_owned()), ..args() }, "a/b");
        check(PlacementArgs { attempt: Some(0), ..args() }, "attempt");
    }
}
