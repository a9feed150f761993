//! Compares the program with a direct reading of the table, by simulating it for arbitrary calls.
//! Calls that the kernel would otherwise allow show that it behaves the same.

use std::ffi::c_int;
use std::io;

use expect_test::{Expect, expect};
use libc::{c_long, sock_filter};
use proptest::prelude::*;
use rustix::thread::{set_capabilities, set_no_new_privs};

use super::table::{self, SyscallRule};
use super::{
    ARCHITECTURE_HERE, IpcAccess, MemfdAccess, NeighbourAccess, SeccompFilter, SeccompOptions,
    SocketAccess,
};
use crate::confine::capabilities::NONE;
use crate::kernel::trial;

const LOOSE: SeccompOptions = SeccompOptions {
    sockets: SocketAccess::All,
    memfd: MemfdAccess::Allowed,
    ipc: IpcAccess::Allowed,
    neighbours: NeighbourAccess::Own,
};
const TIGHT: SeccompOptions = SeccompOptions {
    sockets: SocketAccess::None,
    memfd: MemfdAccess::Denied,
    ipc: IpcAccess::Denied,
    neighbours: NeighbourAccess::Everyone,
};

const SMALL: SeccompOptions = SeccompOptions { ipc: IpcAccess::Small, ..LOOSE };

/// A system call as a filter sees it.
#[derive(Clone, Copy, Debug)]
struct Call {
    architecture: u32,
    number: u32,
    args: [u64; 6],
}

impl Call {
    fn word(&self, offset: u32) -> u32 {
        let low = |value: u64| u32::try_from(value & 0xffff_ffff).unwrap();
        match offset {
            0 => self.number,
            4 => self.architecture,
            _ => {
                let word = offset.checked_sub(16).unwrap() / 4;
                let argument = self.args[usize::try_from(word / 2).unwrap()];
                if word.is_multiple_of(2) { low(argument) } else { low(argument >> 32) }
            }
        }
    }
}

/// Runs a program as the kernel does.
fn simulate(program: &[sock_filter], call: &Call) -> u32 {
    let (mut at, mut loaded) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        let code = u32::from(code);
        at += 1;
        let test = |holds: bool| usize::from(if holds { jt } else { jf });
        match code & 0x07 {
            libc::BPF_LD => loaded = call.word(k),
            libc::BPF_ALU => loaded &= k,
            libc::BPF_RET => return k,
            libc::BPF_JMP => {
                at += match code & 0xf0 {
                    libc::BPF_JA => usize::try_from(k).unwrap(),
                    libc::BPF_JEQ => test(loaded == k),
                    libc::BPF_JGE => test(loaded >= k),
                    libc::BPF_JSET => test(loaded & k != 0),
                    other => panic!("a jump that no filter here has: {other:#x}"),
                };
            }
            other => panic!("an instruction that no filter here has: {other:#x}"),
        }
    }
}

/// Returns the table's answer, read row by row.
fn expected(options: SeccompOptions, call: &Call) -> u32 {
    let refuse = |errno: c_int| libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap();
    if Some(call.architecture) != ARCHITECTURE_HERE {
        return libc::SECCOMP_RET_KILL_PROCESS;
    }
    if call.number >= 0x4000_0000 {
        return refuse(libc::ENOSYS);
    }
    let rows = table::rows(options);
    let row = rows.iter().find(|(number, _)| *number == c_long::from(call.number));
    let [first, second, third] =
        [0, 1, 2].map(|index| c_int::from_ne_bytes(call.word(16 + 8 * index).to_ne_bytes()));
    let kind = second & 0xf;
    let allow_if = |holds: bool, errno| if holds { libc::SECCOMP_RET_ALLOW } else { refuse(errno) };
    match row.map(|(_, verdict)| *verdict) {
        None => libc::SECCOMP_RET_ALLOW,
        Some(SyscallRule::NotPermitted) => refuse(libc::EPERM),
        Some(SyscallRule::Absent) => refuse(libc::ENOSYS),
        Some(SyscallRule::Unsupported) => refuse(libc::EOPNOTSUPP),
        Some(SyscallRule::SecondIsMode) => allow_if(second & 0o6000 == 0, libc::EPERM),
        Some(SyscallRule::ThirdIsMode) => allow_if(third & 0o6000 == 0, libc::EPERM),
        Some(SyscallRule::FirstIsProcess) => allow_if(first == 0, libc::EPERM),
        Some(SyscallRule::Limits) => allow_if(call.args[2] == 0 || first == 0, libc::EPERM),
        Some(SyscallRule::Priority) => allow_if((first, second) == (0, 0), libc::EPERM),
        Some(SyscallRule::IoPriority) => allow_if((first, second) == (1, 0), libc::EPERM),
        Some(SyscallRule::Clone) => allow_if(first & 0x7e02_0000 == 0, libc::EPERM),
        Some(SyscallRule::Ioctl) => {
            allow_if(![0x5412, 0x541c, 0x5423].contains(&second), libc::EPERM)
        }
        Some(SyscallRule::Personality) => allow_if(first == 0 || first == -1, libc::EPERM),
        Some(SyscallRule::Socket) => match first {
            libc::AF_INET | libc::AF_INET6 if kind != 1 && kind != 2 => refuse(libc::EPERM),
            libc::AF_INET | libc::AF_INET6 => {
                allow_if([0, 1, 6, 17, 58].contains(&third), libc::EPROTONOSUPPORT)
            }
            libc::AF_NETLINK => allow_if(third == 0, libc::EPROTONOSUPPORT),
            _ => refuse(libc::EAFNOSUPPORT),
        },
        Some(SyscallRule::Segment) => allow_if(call.args[1] <= 65_536, libc::EINVAL),
        Some(SyscallRule::SocketPair) if first != libc::AF_UNIX => refuse(libc::EAFNOSUPPORT),
        Some(SyscallRule::SocketPair) => allow_if(kind == 1 || kind == 5, libc::EPERM),
    }
}

