//! System call filters: the calls that a confined command cannot make.
//!
//! Every call that is not listed is allowed. A list of allowed calls would be tighter, but every
//! release of a compiler or runtime could break it with harmless calls. The other layers control
//! access to files, hosts and processes. The filter removes calls that would bypass these layers,
//! and parts of the kernel that no build needs. Filters see only numbers, never memory, because
//! another thread could change memory.
//!
//! The filter program is written here instead of by a library, because its shape can be a tenth of
//! the cost of a confined start. The kernel runs each new program once for each system call, to
//! learn which are always allowed. A linear search took 180 microseconds; a binary search takes 50.

mod assembler;
mod table;

use std::io;

use libc::{c_int, c_long, sock_filter};

use assembler::{JumpCondition, SeccompAssembler};
use table::SyscallRule;

/// A command's filter, ready to be installed.
#[derive(Debug)]
pub(crate) struct SeccompFilter {
    program: Vec<sock_filter>,
}

/// Options of a command's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeccompOptions {
    pub(crate) sockets: SocketAccess,
    pub(crate) memfd: MemfdAccess,
    pub(crate) ipc: IpcAccess,
    pub(crate) neighbours: NeighbourAccess,
}

/// The processes and files that the command can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourAccess {
    /// Its own, because there are namespaces.
    Own,
    /// Those of the whole machine. The filter refuses operations on them that no other layer
    /// controls.
    Everyone,
}

/// The sockets that the command can create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketAccess {
    /// IP sockets, and netlink sockets for reading routes.
    All,
    /// Only connected pairs.
    None,
}

/// Whether the command can create unnamed files in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemfdAccess {
    /// Allowed.
    Allowed,
    /// Denied: only a control group limits their memory.
    Denied,
}

/// Access to System V IPC and POSIX message queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpcAccess {
    /// Allowed: in an IPC namespace they are private to the command.
    Allowed,
    /// Allowed except for large shared memory segments: only a control group limits their memory
    /// while no process has them mapped. A namespace can have 4,096 small segments, through which
    /// databases find each other.
    Small,
    /// Denied: without a namespace they are shared with the whole machine.
    Denied,
}

/// A jump target in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterLabel {
    /// The search continues here for numbers from this row on.
    Rows(usize),
    Verdict(SyscallRule),
    Netlink,
    Internet,
    InternetProtocol,
    UnixPair,
    Allow,
    TooLarge,
    NoFamily,
    NoProtocol,
    OwnProcess,
    Kill,
}

/// Offsets in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// Distance from the lower half of an argument to its upper half.
const UPPER_HALF: u32 = 4;

/// Maximum number of rows that are compared one by one instead of halved again.
const ROWS_TOGETHER_MAX: usize = 10;

/// The value of `arch` in `struct seccomp_data` for programs of this architecture.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE_HERE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE_HERE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE_HERE: Option<u32> = None;

/// Calls of the x32 interface have this bit in their numbers and otherwise look like x86-64 calls.
/// No architecture has its own numbers from here on.
const FOREIGN_NUMBERS: u32 = 0x4000_0000;

/// The flags of `clone` that create a namespace. The flag for time namespaces cannot be given to
/// this call.
const CLONE_NAMESPACES: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u32 = 0xf;

/// The set-user-id and set-group-id bits, which run a file with its owner's or group's rights.
const LENDING: u32 = 0o6000;

/// `setpriority`: the priority of a single process.
const ONE_PROCESS: u32 = 0;

/// `ioprio_set`: the priority of a single process.
const ONE_PROCESS_FOR_IO: u32 = 1;

/// Maximum size of a shared memory segment where large ones are refused, in bytes.
pub(crate) const SEGMENT_BYTES_MAX: u32 = 64 * 1024;

/// The value with which `personality` only reads.
const PERSONALITY_ASK: u32 = 0xffff_ffff;

impl SeccompOptions {
    /// The options that refuse the least.
    pub(crate) const LOOSE: SeccompOptions = SeccompOptions {
        sockets: SocketAccess::All,
        memfd: MemfdAccess::Allowed,
        ipc: IpcAccess::Allowed,
        neighbours: NeighbourAccess::Own,
    };
}

