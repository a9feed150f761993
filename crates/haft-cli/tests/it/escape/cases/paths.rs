//! Attempts to read or change files outside of the root by the way that leads there.

use crate::escape::case::Configuration::{NoKernel, NoNamespaces, NoSeccomp};
use crate::escape::case::Control::{Bare, SameAsRoot, SameIfOffered, Unsafe};
use crate::escape::case::{Case, bash, python, tool};

const LINKED: &str = "ln -s {outside} link";

pub(super) const CASES: &[Case] = &[
    tool("read with ..", "read", r#"{"path": "../outside/secret"}"#, "cat ../../outside/secret"),
    tool("read an absolute path", "read", r#"{"path": "{outside}/secret"}"#, "cat {outside}/secret"),
    tool("read through a link", "read", r#"{"path": "{name}/link/secret"}"#, "cat link/secret")
        .prepared(LINKED),
    tool("read through a chain of links", "read", r#"{"path": "{name}/a/secret"}"#, "cat a/secret")
        .prepared("ln -s b a; ln -s c b; ln -s {outside} c"),
    tool("read through .. behind a link", "read", r#"{"path": "{name}/link/../secret"}"#, "cat link/../secret")
        .prepared("ln -s {outside}/deep link"),
    tool("read through /proc/self/root", "read", r#"{"path": "{name}/top{outside}/secret"}"#, "cat top{outside}/secret")
        .prepared("ln -s /proc/self/root top"),
    tool("read through /proc/self/cwd", "read", r#"{"path": "{name}/here/../outside/secret"}"#, "cd {root}; cat {name}/here/../outside/secret")
        .prepared("ln -s /proc/self/cwd here"),
    tool("read haft's environment", "read", r#"{"path": "/proc/self/environ"}"#, "cat /proc/{haft}/environ"),
    tool("read haft's environment by a link", "read", r#"{"path": "{name}/environ"}"#, "cat environ")
        .prepared("ln -s /proc/{haft}/environ environ"),
    tool("read a credential by another name", "read", r#"{"path": "{name}/twin"}"#, "cat twin")
        .prepared("ln {home}/.ssh/id_ed25519 twin"),
    tool("read a device", "read", r#"{"path": "{name}/device"}"#, "head -c 9 device | wc -c | grep -q 9 && printf got%s out")
        .prepared("ln -s /dev/zero device"),
    tool("write with ..", "write", r#"{"path": "../outside/new", "content": "x"}"#, "echo x > ../../outside/new"),
    tool("write an absolute path", "write", r#"{"path": "{outside}/victim", "content": "x"}"#, "echo x > {outside}/victim"),
    tool("write through a link", "write", r#"{"path": "{name}/link/victim", "content": "x"}"#, "echo x > link/victim")
        .prepared(LINKED),
    tool("write through a dangling link", "write", r#"{"path": "{name}/link", "content": "x"}"#, "echo x > link")
        .prepared("ln -s {outside}/new link"),
    tool("write below a dangling link", "write", r#"{"path": "{name}/link/new", "content": "x"}"#, "mkdir {outside}/made; echo x > link/new")
        .prepared("ln -s {outside}/made link"),
    tool("edit through a link", "edit", r#"{"path": "{name}/link/victim", "old_string": "secret", "new_string": "x"}"#, "sed -i s/secret/x/ link/victim")
        .prepared(LINKED),
    tool("edit a link to a file", "edit", r#"{"path": "{name}/file", "old_string": "secret", "new_string": "x"}"#, "sed -i --follow-symlinks s/secret/x/ file")
        .prepared("ln -s {outside}/victim file"),
    tool(
        "patch with ..",
        "apply_patch",
        r#"{"patch": "--- /dev/null\n+++ b/../outside/new\n@@ -0,0 +1 @@\n+x\n"}"#,
        "echo x > ../../outside/new",
    ),
    tool(
        "patch through a link",
        "apply_patch",
        r#"{"patch": "--- /dev/null\n+++ b/{name}/link/new\n@@ -0,0 +1 @@\n+x\n"}"#,
        "echo x > link/new",
    )
    .prepared(LINKED),
    tool("search through a link", "grep", r#"{"pattern": "nobody", "path": "{name}/link"}"#, "grep -r nobody link/")
        .prepared(LINKED),
    tool("search above the root", "grep", r#"{"pattern": "nobody", "path": "../outside"}"#, "grep -r nobody ../../outside"),
    tool("search from a place with a link", "grep", r#"{"pattern": "nobody", "path": "{name}"}"#, "grep -R nobody .")
        .prepared(LINKED),
    bash("cat an absolute path", "cat {outside}/secret"),
    bash("cat with ..", "cat ../../outside/secret"),
    bash("cd up and cat", "cd ..; cd ..; cat outside/secret")
        .open(&[NoKernel]),
    bash("a link made and followed", "ln -s {outside} own; cat own/secret"),
    bash("a link made and written through", "ln -s {outside}/new own; echo x > own"),
    bash("the command's own root", "cat /proc/self/root{outside}/secret"),
    bash("the root of process 1", "cat /proc/1/root{outside}/secret")
        .control(SameIfOffered),
    bash("the root of haft", "cat /proc/{haft}/root{outside}/secret"),
    bash("the working directory of haft", "cat /proc/{haft}/cwd/../outside/secret"),
    bash("the descriptors of haft", "cat /proc/{haft}/fd/../environ | tr '\\0' '\\n'"),
    bash("a directory made outside", "mkdir {outside}/made"),
    bash("a file removed outside", "rm -f {outside}/victim"),
    bash("a file moved in", "mv {outside}/victim ."),
    bash("a file moved out", "touch mine; mv mine {outside}/mine"),
    bash("a hard link to a file outside", "ln {outside}/secret twin; cat twin"),
    bash("a hard link to a credential", "ln {home}/.ssh/id_ed25519 twin; cat twin"),
    bash("modes changed outside", "chmod 666 {outside}/victim")
        .open(&[NoNamespaces]),
    bash("times changed outside", "touch -d '2001-01-01 00:00:00.5' {outside}/victim")
        .open(&[NoNamespaces]),
    bash("attributes changed outside", "chattr +A {outside}/victim && printf got%s out")
        .open(&[NoKernel]),
    bash("extended attributes changed outside", "python3 -c \"import os; os.setxattr('{outside}/victim', 'user.haft', b'x'); print('got'+'out')\"")
        .open(&[NoKernel]),
    bash("the root moved away", "mv {root} {base}/moved && mv {base}/moved {root} && printf got%s out")
        .control(Unsafe),
    bash("the parent of the root listed", "ls {base}/outside && printf got%s out"),
    bash("the home directory", "cat {home}/notes.txt"),
    bash("credentials in the home directory", "cat ~/.ssh/id_ed25519 ~/.netrc ~/.aws/credentials")
        .open(&[NoKernel]),
    bash("a file left in the home directory", "echo x > ~/.config; echo x > ~/.bashrc; echo x > ~/new")
        .open(&[NoKernel]),
    bash("/etc/passwd opened to write", ": 2>/dev/null >> /etc/passwd && printf got%s out").control(SameAsRoot),
    bash("/etc/shadow", "head -c 1 /etc/shadow | grep -q . && printf got%s out").control(SameAsRoot),
    bash("a file left in /usr", "touch /usr/haft-escape && rm /usr/haft-escape && printf got%s out")
        .control(SameAsRoot),
    bash("a file left in /tmp", "touch /tmp/haft-escape-{alive}; test -e /proc/{haft} && rm /tmp/haft-escape-{alive} && printf got%s out"),
    bash("a tar with absolute names", "mkdir -p t; echo x > t/new; tar -cPf t.tar --transform 's,^t/new,{outside}/new,' t/new; tar -xPf t.tar")
        .open(&[NoKernel]),
    bash("a tar with a link and a file below it", "ln -s {outside} d; tar -cf t.tar d; rm d; mkdir d; echo x > d/new; tar -rf t.tar d/new; rm -r d; tar -xf t.tar --keep-directory-symlink; echo x > d/new"),
    bash("a block device of the disk", "mknod disk b $(stat -c '%Hd %Ld' .) && head -c 512 disk | wc -c | grep -q 512 && printf got%s out")
        .control(SameAsRoot)
        .open(&[NoKernel]),
    bash("a character device of the kernel's log", "mknod log c 1 11 && timeout 1 head -c 1 log | wc -c | grep -q 1 && printf got%s out")
        .control(SameAsRoot)
        .open(&[NoKernel]),
    bash("a setuid program left behind", "cp /bin/true rising; chmod u+s rising")
        .open(&[NoKernel, NoSeccomp]),
    bash("a setgid program left behind", "cp /bin/true rising; chmod g+s rising")
        .open(&[NoKernel, NoSeccomp]),
    bash("a setuid program unpacked", "cp /bin/true rising; mkdir t; tar --mode=4755 -cf t/t.tar rising; tar -xpf t/t.tar")
        .open(&[NoKernel, NoSeccomp]),
    python(
        "a setuid program made as such",
        "os.umask(0)\nfd = os.open('rising', os.O_CREAT | os.O_RDWR, 0o6755)\nprogram = open('/bin/true', 'rb').read()\nos.posix_fallocate(fd, 0, len(program))\narea = mmap.mmap(fd, len(program))\narea[:] = program",
    )
    .control(SameAsRoot),
    bash("a program with capabilities", "cp /bin/true rising; setcap cap_net_raw+ep rising && printf got%s out")
        .control(SameAsRoot)
        .open(&[NoKernel]),
    python(
        "a nameless file linked outside",
        "fd = os.open('{outside}', os.O_TMPFILE | os.O_WRONLY)\nos.write(fd, b'x')\nprint(LIBC.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'{outside}/new', 0x400))",
    ),
    python(
        "a nameless file of the root linked outside",
        "fd = os.open('.', os.O_TMPFILE | os.O_WRONLY)\nos.write(fd, b'x')\nprint(LIBC.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'{outside}/new', 0x400))",
    ),
    python(
        "openat2 from another root",
        "top = os.open('/proc/self/root', os.O_PATH)\nhow = struct.pack('QQQ', os.O_RDONLY, 0, 0x10)\nbuffer = ctypes.create_string_buffer(how)\nfd, error = call('openat2', top, ctypes.c_char_p(b'{outside}/secret'), buffer, 24)\nprint(os.read(fd, 100) if fd >= 0 else error)",
    ),
    python(
        "entries exchanged with outside",
        "open('mine', 'w').close()\nresult = LIBC.renameat2(-100, b'mine', -100, b'{outside}/victim', 2)\nprint(result)",
    ),
    python(
        "directories found open",
        "for fd in range(3, 1024):\n    try:\n        os.fchdir(fd)\n        print(os.listdir('.'))\n        out()\n    except OSError:\n        pass",
    )
    .control(Bare("exec 9< {outside}; printf 'import os\\nos.fchdir(9)\\nprint(\"got\" + \"out\")' | python3")),
    bash("a directory mounted in", "mkdir in; mount --bind {outside} in; cat in/secret; umount in 2>/dev/null")
        .control(SameAsRoot)
        .open(&[NoKernel]),
    bash("a directory mounted in, in a new namespace", "mkdir in; unshare -m sh -c 'mount --bind {outside} in; cat in/secret'")
        .control(SameAsRoot)
        .open(&[NoKernel]),
    bash("a directory mounted in, as a new user", "mkdir in; unshare -Urm sh -c 'mount --bind {outside} in; cat in/secret'")
        .open(&[NoKernel]),
    bash("a fresh view of the disk", "mkdir in; unshare -Urm sh -c 'mount -t overlay -o lowerdir={outside}:{base}/home overlay in; cat in/secret'")
        .open(&[NoKernel]),
    bash("raw memory of the machine", "timeout 2 head -c 1 /dev/mem | wc -c | grep -q 1 && printf got%s out; timeout 2 head -c 1 /proc/kcore | wc -c | grep -q 1 && printf got%s out")
        .control(SameIfOffered),
];