fn any_call() -> impl Strategy<Value = Call> {
    let architecture = prop_oneof![
        8 => Just(ARCHITECTURE_HERE.unwrap()),
        1 => Just(0x4000_0003),
        1 => any::<u32>(),
    ];
    let looked_at: Vec<u32> = table::rows(TIGHT)
        .iter()
        .filter(|(_, verdict)| {
            !matches!(
                verdict,
                SyscallRule::Absent | SyscallRule::NotPermitted | SyscallRule::Unsupported
            )
        })
        .map(|(number, _)| u32::try_from(*number).unwrap())
        .chain([libc::SYS_socket, libc::SYS_shmget].map(|number| u32::try_from(number).unwrap()))
        .collect();
    let number = prop_oneof![
        4 => 0_u32..520,
        6 => proptest::sample::select(looked_at),
        1 => any::<u32>(),
        1 => (0_u32..520).prop_map(|number| number | 0x4000_0000),
    ];
    let argument = prop_oneof![
        2 => Just(0),
        8 => 0_u64..60,
        1 => proptest::sample::select(vec![0x5412, 0x541c, 0x5423, 65_536, 65_537, 0xffff_ffff, 0x1_0000_0000]),
        1 => (0_u32..64).prop_map(|bit| 1 << bit),
        1 => any::<u64>(),
    ];
    (architecture, number, proptest::array::uniform6(argument))
        .prop_map(|(architecture, number, args)| Call { architecture, number, args })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_program_answers_as_the_table_says(call in any_call()) {
        for options in [LOOSE, SMALL, TIGHT] {
            let filters = SeccompFilter::build(options).unwrap();
            prop_assert_eq!(simulate(&filters.program, &call), expected(options, &call));
        }
    }
}

#[test]
fn every_row_is_found() {
    for options in [LOOSE, SMALL, TIGHT] {
        let filters = SeccompFilter::build(options).unwrap();
        for number in 0..1_000 {
            let architecture = ARCHITECTURE_HERE.unwrap();
            let call = Call { architecture, number, args: [0; 6] };
            assert_eq!(
                simulate(&filters.program, &call),
                expected(options, &call),
                "call {number}"
            );
        }
    }
}

#[test]
fn no_number_has_two_rows() {
    let numbers: Vec<_> = table::rows(TIGHT).into_iter().map(|(number, _)| number).collect();
    let mut distinct = numbers.clone();
    distinct.dedup();
    assert_eq!(numbers, distinct);
}

