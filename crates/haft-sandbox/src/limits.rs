//! Every bound of the sandbox, gathered for whoever lists them. Most are defined where they are used; here are only those
//! that a [`Resources`](crate::Resources) has unless told otherwise. Nothing is checked here.

#[cfg(target_os = "linux")]
use crate::confine::{self, seccomp};
use crate::proxy::{self, body, head};
#[cfg(target_os = "linux")]
use crate::{cgroup, helper, process, protect, root, tree, wire};

const GIB: u64 = 1024 * 1024 * 1024;

/// Memory of a command, in bytes.
pub const MEMORY_BYTES_DEFAULT: u64 = 4 * GIB;
/// Processes and threads of a command at one time.
pub const PROCESSES_DEFAULT: u32 = 1_024;
/// Temporary files of a command, in bytes.
pub const TEMP_BYTES_DEFAULT: u64 = 2 * GIB;
/// One file that a command writes, in bytes.
pub const FILE_BYTES_DEFAULT: u64 = 4 * GIB;
/// Open files of one process.
pub const OPEN_FILES_DEFAULT: u32 = 4_096;

/// One bound.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Bound {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// What the value counts.
    pub unit: &'static str,
    /// What is bounded.
    pub what: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

impl Bound {
    const fn new(
        name: &'static str,
        value: u64,
        unit: &'static str,
        what: &'static str,
        beyond: &'static str,
    ) -> Bound {
        Bound { name, value, unit, what, beyond }
    }
}

/// The bounds of commands.
#[cfg(target_os = "linux")]
pub const COMMANDS: &[Bound] = &[
    Bound::new(
        "MEMORY_BYTES_DEFAULT",
        MEMORY_BYTES_DEFAULT,
        "bytes",
        "the memory of a command, unless configured",
        "the command is killed",
    ),
    Bound::new(
        "PROCESSES_DEFAULT",
        PROCESSES_DEFAULT as u64,
        "processes",
        "processes and threads of a command, unless configured",
        "no further one starts",
    ),
    Bound::new(
        "TEMP_BYTES_DEFAULT",
        TEMP_BYTES_DEFAULT,
        "bytes",
        "the private temporary files of a command, unless configured",
        "writing fails",
    ),
    Bound::new(
        "FILE_BYTES_DEFAULT",
        FILE_BYTES_DEFAULT,
        "bytes",
        "one file that a command writes, unless configured",
        "writing fails",
    ),
    Bound::new(
        "OPEN_FILES_DEFAULT",
        OPEN_FILES_DEFAULT as u64,
        "files",
        "open files of one process, unless configured",
        "opening fails",
    ),
    Bound::new(
        "BYTES_PER_FILE",
        confine::BYTES_PER_FILE,
        "bytes",
        "temporary bytes for each temporary file",
        "making a further file fails",
    ),
    Bound::new(
        "LOCKED_BYTES_MAX",
        confine::LOCKED_BYTES_MAX,
        "bytes",
        "memory that one process keeps from being swapped",
        "locking fails",
    ),
    Bound::new(
        "PENDING_SIGNALS_MAX",
        confine::PENDING_SIGNALS_MAX,
        "signals",
        "signals and timers that wait",
        "sending or making one fails",
    ),
    Bound::new(
        "SEGMENT_BYTES_MAX",
        seccomp::SEGMENT_BYTES_MAX as u64,
        "bytes",
        "a piece of shared memory, where nothing else bounds large ones",
        "making it fails",
    ),
    Bound::new(
        "NEIGHBOURS_MAX",
        confine::NEIGHBOURS_MAX as u64,
        "paths",
        "what lies beside hidden places, without namespaces",
        "the command is not started",
    ),
    Bound::new(
        "UPON_TOP_MAX",
        confine::UPON_TOP_MAX as u64,
        "file systems",
        "what is mounted upon the machine's top",
        "the command is not started",
    ),
    Bound::new(
        "NAMES_MAX",
        confine::NAMES_MAX as u64,
        "names",
        "names tried for a private directory",
        "the command is not started",
    ),
    Bound::new(
        "SPEC_BYTES_MAX",
        wire::SPEC_BYTES_MAX as u64,
        "bytes",
        "a command with its arguments, environment and places",
        "the command is not started",
    ),
    Bound::new(
        "ANSWER_MS_MAX",
        process::ANSWER_MS_MAX,
        "milliseconds",
        "the start of a command, or of the helper that starts them",
        "the command is not started",
    ),
    Bound::new(
        "ATTEMPTS_MAX",
        process::ATTEMPTS_MAX as u64,
        "tries",
        "the start of a command whose helper died",
        "the command is not started",
    ),
    Bound::new(
        "PATHS_MAX",
        process::PATHS_MAX as u64,
        "paths",
        "hidden places whose first target is remembered",
        "further ones are hidden where they lead at the time",
    ),
    Bound::new(
        "KILL_MS_MAX",
        process::KILL_MS_MAX,
        "milliseconds",
        "a supervisor that was told to kill its command",
        "it is killed itself, and its processes are looked for",
    ),
    Bound::new(
        "BURY_MS_MAX",
        process::BURY_MS_MAX,
        "milliseconds",
        "a killed supervisor until it has ended, and until that is reported",
        "its processes are looked for without it",
    ),
    Bound::new(
        "LEFT_WAIT_MS_MAX",
        process::LEFT_WAIT_MS_MAX,
        "milliseconds",
        "the end of what commands of a haft that was killed left running",
        "that is reported, and looked at by the next start",
    ),
    Bound::new(
        "UNDERWAY_MAX",
        process::UNDERWAY_MAX as u64,
        "directories",
        "notes of dead processes of one process number",
        "the command is not started",
    ),
    Bound::new(
        "NOTE_BYTES_MAX",
        process::NOTE_BYTES_MAX,
        "bytes",
        "what was written down of one command",
        "that is reported, and the note is left",
    ),
    Bound::new(
        "REALM_TEARDOWN_MS_MAX",
        helper::REALM_TEARDOWN_MS_MAX,
        "milliseconds",
        "the end of a command's process namespace",
        "survivors are reported",
    ),
    Bound::new(
        "FAMILY_TEARDOWN_MS_MAX",
        helper::FAMILY_TEARDOWN_MS_MAX,
        "milliseconds",
        "killing a command that has no process namespace",
        "survivors are reported",
    ),
    Bound::new(
        "SWEEPS_MAX",
        helper::SWEEPS_MAX as u64,
        "looks",
        "looks for what a dead supervisor left",
        "they are given up",
    ),
    Bound::new(
        "ROUNDS_MAX",
        tree::ROUNDS_MAX as u64,
        "looks",
        "looks for what a dead helper left of a command",
        "the call fails and says so",
    ),
    Bound::new(
        "REMOVALS_MAX",
        cgroup::REMOVALS_MAX as u64,
        "tries",
        "removing a control group",
        "it stays",
    ),
    Bound::new(
        "PROCESSES_MAX",
        cgroup::PROCESSES_MAX as u64,
        "processes",
        "the processes whose memory is added up, without a control group",
        "further ones are not counted",
    ),
];

