//! Attempts by system calls and by what the kernel shows as files. Arguments are made to be refused by the kernel itself
//! where success would do harm: then it counts as out that they were looked at at all.

use crate::escape::case::Configuration::{NoKernel, NoNamespaces, NoSeccomp};
use crate::escape::case::Control::{SameAsRoot, SameIfOffered, Unsafe};
use crate::escape::case::{Case, bash, python};

pub(super) const CASES: &[Case] = &[
    python("trace haft", "done('ptrace', 16, {haft}, 0, 0)\ncall('ptrace', 17, {haft}, 0, 0)")
        .control(Unsafe),
    python("trace another process", "done('ptrace', 0x4206, {bystander}, 0, 0)").control(SameAsRoot),
    python("trace a child process", "child = os.fork()\nif not child:\n    time.sleep(5)\ndone('ptrace', 16, child, 0, 0)\nos.kill(child, 9)")
        .open(&[NoSeccomp]),
    python("ask to be traced", "done('ptrace', 0, 0, 0, 0)")
        .open(&[NoSeccomp]),
    python(
        "read the memory of haft",
        "start = int(next(line for line in open('/proc/{haft}/maps') if 'stack' in line).split('-')[0], 16)\nbuffer = ctypes.create_string_buffer(64)\nlocal = struct.pack('QQ', ctypes.addressof(buffer), 64)\nremote = struct.pack('QQ', start, 64)\ndone('process_vm_readv', {haft}, ctypes.create_string_buffer(local), 1, ctypes.create_string_buffer(remote), 1, 0)",
    )
    .control(SameAsRoot),
    python("read the memory of haft as a file", "open('/proc/{haft}/mem', 'rb')\nout()").control(SameAsRoot),
    python("advise on the command's own memory", "reached('process_madvise', -1, 0, 0, 4, 0)")
        .open(&[NoSeccomp]),
    python("take a descriptor of haft", "fd, error = call('pidfd_open', {haft}, 0)\ndone('pidfd_getfd', fd, 1, 0)").control(SameAsRoot),
    python("take the command's own descriptor", "fd, error = call('pidfd_open', os.getpid(), 0)\ndone('pidfd_getfd', fd, 1, 0)")
        .open(&[NoSeccomp]),
    python("signal haft by descriptor", "fd, error = call('pidfd_open', {haft}, 0)\ndone('pidfd_send_signal', fd, 0, 0, 0)"),
    python("signal haft", "os.kill({haft}, 0)\nout()"),
    python("compare with haft", "done('kcmp', {haft}, os.getpid(), 1, 0, 0)").control(SameAsRoot),
    python("read the user's keyring", "done('keyctl', 0, -4, 1)")
        .open(&[NoSeccomp]),
    python("add a key", "done('add_key', ctypes.c_char_p(b'user'), ctypes.c_char_p(b'haft'), ctypes.c_char_p(b'x'), 1, -2)")
        .open(&[NoSeccomp]),
    python("request a key", "reached('request_key', ctypes.c_char_p(b'user'), ctypes.c_char_p(b'haft-none'), 0, -2)")
        .open(&[NoSeccomp]),
    python("load a program into the kernel", "done('bpf', 0, ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1) + bytes(56)), 72)").control(SameAsRoot),
    python("measure with perf", "attributes = ctypes.create_string_buffer(struct.pack('IIQ', 1, 128, 0) + bytes(112))\ndone('perf_event_open', attributes, 0, -1, -1, 0)").control(SameAsRoot),
    python("handle page faults", "done('userfaultfd', 1)").control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("make a ring of system calls", "done('io_uring_setup', 2, ctypes.create_string_buffer(120))").control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("hide memory", "done('memfd_secret', 0)").control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("mount", "os.mkdir('in')\ndone('mount', ctypes.c_char_p(b'none'), ctypes.c_char_p(b'in'), ctypes.c_char_p(b'tmpfs'), 0, 0)\ncall('umount2', ctypes.c_char_p(b'in'), 2)").control(SameAsRoot),
    python("unmount", "reached('umount2', ctypes.c_char_p(b'.'), 0)").control(SameAsRoot),
    python("unmount /proc", "done('umount2', ctypes.c_char_p(b'/proc'), 2)").control(Unsafe),
    python("make a file system", "done('fsopen', ctypes.c_char_p(b'tmpfs'), 0)").control(SameAsRoot),
    python("take a tree of mounts", "done('open_tree', -100, ctypes.c_char_p(b'/usr'), 1)").control(SameAsRoot),
    python("make a mount writable", "attributes = ctypes.create_string_buffer(struct.pack('QQQQ', 0, 1, 0, 0))\nreached('mount_setattr', -100, ctypes.c_char_p(b'/nowhere'), 0, attributes, 32)").control(SameAsRoot),
    python("exchange the root", "reached('pivot_root', ctypes.c_char_p(b'/nowhere'), ctypes.c_char_p(b'/nowhere'))").control(SameAsRoot),
    python("change the root", "os.mkdir('in')\ndone('chroot', ctypes.c_char_p(b'in'))").control(SameAsRoot),
    python("change the root in a new user namespace", "os.mkdir('in')\ncall('unshare', 0x10000000)\ndone('chroot', ctypes.c_char_p(b'in'))"),
    python("create a user namespace", "done('unshare', 0x10000000)"),
    python("create a network namespace", "done('unshare', 0x50000000)"),
    python("clone with a new user namespace", "result, error = call('clone', 0x10000011, 0, 0, 0, 0)\nif result == 0:\n    os._exit(0)\nprint(error)\nout(result > 0)"),
    python("clone3 with a new user namespace", "args = ctypes.create_string_buffer(struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0))\nresult, error = call('clone3', args, 64)\nif result == 0:\n    os._exit(0)\nprint(error)\nout(result > 0)"),
    python("enter the namespaces of haft", "fd = os.open('/proc/{haft}/ns/mnt', os.O_RDONLY)\nreached('setns', fd, 0)").control(SameAsRoot),
    python("enter the namespaces of process 1", "fd = os.open('/proc/1/ns/net', os.O_RDONLY)\nreached('setns', fd, 0)")
        .control(SameIfOffered),
    python("load another kernel", "reached('kexec_load', 0, 99, 0, 0)")
        .control(SameIfOffered),
    python("load a module", "reached('init_module', 0, 0, 0)")
        .control(SameIfOffered),
    python("load a module from a file", "reached('finit_module', -1, 0, 0)")
        .control(SameIfOffered),
    python("reboot", "reached('reboot', 0, 0, 0, 0)").control(SameAsRoot),
    python("swap", "reached('swapon', ctypes.c_char_p(b'/nowhere'), 0)").control(SameAsRoot),
    python("account processes", "reached('acct', ctypes.c_char_p(b'/nowhere'))").control(SameAsRoot),
    python("read the kernel's log", "done('syslog', 10, 0, 0)").control(SameAsRoot),
    python("set the time of day", "done('settimeofday', 0, 0)").control(SameAsRoot),
    python("set the host's name", "name = os.uname().nodename.encode()\ndone('sethostname', ctypes.c_char_p(name), len(name))").control(SameAsRoot),
    python("name a file by handle", "reached('name_to_handle_at', -100, ctypes.c_char_p(b'/nowhere'), 0, 0, 0)")
        .open(&[NoSeccomp]),
    python(
        "open the disk's first directory by handle",
        "top = os.open('.', os.O_RDONLY)\nhandle = ctypes.create_string_buffer(struct.pack('IiII', 8, 1, 2, 0))\nfd, error = call('open_by_handle_at', top, handle, os.O_RDONLY)\nprint(fd, error)\nout(fd >= 0)",
    )
    .control(SameIfOffered),
    python("watch a whole file system", "done('fanotify_init', 0, 0)").control(SameAsRoot),
    python("set quotas", "reached('quotactl', 0x80000200, 0, 0, 0)").control(SameAsRoot)
        .open(&[NoSeccomp]),
    python("feed a terminal", "master, slave = os.openpty()\nos.setsid()\nfcntl.ioctl(slave, 0x540E, 0)\nfcntl.ioctl(slave, 0x5412, b'x')\nout()").control(SameIfOffered),
    python("feed a terminal with a long number", "master, slave = os.openpty()\nos.setsid()\nfcntl.ioctl(slave, 0x540E, 0)\nresult, error = call(16 if COLUMN == 0 else 29, slave, 0x100005412, ctypes.c_char_p(b'x'))\nout(result == 0)").control(SameIfOffered),
    python("run with another personality", "done('personality', 0x0400000)")
        .open(&[NoSeccomp]),
    python(
        "enter the kernel as a 32-bit program",
        "code = b'\\x53\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3'\narea = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\narea.write(code)\nrun = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(area)))\nout(run() == os.getpid())",
    )
    .control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("enter the kernel with x32 numbers", "result, error = call(0x40000000 + 39)\nprint(result, error)\nout(result == os.getpid())").control(SameIfOffered),
    python("socket by x32 number", "result, error = call(0x40000000 + 41, 1, 1, 0)\nprint(result, error)\nout(result >= 0)").control(SameIfOffered),
    bash("write a setting of the kernel", "v=$(cat /proc/sys/vm/swappiness) && echo $v 2>/dev/null > /proc/sys/vm/swappiness && printf got%s out").control(SameAsRoot),
    bash("write the core pattern", "v=$(cat /proc/sys/kernel/core_pattern) && echo \"$v\" 2>/dev/null > /proc/sys/kernel/core_pattern && printf got%s out").control(SameAsRoot),
    bash("open the emergency key", "exec 3> /proc/sysrq-trigger && printf got%s out")
        .control(SameIfOffered),
    bash("write to /sys", "exec 3>> /sys/kernel/mm/transparent_hugepage/enabled && printf got%s out").control(SameIfOffered),
    bash("make a cgroup with a release agent", "unshare -UrmC sh -c 'mkdir g; mount -t cgroup -o memory cgroup g && test -e g/release_agent && printf got%s out'").control(SameIfOffered),
    bash("write a release agent", "for f in /sys/fs/cgroup/*/release_agent; do : 2>/dev/null >> $f && printf got%s out; done").control(SameIfOffered)
        .open(&[NoKernel]),
    bash("set the OOM score of haft", "v=$(cat /proc/{haft}/oom_score_adj) && echo $v 2>/dev/null > /proc/{haft}/oom_score_adj && printf got%s out"),
    python("take capabilities", "header = ctypes.create_string_buffer(struct.pack('II', 0x20080522, 0))\ndata = ctypes.create_string_buffer(24)\nLIBC.capget(header, data)\nout(any(struct.unpack('6I', data.raw[:24])))").control(SameAsRoot),
    python("become another user", "os.setuid(65534)\nout()").control(SameAsRoot),
    python("gain by a setuid program", "result = subprocess.run(['su', 'nobody', '-s', '/bin/sh', '-c', 'id -u'], capture_output=True, text=True, stdin=subprocess.DEVNULL)\nout(result.stdout == '65534\\n')").control(SameAsRoot),
    python("forget no_new_privs", "out(LIBC.prctl(39, 0, 0, 0, 0) == 0)"),
    python("raise a limit", "resource.setrlimit(resource.RLIMIT_NOFILE, (1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] + 1))\nout()").control(SameIfOffered),
    python("set the limits of haft", "print(resource.prlimit({haft}, resource.RLIMIT_CORE))\nout()").control(SameAsRoot)
        .open(&[NoNamespaces]),
    python("trace through a seccomp notification", "out(LIBC.prctl(22, 2, 0, 0, 0) == 0 or ctypes.get_errno() not in (1, 13, 14, 22))").control(SameIfOffered),
    python("map the first page", "LIBC.mmap.restype = ctypes.c_void_p\nresult = LIBC.mmap(ctypes.c_void_p(0), 4096, 3, 0x32, -1, 0)\nout(result in (0, None))").control(SameIfOffered),
    python("shared memory of the host", "identifier = LIBC.shmget(0x4861, 4096, 0o1666)\nprint(identifier)\nos.system('ipcs -m')\nraise SystemExit(0 if identifier < 0 else out(open('/proc/sysvipc/shm').read().count('\\n') > 0 and os.readlink('/proc/self/ns/ipc') == os.readlink('/proc/{haft}/ns/ipc')))").control(SameAsRoot),
    python("talk to the kernel's audit", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)\nout()")
        .open(&[NoSeccomp]),
    python("listen to the kernel's events", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)\nout()")
        .open(&[NoSeccomp]),
    python("configure netfilter", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)\nout()").control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("use the kernel's cryptography", "socket.socket(38, socket.SOCK_SEQPACKET, 0)\nout()").control(SameIfOffered),
    python("packets below IP", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)\nout()").control(SameIfOffered),
    python("raw IP", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nout()").control(SameAsRoot),
    python("talk to the hypervisor", "socket.socket(40, socket.SOCK_STREAM, 0)\nout()").control(SameIfOffered)
        .open(&[NoSeccomp]),
    python(
        "every other socket family",
        "for family in set(range(1, 46)) - {2, 10, 16}:\n    for kind in (1, 2, 3, 5):\n        try:\n            socket.socket(family, kind, 0)\n            print(family, kind)\n            out()\n        except OSError:\n            pass",
    )
        .open(&[NoSeccomp]),
    python(
        "other protocols over IP",
        "for protocol in (33, 132, 136, 262):\n    for kind in (1, 2, 5, 6):\n        try:\n            socket.socket(2, kind, protocol)\n            print(protocol, kind)\n            out()\n        except OSError:\n            pass",
    )
    .control(SameIfOffered)
        .open(&[NoSeccomp]),
    python("a socket pair connected elsewhere", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.connect('{socket}')\nout()")
        .control(SameIfOffered),
    python("a terminal of haft's user", "os.open('/dev/tty', os.O_RDWR)\nout()").control(SameIfOffered),
    python("all memory of the machine locked", "print(LIBC.mlockall(3))\nout(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == -1 and LIBC.mlockall(3) == 0 and len(bytearray(300 << 20)) > 0)").control(SameIfOffered),
    python("a real-time process", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\nout()").control(SameAsRoot),
    python("a nicer process", "os.setpriority(os.PRIO_PROCESS, 0, -5)\nout()").control(SameAsRoot),
    python("haft made less nice", "os.setpriority(os.PRIO_PROCESS, {haft}, os.getpriority(os.PRIO_PROCESS, {haft}))\nout()"),
];
