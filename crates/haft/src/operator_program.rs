//! A program of the operator that haft runs for its own purposes: a watchdog, or a notification. It gets one text on its
//! standard input. It is not confined, because no model controls it. The caller decides what its answer means.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Longest answer of a watchdog or of a program for notifications, in bytes.
///
/// Limit (calls): the watchdog has failed and the call is denied; a notification counts as failed.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Largest part of the standard error of a failed program that a message shows, in characters.
pub(crate) const COMPLAINT_CHARS_MAX: usize = 400;
/// A program of the operator.
#[derive(Clone, Debug)]
pub struct OperatorProgram {
    /// The program: a path, or a name to be found in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Its environment: exactly this.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory that it runs in: one that no tool can change, since interpreters look for modules there.
    pub directory: PathBuf,
}

/// Why a program of the operator gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorProgramError {
    /// The system does not start it.
    #[error("it could not be started: {0}")]
    Start(io::Error),
    /// It took too long, in milliseconds.
    #[error("it did not answer within {0} ms")]
    Timeout(u64),
    /// Its answer is too long.
    #[error("it said more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    /// Its input or output failed.
    #[error("talking to it failed: {0}")]
    Exchange(io::Error),
    /// It failed.
    #[error("it ended with {status}{complaint}")]
    Status {
        /// How it ended.
        status: ExitStatus,
        /// The beginning of its standard error, after a colon; empty if it wrote nothing.
        complaint: String,
    },
}

impl OperatorProgram {
    /// Runs the program once with this text on its standard input, and returns its standard output.
    ///
    /// # Errors
    ///
    /// Says why there is no output. The program and the processes of its group are killed if they take too long.
    pub async fn run(&self, input: &str) -> Result<Vec<u8>, OperatorProgramError> {
        let timeout = Duration::from_millis(self.timeout_ms);
        let ran = tokio::time::timeout(timeout, self.run_to_end(input)).await;
        ran.unwrap_or(Err(OperatorProgramError::Timeout(self.timeout_ms)))
    }

    async fn run_to_end(&self, told: &str) -> Result<Vec<u8>, OperatorProgramError> {
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
        let mut child = started.map_err(OperatorProgramError::Start)?;
        // The child leads a separate process group. If the wait is given up, haft kills the whole group.
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let mut group = ProcessGroupGuard(leader.and_then(Pid::from_raw));
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let tell = async {
            let Some(mut input) = input else { return };
            // A program that decides without reading all of it is free to.
            let _ = input.write_all(told.as_bytes()).await;
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
        let status = child.wait().await.map_err(OperatorProgramError::Exchange)?;
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
            return Err(OperatorProgramError::Status { status, complaint });
        }
        Ok(answer)
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
) -> Result<(), OperatorProgramError> {
    let Some(from) = from else { return Ok(()) };
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit).read_to_end(to).await.map_err(OperatorProgramError::Exchange)?;
    if to.len() > ANSWER_BYTES_MAX { Err(OperatorProgramError::TooLong) } else { Ok(()) }
}
