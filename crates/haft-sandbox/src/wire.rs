//! What a launcher and its helper say to each other over their socket: one specification there, a few replies of fixed
//! size back. The encoding is its own because names need not be text and because the helper should start without
//! setting up a parser. It deliberately has no version: both ends are always of one build.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The first argument that makes a program a helper.
pub(crate) const HELPER_ARGUMENT: &str = "__haft-sandbox-helper";

/// The largest specification; the kernel's own limit on arguments and environment is below it.
pub(crate) const SPEC_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The size of the length that precedes a specification. The working directory's descriptor travels with it.
pub(crate) const HEADER_BYTES: usize = 4;

/// The size of every reply.
pub(crate) const REPLY_BYTES: usize = 6;

/// What a helper is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// What a helper reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// There is a process for the command, with this number, that is about to execute the program. The process says so
    /// itself, so that the launcher knows whom to kill whatever the command then does to its helper.
    Forked(i32),
    /// The program is being executed.
    Started,
    /// The command could not be started; the number is the operating system's.
    Failed(Stage, i32),
    /// The command ended with this status, and nothing that it started is left.
    Exited(i32),
    /// The command was ended by this signal, and nothing that it started is left.
    Signalled(i32),
    /// This many processes could not be killed.
    Survivors(i32),
}

/// The stage that starting a command failed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The helper could not set itself up.
    Setup,
    /// The working directory could not be entered.
    Directory,
    /// No such program.
    Missing,
    /// The program is there and may not be executed.
    Denied,
    /// The kernel refused to execute it.
    Execute,
}

impl Spec {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, &self.program);
        put_count(&mut bytes, self.args.len());
        for arg in &self.args {
            put(&mut bytes, arg);
        }
        put_count(&mut bytes, self.env.len());
        for (name, value) in &self.env {
            put(&mut bytes, name);
            put(&mut bytes, value);
        }
        bytes
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> io::Result<Spec> {
        let program = take(&mut bytes)?;
        let args_count = take_count(&mut bytes)?;
        let args = (0..args_count).map(|_| take(&mut bytes)).collect::<io::Result<_>>()?;
        let env_count = take_count(&mut bytes)?;
        let env = (0..env_count)
            .map(|_| Ok((take(&mut bytes)?, take(&mut bytes)?)))
            .collect::<io::Result<_>>()?;
        if bytes.is_empty() { Ok(Spec { program, args, env }) } else { Err(malformed()) }
    }
}

impl Reply {
    pub(crate) fn encode(self) -> [u8; REPLY_BYTES] {
        let (tag, stage, number) = match self {
            Reply::Forked(pid) => (0, 0, pid),
            Reply::Started => (5, 0, 0),
            Reply::Failed(stage, errno) => (1, stage.tag(), errno),
            Reply::Exited(code) => (2, 0, code),
            Reply::Signalled(signal) => (3, 0, signal),
            Reply::Survivors(count) => (4, 0, count),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [tag, stage, a, b, c, d]
    }

    pub(crate) fn decode(bytes: [u8; REPLY_BYTES]) -> io::Result<Reply> {
        let [tag, stage, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        Ok(match tag {
            0 => Reply::Forked(number),
            1 => Reply::Failed(Stage::from_tag(stage)?, number),
            2 => Reply::Exited(number),
            3 => Reply::Signalled(number),
            4 => Reply::Survivors(number),
            5 => Reply::Started,
            _ => return Err(malformed()),
        })
    }
}

impl Stage {
    fn tag(self) -> u8 {
        match self {
            Stage::Setup => 0,
            Stage::Directory => 1,
            Stage::Missing => 2,
            Stage::Denied => 3,
            Stage::Execute => 4,
        }
    }

    fn from_tag(tag: u8) -> io::Result<Stage> {
        Ok(match tag {
            0 => Stage::Setup,
            1 => Stage::Directory,
            2 => Stage::Missing,
            3 => Stage::Denied,
            4 => Stage::Execute,
            _ => return Err(malformed()),
        })
    }
}

fn put(bytes: &mut Vec<u8>, text: &OsStr) {
    put_count(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    // A count that does not fit makes the whole far larger than what a launcher sends.
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn take(bytes: &mut &[u8]) -> io::Result<OsString> {
    let length = usize::try_from(take_count(bytes)?).map_err(|_| malformed())?;
    let text = bytes.split_off(..length).ok_or_else(malformed)?;
    Ok(OsString::from_vec(text.to_vec()))
}

fn take_count(bytes: &mut &[u8]) -> io::Result<u32> {
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(malformed)?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*count))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "launcher and helper are not of one build")
}

#[cfg(test)]
mod tests;
