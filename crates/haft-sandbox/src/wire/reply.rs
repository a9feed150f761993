//! The reports of helpers: frames of a short header and, for failures, a text that names the failed
//! step.

use std::io;

use crate::bytes::malformed;
use crate::confinement::Mechanisms;
use crate::exit::ExceededLimit;

/// The size of the header of every reply.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;

/// Maximum length of a text in a reply. Such a frame still passes through a socket in one piece.
const TEXT_BYTES_MAX: usize = 1_024;

/// Bit position of the stage number in the byte that it shares with the mechanisms.
const STAGE_SHIFT: u32 = 5;

/// A report of a helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HelperReply {
    /// A zygote is ready for requests. Carries the kernel's mechanisms and, if there are no
    /// namespaces, the reason.
    Ready(MechanismFlags, Option<StartFailure>),
    /// This process supervises the call. A handle on it travels with this reply.
    Supervising(i32),
    /// The command's process exists, with this number, and is about to execute the program. The
    /// process reports this itself, so that the launcher knows which process to kill even if the
    /// command then attacks its supervisor.
    Forked(i32),
    /// The program is being executed, with these mechanisms in force. A listening socket may travel
    /// with this reply.
    Started(MechanismFlags),
    /// The command's view is complete. Handles on its user namespace and its mounts travel with this reply.
    View,
    /// The command was not started.
    Failed(StartFailure),
    /// The command was not started, because the requested confinement needs more than these
    /// mechanisms.
    Lacking(MechanismFlags, Option<StartFailure>),
    /// The command reached this limit; its end follows.
    Exceeded(ExceededLimit),
    /// The command ended with this status.
    Exited(i32),
    /// The command was ended by this signal.
    Signalled(i32),
    /// The command has ended, and its remaining processes are being killed; its end follows.
    Clearing,
    /// This many processes could not be killed.
    Survivors(i32),
    /// The supervisor was killed by this signal.
    Orphaned(i32),
}

/// The mechanisms that are in force, or available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct MechanismFlags {
    pub(crate) namespaces: bool,
    pub(crate) landlock: bool,
    pub(crate) seccomp: bool,
    pub(crate) limits: bool,
    /// Whether the number of processes is limited for every user, including root.
    pub(crate) process_bound: bool,
}

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartFailure {
    pub(crate) stage: StartStage,
    /// The operating system's error number.
    pub(crate) errno: i32,
    /// The failed step, where the stage alone is not enough.
    pub(crate) at: String,
}

/// The stage of a start that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartStage {
    /// The supervisor could not set itself up.
    Setup,
    /// The confinement could not be set up.
    Confine,
    /// The working directory could not be entered.
    Directory,
    /// The program does not exist.
    Missing,
    /// The program exists but may not be executed.
    Denied,
    /// The kernel refused to execute the program.
    Execute,
}

impl StartFailure {
    pub(crate) fn new(
        stage: StartStage,
        at: impl Into<String>,
        error: impl Into<io::Error>,
    ) -> StartFailure {
        let errno = error.into().raw_os_error().unwrap_or(libc::EINVAL);
        StartFailure { stage, errno, at: at.into() }
    }

