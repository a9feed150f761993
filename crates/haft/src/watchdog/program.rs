//! A watchdog that is a program of the operator. It gets each call as one JSON object and answers with another. It is
//! not confined, because no model controls it. Any failure of the program denies the call.

use haft_contract::{BoxFuture, CommandLine as ShellCommand};
use haft_policy::ResolvedAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Watchdog, WatchdogVerdict, WatchedCall};
use crate::operator_program::{OperatorProgram, OperatorProgramError};

/// The version of the JSON that the program gets.
const PROTOCOL_VERSION: u32 = 1;

/// A program that judges calls; see the chapter on watchdogs for its input and its answers.
#[derive(Clone, Debug)]
pub struct ProgramWatchdog(pub OperatorProgram);

/// The answer that a watchdog program prints.
#[derive(Deserialize)]
#[serde(expecting = "struct Answer")]
struct ProgramAnswer {
    /// The decision about the call.
    decision: ProgramDecision,
    /// Why, for the person or the model. An allowed call needs no reason.
    reason: Option<String>,
}

/// The decisions that a watchdog program can print.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProgramDecision {
    /// The call passes.
    Allow,
    /// The call is refused.
    Deny,
    /// A person decides.
    Ask,
}

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
enum WatchdogFailure {
    #[error(transparent)]
    Run(#[from] OperatorProgramError),
    #[error("it said nothing: expected {{\"decision\":\"allow\"}}, or deny or ask with a reason")]
    Silent,
    #[error(
        "its answer is not usable ({0}): expected {{\"decision\":\"allow\"}}, or deny or ask with a reason"
    )]
    Answer(serde_json::Error),
}

impl Watchdog for ProgramWatchdog {
    fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        Box::pin(async move {
            let answered = self.ask(&call).await;
            let name = self.0.program.display();
            match answered {
                Ok(ProgramAnswer { decision: ProgramDecision::Allow, .. }) => {
                    WatchdogVerdict::Allow
                }
                Ok(ProgramAnswer { decision: ProgramDecision::Deny, reason }) => {
                    let reason = reason.unwrap_or_else(|| format!("the watchdog {name} denies it"));
                    WatchdogVerdict::Deny(reason)
                }
                Ok(ProgramAnswer { decision: ProgramDecision::Ask, reason }) => {
                    let reason =
                        reason.unwrap_or_else(|| format!("the watchdog {name} asks about it"));
                    WatchdogVerdict::Ask(reason)
                }
                Err(failure) => WatchdogVerdict::Deny(format!(
                    "the watchdog {name} failed, so the call is denied: {failure}"
                )),
            }
        })
    }
}

impl ProgramWatchdog {
    /// Runs the program once for a call, and parses its answer.
    async fn ask(&self, call: &WatchedCall<'_>) -> Result<ProgramAnswer, WatchdogFailure> {
        let answer = self.0.run(&self.told(call).to_string()).await?;
        if answer.trim_ascii().is_empty() {
            return Err(WatchdogFailure::Silent);
        }
        serde_json::from_slice(&answer).map_err(WatchdogFailure::Answer)
    }

    /// Returns the call as the program reads it from its standard input.
    fn told(&self, call: &WatchedCall<'_>) -> Value {
        let access_json = |access: &ResolvedAccess| {
            let capability = access.capability();
            match access {
                ResolvedAccess::Read { path } | ResolvedAccess::Write { path } => {
                    let relative = path.relative.as_ref().map(|path| path.to_string_lossy());
                    let path = path.absolute.to_string_lossy();
                    json!({"capability": capability, "path": path, "relative": relative})
                }
                ResolvedAccess::Net { host } => json!({"capability": capability, "host": host}),
                ResolvedAccess::Shell { command: ShellCommand::Argv(argv) } => {
                    json!({"capability": capability, "argv": argv})
                }
                ResolvedAccess::Shell {
                    command: command @ (ShellCommand::Partial(_) | ShellCommand::Unknown(_)),
                } => {
                    json!({"capability": capability, "line": command.line()})
                }
                ResolvedAccess::Named { name } => json!({"capability": "named", "name": name}),
            }
        };
        let mut told = json!({
            "version": PROTOCOL_VERSION,
            "tool": call.tool.as_str(),
            "input": call.input,
            "accesses": call.accesses.iter().map(access_json).collect::<Vec<_>>(),
            "manifest": call.manifest,
            "session": call.session,
            "root": call.root.to_string_lossy(),
        });
        if let (Some(url), Some(told)) = (call.led_to, told.as_object_mut()) {
            told.insert("led_to".to_owned(), url.into());
        }
        told
    }
}
