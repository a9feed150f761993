//! The run and the attempt that a command's calls belong to. Flags and environment come before the manifest, and the
//! manifest comes before a new run. Opening the run checks that the parts fit together.

use clap::Args;
use haft::{ResumeMode, TaskAttempt};
use haft_contract::{AttemptAddress, RunId};

use crate::arguments::named_values::named_values;
use crate::error::CommandError;
use haft_app::compose;
use haft_app::manifest::ScopeSection;

/// The address of calls, and the way to resume there.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Place in a run")]
pub(crate) struct RunAddressArgs {
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
    /// Keys stay the same in every attempt. If an earlier attempt called a tool whose effect is not safe to repeat, haft
    /// reports that before it calls the tool again.
    #[arg(long, env = "HAFT_ATTEMPT", hide_env_values = true)]
    attempt: Option<u32>,

    /// How to resume an attempt that was begun before; continue unless given
    ///
    /// With replay, each process counts from the start: if another process makes the same call again, the record answers
    /// it. A call with a name (--call of haft call, `haft/call` over MCP) is known by its name, without replay.
    #[arg(
        long,
        value_parser = named_values([
            ("continue", "After what was called so far: calls are new ones", ResumeMode::Continue),
            (
                "replay",
                "From its start: a call that was made before is answered from the record, and what is in doubt is not repeated",
                ResumeMode::Replay,
            ),
        ]),
        value_name = "HOW",
        env = "HAFT_RESUME",
        hide_env_values = true
    )]
    resume: Option<ResumeMode>,
}

/// Where the calls of one process belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunAddress {
    pub(crate) run: RunId,
    pub(crate) position: TaskAttempt,
    pub(crate) resume: ResumeMode,
}

impl RunAddressArgs {
    /// Returns where calls belong by flags, environment and manifest.
    pub(crate) fn run_address(
        &self,
        section: &ScopeSection,
        now_ms: u64,
    ) -> Result<RunAddress, CommandError> {
        let named = self.run.as_ref().or(section.run.as_ref()).filter(|run| !run.is_empty());
        let resume = self.resume.unwrap_or_default();
        if named.is_none() && resume != ResumeMode::Continue {
            let message = "--resume replay starts a run over, and no run is named: give --run";
            return Err(CommandError::usage(message).hint("haft log"));
        }
        let run = match named {
            Some(run) => RunId::parse(run).map_err(CommandError::usage)?,
            None => compose::new_run(now_ms)?,
        };
        let usual = TaskAttempt::default();
        let node = self.node.clone().or_else(|| section.node.clone());
        let scope = AttemptAddress {
            run,
            node: node.unwrap_or(usual.node),
            iteration: self.iteration.or(section.iteration).unwrap_or(usual.iteration),
            attempt: self.attempt.or(section.attempt).unwrap_or(usual.attempt),
        };
        let AttemptAddress { run, node, iteration, attempt } =
            scope.validated().map_err(CommandError::usage)?;
        Ok(RunAddress { run, position: TaskAttempt { node, iteration, attempt }, resume })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> RunAddressArgs {
        RunAddressArgs { run: None, node: None, iteration: None, attempt: None, resume: None }
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
        let check = |args: RunAddressArgs, section: ScopeSection, expect: &str| {
            let placement = args.run_address(&section, 0).unwrap();
            let RunAddress { run, position: TaskAttempt { node, iteration, attempt }, .. } =
                placement;
            let run = if run.as_str().starts_with("run_") { "(new)" } else { run.as_str() };
            assert_eq!(format!("{run}/{node}/{iteration}/{attempt}"), expect);
        };
        check(args(), ScopeSection::default(), "(new)/main/0/1");
        check(args(), section(), "nightly/build/3/2");
        let flags = RunAddressArgs { run: Some("r".to_owned()), attempt: Some(5), ..args() };
        check(flags, section(), "r/build/3/5");
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let check = |args: RunAddressArgs, expect: &str| {
            let message = args.run_address(&ScopeSection::default(), 0).unwrap_err().message;
            assert!(message.contains(expect), "{message}");
        };
        check(RunAddressArgs { resume: Some(ResumeMode::Replay), ..args() }, "no run is named");
        check(RunAddressArgs { run: Some("a/b".to_owned()), ..args() }, "a/b");
        check(RunAddressArgs { node: Some("a/b".to_owned()), ..args() }, "a/b");
        check(RunAddressArgs { attempt: Some(0), ..args() }, "attempt");
    }
}
