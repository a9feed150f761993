//! Confined directories and processes, and what was enforced.
//!
//! Two things are here. A [`Root`] is a directory that file access stays beneath, whatever is renamed or linked
//! meanwhile. A [`Launcher`] runs commands in such a directory and leaves nothing of them behind. The crate deliberately
//! knows neither tools nor rules: whoever uses it decides what may be touched and run, and this crate makes the decision
//! hold.
//!
//! # Example
//!
//! Every path goes through two steps: it is resolved, then the canonical form is judged and used.
//!
//! ```standalone_crate
//! use haft_sandbox::{Change, Command, Exit, Expected, Launcher, Root};
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
//!         let mut process = launcher.spawn_unconfined(command).await?;
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
//! All of this needs Linux 5.4; `openat2` (5.6) makes it faster. On other Unix systems the crate compiles, opening a root and
//! spawning a command fail with an error that says so, and nothing is done with less confinement than promised.

#![deny(missing_docs)]

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod confine;
mod confinement;
#[cfg(target_os = "linux")]
pub mod helper;
mod kernel;
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
#[cfg(target_os = "linux")]
pub use cgroup::Exceeded;
pub use kernel::{Availability, Kernel, Mechanism, Offer};
pub use process::{Command, Enforced, Exit, Layer, Level, Missing, SpawnError, WaitError};
#[cfg(target_os = "linux")]
pub use process::{Control, Launcher, Output, Process};
pub use protect::{ProtectedNameError, ProtectedNames};
#[cfg(target_os = "linux")]
pub use protect::{
    Holding, Means, Pin, PinKind, Remedy, Survey, SurveyCache, SurveyError, Undone, Worktree,
    worktree_directories,
};
#[cfg(target_os = "linux")]
pub use root::Root;
pub use root::{
    ApplyError, CHANGES_MAX, Change, DirEntry, Expected, FileKind, LINKS_MAX, Metadata, OpenFile,
    Resolved, RootError, Stamp, is_temporary,
};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Control, Launcher, Output, Process, Root, helper};
