//! What a command is confined to, as data. Whoever starts the command decides it; nothing here looks at the machine or
//! applies anything, and nothing is granted that is not named here.

use std::path::PathBuf;

use crate::limits;
use crate::protect::ProtectedNames;

/// The port of the proxy on the loopback interface of a command whose network is [`Network::Proxied`].
pub const PROXY_PORT: u16 = 47_128;

/// What a command can reach.
///
/// Everything that is not named is out of reach: paths do not exist, hosts cannot be connected to. Paths are absolute
/// and canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Directories that can be read and changed.
    pub writable: Vec<PathBuf>,
    /// Directories and files that can be read and executed. What does not exist is left out.
    pub readable: Vec<PathBuf>,
    /// Directories and files inside of these that are made empty: they can be seen, and hold nothing.
    pub hidden: Vec<PathBuf>,
    /// Names inside the writable directories that can be read and not changed.
    pub protected: ProtectedNames,
    /// The command's home directory. It exists, is private and empty but for what else is named here, and goes with the
    /// command, as everything in `/tmp` does.
    pub home: PathBuf,
    /// What can be connected to.
    pub network: Network,
    /// How much can be used.
    pub resources: Resources,
    /// The mechanisms to use. All of them, but for tests of one of them alone.
    pub mechanisms: Mechanisms,
}

/// What a command can connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing but servers of its own, on a loopback interface of its own.
    Loopback,
    /// The same, and a proxy that listens on that interface and is served by the launching process; see
    /// [`Process::take_listener`](crate::Process::take_listener).
    Proxied,
    /// Whatever the launching process can connect to, but no socket of another kind than IP.
    Host,
}

/// How much a command, with all that it starts, can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads at one time.
    pub processes: u32,
    /// Temporary files, in bytes.
    pub temp_bytes: u64,
    /// One file, in bytes.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u32,
}

impl Default for Resources {
    fn default() -> Resources {
        Resources {
            memory_bytes: limits::MEMORY_BYTES_DEFAULT,
            processes: limits::PROCESSES_DEFAULT,
            temp_bytes: limits::TEMP_BYTES_DEFAULT,
            file_bytes: limits::FILE_BYTES_DEFAULT,
            open_files: limits::OPEN_FILES_DEFAULT,
        }
    }
}

/// Which mechanisms of the kernel to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mechanisms {
    /// User, mount, process, network, IPC and host name namespaces.
    pub namespaces: bool,
    /// Landlock.
    pub landlock: bool,
    /// System call filters.
    pub seccomp: bool,
}

impl Mechanisms {
    /// All of them.
    pub const ALL: Mechanisms = Mechanisms { namespaces: true, landlock: true, seccomp: true };
}
