//! The identity by which other processes know this one, and how they find out whether it still lives. An identity names
//! the machine, the start of that machine, the process namespace, the process number and the start of the process: the
//! kernel soon gives a number to another process. If a process cannot be seen, haft says nothing of it, and its lease has
//! to run out. Only a process that was seen to be gone counts as gone: otherwise its work could run twice.

use std::fs;
use std::path::Path;

use haft_contract::sha256_hex;
use haft_journal::LeaseOwner;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};

use crate::app_error::AppError;
use crate::id;

/// Where the kernel tells things about itself and about processes.
const PROC: &str = "/proc";

/// Where systems keep a number that no other machine has.
const MACHINE_ID: &str = "/etc/machine-id";

/// Goes before a machine's number when it is hashed. The number is a secret of the machine; what its manual page asks for is
/// a hash that is of use to one program alone.
const MACHINE_KEY: &str = "haft: the machine of a run's owner\n";

/// Characters of the hash that are kept.
const MACHINE_CHARS: usize = 32;

/// Stands for a machine that has no number.
const NO_MACHINE: &str = "-";

/// Identifies a process among all that ever ran.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProcessIdentity {
    /// The machine and the namespace of the process.
    system: MachineIdentity,
    /// The number of the process.
    pid: u32,
    /// In ticks since the machine started.
    started_ticks: u64,
}

/// Where a process can be seen from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MachineIdentity {
    /// Copies of a machine share it, and so do hosts that were never given a name of their own share that.
    machine: String,
    /// The host name.
    host: String,
    /// The id of the machine's current start.
    boot: String,
    /// The namespace in which the process has its number.
    namespace: String,
}

/// The process that has a number, as far as this process can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessLiveness {
    /// A process that began then, in ticks since the machine started.
    Running { began: u64 },
    /// No process, or only what is left of one.
    Ended,
    /// It cannot be told from here.
    Unknown,
}

/// Returns this process.
///
/// # Errors
///
/// Fails if the system gives no random bytes.
pub fn this_process(now_ms: u64) -> Result<LeaseOwner, AppError> {
    let pid = std::process::id();
    let unique = id::new("process", now_ms)?;
    let (Some(system), ProcessLiveness::Running { began }) =
        (MachineIdentity::this(), observe_process(Path::new(PROC), pid))
    else {
        // Other processes cannot see when this one is gone, so its lease has to run out.
        return Ok(LeaseOwner { id: unique, location: format!("process {pid}") });
    };
    let place = format!("process {pid} on {}", system.host);
    let identity = ProcessIdentity { system, pid, started_ticks: began };
    Ok(LeaseOwner { id: identity.named(&unique), location: place })
}

/// Returns whether a process is gone for certain.
pub fn is_gone(owner: &LeaseOwner) -> bool {
    check_gone(owner) == Some(true)
}

/// Returns whether a process is gone, `None` where that cannot be known from here.
pub fn check_gone(owner: &LeaseOwner) -> Option<bool> {
    let theirs = parse(&owner.id)?;
    // Another start of what may be this machine may as well be another machine: copies have the same number and name.
    if theirs.system != MachineIdentity::this()? {
        return None;
    }
    match observe_process(Path::new(PROC), theirs.pid) {
        ProcessLiveness::Running { began } => Some(began != theirs.started_ticks),
        ProcessLiveness::Ended => Some(true),
        ProcessLiveness::Unknown => None,
    }
}

/// Asks a process of this machine to end, as a person does with a signal. Returns whether it was asked.
///
/// A process that cannot be seen from here is not asked, and neither is another one that got its number.
pub fn ask_to_end(owner: &LeaseOwner) -> bool {
    let Some(theirs) = parse(&owner.id) else { return false };
    if MachineIdentity::this().is_none_or(|this| this != theirs.system) {
        return false;
    }
    let pid = i32::try_from(theirs.pid).ok().and_then(Pid::from_raw);
    // The descriptor stays with one process. So the process that is looked at next is the one that gets the signal.
    let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return false;
    };
    let found = observe_process(Path::new(PROC), theirs.pid);
    found == (ProcessLiveness::Running { began: theirs.started_ticks })
        && pidfd_send_signal(process, Signal::TERM).is_ok()
}

