//! Attempts to use more than the bounds allow, and to stay when the call is over. The bounds are small here, so an excess
//! does no harm.

use crate::escape::case::Configuration::{NoKernel, NoNamespaces};
use crate::escape::case::Control::{Bare, SameIfOffered, Unsafe};
use crate::escape::case::{Case, bash, python};

pub(super) const CASES: &[Case] = &[
    python("memory of one process", "area = bytearray(400 << 20)\nout()"),
    python("memory mapped", "area = mmap.mmap(-1, 400 << 20)\nfor at in range(0, 400 << 20, 4096):\n    area[at] = 1\nout()"),
    python(
        "memory of many processes",
        "ready, done = os.pipe()\nfor _ in range(8):\n    if not os.fork():\n        area = bytearray(b'x') * (60 << 20)\n        os.write(done, b'x')\n        time.sleep(3)\n        os._exit(0)\nos.close(done)\nheld = 0\nwhile held < 8 and os.read(ready, 1):\n    held += 1\ntime.sleep(1)\nout(held == 8)",
    ),
    python("memory in files without a name", "fd = os.memfd_create('x')\nfor _ in range(400):\n    os.write(fd, b'x' * (1 << 20))\nout()"),
    bash("memory in /dev/shm", "head -c 100M /dev/zero > /dev/shm/haft-{alive} && printf got%s out; rm -f /dev/shm/haft-{alive}"),
    bash("files in /tmp", "head -c 100M /dev/zero > /tmp/haft-{alive} && printf got%s out; rm -f /tmp/haft-{alive}"),
    bash("a file in the root", "head -c 100M /dev/zero > large && printf got%s out; rm -f large")
        .open(&[NoKernel]),
    python("a sparse file in the root", "os.truncate(os.open('large', os.O_CREAT | os.O_RDWR), 1 << 30)\nout()"),
    python("a file in the root, allocated", "os.posix_fallocate(os.open('large', os.O_CREAT | os.O_RDWR), 0, 100 << 20)\nout()"),
    python(
        "processes",
        "made = 0\nfor _ in range(600):\n    try:\n        if not os.fork():\n            time.sleep(20)\n            os._exit(0)\n    except OSError:\n        break\n    made += 1\nprint(made)\nout(made == 600)",
    )
        .open(&[NoNamespaces])
        .control(SameIfOffered),
    python(
        "threads",
        "made = 0\nfor _ in range(600):\n    try:\n        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n    except RuntimeError:\n        break\n    made += 1\nprint(made)\nout(made == 600)",
    ),
    bash("a fork bomb", "test -e /proc/{haft} || { f() { f | f & }; f; sleep 1; }").control(Unsafe),
    python("open files", "for _ in range(1000):\n    fd = os.dup(1)\nout()").control(SameIfOffered),
    python("open files by a raised limit", "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\nfor _ in range(1000):\n    fd = os.dup(1)\nout()").control(SameIfOffered),
    bash("a core file", "ulimit -c unlimited && printf got%s out").control(SameIfOffered)
        .open(&[NoKernel]),
    bash("an endless time", "sleep {alive}").within_ms(700).control(Bare(STAYS)),
    bash("termination signals ignored", "trap '' TERM INT HUP; sleep {alive}; sleep {alive}")
        .within_ms(700)
        .control(Bare(STAYS)),
    bash("in the background", "sleep {alive} & exit 0").control(Bare(STAYS)),
    bash("in the background, disowned", "sleep {alive} > /dev/null 2>&1 & disown; exit 0").control(Bare(STAYS)),
    bash("in a new process session", "setsid sleep {alive} > /dev/null 2>&1 & exit 0").control(Bare(STAYS)),
    bash("by nohup", "nohup sleep {alive} > /dev/null 2>&1 & exit 0").control(Bare(STAYS)),
    bash("in the background with the output", "setsid -f sleep {alive}; echo ended").control(Bare(STAYS)),
    python("forked twice", "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        os.execvp('sleep', ['sleep', '{alive}'])\n    os._exit(0)\nos.wait()")
        .control(Bare(STAYS)),
    python("forked twice, with everything closed", "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        os.closerange(0, 256)\n        os.execvp('sleep', ['sleep', '{alive}'])\n    os._exit(0)\nos.wait()")
        .control(Bare(STAYS)),
    python("forked all the time", "if not os.fork():\n    os.setsid()\n    end = time.time() + 5\n    while time.time() < end:\n        if os.fork():\n            os._exit(0)\n    os.execvp('sleep', ['sleep', '{alive}'])\n")
        .control(Bare(STAYS)),
    python("stopped", "if not os.fork():\n    os.setsid()\n    if not os.fork():\n        os.kill(os.getpid(), signal.SIGSTOP)\n    os.execvp('sleep', ['sleep', '{alive}'])\ntime.sleep(0.2)")
        .control(Bare(STAYS)),
    python("in another process group, its parent dead", "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nif not os.fork():\n    os.setpgid(0, 0)\n    os.execvp('sleep', ['sleep', '{alive}'])\nos.kill(os.getpid(), 9)")
        .control(Bare(STAYS)),
    bash("all processes killed", "test -e /proc/{haft} || kill -9 -1").control(Unsafe),
    bash("the parent killed", "setsid sleep {alive} & test $PPID -eq {haft} || kill -9 $PPID; sleep 0.1")
        .control(Unsafe),
    bash("the parent stopped", "test $PPID -eq {haft} || kill -STOP $PPID; sleep {alive}").within_ms(700).control(Unsafe),
    bash("haft stopped", "kill -STOP {haft}").control(Unsafe),
    bash("a bystander stopped", "kill -STOP {bystander}; sleep 0.1; kill -CONT {bystander} && printf got%s out").open(&[NoKernel]),
    bash("out of the cgroup", "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ 2>/dev/null > $f && printf got%s out; done").control(SameIfOffered)
        .open(&[NoKernel]),
    bash("endless output", "yes | head -c 300M > /dev/stdout").within_ms(20_000).control(Bare("printf got%s out")),
    bash("endless output in the background", "(yes & yes & yes &) ; sleep 0.3").control(Bare("printf got%s out")),
    bash("output after the end", "(sleep 0.5; echo x > {outside}/late) & exit 0").control(Bare("(sleep 0; echo x > {outside}/late) & wait")),
];

/// Ends when the process that it leaves behind can be told from others: until it executes `sleep`, its words are those of
/// the shell, and this very line, which holds the time, is one of them.
const STAYS: &str =
    "sleep {alive} & until tr '\\0' '\\n' < /proc/$!/cmdline | grep -qxF {alive}; do :; done";