impl SeccompFilter {
    /// Builds the filter.
    pub(crate) fn build(options: SeccompOptions) -> io::Result<SeccompFilter> {
        let Some(architecture) = ARCHITECTURE_HERE else {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "system call filters are written for x86-64 and 64-bit ARM only",
            ));
        };
        let mut program = SeccompAssembler::new();
        program.load(ARCHITECTURE);
        program.jump_if(JumpCondition::Equal(architecture), FilterLabel::Rows(0));
        // A program of another architecture could only continue with errors. Killing it reports
        // that. A 64-bit program makes calls of a 32-bit interface only on purpose.
        program.jump(FilterLabel::Kill);
        program.place(FilterLabel::Rows(0));
        program.load(NUMBER);
        program.jump_if(
            JumpCondition::AtLeast(FOREIGN_NUMBERS),
            FilterLabel::Verdict(SyscallRule::Absent),
        );
        search(&mut program, 0, &table::rows(options))?;
        check_arguments(&mut program)?;
        let answers = [
            (FilterLabel::Allow, libc::SECCOMP_RET_ALLOW),
            (FilterLabel::Verdict(SyscallRule::NotPermitted), refusal(libc::EPERM)?),
            (FilterLabel::Verdict(SyscallRule::Absent), refusal(libc::ENOSYS)?),
            (FilterLabel::TooLarge, refusal(libc::EINVAL)?),
            (FilterLabel::NoFamily, refusal(libc::EAFNOSUPPORT)?),
            (FilterLabel::NoProtocol, refusal(libc::EPROTONOSUPPORT)?),
            (FilterLabel::Verdict(SyscallRule::Unsupported), refusal(libc::EOPNOTSUPP)?),
            (FilterLabel::Kill, libc::SECCOMP_RET_KILL_PROCESS),
        ];
        for (place, action) in answers {
            program.place(place);
            program.return_action(action);
        }
        Ok(SeccompFilter { program: program.finish()? })
    }

    /// Installs the filter permanently. The kernel requires `no_new_privs`.
    pub(crate) fn install(&self) -> io::Result<()> {
        let len = u16::try_from(self.program.len()).map_err(io::Error::other)?;
        // The kernel's interface is not const-correct; it copies the program and does not change
        // it.
        let program = libc::sock_fprog { len, filter: self.program.as_ptr().cast_mut() };
        #[expect(unsafe_code, reason = "no safe interface installs a filter")]
        // SAFETY: the structure and its instructions live until the call returns, and the kernel
        // needs them no longer. The length is that of the vector.
        let result = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Emits a binary search for the call's number, which jumps to the rule of the matching row. Any
/// other number is allowed.
///
/// The rows before `first` were already excluded.
fn search(
    program: &mut SeccompAssembler<FilterLabel>,
    first: usize,
    rows: &[(c_long, SyscallRule)],
) -> io::Result<()> {
    if rows.len() <= ROWS_TOGETHER_MAX {
        for (number, verdict) in rows {
            program.jump_if(JumpCondition::Equal(value(*number)?), FilterLabel::Verdict(*verdict));
        }
        program.jump(FilterLabel::Allow);
        return Ok(());
    }
    let (lower, upper) = rows.split_at(rows.len() / 2);
    let upper_first = first + lower.len();
    if let Some((number, _)) = upper.first() {
        program.jump_if(JumpCondition::AtLeast(value(*number)?), FilterLabel::Rows(upper_first));
    }
    search(program, first, lower)?;
    program.place(FilterLabel::Rows(upper_first));
    search(program, upper_first, upper)
}

/// Emits the checks for calls whose arguments decide. The upper half of an argument is not checked
/// where the kernel uses only 32 bits.
fn check_arguments(program: &mut SeccompAssembler<FilterLabel>) -> io::Result<()> {
    let refuse = FilterLabel::Verdict(SyscallRule::NotPermitted);

    program.place(FilterLabel::Verdict(SyscallRule::Clone));
    program.load(argument(0));
    program.jump_if(JumpCondition::AnyBitOf(value(CLONE_NAMESPACES)?), refuse);
    program.jump(FilterLabel::Allow);

    program.place(FilterLabel::Verdict(SyscallRule::Ioctl));
    program.load(argument(1));
    // Injecting input into a terminal, also through the console's selection, and changing its line
    // discipline.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD] {
        program.jump_if(JumpCondition::Equal(value(request)?), refuse);
    }
    program.jump(FilterLabel::Allow);

    program.place(FilterLabel::Verdict(SyscallRule::Personality));
    program.load(argument(0));
    for harmless in [0, PERSONALITY_ASK] {
        program.jump_if(JumpCondition::Equal(harmless), FilterLabel::Allow);
    }
    program.jump(refuse);

    program.place(FilterLabel::Verdict(SyscallRule::Segment));
    program.load(argument(1) + UPPER_HALF);
    program.jump_if(JumpCondition::AtLeast(1), FilterLabel::TooLarge);
    program.load(argument(1));
    program.jump_if(JumpCondition::AtLeast(SEGMENT_BYTES_MAX + 1), FilterLabel::TooLarge);
    program.jump(FilterLabel::Allow);

    // A set-user-id program in a directory of the user would escape every limit: it runs with the
    // user's rights whichever process executes it.
    for (verdict, index) in [(SyscallRule::SecondIsMode, 1), (SyscallRule::ThirdIsMode, 2)] {
        program.place(FilterLabel::Verdict(verdict));
        program.load(argument(index));
        program.jump_if(JumpCondition::AnyBitOf(LENDING), refuse);
        program.jump(FilterLabel::Allow);
    }

    // Calls that name a process by its number, where zero is the caller. Reading limits is harmless.
    program.place(FilterLabel::Verdict(SyscallRule::Limits));
    for half in [0, UPPER_HALF] {
        program.load(argument(2) + half);
        program.jump_if(JumpCondition::AtLeast(1), FilterLabel::OwnProcess);
    }
    program.jump(FilterLabel::Allow);

    program.place(FilterLabel::Verdict(SyscallRule::FirstIsProcess));
    program.place(FilterLabel::OwnProcess);
    program.load(argument(0));
    program.jump_if(JumpCondition::Equal(0), FilterLabel::Allow);
    program.jump(refuse);

    let priorities =
        [(SyscallRule::Priority, ONE_PROCESS), (SyscallRule::IoPriority, ONE_PROCESS_FOR_IO)];
    for (verdict, one_process) in priorities {
        program.place(FilterLabel::Verdict(verdict));
        program.load(argument(1));
        program.jump_if(JumpCondition::AtLeast(1), refuse);
        program.load(argument(0));
        program.jump_if(JumpCondition::Equal(one_process), FilterLabel::Allow);
        program.jump(refuse);
    }

    check_sockets(program)
}

