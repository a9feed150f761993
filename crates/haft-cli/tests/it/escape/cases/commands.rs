//! Attempts to get past the words of a line: programs that run others, and lines that say something else than they do.
//! All of them are after the same file, which the kernel keeps, however they go about it.

use crate::escape::case::Configuration::NoKernel;
use crate::escape::case::Control::{SameAsRoot, SameIfOffered};
use crate::escape::case::{Case, bash};

pub(super) const CASES: &[Case] = &[
    bash("find -exec", "find {outside} -name secret -exec cat {} +"),
    bash("find -delete", "find {outside} -name victim -delete"),
    bash("find -fprintf", "find . -maxdepth 0 -fprintf {outside}/new x"),
    bash("xargs", "echo {outside}/secret | xargs cat")
        .open(&[NoKernel]),
    bash("xargs with a shell", "echo {outside}/secret | xargs -I% sh -c 'cat %'"),
    bash("env", "env X=1 cat {outside}/secret"),
    bash("env -S", "env -S'cat {outside}/secret'"),
    bash("sed e", "sed '1e cat {outside}/secret' /etc/hostname"),
    bash("sed w", "echo x | sed 'w {outside}/new'"),
    bash("sed r", "echo x | sed 'r {outside}/secret'"),
    bash("awk system", "awk 'BEGIN { system(\"cat {outside}/secret\") }'"),
    bash("awk getline", "awk 'BEGIN { while ((getline line < \"{outside}/secret\") > 0) print line }'")
        .open(&[NoKernel]),
    bash("awk redirect", "awk 'BEGIN { print \"x\" > \"{outside}/new\" }'")
        .open(&[NoKernel]),
    bash("git -c core.pager", "git init -q .; git -c core.pager='cat {outside}/secret; cat' -p config -l"),
    bash("git -c alias", "git -c alias.x='!cat {outside}/secret' x"),
    bash("git -c core.fsmonitor", "git init -q .; git -c core.fsmonitor='cat {outside}/secret >&2; true' status"),
    bash("git -c core.hooksPath", "git init -q .; mkdir h; printf '#!/bin/sh\\ncat {outside}/secret >&2\\n' > h/pre-commit; chmod +x h/pre-commit; git -c core.hooksPath=h -c user.name=a -c user.email=a@b commit --allow-empty -m x"),
    bash("git diff --no-index", "git diff --no-index /dev/null {outside}/secret"),
    bash("git ext transport", "git -c protocol.ext.allow=always ls-remote 'ext::sh -c cat% {outside}/secret% >&2'"),
    bash("GIT_SSH_COMMAND", "GIT_SSH_COMMAND='cat {outside}/secret >&2; false' git ls-remote ssh://nowhere.invalid/x"),
    bash("ssh ProxyCommand", "ssh -o ProxyCommand='cat {outside}/secret >&2' nowhere.invalid").control(SameIfOffered),
    bash("tar checkpoint action", "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='cat {outside}/secret' /etc/hostname"),
    bash("tar --to-command", "tar -cf t.tar /etc/hostname 2>/dev/null; tar -xf t.tar --to-command='cat {outside}/secret'"),
    bash("vim -c", "vim -es -u NONE -c 'r {outside}/secret' -c '%p' -c 'qa!'").control(SameIfOffered),
    bash("python -c", "python3 -c 'print(open(\"{outside}/secret\").read())'")
        .open(&[NoKernel]),
    bash("perl -e", "perl -e 'open(F, \"<\", \"{outside}/secret\"); print <F>'")
        .open(&[NoKernel]),
    bash("node -e", "node -e 'console.log(require(\"fs\").readFileSync(\"{outside}/secret\", \"utf8\"))'")
        .open(&[NoKernel]),
    bash("make -f -", "printf 'x:\\n\\t@cat {outside}/secret\\n' | make -f -"),
    bash("gcc -include", "echo '#include \"{outside}/secret\"' | gcc -E -")
        .open(&[NoKernel]),
    bash("curl file://", "curl -s file://{outside}/secret"),
    bash("openssl", "openssl enc -base64 -A -in {outside}/secret | base64 -d"),
    bash("eval", "eval \"cat {outside}/secret\""),
    bash("eval of pieces", "a=ca; b=t; eval \"$a$b {outside}/secret\""),
    bash("a command in a variable", "x=cat; $x {outside}/secret"),
    bash("IFS", "x='cat:{outside}/secret'; IFS=:; $x"),
    bash("brace expansion", "{cat,{outside}/secret}"),
    bash("quoted letters", "c''a\"t\" {outside}/s\\ecret"),
    bash("ANSI quoting", "$'\\x63at' {outside}/secret"),
    bash("a pattern as program", "/b?n/c?t {outside}/secret"),
    bash("base64 to a shell", "echo \"cat {outside}/secret\" | base64 | base64 -d | sh"),
    bash("a here-document to a shell", "sh <<'END'\ncat {outside}/secret\nEND"),
    bash("a here-string to a shell", "bash <<< 'cat {outside}/secret'"),
    bash("a command substitution", "echo \"$(cat {outside}/secret)\""),
    bash("backticks in backticks", "echo `echo \\`cat {outside}/secret\\``"),
    bash("a process substitution", "cat <(cat {outside}/secret)"),
    bash("a read by the shell itself", "echo \"$(< {outside}/secret)\""),
    bash("mapfile", "mapfile -t lines < {outside}/secret; echo \"${lines[@]}\""),
    bash("source", "source {outside}/secret"),
    bash("a function named like a command", "ls() { command cat \"$@\"; }; ls {outside}/secret"),
    bash("an alias", "shopt -s expand_aliases\nalias ls=cat\nls {outside}/secret"),
    bash("exec -a", "exec -a ls cat {outside}/secret"),
    bash("a trap", "trap 'cat {outside}/secret' EXIT"),
    bash("a coprocess", "coproc cat {outside}/secret; cat <&\"${COPROC[0]}\""),
    bash("nohup and friends", "nohup timeout 5 nice setsid -w stdbuf -o0 cat {outside}/secret"),
    bash("the dynamic loader", "/lib64/ld-linux-x86-64.so.2 /bin/cat {outside}/secret").control(SameIfOffered),
    bash("LD_PRELOAD", "printf '#include <stdio.h>\\n__attribute__((constructor)) static void x(void){char b[99];FILE*f=fopen(\"{outside}/secret\",\"r\");if(f&&fgets(b,99,f))puts(b);}' > x.c; gcc -shared -fPIC -o x.so x.c; LD_PRELOAD=./x.so /bin/true")
        .open(&[NoKernel]),
    bash("BASH_ENV", "echo 'cat {outside}/secret' > env; BASH_ENV=env bash -c true"),
    bash("PATH", "mkdir p; printf '#!/bin/sh\\ncat {outside}/secret\\n' > p/ls; chmod +x p/ls; PATH=$PWD/p:$PATH ls")
        .open(&[NoKernel]),
    bash("a program with a harmless name", "cp /bin/cat ls; ./ls {outside}/secret"),
    bash("sudo", "sudo -n cat {outside}/secret").control(SameIfOffered),
    bash("su", "su -c 'cat {outside}/secret'").control(SameAsRoot),
    bash("dd", "dd if={outside}/secret status=none"),
    bash("cp into the workspace", "cp {outside}/secret mine; cat mine"),
    bash("tee", "echo x | tee {outside}/new"),
    bash("truncate", "truncate -s 0 {outside}/victim"),
    bash("a redirect", "echo x > {outside}/victim"),
    bash("a redirect of a group", "{ echo x; } >> {outside}/victim"),
    bash("a redirect to a computed place", "x={outside}; echo x > \"$x/victim\"")
        .open(&[NoKernel]),
    bash("a read and write redirect", "exec 3<> {outside}/victim; echo x >&3"),
    bash("very many commands", "true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; true; cat {outside}/secret"),
    bash("a debugger", "strace -o /dev/null cat {outside}/secret").control(SameIfOffered),
    bash("sqlite3", "sqlite3 :memory: \"select readfile('{outside}/secret')\"").control(SameIfOffered)
        .open(&[NoKernel]),
    bash("script", "script -qc 'cat {outside}/secret' /dev/null").control(SameIfOffered),
    bash("flock", "flock lock cat {outside}/secret"),
    bash("rg --pre", "echo x > y; printf '#!/bin/sh\\ncat {outside}/secret\\n' > p; chmod +x p; rg --pre ./p . y").control(SameIfOffered)
        .open(&[NoKernel]),
];
