//! Replacements for the handles on systems that cannot confine them. Opening and spawning fail.
//! Because nothing can be opened, the other operations take a value that cannot exist.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::{
    ChangeSetError, ChangeSetState, ChangeTag, ChangeTarget, Confinement, DirEntry, Enforcement,
    ExceededLimit, OpenedRootFile, PathMetadata, ProcessExit, ResolvedPath, RevertedChange,
    RootError, RootFileChange, SandboxCommand, SpawnError, WaitError,
};

/// A directory that file access cannot leave.
#[derive(Debug, Clone)]
pub enum Root {}

/// Starts commands through one helper program.
#[derive(Debug, Clone)]
pub struct Launcher {}

/// A running command.
#[derive(Debug)]
pub enum SandboxProcess {}

/// The reading side of a command's output.
#[derive(Debug)]
pub enum ProcessOutput {}

/// The controlling side of a command.
#[derive(Debug)]
pub enum ProcessControl {}

/// The result of recovering interrupted commands. Always empty here, because no command can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Changes of protected paths that were reverted.
    pub reverted: Vec<RevertedChange>,
    /// Reasons why something could not be checked.
    pub problems: Vec<String>,
}

/// The small process between a launcher and its command.
pub mod helper {
    /// Does nothing, because no launcher requests it.
    pub fn run_if_requested() {}
}

#[expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "as on Linux, where they are described"
)]
mod operations {
    use super::*;

    impl Root {
        pub fn open(_path: &Path) -> Result<Root, RootError> {
            Err(RootError::Unsupported)
        }

        pub fn path(&self) -> &Path {
            match *self {}
        }

        pub fn resolve(&self, _path: &Path) -> Result<ResolvedPath, RootError> {
            match *self {}
        }

        pub fn open_file(&self, _canonical: &Path) -> Result<OpenedRootFile, RootError> {
            match *self {}
        }

        pub fn open_dir(&self, _canonical: &Path) -> Result<OwnedFd, RootError> {
            match *self {}
        }

        pub fn metadata(&self, _canonical: &Path) -> Result<PathMetadata, RootError> {
            match *self {}
        }

        pub fn list(&self, _canonical: &Path) -> Result<Vec<DirEntry>, RootError> {
            match *self {}
        }

        pub fn apply(&self, _changes: Vec<RootFileChange>) -> Result<(), ChangeSetError> {
            match *self {}
        }

        pub fn apply_tagged(
            &self,
            _tag: ChangeTag,
            _changes: Vec<RootFileChange>,
        ) -> Result<(), ChangeSetError> {
            match *self {}
        }

        pub fn finish_changes<D: PartialEq>(
            &self,
            _tag: ChangeTag,
            _targets: &[ChangeTarget<D>],
            _digest: impl Fn(&mut std::fs::File) -> std::io::Result<D>,
        ) -> Result<ChangeSetState, RootError> {
            match *self {}
        }
    }

    impl Launcher {
        pub fn new(_helper: PathBuf) -> Launcher {
            Launcher {}
        }

        pub fn with_quarantine(self, _directory: PathBuf) -> Launcher {
            self
        }

        pub fn with_recovery_log(self, _directory: PathBuf) -> Launcher {
            self
        }

        pub async fn recover_interrupted(&self) -> RecoveryReport {
            RecoveryReport::default()
        }

        pub fn with_control_groups(self) -> Launcher {
            self
        }

        pub async fn spawn(
            &self,
            _command: SandboxCommand,
            _confinement: &Confinement,
        ) -> Result<SandboxProcess, SpawnError> {
            Err(SpawnError::Unsupported)
        }

        pub async fn spawn_unconfined(
            &self,
            _command: SandboxCommand,
        ) -> Result<SandboxProcess, SpawnError> {
            Err(SpawnError::Unsupported)
        }
    }

    impl SandboxProcess {
        pub async fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }

        pub async fn wait(&mut self) -> Result<ProcessExit, WaitError> {
            match *self {}
        }

        pub fn kill(&mut self) {
            match *self {}
        }

        pub fn enforcement(&self) -> Enforcement {
            match *self {}
        }

        pub fn take_listener(&mut self) -> Option<TcpListener> {
            match *self {}
        }

        pub fn take_channel(&mut self) -> Option<UnixStream> {
            match *self {}
        }

        pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
            match *self {}
        }

        pub fn reverted_changes(&self) -> &[RevertedChange] {
            match *self {}
        }

        pub fn split(self) -> (ProcessOutput, ProcessControl) {
            match self {}
        }
    }

    impl ProcessOutput {
        pub async fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }

        pub fn try_read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl ProcessControl {
        pub async fn wait(&mut self) -> Result<ProcessExit, WaitError> {
            match *self {}
        }

        pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
            match *self {}
        }

        pub fn reverted_changes(&self) -> &[RevertedChange] {
            match *self {}
        }

        pub fn kill(&mut self) {
            match *self {}
        }
    }
}