/// The bounds of the names that commands may not change.
#[cfg(target_os = "linux")]
pub const PROTECTED_NAMES: &[Bound] = &[
    Bound::new(
        "COMPONENTS_MAX",
        protect::COMPONENTS_MAX as u64,
        "names",
        "a pattern of protected names",
        "the pattern is refused",
    ),
    Bound::new(
        "CONFIG_BYTES_MAX",
        protect::CONFIG_BYTES_MAX,
        "bytes",
        "a configuration of git that appears and may be harmless",
        "it is undone",
    ),
    Bound::new(
        "POINTER_BYTES_MAX",
        protect::POINTER_BYTES_MAX,
        "bytes",
        "a file that only holds a path, as in a linked worktree",
        "it is not followed",
    ),
    Bound::new(
        "COPIES_BYTES_MAX",
        protect::COPIES_BYTES_MAX,
        "bytes",
        "protected files that are kept where nothing is mounted",
        "the command is not started",
    ),
    Bound::new(
        "SMALL_BYTES_MAX",
        protect::SMALL_BYTES_MAX,
        "bytes",
        "one protected file that is kept although a mount holds it",
        "it is not kept",
    ),
    Bound::new(
        "SMALL_BYTES_TOTAL",
        protect::SMALL_BYTES_TOTAL,
        "bytes",
        "protected files that are kept although mounts hold them",
        "further ones are not kept",
    ),
    Bound::new(
        "HIDDEN_FILES_MAX",
        protect::HIDDEN_FILES_MAX as u64,
        "files",
        "files of one hidden place whose other names are looked for",
        "further ones are not looked for",
    ),
    Bound::new(
        "HIDDEN_DEPTH_MAX",
        protect::HIDDEN_DEPTH_MAX as u64,
        "levels",
        "directories of a hidden place that are looked into",
        "deeper ones are not looked into",
    ),
    Bound::new(
        "NAME_SETS_MAX",
        protect::NAME_SETS_MAX as u64,
        "sets",
        "sets of names that directories are remembered for",
        "all are looked at anew",
    ),
    Bound::new(
        "DIRECTORIES_MAX",
        protect::DIRECTORIES_MAX as u64,
        "directories",
        "directories that are remembered for one set of names",
        "all are looked at anew",
    ),
    Bound::new(
        "CONTENTS_MAX",
        protect::CONTENTS_MAX as u64,
        "files",
        "small files that are remembered with their content",
        "all are read anew",
    ),
    Bound::new(
        "UNLOCKED_MAX",
        protect::UNLOCKED_MAX as u64,
        "directories",
        "directories that are opened to their owner for a look and shut again",
        "further ones stay open",
    ),
    Bound::new(
        "LOOKS_MAX",
        protect::LOOKS_MAX as u64,
        "looks",
        "looks after a command, while what was undone was in the way",
        "what is not known is reported",
    ),
    Bound::new(
        "DEPTH_MAX",
        protect::DEPTH_MAX as u64,
        "levels",
        "directories that are removed or copied at once",
        "removing goes on from the top; copying fails and is reported",
    ),
    Bound::new(
        "COPY_BYTES_MAX",
        protect::COPY_BYTES_MAX,
        "bytes",
        "what is copied to a quarantine on another file system",
        "nothing is moved, and that is reported",
    ),
    Bound::new(
        "SLOTS_MAX",
        protect::SLOTS_MAX as u64,
        "things",
        "the quarantine of one command",
        "further ones are not kept there, and that is reported",
    ),
];

