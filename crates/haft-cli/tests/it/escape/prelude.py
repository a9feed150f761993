import ctypes, errno, os, sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

# Numbers on x86-64 and on aarch64.
NUMBERS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "clock_settime": (227, 112),
    "clone": (56, 220), "clone3": (435, 435), "fanotify_init": (300, 262), "finit_module": (313, 273),
    "fsopen": (430, 430), "init_module": (175, 105), "io_uring_setup": (425, 425), "kcmp": (312, 272),
    "kexec_load": (246, 104), "keyctl": (250, 219), "memfd_secret": (447, 447), "mount": (165, 40),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "openat2": (437, 437), "perf_event_open": (298, 241), "personality": (135, 92),
    "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41),
    "process_madvise": (440, 440), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218),
    "setns": (308, 268), "settimeofday": (164, 170), "sethostname": (170, 161), "swapon": (167, 224),
    "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
}
COLUMN = 0 if os.uname().machine == "x86_64" else 1


def call(name, *args):
    """Makes a system call and returns its result and its error."""
    ctypes.set_errno(0)
    number = NUMBERS[name][COLUMN] if isinstance(name, str) else name
    words = [ctypes.c_void_p(word) if isinstance(word, int) else word for word in args]
    result = LIBC.syscall(ctypes.c_long(number), *words)
    return result, ctypes.get_errno() if result == -1 else 0


def out(is_out=True):
    if is_out:
        print("got" + "out", flush=True)


def reached(name, *args):
    """Got out if the kernel looked at the arguments, which are made to be refused for what they are."""
    result, error = call(name, *args)
    print(name, result, errno.errorcode.get(error))
    out(error not in (errno.EPERM, errno.EACCES, errno.ENOSYS))


def done(name, *args):
    """Got out if the call succeeded."""
    result, error = call(name, *args)
    print(name, result, errno.errorcode.get(error))
    out(result != -1)
    return result
