//! What helpers report: frames of a short header and, for failures, a text that says at what.

use std::io;

use super::bytes::malformed;
use crate::process::Exceeded;

/// The size of the header of every reply.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;

/// The longest text in a reply. With it a frame still goes through a socket in one piece.
const TEXT_BYTES_MAX: usize = 1_024;

/// Where the number of a stage begins in the byte that it shares with the mechanisms.
const STAGE_SHIFT: u32 = 5;

/// What a helper reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A zygote is ready for requests; with it goes what the kernel offers, and if there are no namespaces, why.
    Ready(Applied, Option<Failure>),
    /// This process supervises the call. A handle on it travels with this reply.
    Supervising(i32),
    /// There is a process for the command, with this number, that is about to execute the program. The process says so
    /// itself, so that the launcher knows whom to kill whatever the command then does to its supervisor.
    Forked(i32),
    /// The program is being executed, and this is in force around it. A listening socket may travel with this reply.
    Started(Applied),
    /// The command was not started.
    Failed(Failure),
    /// The command was not started, because confinement as it was asked for takes more than what can be had here.
    Lacking(Applied, Option<Failure>),
    /// The command met this bound; its end follows.
    Exceeded(Exceeded),
    /// The command ended with this status.
    Exited(i32),
    /// The command was ended by this signal.
    Signalled(i32),
    /// The command has ended, and what it left is being killed; its end follows.
    Clearing,
    /// This many processes could not be killed.
    Survivors(i32),
    /// The supervisor died of this signal.
    Orphaned(i32),
}

/// Which mechanisms are in force, or can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Applied {
    pub(crate) namespaces: bool,
    pub(crate) landlock: bool,
    pub(crate) seccomp: bool,
    pub(crate) limits: bool,
    /// Whether the number of processes is bounded for every user.
    pub(crate) process_bound: bool,
}

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    /// The operating system's number.
    pub(crate) errno: i32,
    /// What was being done, where the stage alone does not say.
    pub(crate) at: String,
}

/// The stage that starting a command failed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The supervisor could not set itself up.
    Setup,
    /// The confinement could not be set up.
    Confine,
    /// The working directory could not be entered.
    Directory,
    /// No such program.
    Missing,
    /// The program is there and may not be executed.
    Denied,
    /// The kernel refused to execute it.
    Execute,
}

impl Failure {
    pub(crate) fn new(stage: Stage, at: impl Into<String>, error: &io::Error) -> Failure {
        let errno = error.raw_os_error().unwrap_or_else(|| rustix::io::Errno::INVAL.raw_os_error());
        Failure { stage, errno, at: at.into() }
    }

    pub(crate) fn source(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

impl Reply {
    /// Returns the frame of the reply.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let none = Applied::default();
        let (tag, applied, failure, number) = match self {
            Reply::Ready(offer, obstacle) => (0, *offer, obstacle.as_ref(), 0),
            Reply::Supervising(pid) => (1, none, None, *pid),
            Reply::Forked(pid) => (2, none, None, *pid),
            Reply::Started(applied) => (3, *applied, None, 0),
            Reply::Failed(failure) => (4, none, Some(failure), 0),
            Reply::Lacking(applied, obstacle) => (5, *applied, obstacle.as_ref(), 0),
            Reply::Exceeded(bound) => (6, none, None, number_of(*bound)),
            Reply::Exited(code) => (7, none, None, *code),
            Reply::Signalled(signal) => (8, none, None, *signal),
            Reply::Clearing => (9, none, None, 0),
            Reply::Survivors(count) => (10, none, None, *count),
            Reply::Orphaned(signal) => (11, none, None, *signal),
        };
        let number = failure.map_or(number, |failure| failure.errno);
        let stage = failure.map_or(0, |failure| failure.stage.tag());
        frame(
            [tag, applied.bits() | stage << STAGE_SHIFT],
            number,
            failure.map_or("", |failure| &failure.at),
        )
    }

    /// Returns how many bytes follow a frame's header.
    pub(crate) fn text_bytes(header: [u8; FRAME_HEADER_BYTES]) -> usize {
        let [.., low, high] = header;
        usize::from(u16::from_le_bytes([low, high]))
    }

    /// Returns the reply of one whole frame.
    pub(crate) fn decode(frame: &[u8]) -> io::Result<Reply> {
        let (header, text) = frame.split_first_chunk().ok_or_else(malformed)?;
        if text.len() != Reply::text_bytes(*header) {
            return Err(malformed());
        }
        let [tag, flags, a, b, c, d, _, _] = *header;
        let number = i32::from_le_bytes([a, b, c, d]);
        let applied = Applied::from_bits(flags & !(u8::MAX << STAGE_SHIFT));
        let failure = || {
            let stage = Stage::from_tag(flags >> STAGE_SHIFT)?;
            Ok::<_, io::Error>(Failure {
                stage,
                errno: number,
                at: String::from_utf8_lossy(text).into_owned(),
            })
        };
        let obstacle = || if flags >> STAGE_SHIFT == 0 { Ok(None) } else { failure().map(Some) };
        Ok(match tag {
            0 => Reply::Ready(applied, obstacle()?),
            1 => Reply::Supervising(number),
            2 => Reply::Forked(number),
            3 => Reply::Started(applied),
            4 => Reply::Failed(failure()?),
            5 => Reply::Lacking(applied, obstacle()?),
            6 => Reply::Exceeded(bound_of(number)?),
            7 => Reply::Exited(number),
            8 => Reply::Signalled(number),
            9 => Reply::Clearing,
            10 => Reply::Survivors(number),
            11 => Reply::Orphaned(number),
            _ => return Err(malformed()),
        })
    }
}

impl Applied {
    fn bits(self) -> u8 {
        let Applied { namespaces, landlock, seccomp, limits, process_bound } = self;
        let bits = [namespaces, landlock, seccomp, limits, process_bound];
        bits.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit))
    }

    fn from_bits(bits: u8) -> Applied {
        let is_set = |place: u8| bits >> place & 1 == 1;
        Applied {
            namespaces: is_set(0),
            landlock: is_set(1),
            seccomp: is_set(2),
            limits: is_set(3),
            process_bound: is_set(4),
        }
    }
}

impl Stage {
    /// The number of a stage; nought means that there is none.
    fn tag(self) -> u8 {
        match self {
            Stage::Setup => 1,
            Stage::Confine => 2,
            Stage::Directory => 3,
            Stage::Missing => 4,
            Stage::Denied => 5,
            Stage::Execute => 6,
        }
    }

    fn from_tag(tag: u8) -> io::Result<Stage> {
        Ok(match tag {
            1 => Stage::Setup,
            2 => Stage::Confine,
            3 => Stage::Directory,
            4 => Stage::Missing,
            5 => Stage::Denied,
            6 => Stage::Execute,
            _ => return Err(malformed()),
        })
    }
}

fn number_of(bound: Exceeded) -> i32 {
    match bound {
        Exceeded::Memory => 0,
        Exceeded::Processes => 1,
    }
}

fn bound_of(number: i32) -> io::Result<Exceeded> {
    Ok(match number {
        0 => Exceeded::Memory,
        1 => Exceeded::Processes,
        _ => return Err(malformed()),
    })
}

fn frame([tag, flags]: [u8; 2], number: i32, text: &str) -> Vec<u8> {
    let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default();
    let mut frame = vec![tag, flags];
    frame.extend_from_slice(&number.to_le_bytes());
    frame.extend_from_slice(&u16::try_from(text.len()).unwrap_or_default().to_le_bytes());
    frame.extend_from_slice(text.as_bytes());
    frame
}
