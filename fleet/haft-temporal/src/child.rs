//! One `haft` process: started, followed and stopped. It ends with this process, also if this one is killed, and then finishes its
//! running calls first. Another file decides what its end means.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{
    Pid, Signal, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::ending::HaftOutput;

/// The hidden command that ties a program to the life of this one.
pub(crate) const TIED: &str = "exec-tied";

/// The longest line of JSON that is read, in bytes. haft prints the whole result of a plan in one line.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How much of standard error is kept for messages, in bytes.
const STDERR_BYTES_MAX: usize = 8_000;

/// Time for running calls to end after a stop request. haft cancels them afterwards.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// Time for haft to end after it was told to cancel what runs. It is killed afterwards.
const CANCEL_GRACE: Duration = Duration::from_secs(30);

/// A command of haft.
pub(crate) struct HaftCommand {
    /// The program.
    pub(crate) program: PathBuf,
    /// The workspace, in which the program starts.
    pub(crate) root: PathBuf,
    /// The arguments.
    pub(crate) args: Vec<OsString>,
    /// Text for standard input.
    pub(crate) input: Option<String>,
}

impl HaftCommand {
    /// Runs the command to its end. `stop` resolves when the process is to stop. Each event of the run goes to `on_event`.
    pub(crate) async fn run(
        self,
        mut on_event: impl FnMut(&Value),
        stop: impl Future<Output = ()>,
    ) -> io::Result<HaftOutput> {
        let mut child = self.spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let missing = || io::Error::other("a pipe of the process is missing");
        let mut stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut stderr = BufReader::new(child.stderr.take().ok_or_else(missing)?);
        let stdin = child.stdin.take();

        let was_stopped = AtomicBool::new(false);
        let stopping = async {
            stop.await;
            was_stopped.store(true, Ordering::Relaxed);
            stop_process(pid).await;
        };
        let mut output = HaftOutput::default();
        let feed = async {
            if let (Some(mut stdin), Some(text)) = (stdin, &self.input) {
                // A process that ends before it has read its input says why.
                let _ = stdin.write_all(text.as_bytes()).await;
            }
        };
        let read_events = async {
            while let Some(line) = read_line(&mut stdout).await? {
                let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
                on_event(&event);
                if event.get("event").is_some_and(|name| name == "result") {
                    output.result = Some(event);
                } else if event.get("type").is_some_and(|name| name == "failure") {
                    output.failure = Some(event);
                }
            }
            io::Result::Ok(())
        };
        let to_end = async {
            let (read, tail, ()) = tokio::join!(read_events, read_tail(&mut stderr), feed);
            read?;
            io::Result::Ok((tail?, child.wait().await?))
        };
        let (tail, status) = tokio::select! {
            ended = to_end => ended?,
            () = stopping => return Err(io::Error::other("haft did not end after it was killed")),
        };
        output.code = status.code();
        output.stderr = tail;
        output.was_stopped = was_stopped.load(Ordering::Relaxed);
        Ok(output)
    }

    fn spawn(&self) -> io::Result<Child> {
        // This very program, also after its file was replaced.
        let mut command = Command::new("/proc/self/exe");
        command.arg(TIED).arg(std::process::id().to_string()).arg("--").arg(&self.program);
        command.args(&self.args).current_dir(&self.root);
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C at the worker's terminal drains the worker. It must not stop the runs at once.
        command.process_group(0).kill_on_drop(true).spawn()
    }
}

/// Asks a process of haft to stop, then to cancel what runs, and then kills it. Returns if it should be gone.
async fn stop_process(pid: Option<Pid>) {
    let Some(pid) = pid else { return };
    // An error means that the process has ended, which the caller sees.
    let _ = kill_process(pid, Signal::TERM);
    tokio::time::sleep(STOP_GRACE).await;
    let _ = kill_process(pid, Signal::TERM);
    tokio::time::sleep(CANCEL_GRACE).await;
    let _ = kill_process_group(pid, Signal::KILL);
    tokio::time::sleep(CANCEL_GRACE).await;
}

/// Reads a line. The rest of a line that is too long is dropped, so that it is no JSON.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = LINE_BYTES_MAX.saturating_sub(line.len());
        line.extend_from_slice(part.get(..room).unwrap_or(part));
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Reads to the end and returns the last bytes as text.
async fn read_tail(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut tail = VecDeque::new();
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            let bytes: Vec<u8> = tail.into();
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        let used = buffer.len();
        tail.extend(buffer);
        reader.consume(used);
        let surplus = tail.len().saturating_sub(STDERR_BYTES_MAX);
        tail.drain(..surplus);
    }
}

/// Becomes a program that gets SIGTERM when the worker dies. haft then ends its running calls and records them. A program that is
/// killed at once would leave them in doubt. Returns only if that fails.
pub(crate) fn exec_tied(worker: i32, command: &[OsString]) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The worker may have died before the line above.
    ensure!(getppid().map(|pid| pid.as_raw_nonzero().get()) == Some(worker), "the worker is gone");
    let Some((program, args)) = command.split_first() else { bail!("no program is named") };
    let err = std::process::Command::new(program).args(args).exec();
    Err(err).with_context(|| format!("{} does not start", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], buffer_bytes: usize) -> Vec<Vec<u8>> {
        let mut reader = BufReader::with_capacity(buffer_bytes, text);
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader).await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_and_the_tail_are_read_to_their_bounds() {
        assert_eq!(lines(b"", 3).await, Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"one\n\nthree", 3).await, [&b"one"[..], b"", b"three"]);
        let mut long = vec![b'x'; LINE_BYTES_MAX + 1];
        long.extend(b"\nnext\n");
        let read = lines(&long, 65_536).await;
        let lengths: Vec<usize> = read.iter().map(Vec::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, 4]);

        let text = "a".repeat(STDERR_BYTES_MAX) + "end";
        let tail = read_tail(&mut text.as_bytes()).await.unwrap();
        assert_eq!((tail.len(), tail.ends_with("aend")), (STDERR_BYTES_MAX, true));
    }
}
