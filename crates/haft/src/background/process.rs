//! One program that runs: its channel, its output, its end, and the proxy to the hosts that it may reach. Nothing here
//! knows what is said over the channel.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;

use haft_contract::{
    BackgroundProcess, BoxFuture, ChannelRead, ConfinementReport, ErrorCode, Excerpt,
    ProcessEnding, ToolError,
};
use haft_sandbox::proxy::{Proxy, ProxyConnections};
use haft_sandbox::{Enforcement, ExceededLimit, PathGuard, ProcessExit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::lines::LineBuffer;
use super::output::{OutputRequests, collect_output};
use crate::process_registry::{ProcessHandle, ProcessRegistry};
use crate::shell::{StartedProcess, confined_report};

/// A program that runs until it ends or this is dropped.
pub(super) struct RunningProcess {
    /// haft's end of the channel to the program.
    channel: UnixStream,
    /// The bytes that the program sent and that no caller has received yet.
    lines: LineBuffer,
    /// Asks the task that reads the output for what was printed.
    output_requests: OutputRequests,
    /// Ends the process when it is dropped.
    handle: ProcessHandle,
    /// The restrictions that are in force for the process.
    enforced: Enforcement,
    /// The proxy to the granted hosts.
    proxy: ProxyAccess,
    /// The bound of its memory, to be named should it be met.
    memory_bytes: u64,
    /// Keeps denied paths from the process while it runs, if rules deny paths.
    guard: Option<PathGuard>,
    /// The paths that rules keep from the process, in a report.
    withheld: Option<ConfinementReport>,
    /// Whether a report already named the reverted changes of the process.
    has_reported_protected_changes: bool,
}

/// How a program reaches hosts, if it may reach any.
enum ProxyAccess {
    /// The program reaches no host, or its proxy ended together with the async runtime.
    None,
    /// The proxy accepts connections.
    Open(Proxy),
    /// Kept here so that waiting for it can be given up.
    Closing(JoinHandle<ProxyConnections>),
    /// The proxy ended, with the connections that no report has named yet.
    Closed(ProxyConnections),
}

impl RunningProcess {
    /// Takes over a process that was started with a channel, and has it among the living.
    pub(super) fn new(
        started: StartedProcess,
        memory_bytes: u64,
        living: &ProcessRegistry,
    ) -> Result<RunningProcess, ToolError> {
        let StartedProcess { mut process, proxy, denied } = started;
        let withheld = denied.map(|denied| {
            let mut report = confined_report(&process.enforcement, &[], None);
            denied.report(&process.denied, &mut report);
            report
        });
        let channel = process.channel.take().ok_or(io::Error::from(io::ErrorKind::NotFound));
        let halves = channel.and_then(|channel| {
            Ok((OwnedFd::from(channel.try_clone()?), UnixStream::from_std(channel)?))
        });
        let (to_close, channel) = halves.map_err(|err| {
            let message = format!("the channel to the program could not be set up: {err}");
            ToolError::new(ErrorCode::ProcessSpawnFailed, message)
        })?;
        let enforced = process.enforcement;
        let (output, control, guard) = (process.output, process.control, process.guard);
        Ok(RunningProcess {
            channel,
            lines: LineBuffer::default(),
            output_requests: collect_output(output, to_close),
            handle: living.register_process(control),
            enforced,
            proxy: proxy.map_or(ProxyAccess::None, ProxyAccess::Open),
            memory_bytes,
            guard,
            withheld,
            has_reported_protected_changes: false,
        })
    }

    /// Waits for some bytes; says whether any came before the end.
    async fn receive_more(&mut self) -> io::Result<bool> {
        match self.channel.read_buf(self.lines.spare_buffer()).await {
            Ok(count) => Ok(count > 0),
            // It has ended with something unread that was sent to it.
            Err(err) if err.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(err) => Err(err),
        }
    }
}

impl ProxyAccess {
    /// Ends all connections, so that no connection is open when the caller asks for them. This can be dropped and
    /// called again.
    async fn close(&mut self) {
        if let ProxyAccess::Open(_) = self
            && let ProxyAccess::Open(proxy) = std::mem::replace(self, ProxyAccess::None)
        {
            *self = ProxyAccess::Closing(tokio::spawn(proxy.finish()));
        }
        if let ProxyAccess::Closing(closing) = self {
            // It fails only with its runtime.
            *self = closing.await.map_or(ProxyAccess::None, ProxyAccess::Closed);
        }
    }

    /// Returns the connections since this was last asked; nothing where there is no proxy.
    fn take_connections(&mut self) -> Option<ProxyConnections> {
        match self {
            ProxyAccess::None | ProxyAccess::Closing(_) => None,
            ProxyAccess::Open(proxy) => Some(proxy.take_connections()),
            ProxyAccess::Closed(connections) => Some(std::mem::take(connections)),
        }
    }
}

impl BackgroundProcess for RunningProcess {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        // Reads arriving bytes meanwhile. If a program writes much before it reads, both sides would wait otherwise.
        Box::pin(async move {
            let Self { channel, lines, guard, handle, .. } = self;
            if let Some(guard) = guard
                && let Err(err) = guard.cover_new().await
            {
                // It would see what a rule denies.
                handle.request_end();
                return Err(err);
            }
            let (mut from, mut to) = channel.split();
            let mut sending = pin!(to.write_all(message));
            let mut is_open = true;
            loop {
                tokio::select! {
                    biased;
                    sent = &mut sending => return sent,
                    read = from.read_buf(lines.spare_buffer()), if is_open && lines.has_room() => {
                        // A caller that receives later finds the end of the channel again.
                        is_open = matches!(read, Ok(1..));
                    }
                }
            }
        })
    }

    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes_max: usize,
    ) -> BoxFuture<'a, io::Result<ChannelRead>> {
        Box::pin(async move {
            loop {
                if let Some(received) = self.lines.take_line(into, bytes_max) {
                    return Ok(received);
                }
                if !self.receive_more().await? {
                    return Ok(ChannelRead::Closed);
                }
            }
        })
    }

    fn receive_exact<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes: usize,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            while !self.lines.take_exact(into, bytes) {
                if !self.receive_more().await? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(())
        })
    }

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(async {
            let (answer, answered) = oneshot::channel();
            // The task that answers is gone only if the async runtime is shutting down.
            let _ = self.output_requests.send(answer).await;
            answered.await.unwrap_or_default()
        })
    }

    fn kill(&mut self) {
        self.handle.request_end();
    }

    fn wait_for_exit(&mut self) -> BoxFuture<'_, Result<ProcessEnding, ToolError>> {
        Box::pin(async {
            let ended = self.handle.wait_for_end().await;
            self.proxy.close().await;
            match ended {
                Ok(ProcessExit::Code(code)) => Ok(ProcessEnding::Exited(code)),
                Ok(ProcessExit::Signal(signal)) => Ok(ProcessEnding::Signalled(signal)),
                Err(err) => Err(ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string())),
            }
        })
    }

    fn exceeded_limit(&self) -> Option<String> {
        self.handle.exceeded().map(|bound| match bound {
            ExceededLimit::Memory => format!(
                "its memory is bounded by {} bytes, which it met; memory_bytes of [sandbox] in haft.toml bounds all \
                 programs",
                self.memory_bytes
            ),
            ExceededLimit::Processes => {
                "its number of processes and threads is bounded by processes of [sandbox] in haft.toml, which it met"
                    .to_owned()
            }
            other => format!("it met a bound: {other:?}"),
        })
    }

    fn take_confinement(&mut self) -> ConfinementReport {
        let connections = self.proxy.take_connections();
        let undone = self.handle.protected_changes();
        let told = if self.has_reported_protected_changes { &[] } else { undone };
        let mut confined = confined_report(&self.enforced, told, connections);
        // They concern each call of the process.
        if let Some(report) = &self.withheld {
            confined.withheld.clone_from(&report.withheld);
            confined.withheld_unlisted = report.withheld_unlisted;
        }
        self.has_reported_protected_changes |= !undone.is_empty();
        confined
    }
}
