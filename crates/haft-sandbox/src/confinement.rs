//! The confinement of a command, as data. The caller that starts the command decides it. Nothing
//! here inspects the machine or applies anything, and access that is not named here is not granted.

use std::path::PathBuf;

use crate::limits;
use crate::protect::{ProtectedPaths, RuledPaths};

/// Port of the command's proxy, on the loopback interface of a command whose network is
/// [`Network::Proxied`].
pub const PROXY_PORT: u16 = 47_128;

/// The resources that a command can reach.
///
/// Everything else is out of reach: other paths do not exist, and other hosts cannot be connected
/// to. Paths are absolute and canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Directories that the command can read and change.
    pub writable: Vec<PathBuf>,
    /// Directories and files that the command can read and execute. Paths that do not exist are
    /// ignored.
    pub readable: Vec<PathBuf>,
    /// Directories and files inside the others that appear empty to the command.
    pub hidden: Vec<PathBuf>,
    /// Names inside the writable directories that the command can read but not change.
    pub protected: ProtectedPaths,
    /// Rules about paths that take further access away from the command.
    pub ruled: RuledPaths,
    /// The command's home directory. It exists and is private. It is empty except for other paths
    /// that are named here. It is removed when the command ends, as is everything in `/tmp`.
    pub home: PathBuf,
    /// The network that the command can reach.
    pub network: Network,
    /// Resource limits of the command.
    pub resources: ResourceLimits,
    /// The kernel mechanisms to use. Only tests of a single mechanism use fewer than all.
    pub mechanisms: Mechanisms,
}

/// The network access of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Only its own servers, on a private loopback interface.
    Loopback,
    /// The private loopback interface, and a proxy that listens on it and is served by the
    /// launching process; see
    /// [`SandboxProcess::listener`](crate::SandboxProcess::listener).
    Proxied,
    /// Everything that the launching process can connect to, over IP sockets only.
    Host,
}

/// Resource limits of a command together with all processes that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceLimits {
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Processes and threads that exist at one time.
    pub processes: u32,
    /// Total size of temporary files, in bytes.
    pub temp_bytes: u64,
    /// Size of one file, in bytes.
    pub file_bytes: u64,
    /// Open files per process.
    pub open_files: u32,
}

impl Default for ResourceLimits {
    fn default() -> ResourceLimits {
        ResourceLimits {
            memory_bytes: limits::MEMORY_BYTES_DEFAULT,
            processes: limits::PROCESSES_DEFAULT,
            temp_bytes: limits::TEMP_BYTES_DEFAULT,
            file_bytes: limits::FILE_BYTES_DEFAULT,
            open_files: limits::OPEN_FILES_DEFAULT,
        }
    }
}

/// The kernel mechanisms to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mechanisms {
    /// Namespaces for users, mounts, processes, network, IPC and the host name.
    pub namespaces: bool,
    /// Landlock.
    pub landlock: bool,
    /// System call filters.
    pub seccomp: bool,
}

impl Mechanisms {
    /// All mechanisms.
    pub const ALL: Mechanisms = Mechanisms { namespaces: true, landlock: true, seccomp: true };
}