    pub(crate) fn source(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

impl HelperReply {
    /// Returns the frame of the reply.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let none = MechanismFlags::default();
        let (tag, applied, failure, number) = match self {
            HelperReply::Ready(offer, obstacle) => (0, *offer, obstacle.as_ref(), 0),
            HelperReply::Supervising(pid) => (1, none, None, *pid),
            HelperReply::Forked(pid) => (2, none, None, *pid),
            HelperReply::Started(applied) => (3, *applied, None, 0),
            HelperReply::Failed(failure) => (4, none, Some(failure), 0),
            HelperReply::Lacking(applied, obstacle) => (5, *applied, obstacle.as_ref(), 0),
            HelperReply::Exceeded(ExceededLimit::Memory) => (6, none, None, 0),
            HelperReply::Exceeded(ExceededLimit::Processes) => (6, none, None, 1),
            HelperReply::Exited(code) => (7, none, None, *code),
            HelperReply::Signalled(signal) => (8, none, None, *signal),
            HelperReply::Clearing => (9, none, None, 0),
            HelperReply::Survivors(count) => (10, none, None, *count),
            HelperReply::Orphaned(signal) => (11, none, None, *signal),
            HelperReply::View => (12, none, None, 0),
        };
        let number = failure.map_or(number, |failure| failure.errno);
        let stage = failure.map_or(0, |failure| failure.stage.tag());
        let text = failure.map_or("", |failure| &failure.at);
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default();
        let mut frame = vec![tag, applied.bits() | stage << STAGE_SHIFT];
        frame.extend_from_slice(&number.to_le_bytes());
        frame.extend_from_slice(&u16::try_from(text.len()).unwrap_or_default().to_le_bytes());
        frame.extend_from_slice(text.as_bytes());
        frame
    }

    /// Returns how many bytes follow the header of a frame.
    pub(crate) fn text_bytes(header: [u8; FRAME_HEADER_BYTES]) -> usize {
        let [.., low, high] = header;
        usize::from(u16::from_le_bytes([low, high]))
    }

    /// Returns the reply of one whole frame.
    pub(crate) fn decode(frame: &[u8]) -> io::Result<HelperReply> {
        let (header, text) = frame.split_first_chunk().ok_or_else(malformed)?;
        if text.len() != HelperReply::text_bytes(*header) {
            return Err(malformed());
        }
        let [tag, flags, a, b, c, d, _, _] = *header;
        let number = i32::from_le_bytes([a, b, c, d]);
        let is_set = |place: u8| flags >> place & 1 == 1;
        let applied = MechanismFlags {
            namespaces: is_set(0),
            landlock: is_set(1),
            seccomp: is_set(2),
            limits: is_set(3),
            process_bound: is_set(4),
        };
        let failure = || {
            let stage = match flags >> STAGE_SHIFT {
                1 => StartStage::Setup,
                2 => StartStage::Confine,
                3 => StartStage::Directory,
                4 => StartStage::Missing,
                5 => StartStage::Denied,
                6 => StartStage::Execute,
                _ => return Err(malformed()),
            };
            let at = String::from_utf8_lossy(text).into_owned();
            Ok(StartFailure { stage, errno: number, at })
        };
        let obstacle = || if flags >> STAGE_SHIFT == 0 { Ok(None) } else { failure().map(Some) };
        Ok(match tag {
            0 => HelperReply::Ready(applied, obstacle()?),
            1 => HelperReply::Supervising(number),
            2 => HelperReply::Forked(number),
            3 => HelperReply::Started(applied),
            4 => HelperReply::Failed(failure()?),
            5 => HelperReply::Lacking(applied, obstacle()?),
            6 if number == 0 => HelperReply::Exceeded(ExceededLimit::Memory),
            6 if number == 1 => HelperReply::Exceeded(ExceededLimit::Processes),
            7 => HelperReply::Exited(number),
            8 => HelperReply::Signalled(number),
            9 => HelperReply::Clearing,
            10 => HelperReply::Survivors(number),
            11 => HelperReply::Orphaned(number),
            12 => HelperReply::View,
            _ => return Err(malformed()),
        })
    }
}

impl MechanismFlags {
    /// Returns the mechanisms that are also requested.
    pub(crate) fn restricted_to(self, requested: Mechanisms) -> MechanismFlags {
        MechanismFlags {
            namespaces: self.namespaces && requested.namespaces,
            landlock: self.landlock && requested.landlock,
            seccomp: self.seccomp && requested.seccomp,
            limits: self.limits,
            process_bound: self.process_bound && requested.namespaces,
        }
    }

    fn bits(self) -> u8 {
        let MechanismFlags { namespaces, landlock, seccomp, limits, process_bound } = self;
        let bits = [namespaces, landlock, seccomp, limits, process_bound];
        bits.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit))
    }
}

impl StartStage {
    /// Returns a function that makes a failure from the error of a step.
    pub(crate) fn at<E: Into<io::Error>>(
        self,
        at: impl Into<String>,
    ) -> impl FnOnce(E) -> StartFailure {
        move |error| StartFailure::new(self, at, error)
    }

    /// Returns the number of a stage; zero means no stage.
    fn tag(self) -> u8 {
        match self {
            StartStage::Setup => 1,
            StartStage::Confine => 2,
            StartStage::Directory => 3,
            StartStage::Missing => 4,
            StartStage::Denied => 5,
            StartStage::Execute => 6,
        }
    }
}
