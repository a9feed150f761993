//! System call filters: which calls a confined command cannot make.
//!
//! Everything is allowed but what is named. A list of what is allowed would be tighter, and would break a compiler or a
//! language's runtime with each of their releases, for calls that do no harm; what files, hosts and processes can be
//! reached is decided by the other layers, and this one takes away what would get around them and the parts of the
//! kernel that no build needs. Filters look at numbers only, never at memory, which another thread could change.
//!
//! The program is written here rather than by a library, because its shape is a tenth of what a confined start may
//! cost: the kernel runs each new program once for each of its system calls, to learn which of them are always
//! allowed. With a list that is searched from the front that took 180 microseconds, with one that is halved first 50.

mod assembler;
mod table;

use std::io;

use libc::{c_int, c_long, sock_filter};

use assembler::{Assembler, Compare};
use table::Verdict;

/// The filter of one command, ready to be installed.
#[derive(Debug)]
pub(crate) struct Filters {
    program: Vec<sock_filter>,
}

/// What a command's filter leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    pub(crate) sockets: Sockets,
    pub(crate) memfd: Memfd,
    pub(crate) ipc: Ipc,
    pub(crate) neighbours: Neighbours,
}

/// Whose processes and files can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neighbours {
    /// The command's own: there are namespaces.
    Own,
    /// All of the machine's. What could be done to them is refused, as far as no other layer governs it.
    Everyone,
}

/// Which sockets can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// Those of IP, and netlink's for reading routes.
    All,
    /// None but connected pairs.
    None,
}

/// Whether files without a name can be made in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memfd {
    /// They can.
    Allowed,
    /// They cannot: nothing but a cgroup bounds what they hold.
    Denied,
}

/// Whether System V IPC and POSIX message queues can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ipc {
    /// They can: in an IPC namespace they are the command's own.
    Allowed,
    /// They can, but for large pieces of shared memory: nothing but a cgroup bounds what these hold while no process
    /// has them mapped. A namespace can have 4,096 of the small ones, which databases find each other by.
    Small,
    /// They cannot: without a namespace they are shared with the whole machine.
    Denied,
}

/// A place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The search goes on here for numbers from this row's on.
    Rows(usize),
    Verdict(Verdict),
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

/// From the lower half of an argument to its upper one.
const UPPER_HALF: u32 = 4;

/// Rows that are compared one by one rather than halved again.
const ROWS_TOGETHER_MAX: usize = 10;

/// What `struct seccomp_data` says for programs of this architecture.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE_HERE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE_HERE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE_HERE: Option<u32> = None;

/// The calls of the x32 interface have this bit in their numbers and pass for calls of x86-64. No architecture has
/// numbers of its own from here on.
const FOREIGN_NUMBERS: u32 = 0x4000_0000;

/// The flags of `clone` that make a namespace. The one for clocks cannot be given to this call.
const CLONE_NAMESPACES: c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The bits of a socket's type that are no flags.
const SOCKET_TYPE: u32 = 0xf;

/// The bits of a mode that lend whoever executes a file its owner's or its group's rights.
const LENDING: u32 = 0o6000;

/// That a priority is one process's, for `setpriority`.
const ONE_PROCESS: u32 = 0;

/// The same for `ioprio_set`.
const ONE_PROCESS_FOR_IO: u32 = 1;

/// The largest piece of shared memory where large ones are refused.
pub(crate) const SEGMENT_BYTES_MAX: u32 = 64 * 1024;

/// The value with which `personality` only asks.
const PERSONALITY_ASK: u32 = 0xffff_ffff;

