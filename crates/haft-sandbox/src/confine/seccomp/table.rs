//! The system calls that a confined command cannot make, and those that it can make with certain arguments only. A row
//! says what the call would be good for; how arguments are looked at is the program's business.

use libc::c_long;

use super::{FilterOptions, Ipc, Memfd, Neighbours, Sockets};

/// Where the program goes on for a system call that is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Refused: the caller lacks the permission.
    NotPermitted,
    /// Answered as by a kernel that has no such call, so that programs fall back on another.
    Absent,
    /// Answered as by a file system that does not have it, which programs that copy files expect.
    Unsupported,
    /// Refused if the second argument, a mode, lends rights.
    SecondIsMode,
    /// Refused if the third argument, a mode, lends rights.
    ThirdIsMode,
    /// Refused if the first argument names another process.
    FirstIsProcess,
    /// Refused if it changes the limits of another process.
    Limits,
    /// Refused if it changes another priority than the caller's.
    Priority,
    /// The same for input and output.
    IoPriority,
    /// Refused if it makes a namespace.
    Clone,
    /// Refused if it feeds a terminal.
    Ioctl,
    /// Refused if it changes anything.
    Personality,
    /// Refused but for the sockets of IP, and netlink's for routes.
    Socket,
    /// Refused but for pairs that stay pairs.
    SocketPair,
    /// Refused if it is large.
    Segment,
}

/// Calls that the libraries have no name for yet. They have one number on every architecture.
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const OPEN_TREE_ATTR: c_long = 467;
const LISTNS: c_long = 470;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

/// Refused always.
const NOT_PERMITTED: &[c_long] = &[
    // Other processes: their memory, their descriptors, what they have in common.
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
    // Programs in the kernel, and looking into it.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_lookup_dcookie,
    libc::SYS_syslog,
    // Mounts and namespaces. `clone` is looked at by its arguments.
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
    // Files by handle are found past every directory above them; notifications of a whole file system likewise.
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
    // Where memory lies, of this process and of others. Reading the own policy is left.
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_set_mempolicy_home_node,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Not in every C library's list for this architecture.
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: c_long = 294;

/// Answered as if the kernel were older or smaller.
const ABSENT: &[c_long] = &[
    // Its flags are in memory, where a filter cannot look; every C library falls back on `clone`.
    libc::SYS_clone3,
    // What is done through a ring passes no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The mount table has a file in `/proc`, which programs fall back on.
    STATMOUNT,
    LISTMOUNT,
    LISTNS,
    // Memory that no one can look into is not counted by anyone either.
    libc::SYS_memfd_secret,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// System V IPC and POSIX message queues. Identifiers can be guessed, so that not only making and finding is refused.
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

/// Modes of files. What is made by opening it is left, since its mode can be in memory.
const MODES: &[(c_long, Verdict)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, Verdict::SecondIsMode),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, Verdict::SecondIsMode),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, Verdict::SecondIsMode),
    (libc::SYS_fchmod, Verdict::SecondIsMode),
    (libc::SYS_fchmodat, Verdict::ThirdIsMode),
    (FCHMODAT2, Verdict::ThirdIsMode),
    (libc::SYS_mknodat, Verdict::ThirdIsMode),
];

/// What could be done to processes that are not the command's, and to files that were not granted: Landlock has no
/// right for attributes.
const TOWARDS_NEIGHBOURS: &[(c_long, Verdict)] = &[
    (libc::SYS_prlimit64, Verdict::Limits),
    (libc::SYS_setpriority, Verdict::Priority),
    (libc::SYS_ioprio_set, Verdict::IoPriority),
    (libc::SYS_sched_setparam, Verdict::FirstIsProcess),
    (libc::SYS_sched_setscheduler, Verdict::FirstIsProcess),
    (libc::SYS_sched_setattr, Verdict::FirstIsProcess),
    (libc::SYS_sched_setaffinity, Verdict::FirstIsProcess),
    (libc::SYS_setxattr, Verdict::Unsupported),
    (libc::SYS_lsetxattr, Verdict::Unsupported),
    (libc::SYS_fsetxattr, Verdict::Unsupported),
    (SETXATTRAT, Verdict::Unsupported),
    (libc::SYS_removexattr, Verdict::Unsupported),
    (libc::SYS_lremovexattr, Verdict::Unsupported),
    (libc::SYS_fremovexattr, Verdict::Unsupported),
    (REMOVEXATTRAT, Verdict::Unsupported),
];

/// Returns the rows for these options, in the order of their numbers.
pub(super) fn rows(options: FilterOptions) -> Vec<(c_long, Verdict)> {
    let mut rows = vec![
        (libc::SYS_clone, Verdict::Clone),
        (libc::SYS_ioctl, Verdict::Ioctl),
        (libc::SYS_personality, Verdict::Personality),
        (libc::SYS_socketpair, Verdict::SocketPair),
        match options.sockets {
            Sockets::All => (libc::SYS_socket, Verdict::Socket),
            Sockets::None => (libc::SYS_socket, Verdict::NotPermitted),
        },
    ];
    rows.extend(NOT_PERMITTED.iter().map(|number| (*number, Verdict::NotPermitted)));
    rows.extend(ABSENT.iter().map(|number| (*number, Verdict::Absent)));
    rows.extend(MODES);
    match options.neighbours {
        Neighbours::Own => {}
        Neighbours::Everyone => rows.extend(TOWARDS_NEIGHBOURS),
    }
    match options.memfd {
        Memfd::Allowed => {}
        Memfd::Denied => rows.push((libc::SYS_memfd_create, Verdict::Absent)),
    }
    match options.ipc {
        Ipc::Allowed => {}
        Ipc::Small => rows.push((libc::SYS_shmget, Verdict::Segment)),
        Ipc::Denied => rows.extend(IPC.iter().map(|number| (*number, Verdict::Absent))),
    }
    rows.sort_by_key(|(number, _)| *number);
    rows
}