/// Returns whether a process is this one.
pub fn is_this_process(owner: &LeaseOwner) -> bool {
    let this = MachineIdentity::this();
    parse(&owner.id).is_some_and(|it| it.pid == std::process::id() && Some(it.system) == this)
}

impl MachineIdentity {
    /// Returns the one of this process, if it can be known.
    fn this() -> Option<MachineIdentity> {
        // Where `/proc` numbers the processes of another namespace, what it says is about others.
        let number = fs::read_link(format!("{PROC}/self")).ok()?;
        if number.to_str()? != std::process::id().to_string() {
            return None;
        }
        // A text with a space in it would be two words of the name.
        let word = |path: &str| {
            let text = fs::read_to_string(format!("{PROC}/{path}")).ok()?;
            Some(text.trim().replace(char::is_whitespace, "-"))
        };
        let namespace = fs::read_link(format!("{PROC}/self/ns/pid")).ok()?;
        Some(MachineIdentity {
            machine: machine(Path::new(MACHINE_ID)),
            host: word("sys/kernel/hostname")?,
            boot: word("sys/kernel/random/boot_id")?,
            namespace: namespace.to_string_lossy().into_owned(),
        })
    }
}

impl ProcessIdentity {
    /// Returns the name of the process, which ends in a unique id.
    fn named(&self, unique: &str) -> String {
        let ProcessIdentity {
            system: MachineIdentity { machine, host, boot, namespace },
            pid,
            started_ticks: began,
        } = self;
        format!("{machine} {host} {boot} {namespace} {pid} {began} {unique}")
    }
}

/// Returns what stands for the machine in names of processes.
fn machine(path: &Path) -> String {
    let number = fs::read_to_string(path).unwrap_or_default();
    let number = number.trim();
    // While a system starts for the first time, the file says that it has no number yet.
    if number.is_empty() || number == "uninitialized" {
        return NO_MACHINE.to_owned();
    }
    sha256_hex(format!("{MACHINE_KEY}{number}").as_bytes()).chars().take(MACHINE_CHARS).collect()
}

/// Looks at the process of that number, where the processes of this namespace are shown.
fn observe_process(processes: &Path, pid: u32) -> ProcessLiveness {
    match fs::read_to_string(processes.join(pid.to_string()).join("stat")) {
        Ok(stat) => read_stat(&stat),
        // A missing file proves little: `/proc` may hide processes of other users, and reading fails for many reasons. The
        // kernel says for every process whether a signal would reach it.
        Err(_) => match i32::try_from(pid).ok().and_then(Pid::from_raw).map(test_kill_process) {
            Some(Err(Errno::SRCH)) => ProcessLiveness::Ended,
            Some(Ok(()) | Err(_)) | None => ProcessLiveness::Unknown,
        },
    }
}

/// Parses the line of the kernel about a process.
fn read_stat(stat: &str) -> ProcessLiveness {
    // The second field is a name in parentheses, which may hold anything.
    let Some((_, rest)) = stat.rsplit_once(')') else { return ProcessLiveness::Unknown };
    let mut fields = rest.split_whitespace();
    match fields.next() {
        Some("Z" | "X") => ProcessLiveness::Ended,
        // A stopped process does nothing until a signal resumes it, so other processes must not wait for its end.
        Some("T" | "t") => ProcessLiveness::Unknown,
        // The 22nd field of all.
        Some(_) => match fields.nth(18).and_then(|began| began.parse().ok()) {
            Some(began) => ProcessLiveness::Running { began },
            None => ProcessLiveness::Unknown,
        },
        None => ProcessLiveness::Unknown,
    }
}

/// Reads a name. Those of before machines had numbers say too little, and are none.
fn parse(id: &str) -> Option<ProcessIdentity> {
    let words: Vec<&str> = id.split(' ').collect();
    let [machine, host, boot, namespace, pid, began, _] = words.as_slice() else { return None };
    let [machine, host, boot, namespace] =
        [machine, host, boot, namespace].map(ToString::to_string);
    Some(ProcessIdentity {
        system: MachineIdentity { machine, host, boot, namespace },
        pid: pid.parse().ok()?,
        started_ticks: began.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
