//! A watchdog that is a program of the operator. It gets each call as one JSON object and answers with another. It is
//! not confined, because no model controls it. Any failure of the program denies the call.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use haft_contract::{BoxFuture, CommandLine as ShellCommand};
use haft_policy::ResolvedAccess;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::{Watchdog, WatchdogVerdict, WatchedCall};

/// Longest answer of a watchdog program, in bytes.
///
/// Limit (calls): the watchdog has failed and the call is denied.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Largest part of the standard error of a failed program that a message shows, in characters.
pub(crate) const COMPLAINT_CHARS_MAX: usize = 400;
/// The version of the JSON that the program gets.
const PROTOCOL_VERSION: u32 = 1;

/// A program that judges calls; see the chapter on watchdogs for its input and its answers.
#[derive(Clone, Debug)]
pub struct ProgramWatchdog {
    /// The program: a path, or a name to be found in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// How long it may take for one call.
    pub timeout_ms: u64,
    /// Its environment: exactly this.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory that it runs in: one that no tool can change, since interpreters look for modules there.
    pub directory: PathBuf,
}

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
enum ProgramFailure {
    #[error("it could not be started: {0}")]
    Start(io::Error),
    #[error("it did not answer within {0} ms")]
    Timeout(u64),
    #[error("it said more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("talking to it failed: {0}")]
    Exchange(io::Error),
    #[error("it ended with {status}{complaint}")]
    Status { status: ExitStatus, complaint: String },
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
            let timeout = Duration::from_millis(self.timeout_ms);
            let asked = tokio::time::timeout(timeout, self.ask(&call)).await;
            let answered = asked.unwrap_or(Err(ProgramFailure::Timeout(self.timeout_ms)));
            let name = self.program.display();
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
    async fn ask(&self, call: &WatchedCall<'_>) -> Result<ProgramAnswer, ProgramFailure> {
        let started = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(ProgramFailure::Start)?;
        // The child leads a separate process group. If the wait is given up, haft kills the whole group.
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let mut group = ProcessGroupGuard(leader.and_then(Pid::from_raw));
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let tell = async {
            let Some(mut input) = input else { return };
            // A program that decides without reading all of it is free to.
            let _ = input.write_all(self.told(call).to_string().as_bytes()).await;
        };
        let (mut answer, mut complaint) = (Vec::new(), Vec::new());
        // A program that cannot write all of its complaint would not answer, so haft reads the rest and drops it.
        let complain = async {
            let Some(mut errors) = errors else { return };
            if read_bounded(Some(&mut errors), &mut complaint).await.is_err() {
                let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
            }
        };
        let ((), read, ()) = tokio::join!(tell, read_bounded(output, &mut answer), complain);
        read?;
        let status = child.wait().await.map_err(ProgramFailure::Exchange)?;
        group.0 = None;
        if !status.success() {
            let text = String::from_utf8_lossy(&complaint);
            let text = text.trim();
            let mut complaint = String::new();
            if !text.is_empty() {
                complaint.push_str(": ");
                complaint.extend(text.chars().take(COMPLAINT_CHARS_MAX));
                complaint.extend(text.chars().nth(COMPLAINT_CHARS_MAX).map(|_| '…'));
            }
            return Err(ProgramFailure::Status { status, complaint });
        }
        if answer.trim_ascii().is_empty() {
            return Err(ProgramFailure::Silent);
        }
        serde_json::from_slice(&answer).map_err(ProgramFailure::Answer)
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

/// A process group that is killed unless its leader has ended by itself.
struct ProcessGroupGuard(Option<Pid>);

impl Drop for ProcessGroupGuard {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It fails if all of the group is gone, and then there is nothing to do.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Reads a stream to its end. Fails if it is longer than the bound.
async fn read_bounded(
    from: Option<impl AsyncRead + Unpin>,
    to: &mut Vec<u8>,
) -> Result<(), ProgramFailure> {
    let Some(from) = from else { return Ok(()) };
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit).read_to_end(to).await.map_err(ProgramFailure::Exchange)?;
    if to.len() > ANSWER_BYTES_MAX { Err(ProgramFailure::TooLong) } else { Ok(()) }
}
