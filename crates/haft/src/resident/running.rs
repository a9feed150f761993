//! One program that runs: its channel, its output, its end, and the proxy to the hosts that it may reach. Nothing here
//! knows what is said over the channel.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;

use haft_contract::{
    BoxFuture, Confined, Ending, ErrorCode, Excerpt, Received, Resident, ToolError,
};
use haft_sandbox::proxy::{Connections, Proxy};
use haft_sandbox::{Enforced, Exceeded, Exit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::lines::Lines;
use super::living::{Life, Living};
use super::printed::{Asks, read_always};
use crate::shell::{Started, confined};

/// A program that runs until it ends or this is dropped.
pub(super) struct Running {
    channel: UnixStream,
    lines: Lines,
    asks: Asks,
    life: Life,
    enforced: Enforced,
    way_out: WayOut,
    /// The bound of its memory, to be named should it be met.
    memory_bytes: u64,
    has_told_undone: bool,
}

/// How a program reaches hosts, if it may reach any.
enum WayOut {
    None,
    Open(Proxy),
    /// Kept here so that waiting for it can be given up.
    Closing(JoinHandle<Connections>),
    Closed(Connections),
}

impl Running {
    /// Takes over a process that was started with a channel, and has it among the living.
    pub(super) fn new(
        started: Started,
        memory_bytes: u64,
        living: &Living,
    ) -> Result<Running, ToolError> {
        let Started { mut process, proxy } = started;
        let channel = process.take_channel().ok_or(io::Error::from(io::ErrorKind::NotFound));
        let halves = channel.and_then(|channel| {
            Ok((OwnedFd::from(channel.try_clone()?), UnixStream::from_std(channel)?))
        });
        let (to_close, channel) = halves.map_err(|err| {
            let message = format!("the channel to the program could not be set up: {err}");
            ToolError::new(ErrorCode::ProcessSpawnFailed, message)
        })?;
        let enforced = process.enforced();
        let (output, control) = process.split();
        Ok(Running {
            channel,
            lines: Lines::default(),
            asks: read_always(output, to_close),
            life: living.admit(control),
            enforced,
            way_out: proxy.map_or(WayOut::None, WayOut::Open),
            memory_bytes,
            has_told_undone: false,
        })
    }

    /// Sends a message, and meanwhile takes in what comes: a program that writes much before it reads would wait for this
    /// side, and this side for it.
    async fn send_all(&mut self, message: &[u8]) -> io::Result<()> {
        let Self { channel, lines, .. } = self;
        let (mut from, mut to) = channel.split();
        let mut sending = pin!(to.write_all(message));
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => return sent,
                read = from.read_buf(lines.room()), if is_open && lines.has_room() => {
                    // The end is come to again by whoever receives.
                    is_open = matches!(read, Ok(1..));
                }
            }
        }
    }

    async fn receive_line(&mut self, into: &mut Vec<u8>, bytes_max: usize) -> io::Result<Received> {
        loop {
            if let Some(received) = self.lines.take(into, bytes_max) {
                return Ok(received);
            }
            if !self.receive_more().await? {
                return Ok(Received::Closed);
            }
        }
    }

    async fn receive_counted(&mut self, into: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        while !self.lines.take_exact(into, bytes) {
            if !self.receive_more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// Waits for some bytes; says whether any came before the end.
    async fn receive_more(&mut self) -> io::Result<bool> {
        match self.channel.read_buf(self.lines.room()).await {
            Ok(count) => Ok(count > 0),
            // It has ended with something unread that was sent to it.
            Err(err) if err.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(err) => Err(err),
        }
    }

    async fn ask_for_output(&self) -> Excerpt {
        let (answer, answered) = oneshot::channel();
        // It is not there any more only if the runtime is going.
        let _ = self.asks.send(answer).await;
        answered.await.unwrap_or_default()
    }

    async fn wait(&mut self) -> Result<Ending, ToolError> {
        let ended = self.life.ended().await;
        self.way_out.close().await;
        match ended {
            Ok(Exit::Code(code)) => Ok(Ending::Exited(code)),
            Ok(Exit::Signal(signal)) => Ok(Ending::Signalled(signal)),
            Err(err) => Err(ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string())),
        }
    }
}

impl WayOut {
    /// Ends all connections, so that none is still under way when they are asked for. Can be given up and called again.
    async fn close(&mut self) {
        if let WayOut::Open(_) = self
            && let WayOut::Open(proxy) = std::mem::replace(self, WayOut::None)
        {
            *self = WayOut::Closing(tokio::spawn(proxy.finish()));
        }
        if let WayOut::Closing(closing) = self {
            // It fails only with its runtime.
            *self = closing.await.map_or(WayOut::None, WayOut::Closed);
        }
    }

    /// Returns the connections since this was last asked; nothing where there is no proxy.
    fn take_connections(&mut self) -> Option<Connections> {
        match self {
            WayOut::None | WayOut::Closing(_) => None,
            WayOut::Open(proxy) => Some(proxy.take_connections()),
            WayOut::Closed(connections) => Some(std::mem::take(connections)),
        }
    }
}

impl Resident for Running {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.send_all(message))
    }

    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes_max: usize,
    ) -> BoxFuture<'a, io::Result<Received>> {
        Box::pin(self.receive_line(into, bytes_max))
    }

    fn receive_exact<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes: usize,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.receive_counted(into, bytes))
    }

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(self.ask_for_output())
    }

    fn kill(&mut self) {
        self.life.end();
    }

    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(self.wait())
    }

    fn exceeded(&self) -> Option<String> {
        self.life.exceeded().map(|bound| match bound {
            Exceeded::Memory => format!(
                "its memory is bounded by {} bytes, which it met; memory_bytes of [sandbox] in haft.toml bounds all \
                 programs",
                self.memory_bytes
            ),
            Exceeded::Processes => {
                "its number of processes and threads is bounded by processes of [sandbox] in haft.toml, which it met"
                    .to_owned()
            }
            other => format!("it met a bound: {other:?}"),
        })
    }

    fn take_confined(&mut self) -> Confined {
        let connections = self.way_out.take_connections();
        let undone = self.life.undone();
        let told = if self.has_told_undone { &[] } else { undone };
        let confined = confined(&self.enforced, told, connections);
        self.has_told_undone |= !undone.is_empty();
        confined
    }
}