/// The bounds of the proxy of one command.
pub const PROXY: &[Bound] = &[
    Bound::new(
        "HEAD_BYTES_MAX",
        proxy::HEAD_BYTES_MAX as u64,
        "bytes",
        "the head of a request or a response",
        "the request is answered 431, the response 502",
    ),
    Bound::new(
        "FIELDS_MAX",
        head::FIELDS_MAX as u64,
        "fields",
        "the head of a request or a response",
        "the request is answered 431, the response 502",
    ),
    Bound::new(
        "LINE_BYTES_MAX",
        body::LINE_BYTES_MAX as u64,
        "bytes",
        "what surrounds one chunk of a body; the trailer",
        "the connection is ended",
    ),
    Bound::new(
        "NAME_CHARS_MAX",
        proxy::NAME_CHARS_MAX as u64,
        "characters",
        "the name of a host",
        "the connection is refused",
    ),
    Bound::new(
        "LABEL_CHARS_MAX",
        proxy::LABEL_CHARS_MAX as u64,
        "characters",
        "what stands between two dots of a host's name",
        "the connection is refused",
    ),
    Bound::new(
        "CONNECTIONS_MAX",
        proxy::CONNECTIONS_MAX as u64,
        "connections",
        "what is served at one time for one call",
        "further ones wait in the kernel's queue",
    ),
    Bound::new(
        "RECORDED_MAX",
        proxy::RECORDED_MAX as u64,
        "connections",
        "what is recorded one by one for one call",
        "further ones are counted",
    ),
    Bound::new(
        "TEXT_CHARS_MAX",
        proxy::TEXT_CHARS_MAX as u64,
        "characters",
        "what is recorded of a host that is none",
        "the rest is left out",
    ),
    Bound::new(
        "HANDSHAKE_MS",
        proxy::HANDSHAKE_MS,
        "milliseconds",
        "a client until it has said where it wants to go",
        "the connection is ended",
    ),
    Bound::new(
        "DIAL_MS",
        proxy::DIAL_MS,
        "milliseconds",
        "resolving a name and connecting to one of its addresses",
        "the connection has failed",
    ),
    Bound::new(
        "ADDRESSES_MAX",
        proxy::ADDRESSES_MAX as u64,
        "addresses",
        "what is tried of one name",
        "further ones are left out",
    ),
    Bound::new(
        "IDLE_MS",
        proxy::IDLE_MS,
        "milliseconds",
        "a connection on which nothing goes either way",
        "it is ended, at the latest after twice the time",
    ),
    Bound::new(
        "INTERIM_MAX",
        proxy::INTERIM_MAX as u64,
        "responses",
        "interim responses before the actual one",
        "the request is answered 502",
    ),
    Bound::new(
        "RELAY_BYTES",
        proxy::RELAY_BYTES as u64,
        "bytes",
        "what is on its way in one direction of a connection",
        "the sender waits",
    ),
    Bound::new(
        "LINGER_BYTES_MAX",
        proxy::LINGER_BYTES_MAX as u64,
        "bytes",
        "what is read and dropped after a last answer",
        "the connection is closed",
    ),
    Bound::new(
        "LINGER_MS",
        proxy::LINGER_MS,
        "milliseconds",
        "reading and dropping after a last answer",
        "the connection is closed",
    ),
    Bound::new(
        "ACCEPT_PAUSE_MS",
        proxy::ACCEPT_PAUSE_MS,
        "milliseconds",
        "the pause after connections could not be accepted",
        "it is tried again",
    ),
];

/// The bounds of roots.
#[cfg(target_os = "linux")]
pub const ROOTS: &[Bound] = &[
    Bound::new(
        "CHANGES_MAX",
        root::CHANGES_MAX as u64,
        "changes",
        "one set of changes",
        "the set is refused",
    ),
    Bound::new(
        "PATH_BYTES_MAX",
        root::PATH_BYTES_MAX as u64,
        "bytes",
        "a canonical path",
        "the path is refused",
    ),
    Bound::new(
        "LINKS_MAX",
        root::LINKS_MAX as u64,
        "links",
        "symbolic links that one path leads through",
        "the path is refused",
    ),
    Bound::new(
        "OPEN_ATTEMPTS_MAX",
        root::OPEN_ATTEMPTS_MAX as u64,
        "tries",
        "opening while something on the way is renamed",
        "opening fails",
    ),
    Bound::new(
        "STAGE_ATTEMPTS_MAX",
        root::STAGE_ATTEMPTS_MAX as u64,
        "tries",
        "a free temporary name, or a parent directory that vanishes",
        "the set fails with nothing changed",
    ),
];
