//! What stands in for the handles on systems without the means to confine them. Opening and spawning refuse; because
//! nothing can be opened, the other operations take no value that could exist.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::{
    ApplyError, Change, ChangeTag, Command, Confinement, DirEntry, Enforced, Exceeded, Exit,
    Finished, Metadata, OpenFile, Resolved, RootError, SpawnError, Target, Undone, WaitError,
};

/// A directory that every access stays beneath.
#[derive(Debug, Clone)]
pub enum Root {}

/// Starts commands by means of one helper program.
#[derive(Debug, Clone)]
pub struct Launcher {}

/// A running command.
#[derive(Debug)]
pub enum Process {}

/// The reading side of a command's output.
#[derive(Debug)]
pub enum Output {}

/// The controlling side of a command.
#[derive(Debug)]
pub enum Control {}

/// What was found of processes that are gone: nothing, since none had a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// What their commands had done to protected names, and what became of it.
    pub undone: Vec<Undone>,
    /// Why something could not be looked at.
    pub problems: Vec<String>,
}

/// The small process between a launcher and its command.
pub mod helper {
    /// Does nothing, because no launcher asks for it.
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

        pub fn resolve(&self, _path: &Path) -> Result<Resolved, RootError> {
            match *self {}
        }

        pub fn open_file(&self, _canonical: &Path) -> Result<OpenFile, RootError> {
            match *self {}
        }

        pub fn open_dir(&self, _canonical: &Path) -> Result<OwnedFd, RootError> {
            match *self {}
        }

        pub fn metadata(&self, _canonical: &Path) -> Result<Metadata, RootError> {
            match *self {}
        }

        pub fn list(&self, _canonical: &Path) -> Result<Vec<DirEntry>, RootError> {
            match *self {}
        }

        pub fn apply(&self, _changes: Vec<Change>) -> Result<(), ApplyError> {
            match *self {}
        }

        pub fn apply_tagged(
            &self,
            _tag: ChangeTag,
            _changes: Vec<Change>,
        ) -> Result<(), ApplyError> {
            match *self {}
        }

        pub fn finish<D: PartialEq>(
            &self,
            _tag: ChangeTag,
            _targets: &[Target<D>],
            _digest: impl Fn(&mut std::fs::File) -> std::io::Result<D>,
        ) -> Result<Finished, RootError> {
            match *self {}
        }
    }

    impl Launcher {
        pub fn new(_helper: PathBuf) -> Launcher {
            Launcher {}
        }

        pub fn quarantine(self, _directory: PathBuf) -> Launcher {
            self
        }

        pub fn notes(self, _directory: PathBuf) -> Launcher {
            self
        }

        pub async fn settle_leftovers(&self) -> Leftovers {
            Leftovers::default()
        }

        pub fn control_groups(self) -> Launcher {
            self
        }

        pub async fn spawn(
            &self,
            _command: Command,
            _confinement: &Confinement,
        ) -> Result<Process, SpawnError> {
            Err(SpawnError::Unsupported)
        }

        pub async fn spawn_unconfined(&self, _command: Command) -> Result<Process, SpawnError> {
            Err(SpawnError::Unsupported)
        }
    }

    impl Process {
        pub async fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }

        pub async fn wait(&mut self) -> Result<Exit, WaitError> {
            match *self {}
        }

        pub fn kill(&mut self) {
            match *self {}
        }

        pub fn enforced(&self) -> Enforced {
            match *self {}
        }

        pub fn take_listener(&mut self) -> Option<TcpListener> {
            match *self {}
        }

        pub fn take_channel(&mut self) -> Option<UnixStream> {
            match *self {}
        }

        pub fn ended_by(&self) -> Option<Exceeded> {
            match *self {}
        }

        pub fn undone(&self) -> &[Undone] {
            match *self {}
        }

        pub fn split(self) -> (Output, Control) {
            match self {}
        }
    }

    impl Output {
        pub async fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }

        pub fn try_read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl Control {
        pub async fn wait(&mut self) -> Result<Exit, WaitError> {
            match *self {}
        }

        pub fn ended_by(&self) -> Option<Exceeded> {
            match *self {}
        }

        pub fn undone(&self) -> &[Undone] {
            match *self {}
        }

        pub fn kill(&mut self) {
            match *self {}
        }
    }
}