impl Filters {
    /// Writes the filter.
    pub(crate) fn build(options: FilterOptions) -> io::Result<Filters> {
        let Some(architecture) = ARCHITECTURE_HERE else {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "system call filters are written for x86-64 and 64-bit ARM only",
            ));
        };
        let mut program = Assembler::new();
        program.load(ARCHITECTURE);
        program.jump_if(Compare::Equal(architecture), Place::Rows(0));
        // A program of another architecture could go on with nothing but errors; it is told by its end. Calls of a
        // 32-bit interface are made on purpose in a 64-bit program.
        program.jump(Place::Kill);
        program.place(Place::Rows(0));
        program.load(NUMBER);
        program.jump_if(Compare::AtLeast(FOREIGN_NUMBERS), Place::Verdict(Verdict::Absent));
        search(&mut program, 0, &table::rows(options))?;
        look_at_arguments(&mut program)?;
        answer(&mut program)?;
        Ok(Filters { program: program.finish()? })
    }

    /// Installs the filter for good. Needs `no_new_privs`, or the kernel refuses.
    pub(crate) fn install(&self) -> io::Result<()> {
        let len = u16::try_from(self.program.len()).map_err(io::Error::other)?;
        // The kernel's interface is not const-correct; it copies the program and leaves it alone.
        let program = libc::sock_fprog { len, filter: self.program.as_ptr().cast_mut() };
        #[expect(unsafe_code, reason = "no safe interface installs a filter")]
        // SAFETY: the structure and the instructions that it points to live until the call returns, which is all the
        // kernel needs of them, and the length is that of the vector.
        let result = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Finds the number among the rows by halving, and goes where its row says; any other number is allowed.
///
/// The rows before `first` have been passed already.
fn search(
    program: &mut Assembler<Place>,
    first: usize,
    rows: &[(c_long, Verdict)],
) -> io::Result<()> {
    if rows.len() <= ROWS_TOGETHER_MAX {
        for (number, verdict) in rows {
            program.jump_if(Compare::Equal(value(*number)?), Place::Verdict(*verdict));
        }
        program.jump(Place::Allow);
        return Ok(());
    }
    let (lower, upper) = rows.split_at(rows.len() / 2);
    let upper_first = first + lower.len();
    if let Some((number, _)) = upper.first() {
        program.jump_if(Compare::AtLeast(value(*number)?), Place::Rows(upper_first));
    }
    search(program, first, lower)?;
    program.place(Place::Rows(upper_first));
    search(program, upper_first, upper)
}

/// The parts for calls whose arguments decide. The upper halves of arguments are not looked at where the kernel does not
/// look at them either, because it takes 32 bits.
fn look_at_arguments(program: &mut Assembler<Place>) -> io::Result<()> {
    let refuse = Place::Verdict(Verdict::NotPermitted);

    program.place(Place::Verdict(Verdict::Clone));
    program.load(argument(0));
    program.jump_if(Compare::AnyBitOf(value(CLONE_NAMESPACES)?), refuse);
    program.jump(Place::Allow);

    program.place(Place::Verdict(Verdict::Ioctl));
    program.load(argument(1));
    // Pushing input into a terminal, also through the console's selection, and changing what drives it.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD] {
        program.jump_if(Compare::Equal(value(request)?), refuse);
    }
    program.jump(Place::Allow);

    program.place(Place::Verdict(Verdict::Personality));
    program.load(argument(0));
    for harmless in [0, PERSONALITY_ASK] {
        program.jump_if(Compare::Equal(harmless), Place::Allow);
    }
    program.jump(refuse);

    program.place(Place::Verdict(Verdict::Segment));
    program.load(argument(1) + UPPER_HALF);
    program.jump_if(Compare::AtLeast(1), Place::TooLarge);
    program.load(argument(1));
    program.jump_if(Compare::AtLeast(SEGMENT_BYTES_MAX + 1), Place::TooLarge);
    program.jump(Place::Allow);

    look_at_modes(program);
    look_at_others(program);
    look_at_socket(program)?;
    look_at_pair(program)
}

/// A program in a directory of the user's that runs with the user's rights whoever executes it outlives every bound.
fn look_at_modes(program: &mut Assembler<Place>) {
    for (verdict, index) in [(Verdict::SecondIsMode, 1), (Verdict::ThirdIsMode, 2)] {
        program.place(Place::Verdict(verdict));
        program.load(argument(index));
        program.jump_if(Compare::AnyBitOf(LENDING), Place::Verdict(Verdict::NotPermitted));
        program.jump(Place::Allow);
    }
}

