//! Attempts to see what haft was started with and what else goes on: variables, processes, descriptors, histories.

use crate::escape::case::Configuration::{NoKernel, NoNamespaces};
use crate::escape::case::Control::{Bare, SameAsRoot, SameIfOffered};
use crate::escape::case::{Case, bash, python};

pub(super) const CASES: &[Case] = &[
    bash("variables", "env").control(Bare("env")),
    bash("a variable by name", "echo $AWS_SECRET_ACCESS_KEY $GITHUB_TOKEN").control(Bare("echo $AWS_SECRET_ACCESS_KEY")),
    bash("variables of the shell", "set").control(Bare("set")),
    bash("the command's own variables, as a file", "cat /proc/self/environ").control(Bare("cat /proc/self/environ")),
    bash("variables of the parent", "tr '\\0' '\\n' < /proc/$PPID/environ").control(Bare("tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' '\\n' < /proc/{haft}/environ")),
    bash("variables of haft", "tr '\\0' '\\n' < /proc/{haft}/environ").control(SameAsRoot),
    bash("variables of all processes", "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'").control(SameAsRoot)
        .open(&[NoKernel]),
    bash("command lines of all processes", "cat /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'")
        .open(&[NoNamespaces, NoKernel]),
    bash("the command line of another process", "tr '\\0' ' ' < /proc/{bystander}/cmdline")
        .open(&[NoNamespaces]),
    bash("command lines of all processes by ps", "ps axww -o args")
        .open(&[NoKernel, NoNamespaces]),
    bash("command lines of all processes by threads", "cat /proc/*/task/*/cmdline 2>/dev/null | tr '\\0' '\\n'")
        .open(&[NoNamespaces, NoKernel]),
    bash("the existence of haft's process", "test -e /proc/{haft} && printf got%s out")
        .open(&[NoKernel, NoNamespaces]),
    bash("files that haft has open", "ls -l /proc/{haft}/fd | grep -q journal && printf got%s out").control(SameAsRoot),
    python(
        "descriptors that were handed down",
        "held = []\nfor fd in range(3, 1024):\n    try:\n        os.fstat(fd)\n        held.append(os.readlink(f'/proc/self/fd/{fd}'))\n    except OSError:\n        pass\nprint(held)\nout(any('attack' not in name for name in held))",
    )
    .control(Bare("exec 9< {outside}/secret; ls /proc/self/fd/9 && printf got%s out")),
    python("standard input", "print(os.readlink('/proc/self/fd/0'))\nout(os.readlink('/proc/self/fd/0') != '/dev/null')")
        .control(Bare("cat {outside}/secret | python3 -c \"import os; print('got' + 'out' if os.readlink('/proc/self/fd/0') != '/dev/null' else '')\"")),
    bash("the history of the shell", "HISTFILE=~/.bash_history; set -o history; history -r; history"),
    bash("the history as a file", "cat {home}/.bash_history"),
    bash("git's global settings", "git config --global --list")
        .open(&[NoKernel]),
    bash("git's credentials", "git config --get-all http.extraHeader")
        .open(&[NoKernel]),
    bash("credentials by curl", "curl -s --netrc file:///dev/null; cat ~/.netrc"),
    bash("the home directory of another spelling", "cat $(getent passwd $(id -u) | cut -d: -f6)/notes.txt {home}/notes.txt"),
    bash("the agent's socket", "test -S {socket} && printf got%s out")
        .open(&[NoKernel, NoNamespaces]),
    bash("haft's own variables", "env | grep -qE '^HAFT_(STATE_DIR|CONFIG)=' && printf got%s out").control(Bare("env | grep -qE '^HAFT_(STATE_DIR|CONFIG)=' && printf got%s out")),
    bash("the path of haft's program", "readlink /proc/$PPID/exe /proc/{haft}/exe | grep -q haft && test -r {program} && printf got%s out").control(SameAsRoot),
    bash("timers and events of haft", "cat /proc/{haft}/{wchan,stat,status,io} > /dev/null && printf got%s out").control(SameAsRoot)
        .open(&[NoKernel]),
    bash("who is logged in", "test -e /run/utmp && printf got%s out").control(SameIfOffered),
    bash("logs of the machine", "ls /var/log && printf got%s out"),
];
