//! Ordinary programs must not notice that they are confined. They run here under all layers that a
//! process applies to itself, with the whole machine readable, and their output is compared.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};

use super::{IpcAccess, MemfdAccess, NeighbourAccess, SeccompFilter, SeccompOptions, SocketAccess};
use crate::confine::landlock::{self, LandlockAccess, LandlockRule};
use crate::confine::{capabilities, limits};
use crate::confinement::ResourceLimits;

/// The strictest options with which a command can run.
const TIGHT: SeccompOptions = SeccompOptions {
    sockets: SocketAccess::None,
    memfd: MemfdAccess::Denied,
    ipc: IpcAccess::Denied,
    neighbours: NeighbourAccess::Everyone,
};

const LOOSE: SeccompOptions = SeccompOptions {
    sockets: SocketAccess::All,
    memfd: MemfdAccess::Allowed,
    ipc: IpcAccess::Allowed,
    neighbours: NeighbourAccess::Own,
};

/// Returns a script's output and end under all layers.
fn run(options: SeccompOptions, script: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let rule = |path: &Path, access| LandlockRule { path: path.to_path_buf(), access };
    let rules = [
        rule(Path::new("/"), LandlockAccess::Read),
        rule(Path::new("/dev"), LandlockAccess::Device),
        rule(directory.path(), LandlockAccess::Write),
    ];
    let filters = SeccompFilter::build(options).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .env("TMPDIR", directory.path());
    #[expect(unsafe_code, reason = "the layers are put on between fork and exec")]
    // SAFETY: the closure makes system calls and allocates, which the C library supports after a
    // fork.
    unsafe {
        command.pre_exec(move || {
            capabilities::drop_all()?;
            limits::apply(&ResourceLimits { processes: 10_000, ..ResourceLimits::default() })?;
            landlock::restrict(&rules)?;
            filters.install()
        });
    }
    let output = command.output().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let status = output.status.code().map_or_else(String::new, |code| code.to_string());
    format!("{stdout}{stderr}status {status}\n")
}

fn check(script: &str, expect: Expect) {
    for options in [LOOSE, TIGHT] {
        expect.assert_eq(&run(options, script));
    }
}

/// Returns whether a program is installed, and prints a note if not.
fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !is_there {
        eprintln!("not tested: {program} is not on PATH");
    }
    is_there
}

#[test]
fn shells() {
    check(
        "echo a | tr a b; mkdir 'x y'; echo c > 'x y/é'; cat x*/*; (exit 3); echo $?; sleep 0 & wait; ls -d x* >/dev/null",
        expect![[r#"
            b
            c
            3
            status 0
        "#]],
    );
}

#[test]
fn compilers() {
    if has("cc") {
        check(
            r#"cat > a.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *run(void *n) { return n; }
int main(void) {
    pthread_t t[32]; long sum = 0; void *r;
    for (long i = 0; i < 32; i++) if (pthread_create(&t[i], 0, run, (void *)i)) return 1;
    for (int i = 0; i < 32; i++) { pthread_join(t[i], &r); sum += (long)r; }
    printf("%ld\n", sum);
}
END
cc -O1 -pthread a.c -o a && ./a"#,
            expect![[r#"
                496
                status 0
            "#]],
        );
    }
}

/// Cargo passes its own location to its tests.
#[test]
fn builds() {
    if env::var_os("CARGO").is_none() {
        eprintln!("not tested: this test was not started by cargo");
        return;
    }
    check(
        r#"unset CARGO_TARGET_DIR; "$CARGO" init --quiet --vcs none built && cd built && "$CARGO" build --quiet --offline && target/debug/built"#,
        expect![[r#"
            Hello, world!
            status 0
        "#]],
    );
}

#[test]
fn version_control() {
    if has("git") {
        check(
            "git init -q -b main . && echo a > f && git add -A && \
             git -c user.name=n -c user.email=e@e commit -qm one && git log --format=%s && git status --short && \
             git gc -q && git clone -q . copy && ls copy",
            expect![[r#"
                one
                f
                status 0
            "#]],
        );
    }
}

#[test]
fn python() {
    if has("python3") {
        check(
            r#"python3 - <<'END'
import os, subprocess, tempfile, threading, concurrent.futures, socket, select
with tempfile.TemporaryDirectory() as d:
    open(os.path.join(d, "f"), "w").write("x")
print(subprocess.run(["sh", "-c", "echo sub"], capture_output=True, text=True).stdout.strip())
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(len, ["a"] * 100)))
a, b = socket.socketpair()
a.send(b"pair")
print(b.recv(9).decode(), select.select([a], [], [], 0)[0])
print(os.cpu_count() >= 1, os.getrandom(4) != b"")
END"#,
            expect![[r#"
                sub
                100
                pair []
                True True
                status 0
            "#]],
        );
    }
}

#[test]
fn javascript() {
    if has("node") {
        check(
            r#"node -e '
const { execFileSync } = require("child_process");
const { Worker } = require("worker_threads");
const fs = require("fs");
fs.writeFileSync("f", "x".repeat(100000));
console.log(execFileSync("wc", ["-c", "f"]).toString().trim());
new Worker("require(\"worker_threads\").parentPort.postMessage(new WebAssembly.Memory({initial: 16}).buffer.byteLength)", { eval: true })
  .on("message", n => console.log("worker", n));
'"#,
            expect![[r#"
                100000 f
                worker 1048576
                status 0
            "#]],
        );
    }
}

/// The command's own servers, on the available loopback interface.
#[test]
fn local_servers() {
    if has("python3") {
        let script = r#"python3 - <<'END'
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()
threading.Thread(target=serve).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())
print(len(socket.getaddrinfo("127.0.0.1", 80)) > 0)
END"#;
        expect![[r#"
            hello
            True
            status 0
        "#]]
        .assert_eq(&run(LOOSE, script));
        assert!(run(TIGHT, script).contains("PermissionError"));
    }
}