fn check_sockets(program: &mut SeccompAssembler<FilterLabel>) -> io::Result<()> {
    program.place(FilterLabel::Verdict(SyscallRule::Socket));
    program.load(argument(0));
    for family in [libc::AF_INET, libc::AF_INET6] {
        program.jump_if(JumpCondition::Equal(value(family)?), FilterLabel::Internet);
    }
    program.jump_if(JumpCondition::Equal(value(libc::AF_NETLINK)?), FilterLabel::Netlink);
    program.jump(FilterLabel::NoFamily);

    program.place(FilterLabel::Netlink);
    program.load(argument(2));
    program.jump_if(JumpCondition::Equal(value(libc::NETLINK_ROUTE)?), FilterLabel::Allow);
    program.jump(FilterLabel::NoProtocol);

    program.place(FilterLabel::Internet);
    program.load(argument(1));
    program.mask(SOCKET_TYPE);
    for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
        program.jump_if(JumpCondition::Equal(value(kind)?), FilterLabel::InternetProtocol);
    }
    program.jump(FilterLabel::Verdict(SyscallRule::NotPermitted));

    // Rarely used protocols are where vulnerabilities are found, and programs that use them must
    // already do without on many machines.
    program.place(FilterLabel::InternetProtocol);
    program.load(argument(2));
    let protocols =
        [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
    for protocol in protocols {
        program.jump_if(JumpCondition::Equal(value(protocol)?), FilterLabel::Allow);
    }
    program.jump(FilterLabel::NoProtocol);

    // Pairs are allowed if their kind stays connected. A datagram socket could be reconnected to any
    // service's socket on the machine.
    program.place(FilterLabel::Verdict(SyscallRule::SocketPair));
    program.load(argument(0));
    program.jump_if(JumpCondition::Equal(value(libc::AF_UNIX)?), FilterLabel::UnixPair);
    program.jump(FilterLabel::NoFamily);

    program.place(FilterLabel::UnixPair);
    program.load(argument(1));
    program.mask(SOCKET_TYPE);
    for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
        program.jump_if(JumpCondition::Equal(value(kind)?), FilterLabel::Allow);
    }
    program.jump(FilterLabel::Verdict(SyscallRule::NotPermitted));
    Ok(())
}

fn refusal(errno: c_int) -> io::Result<u32> {
    Ok(libc::SECCOMP_RET_ERRNO | (value(errno)? & libc::SECCOMP_RET_DATA))
}

/// Returns the offset of an argument's lower half in `struct seccomp_data`, on the little-endian
/// machines that the filter supports.
fn argument(index: u32) -> u32 {
    16 + 8 * index
}

fn value(constant: impl TryInto<u32>) -> io::Result<u32> {
    constant.try_into().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "a constant of the system does not fit a filter")
    })
}

#[cfg(test)]
mod ordinary;
#[cfg(test)]
mod tests;
