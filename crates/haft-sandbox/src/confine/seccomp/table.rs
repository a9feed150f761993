//! The system calls that a confined command cannot make, or can make only with certain arguments.
//! Comments say what each call could be used for; the filter program checks the arguments.

use libc::c_long;

use super::{IpcAccess, MemfdAccess, NeighbourAccess, SeccompOptions, SocketAccess};

/// The rule for a system call in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallRule {
    /// Refused with EPERM.
    NotPermitted,
    /// Answered as by a kernel without this call, so that programs use another one.
    Absent,
    /// Answered as by a file system without this feature, which programs that copy files expect.
    Unsupported,
    /// Refused if the second argument is a mode with set-id bits.
    SecondIsMode,
    /// Refused if the third argument is a mode with set-id bits.
    ThirdIsMode,
    /// Refused if the first argument names another process.
    FirstIsProcess,
    /// Refused if it changes another process's limits.
    Limits,
    /// Refused if it changes a priority other than the caller's.
    Priority,
    /// Refused if it changes an I/O priority other than the caller's.
    IoPriority,
    /// Refused if it creates a namespace.
    Clone,
    /// Refused if it injects input into a terminal.
    Ioctl,
    /// Refused if it changes the personality.
    Personality,
    /// Refused except for IP sockets and netlink sockets for routes.
    Socket,
    /// Refused except for pairs that stay connected.
    SocketPair,
    /// Refused if the segment is large.
    Segment,
}

/// Calls that the libraries do not name yet. They have the same number on every architecture.
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const OPEN_TREE_ATTR: c_long = 467;
const LISTNS: c_long = 470;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

/// Calls that are always refused.
const NOT_PERMITTED: &[c_long] = &[
    // Other processes: their memory, their descriptors, their shared resources.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keyrings belong to the user, not to the command.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Programs in the kernel, and inspecting the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_lookup_dcookie,
    libc::SYS_syslog,
    // Mounts and namespaces. `clone` is checked by its arguments.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    // File handles bypass every parent directory; so do notifications of a whole file system.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // The machine itself.
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "aarch64")]
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // Memory placement of this process and of others. Reading the own policy is allowed.
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Missing in some C libraries for this architecture.
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: c_long = 294;

/// Calls that are answered as by an older or smaller kernel.
const ABSENT: &[c_long] = &[
    // Its flags are in memory, where a filter cannot read them; every C library falls back to
    // `clone`.
    libc::SYS_clone3,
    // Operations through a ring pass no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The mount table is also a file in `/proc`, which programs fall back to.
    STATMOUNT,
    LISTMOUNT,
    LISTNS,
    // Secret memory cannot be measured either.
    libc::SYS_memfd_secret,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// System V IPC and POSIX message queues. Identifiers can be guessed, so using an existing object
/// is refused too.
const IPC: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls with file modes. Opening is not included, because its mode can be in memory.
const MODES: &[(c_long, SyscallRule)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, SyscallRule::SecondIsMode),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, SyscallRule::SecondIsMode),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, SyscallRule::SecondIsMode),
    (libc::SYS_fchmod, SyscallRule::SecondIsMode),
    (libc::SYS_fchmodat, SyscallRule::ThirdIsMode),
    (FCHMODAT2, SyscallRule::ThirdIsMode),
    (libc::SYS_mknodat, SyscallRule::ThirdIsMode),
];

/// Operations on processes that are not the command's, and on files that were not granted: Landlock
/// has no right for attributes.
const TOWARDS_NEIGHBOURS: &[(c_long, SyscallRule)] = &[
    (libc::SYS_prlimit64, SyscallRule::Limits),
    (libc::SYS_setpriority, SyscallRule::Priority),
    (libc::SYS_ioprio_set, SyscallRule::IoPriority),
    (libc::SYS_sched_setparam, SyscallRule::FirstIsProcess),
    (libc::SYS_sched_setscheduler, SyscallRule::FirstIsProcess),
    (libc::SYS_sched_setattr, SyscallRule::FirstIsProcess),
    (libc::SYS_sched_setaffinity, SyscallRule::FirstIsProcess),
    (libc::SYS_setxattr, SyscallRule::Unsupported),
    (libc::SYS_lsetxattr, SyscallRule::Unsupported),
    (libc::SYS_fsetxattr, SyscallRule::Unsupported),
    (SETXATTRAT, SyscallRule::Unsupported),
    (libc::SYS_removexattr, SyscallRule::Unsupported),
    (libc::SYS_lremovexattr, SyscallRule::Unsupported),
    (libc::SYS_fremovexattr, SyscallRule::Unsupported),
    (REMOVEXATTRAT, SyscallRule::Unsupported),
];

/// Returns the rows for these options, sorted by number.
pub(super) fn rows(options: SeccompOptions) -> Vec<(c_long, SyscallRule)> {
    let mut rows = vec![
        (libc::SYS_clone, SyscallRule::Clone),
        (libc::SYS_ioctl, SyscallRule::Ioctl),
        (libc::SYS_personality, SyscallRule::Personality),
        (libc::SYS_socketpair, SyscallRule::SocketPair),
        match options.sockets {
            SocketAccess::All => (libc::SYS_socket, SyscallRule::Socket),
            SocketAccess::None => (libc::SYS_socket, SyscallRule::NotPermitted),
        },
    ];
    rows.extend(NOT_PERMITTED.iter().map(|number| (*number, SyscallRule::NotPermitted)));
    rows.extend(ABSENT.iter().map(|number| (*number, SyscallRule::Absent)));
    rows.extend(MODES);
    match options.neighbours {
        NeighbourAccess::Own => {}
        NeighbourAccess::Everyone => rows.extend(TOWARDS_NEIGHBOURS),
    }
    match options.memfd {
        MemfdAccess::Allowed => {}
        MemfdAccess::Denied => rows.push((libc::SYS_memfd_create, SyscallRule::Absent)),
    }
    match options.ipc {
        IpcAccess::Allowed => {}
        IpcAccess::Small => rows.push((libc::SYS_shmget, SyscallRule::Segment)),
        IpcAccess::Denied => rows.extend(IPC.iter().map(|number| (*number, SyscallRule::Absent))),
    }
    rows.sort_by_key(|(number, _)| *number);
    rows
}
