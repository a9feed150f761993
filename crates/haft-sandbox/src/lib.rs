//! Confined directories and processes, and what was enforced.
//!
//! The crate has two parts. A [`Root`] is a directory that file access cannot leave, even if files
//! are renamed or linked meanwhile. A [`Launcher`] runs commands that reach only the resources that
//! a [`Confinement`] names. Nothing of a command outlives it. An [`Enforcement`] reports which
//! layers the kernel enforced around it. The crate deliberately knows neither tools nor rules: the
//! caller decides which access is allowed, and this crate enforces the decision.
//!
//! # Example
//!
//! Every access takes two steps. The path is resolved; then the canonical form is judged and used.
//!
//! ```standalone_crate
//! use haft_sandbox::{
//!     Confinement, ExpectedFile, Launcher, Mechanisms, Network, ProcessExit, ProtectedPaths, ResourceLimits, Root,
//!     RootFileChange, RuledPaths, SandboxCommand,
//! };
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The helper that runs commands is this same program, recognised here by its arguments.
//!     haft_sandbox::helper::run_if_requested();
//!
//!     # let directory = tempfile::tempdir()?;
//!     # let directory = directory.path();
//!     let root = Root::open(directory)?;
//!     let path = root.resolve("./notes//today".as_ref())?.path;
//!     assert_eq!(path, std::path::Path::new("notes/today"));
//!
//!     let contents = b"haft\n".to_vec();
//!     root.apply(vec![RootFileChange::Write { path, contents, mode: None, expected: ExpectedFile::Absent }])?;
//!
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let launcher = Launcher::new(std::env::current_exe()?);
//!         let command = SandboxCommand::new("cat", root.open_dir("notes".as_ref())?)
//!             .args(["today"])
//!             .env("PATH", "/usr/bin:/bin");
//!         let confinement = Confinement {
//!             writable: vec![directory.to_path_buf()],
//!             readable: ["/bin", "/lib", "/lib64", "/usr"].map(Into::into).to_vec(),
//!             hidden: vec![],
//!             protected: ProtectedPaths::builtin(),
//!             ruled: RuledPaths::default(),
//!             home: "/home/you".into(),
//!             network: Network::Loopback,
//!             resources: ResourceLimits::default(),
//!             mechanisms: Mechanisms::ALL,
//!         };
//!         let mut process = launcher.spawn(command, &confinement).await?;
//!         let mut buffer = [0; 64];
//!         let count = process.output.read(&mut buffer).await?;
//!         assert_eq!(&buffer[..count], b"haft\n");
//!         assert_eq!(process.control.wait().await?, ProcessExit::Code(0));
//!         Ok(())
//!     })
//! }
//! ```
//!
//! # Platforms
//!
//! Everything here needs Linux. Roots work from 5.4 on; `openat2` (5.6) makes them faster.
//! Confinement by namespaces needs 5.12 and permission to create namespaces. Without namespaces,
//! Landlock (6.2) and system call filters enforce the layers that they can, and a confinement that
//! needs more is refused. The crate does not compile for other systems, so nothing runs there with
//! less confinement than promised.

#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("haft-sandbox confines with mechanisms of the Linux kernel; build it for Linux");

mod bytes;
mod cgroup;
mod channel;
mod confine;
mod confined_directory;
mod confinement;
mod directory_watch;
mod exit;
mod fork;
pub mod helper;
mod kernel;
pub mod limits;
mod process;
mod process_tree;
mod protect;
pub mod proxy;
mod recovery_log;
mod wire;

pub use channel::{CHANNEL_DESCRIPTOR, CommandChannel};
pub use confined_directory::{
    CHANGES_MAX, ChangeSetError, ChangeSetState, ChangeTag, ChangeTarget, DirEntry, ExpectedFile,
    InodeKind, InodeStamp, LINKS_MAX, OpenedRootFile, PathMetadata, ResolvedPath, Root, RootError,
    RootFileChange, is_temporary,
};
pub use confinement::{Confinement, Mechanisms, Network, PROXY_PORT, ResourceLimits};
pub use directory_watch::{DirectoryWatch, NameChange, WatchedChanges, WatchedEvents};
pub use exit::{ExceededLimit, ProcessExit};
pub use kernel::{Availability, KernelMechanism, KernelSupport, MechanismSupport};
pub use process::{
    Enforcement, EnforcementLevel, Launcher, MissingLayer, PathGuard, ProcessControl,
    ProcessOutput, RecoveryReport, SandboxCommand, SandboxLayer, SandboxProcess, SpawnError,
    WaitError,
};
pub use protect::{
    LinkedWorktree, OBEYED_NAMES, ObeyedNames, PathAccess, PathRules, ProtectedPathError,
    ProtectedPathScan, ProtectedPaths, ProtectionMode, ProtectiveMount, ProtectiveMountKind,
    RevertResult, RevertedChange, RuledPath, RuledPaths, ScanCache, ScanError, ScanOptions,
    worktree_directories,
};