/// Makes a call in a process with the filter, and returns its result.
fn answer(options: SeccompOptions, number: c_long, args: [c_long; 3]) -> String {
    let [first, second, third] = args;
    let result = trial::run(|| {
        set_no_new_privs(true)?;
        SeccompFilter::build(options)?.install()?;
        #[expect(unsafe_code, reason = "calls are tried by number")]
        // SAFETY: the arguments are numbers and null pointers, which the kernel refuses where it
        // needs memory. The process exits right after.
        let answer = unsafe { libc::syscall(number, first, second, third, 0, 0, 0) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    });
    match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn check(options: SeccompOptions, calls: &[(&str, c_long, [c_long; 3])], expect: Expect) {
    let lines = calls
        .iter()
        .map(|(name, number, args)| format!("{name}: {}\n", answer(options, *number, *args)));
    expect.assert_eq(&lines.collect::<String>());
}

/// Calls that the kernel would allow, or refuse for another reason.
#[test]
fn forbidden_calls_are_refused_by_the_kernel() {
    let new_user = c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
    check(
        LOOSE,
        &[
            ("ptrace", libc::SYS_ptrace, [0, 0, 0]),
            ("unshare nothing", libc::SYS_unshare, [0, 0, 0]),
            ("a user namespace", libc::SYS_clone, [new_user, 0, 0]),
            ("clone3", libc::SYS_clone3, [0, 0, 0]),
            ("a ring", libc::SYS_io_uring_setup, [1, 0, 0]),
            ("a keyring", libc::SYS_keyctl, [0, -3, 0]),
            ("comparing", libc::SYS_kcmp, [1, 1, 0]),
            ("copying memory", libc::SYS_process_vm_readv, [1, 0, 0]),
            ("mounting", libc::SYS_mount, [0, 0, 0]),
            ("a tree of mounts", libc::SYS_open_tree, [-100, 0, 0]),
            ("input to a terminal", libc::SYS_ioctl, [-1, 0x5412, 0]),
            ("the same with high bits", libc::SYS_ioctl, [-1, 0x1_0000_5412, 0]),
            ("another control call", libc::SYS_ioctl, [-1, 0x5401, 0]),
            ("asking for the personality", libc::SYS_personality, [0xffff_ffff, 0, 0]),
            ("fixed addresses", libc::SYS_personality, [0x004_0000, 0, 0]),
        ],
        expect![[r#"
            ptrace: Operation not permitted (os error 1)
            unshare nothing: Operation not permitted (os error 1)
            a user namespace: Operation not permitted (os error 1)
            clone3: Function not implemented (os error 38)
            a ring: Function not implemented (os error 38)
            a keyring: Operation not permitted (os error 1)
            comparing: Operation not permitted (os error 1)
            copying memory: Operation not permitted (os error 1)
            mounting: Operation not permitted (os error 1)
            a tree of mounts: Operation not permitted (os error 1)
            input to a terminal: Operation not permitted (os error 1)
            the same with high bits: Operation not permitted (os error 1)
            another control call: Bad file descriptor (os error 9)
            asking for the personality: done
            fixed addresses: Operation not permitted (os error 1)
        "#]],
    );
}

#[test]
fn sockets_are_those_of_ip() {
    let [stream, datagrams, raw, packets] = [1, 2, 3, 5];
    check(
        LOOSE,
        &[
            ("tcp", libc::SYS_socket, [2, stream, 0]),
            ("tcp over ipv6", libc::SYS_socket, [10, stream | 0o2_004_000, 6]),
            ("udp", libc::SYS_socket, [2, datagrams, 17]),
            ("raw ip", libc::SYS_socket, [2, raw, 1]),
            ("multipath tcp", libc::SYS_socket, [2, stream, 262]),
            ("routes", libc::SYS_socket, [16, raw, 0]),
            ("audit", libc::SYS_socket, [16, raw, 9]),
            ("unix", libc::SYS_socket, [1, stream, 0]),
            ("packets", libc::SYS_socket, [17, raw, 0]),
            ("virtual machines", libc::SYS_socket, [40, stream, 0]),
            ("ciphers", libc::SYS_socket, [38, packets, 0]),
            ("a family with high bits", libc::SYS_socket, [0x1_0000_0001, stream, 0]),
            ("a pair without memory for it", libc::SYS_socketpair, [1, stream, 0]),
            ("a pair for datagrams", libc::SYS_socketpair, [1, datagrams, 0]),
            ("a raw pair", libc::SYS_socketpair, [1, raw, 0]),
        ],
        expect![[r#"
            tcp: done
            tcp over ipv6: done
            udp: done
            raw ip: Operation not permitted (os error 1)
            multipath tcp: Protocol not supported (os error 93)
            routes: done
            audit: Protocol not supported (os error 93)
            unix: Address family not supported by protocol (os error 97)
            packets: Address family not supported by protocol (os error 97)
            virtual machines: Address family not supported by protocol (os error 97)
            ciphers: Address family not supported by protocol (os error 97)
            a family with high bits: Address family not supported by protocol (os error 97)
            a pair without memory for it: Bad address (os error 14)
            a pair for datagrams: Operation not permitted (os error 1)
            a raw pair: Operation not permitted (os error 1)
        "#]],
    );
}

#[test]
fn options_take_more_away() {
    let calls = [
        ("tcp", libc::SYS_socket, [2, 1, 0]),
        ("routes", libc::SYS_socket, [16, 3, 0]),
        // With a null pointer as its name.
        ("a file in memory", libc::SYS_memfd_create, [0, 0, 0]),
        // Opened rather than created: it would stay on the machine.
        ("a semaphore", libc::SYS_semget, [1, 0, 0]),
    ];
    check(
        LOOSE,
        &calls,
        expect![[r#"
            tcp: done
            routes: done
            a file in memory: Bad address (os error 14)
            a semaphore: No such file or directory (os error 2)
        "#]],
    );
    check(
        TIGHT,
        &calls,
        expect![[r#"
            tcp: Operation not permitted (os error 1)
            routes: Operation not permitted (os error 1)
            a file in memory: Function not implemented (os error 38)
            a semaphore: Function not implemented (os error 38)
        "#]],
    );
}

/// None of the calls changes anything: their paths are null, and their descriptors are not open.
#[test]
fn modes_that_lend_rights_are_refused() {
    check(
        LOOSE,
        &[
            ("an ordinary mode", libc::SYS_fchmod, [-1, 0o1777, 0]),
            ("the owner's rights", libc::SYS_fchmod, [-1, 0o4755, 0]),
            ("the group's rights", libc::SYS_fchmodat, [-1, 0, 0o2755]),
            ("with flags", 452, [-1, 0, 0o4755]),
            ("with flags, ordinary", 452, [-1, 0, 0o755]),
            ("a new file", libc::SYS_mknodat, [-1, 0, 0o104_755]),
        ],
        expect![[r#"
            an ordinary mode: Bad file descriptor (os error 9)
            the owner's rights: Operation not permitted (os error 1)
            the group's rights: Operation not permitted (os error 1)
            with flags: Operation not permitted (os error 1)
            with flags, ordinary: Bad address (os error 14)
            a new file: Operation not permitted (os error 1)
        "#]],
    );
}

#[test]
fn without_namespaces_other_processes_are_left_alone() {
    let calls = [
        ("limits of another", libc::SYS_prlimit64, [1, 7, 8]),
        ("asking for limits", libc::SYS_prlimit64, [0, 7, 0]),
        ("own limits, badly", libc::SYS_prlimit64, [0, 7, 8]),
        ("priority of another", libc::SYS_setpriority, [0, 1, 0]),
        ("own priority", libc::SYS_setpriority, [0, 0, 19]),
        ("priority of a user", libc::SYS_setpriority, [2, 0, 19]),
        ("order of another's files", libc::SYS_ioprio_set, [1, 1, 0]),
        ("order of own files", libc::SYS_ioprio_set, [1, 0, 0]),
        ("processors of another", libc::SYS_sched_setaffinity, [1, 8, 8]),
        ("attributes", libc::SYS_setxattr, [0, 0, 0]),
    ];
    check(
        TIGHT,
        &calls,
        expect![[r#"
        limits of another: Operation not permitted (os error 1)
        asking for limits: done
        own limits, badly: Bad address (os error 14)
        priority of another: Operation not permitted (os error 1)
        own priority: done
        priority of a user: Operation not permitted (os error 1)
        order of another's files: Operation not permitted (os error 1)
        order of own files: done
        processors of another: Operation not permitted (os error 1)
        attributes: Operation not supported (os error 95)
    "#]],
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_the_32_bit_interface_end_the_process() {
    let getpid = || {
        set_no_new_privs(true)?;
        SeccompFilter::build(LOOSE)?.install()?;
        #[expect(unsafe_code, reason = "there is no other way to that interface")]
        // SAFETY: the call returns the process's number. It touches no memory and only the named
        // registers.
        unsafe {
            std::arch::asm!("int 0x80", inout("eax") 20 => _);
        }
        Ok(())
    };
    let result: io::Result<()> = trial::run(getpid);
    expect![[r#"ended by signal 31"#]].assert_eq(&result.unwrap_err().to_string());
}

#[test]
fn a_filter_needs_that_no_privileges_can_be_had() {
    // Root could install a filter without `no_new_privs`, because of its privileges.
    let result = trial::run(|| {
        set_capabilities(None, NONE)?;
        SeccompFilter::build(LOOSE)?.install()
    });
    expect![[r#"Permission denied (os error 13)"#]].assert_eq(&result.unwrap_err().to_string());
}
