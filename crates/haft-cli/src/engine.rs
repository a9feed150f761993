//! `--on temporal`: hands a run over to the program haft-temporal, which starts it on the workers of that engine. A run there takes
//! few options from here, because its settings are those of the worker.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::arguments::cli_context::CliContext;
use crate::arguments::named_values::named_values;
use crate::error::{CommandError, CommandResult};
use crate::plan_run::DriveArgs;
use crate::programs;

/// The options that a run on an engine takes. All others are settings of the worker.
const OPTIONS: &[&str] = &[
    "--on",
    "--root",
    "--allow",
    "--allow-dangerous",
    "--parallel",
    "--model",
    "--input",
    "--run",
    "--agent",
    "--retry-failed",
    "--anyway",
    "--json",
    "--color",
];

/// A program that decides where and when runs are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Temporal.
    Temporal,
}

/// Where a run is driven.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Drive the run on the workers of an engine, not in this process
    ///
    /// Needs the program haft-temporal. TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE name the service; the other variables and the
    /// file temporal.toml of Temporal's tools hold as well. Other settings are those of the worker. The run goes to a worker
    /// that has this root as a workspace.
    #[arg(
        long = "on",
        value_name = "ENGINE",
        value_parser = named_values([("temporal", "Temporal, through haft-temporal", Engine::Temporal)])
    )]
    pub(crate) engine: Option<Engine>,
}

/// The arguments of haft-temporal.
pub(crate) struct EngineCommand(Vec<OsString>);

impl EngineCommand {
    /// Begins the arguments of a command of haft-temporal. Fails for an option of this command line that the run would not get.
    pub(crate) fn new(command: &str, cx: &CliContext) -> Result<Self, CommandError> {
        let words = std::env::args_os().skip(1).take_while(|word| word != "--");
        for word in words.filter_map(|word| word.into_string().ok()) {
            let name = word.split('=').next().unwrap_or_default();
            if name.starts_with("--") && !OPTIONS.contains(&name) {
                let message = format!(
                    "{name} does not reach a run on an engine, because the settings of its worker hold"
                );
                return Err(CommandError::usage(message).hint("haft-temporal worker --help"));
            }
        }
        let mut args = Self(vec![command.into()]);
        for tool in &cx.setting_args.allow {
            args.value("--allow", Some(tool));
        }
        args.flag("--json", cx.setting_args.json);
        Ok(args)
    }

    /// Adds the directory whose path names the workspace.
    pub(crate) fn root(&mut self, root: Option<&PathBuf>) {
        if let Some(root) = root {
            self.0.extend(["--root".into(), root.into()]);
        }
    }

    /// Adds an option with its value.
    pub(crate) fn value(&mut self, name: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.0.push(format!("{name}={value}").into());
        }
    }

    /// Adds an option without a value.
    pub(crate) fn flag(&mut self, name: &str, is_set: bool) {
        self.0.extend(is_set.then(|| name.into()));
    }

    /// Adds the options about driving a plan.
    pub(crate) fn drive(&mut self, args: &DriveArgs) {
        self.flag("--allow-dangerous", args.allow_dangerous);
        self.value("--parallel", args.parallel.map(|number| number.to_string()).as_ref());
    }

    /// Replaces this process with haft-temporal. Returns only if that fails.
    pub(crate) fn start(mut self, operand: OsString, cx: &CliContext) -> CommandResult {
        self.0.extend(["--".into(), operand]);
        programs::replace_with_command(programs::TEMPORAL, &self.0, &cx.host)
    }
}