/// Calls that name a process by its number, where none stands for the caller.
fn look_at_others(program: &mut Assembler<Place>) {
    let refuse = Place::Verdict(Verdict::NotPermitted);
    // Asking for limits is harmless.
    program.place(Place::Verdict(Verdict::Limits));
    for half in [0, UPPER_HALF] {
        program.load(argument(2) + half);
        program.jump_if(Compare::AtLeast(1), Place::OwnProcess);
    }
    program.jump(Place::Allow);

    program.place(Place::Verdict(Verdict::FirstIsProcess));
    program.place(Place::OwnProcess);
    program.load(argument(0));
    program.jump_if(Compare::Equal(0), Place::Allow);
    program.jump(refuse);

    let priorities = [(Verdict::Priority, ONE_PROCESS), (Verdict::IoPriority, ONE_PROCESS_FOR_IO)];
    for (verdict, one_process) in priorities {
        program.place(Place::Verdict(verdict));
        program.load(argument(1));
        program.jump_if(Compare::AtLeast(1), refuse);
        program.load(argument(0));
        program.jump_if(Compare::Equal(one_process), Place::Allow);
        program.jump(refuse);
    }
}

fn look_at_socket(program: &mut Assembler<Place>) -> io::Result<()> {
    program.place(Place::Verdict(Verdict::Socket));
    program.load(argument(0));
    for family in [libc::AF_INET, libc::AF_INET6] {
        program.jump_if(Compare::Equal(value(family)?), Place::Internet);
    }
    program.jump_if(Compare::Equal(value(libc::AF_NETLINK)?), Place::Netlink);
    program.jump(Place::NoFamily);

    program.place(Place::Netlink);
    program.load(argument(2));
    program.jump_if(Compare::Equal(value(libc::NETLINK_ROUTE)?), Place::Allow);
    program.jump(Place::NoProtocol);

    program.place(Place::Internet);
    program.load(argument(1));
    program.mask(SOCKET_TYPE);
    for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
        program.jump_if(Compare::Equal(value(kind)?), Place::InternetProtocol);
    }
    program.jump(Place::Verdict(Verdict::NotPermitted));

    // What is rarely used is where faults are found, and programs that try it have to do without on many machines.
    program.place(Place::InternetProtocol);
    program.load(argument(2));
    let protocols =
        [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];
    for protocol in protocols {
        program.jump_if(Compare::Equal(value(protocol)?), Place::Allow);
    }
    program.jump(Place::NoProtocol);
    Ok(())
}

/// Pairs are allowed if they are of a kind that stays connected to its other end. One for datagrams could be connected
/// anew, to the socket of any service on the machine.
fn look_at_pair(program: &mut Assembler<Place>) -> io::Result<()> {
    program.place(Place::Verdict(Verdict::SocketPair));
    program.load(argument(0));
    program.jump_if(Compare::Equal(value(libc::AF_UNIX)?), Place::UnixPair);
    program.jump(Place::NoFamily);

    program.place(Place::UnixPair);
    program.load(argument(1));
    program.mask(SOCKET_TYPE);
    for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
        program.jump_if(Compare::Equal(value(kind)?), Place::Allow);
    }
    program.jump(Place::Verdict(Verdict::NotPermitted));
    Ok(())
}

fn answer(program: &mut Assembler<Place>) -> io::Result<()> {
    let answers = [
        (Place::Allow, libc::SECCOMP_RET_ALLOW),
        (Place::Verdict(Verdict::NotPermitted), refusal(libc::EPERM)?),
        (Place::Verdict(Verdict::Absent), refusal(libc::ENOSYS)?),
        (Place::TooLarge, refusal(libc::EINVAL)?),
        (Place::NoFamily, refusal(libc::EAFNOSUPPORT)?),
        (Place::NoProtocol, refusal(libc::EPROTONOSUPPORT)?),
        (Place::Verdict(Verdict::Unsupported), refusal(libc::EOPNOTSUPP)?),
        (Place::Kill, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    for (place, action) in answers {
        program.place(place);
        program.answer(action);
    }
    Ok(())
}

fn refusal(errno: c_int) -> io::Result<u32> {
    Ok(libc::SECCOMP_RET_ERRNO | (value(errno)? & libc::SECCOMP_RET_DATA))
}

/// Returns where the lower half of an argument is in `struct seccomp_data`, on the little-endian machines that there is
/// a filter for.
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
