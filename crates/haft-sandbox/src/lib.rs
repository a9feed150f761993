//! Confined directories and processes, and what was enforced.
//!
//! Two things are here. A [`Root`] is a directory that file access stays beneath, whatever is renamed or linked
//! meanwhile. A [`Launcher`] runs commands that reach what a [`Confinement`] names, and leaves nothing of them behind; what
//! the kernel enforced around each is an [`Enforced`]. The crate deliberately knows neither tools nor rules: whoever uses it
//! decides what may be touched and run, and this crate makes the decision hold.
//!
//! # Example
//!
//! Every path goes through two steps: it is resolved, then the canonical form is judged and used.
//!
//! ```standalone_crate
//! use haft_sandbox::{
//!     Change, Command, Confinement, Exit, Expected, Launcher, Mechanisms, Network, ProtectedNames, Resources, Root,
//! };
//!
//! # #[cfg(not(target_os = "linux"))] fn main() {}
//! # #[cfg(target_os = "linux")]
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Commands run under a copy of this program, which is told apart here.
//!     haft_sandbox::helper::run_if_requested();
//!
//!     # let directory = tempfile::tempdir()?;
//!     # let directory = directory.path();
//!     let root = Root::open(directory)?;
//!     let path = root.resolve("./notes//today".as_ref())?.path;
//!     assert_eq!(path, std::path::Path::new("notes/today"));
//!
//!     let contents = b"haft\n".to_vec();
//!     root.apply(vec![Change::Write { path, contents, mode: None, expected: Expected::Absent }])?;
//!
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let launcher = Launcher::new(std::env::current_exe()?);
//!         let command = Command::new("cat", root.open_dir("notes".as_ref())?)
//!             .args(["today"])
//!             .env("PATH", "/usr/bin:/bin");
//!         let confinement = Confinement {
//!             writable: vec![directory.to_path_buf()],
//!             readable: ["/bin", "/lib", "/lib64", "/usr"].map(Into::into).to_vec(),
//!             hidden: vec![],
//!             protected: ProtectedNames::builtin(),
//!             home: "/home/you".into(),
//!             network: Network::Loopback,
//!             resources: Resources::default(),
//!             mechanisms: Mechanisms::ALL,
//!         };
//!         let mut process = launcher.spawn(command, &confinement).await?;
//!         let mut buffer = [0; 64];
//!         let count = process.read(&mut buffer).await?;
//!         assert_eq!(&buffer[..count], b"haft\n");
//!         assert_eq!(process.wait().await?, Exit::Code(0));
//!         Ok(())
//!     })
//! }
//! ```
//!
//! # Platforms
//!
//! All of this needs Linux. Roots work from 5.4 on; `openat2` (5.6) makes them faster. Confinement by namespaces needs 5.12
//! and permission to make them; without either, Landlock (6.2) and system call filters do what they can, and what they
//! cannot is refused. On other Unix systems the crate compiles, opening a root and spawning a command fail with an error
//! that says so, and nothing is done with less confinement than promised.

#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod confine;
mod confinement;
#[cfg(target_os = "linux")]
pub mod helper;
mod kernel;
pub mod limits;
mod process;
mod protect;
pub mod proxy;
mod root;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod wire;

pub use confinement::{Confinement, Mechanisms, Network, PROXY_PORT, Resources};
pub use kernel::{Availability, Kernel, Mechanism, Offer};
pub use process::{
    CHANNEL_DESCRIPTOR, Channel, Command, Enforced, Exceeded, Exit, Layer, Level, Missing,
    SpawnError, WaitError,
};
#[cfg(target_os = "linux")]
pub use process::{Control, Launcher, Leftovers, Output, Process};
pub use protect::{
    Holding, Means, Pin, PinKind, ProtectedNameError, ProtectedNames, Remedy, SurveyError, Undone,
    Worktree, worktree_directories,
};
#[cfg(target_os = "linux")]
pub use protect::{Survey, SurveyCache};
#[cfg(target_os = "linux")]
pub use root::Root;
pub use root::{
    ApplyError, CHANGES_MAX, Change, ChangeTag, DirEntry, Expected, FileKind, Finished, LINKS_MAX,
    Metadata, OpenFile, Resolved, RootError, Stamp, Target, is_temporary,
};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Control, Launcher, Leftovers, Output, Process, Root, helper};
