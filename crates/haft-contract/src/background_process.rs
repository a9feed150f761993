//! Programs that outlive one call, as tools see them: worker processes, and servers that speak over a channel. They are
//! started on a model's behalf like any command, and so under the grant of the call that starts them. The tool decides what
//! it sends over the channel, and how long it keeps them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::{BoxFuture, ConfinementReport, Excerpt, ProcessEnding, ToolError};

/// The number of the descriptor that is the channel of a program started with [`ProcessChannel::Descriptor`].
pub const CHANNEL_DESCRIPTOR: i32 = 3;

/// Starts programs that outlive one call, confined as the call is.
///
/// The program has the grant of the call. It reads the roots, unless the request excludes them. It changes the directories
/// that the call declared with [`Access::write`](crate::Access::write) and that the request names. It reaches the hosts of
/// the grant through its own proxy, for as long as it lives.
pub trait BackgroundProcesses: Send + Sync {
    /// Starts a program. If the caller gives the start up, nothing is left of the program.
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>>;
}

/// One program that outlives calls. Dropping it kills it with everything that it started.
pub trait BackgroundProcess: Send {
    /// Sends all of a message.
    ///
    /// If the caller gives up in the middle, a part of the message was sent. Then kill the program.
    fn send<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, io::Result<()>>;

    /// Waits for the next line, and adds it to `into` without its line feed.
    ///
    /// Can be given up and called again without loss. A line of more than `bytes_max` bytes is not waited for to its end,
    /// and `into` stays as it is.
    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes_max: usize,
    ) -> BoxFuture<'a, io::Result<ChannelRead>>;

    /// Waits for exactly so many bytes, and adds them to `into`: for protocols that say how long a message is. The end of
    /// the channel before them is [`io::ErrorKind::UnexpectedEof`], and what had come is lost.
    ///
    /// Can be given up and called again without loss, and mixed with [`BackgroundProcess::receive`]. All of it is kept until it is
    /// whole, so that `bytes` has a bound of the caller's.
    fn receive_exact<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        bytes: usize,
    ) -> BoxFuture<'a, io::Result<()>>;

    /// Returns what the program has written beside its channel since this was last asked, head and tail of it if it was
    /// too much. It is always read, so that a flood neither blocks the program nor fills memory.
    ///
    /// Output that was written before a line came over the channel is there when the line has been received.
    fn take_output(&mut self) -> BoxFuture<'_, Excerpt>;

    /// Asks for the program and everything that it started to be killed; [`BackgroundProcess::wait_for_exit`] tells when that is done.
    fn kill(&mut self);

    /// Waits until the program has ended and nothing that it started is left, and says how it ended.
    ///
    /// Can be given up and called again, also after it has answered.
    fn wait_for_exit(&mut self) -> BoxFuture<'_, Result<ProcessEnding, ToolError>>;

    /// Returns the bound that ended the program, in a sentence for people and models. It is known once the program has ended.
    fn exceeded_limit(&self) -> Option<String>;

    /// Returns what happened around the program, for [`Output::confined`](crate::ToolOutput) of the call: what confines it, the
    /// connections that ended since this was last asked, and, once it has ended, what it left at protected places.
    fn take_confinement(&mut self) -> ConfinementReport;
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundProcessRequest {
    /// The executable's name or path.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment, beside the one that the runtime gives to all commands. It belongs to no call, and so gets no keys
    /// of one.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory; `None` is the root.
    pub cwd: Option<String>,
    /// Further paths that it may read, such as its own files or a virtual environment. Absolute paths.
    pub readable: Vec<PathBuf>,
    /// Which files of the workspace it may read.
    pub files: ProcessFileAccess,
    /// The directories that it may change.
    pub writable: ProcessWriteAccess,
    /// Which hosts it may reach.
    pub hosts: ProcessHostAccess,
    /// How it is spoken to.
    pub channel: ProcessChannel,
    /// Memory of it and all that it starts, in bytes, where that is to be less than commands have.
    pub memory_bytes: Option<u64>,
}

/// The files of the workspace that a program of a call may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProcessFileAccess {
    /// All roots.
    #[default]
    Roots,
    /// None, unless it may change them: the program works on what it is told. It starts in a directory of the system's,
    /// unless a working directory is named.
    Nothing,
}

/// The directories beneath the roots that a program may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProcessWriteAccess {
    /// None; it still has private places for temporary files.
    #[default]
    Nothing,
    /// Those roots that the call declared it would change; it is refused if it declared none.
    Roots,
    /// These directories, which lie within what the call declared it would change. One that is missing is made, if only
    /// it is missing and not what is around it.
    Directories(Vec<String>),
}

/// The hosts that a program may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProcessHostAccess {
    /// Those that the call was granted.
    #[default]
    Granted,
    /// None, whatever the call was granted: the program works on what others fetched.
    Nothing,
}

/// How a program is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProcessChannel {
    /// Through a separate descriptor, [`CHANNEL_DESCRIPTOR`]. Standard input is empty. Standard output and standard error are
    /// its output.
    #[default]
    Descriptor,
    /// Through standard input and standard output. Standard error is its output.
    Stdio,
}

/// The result of waiting for a line of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelRead {
    /// A whole line.
    Line,
    /// The end. An unfinished last line is lost.
    Closed,
    /// The line is longer than the bound. The caller can wait for it again with a higher bound. Otherwise kill the program,
    /// since the next bytes are not the beginning of a line.
    TooLong,
}

impl BackgroundProcessRequest {
    /// Returns the request for a program without arguments, which may change nothing and has a descriptor for a channel.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            readable: Vec::new(),
            files: ProcessFileAccess::Roots,
            writable: ProcessWriteAccess::Nothing,
            hosts: ProcessHostAccess::Granted,
            channel: ProcessChannel::Descriptor,
            memory_bytes: None,
        }
    }
}
