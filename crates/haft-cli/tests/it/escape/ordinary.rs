//! Ordinary work that must succeed with every layer on, as haft is by itself: no manifest, no flag. Where a command says
//! the same each time, it must say the same as without haft.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::mcp_wire::driver::{Server, haft};

/// Long enough for a build on a machine with much else to do, in milliseconds.
const TIMEOUT_MS: u64 = 120_000;

struct Ordinary {
    name: &'static str,
    line: &'static str,
    said: Said,
    /// The network guard refuses its program by name while there is no network.
    is_guarded: bool,
}

/// The expected output of a command that succeeds.
enum Said {
    /// Its output without haft, in an equal directory.
    Same,
    /// This, and nothing else.
    Exactly(&'static str),
}

const fn same(name: &'static str, line: &'static str) -> Ordinary {
    Ordinary { name, line, said: Said::Same, is_guarded: false }
}

/// Calls that the network guard refuses by name, unless it leaves them to the kernel.
const fn guarded(name: &'static str, line: &'static str) -> Ordinary {
    Ordinary { name, line, said: Said::Same, is_guarded: true }
}

const fn exactly(name: &'static str, line: &'static str, said: &'static str) -> Ordinary {
    Ordinary { name, line, said: Said::Exactly(said), is_guarded: false }
}

const DATE: &str = "2026-01-01T00:00:00Z";

/// A repository with a history; its times and names are the same each time.
const REPOSITORY: &str =
    "git init -q -b main . && echo one > a && git add a && git commit -qm first && echo two >> a";

const ORDINARY: &[Ordinary] = &[
    same("git status", "git -C repo status --porcelain=v2 --branch && git -C repo status"),
    same(
        "git status finds nothing that nobody made",
        "cd repo && git stash -q && git status --porcelain --ignored && git stash pop -q",
    ),
    same("git log", "git -C repo log --stat"),
    same("git diff", "git -C repo diff"),
    same(
        "git add and commit",
        "cd repo && git add -A && git commit -qm 'pull: \"second\"' && git log --stat --format=%s",
    ),
    same(
        "git branch",
        "cd repo && git branch topic && git switch topic && git branch -a && git switch main",
    ),
    same("git stash", "cd repo && echo x >> a && git stash && git stash list && git stash pop -q"),
    same(
        "git merge",
        "cd repo && git commit -qam x && git switch -qc side && echo s > s && git add s && git commit -qm s && git switch -q main && git merge --no-ff -m m side && git log --graph --format=%s",
    ),
    same(
        "git rebase",
        "cd repo && git commit -qam x && git switch -qc side2 HEAD~1 && echo s > s2 && git add s2 && git commit -qm s2 && git rebase -q main && git log --format=%s",
    ),
    same("git tag", "cd repo && git tag v1 && git tag -am note v2 && git tag -n"),
    same(
        "git worktree",
        "cd repo && git worktree add -q ../linked && cd ../linked && echo w > w && git add w && git commit -qm w && git log --format=%s && cd ../repo && git worktree remove ../linked && git worktree list | wc -l",
    ),
    same(
        "git init",
        "git init -q made && cd made && git add -A && git commit -q --allow-empty -m x && git status && git config --get core.bare",
    ),
    guarded(
        "git clone of a directory",
        "git clone -q repo copy && git -C copy log --format=%s && git -C copy remote | cat",
    ),
    same(
        "git grep, blame and show",
        "cd repo && git commit -qam x; git grep -n two && git blame -s HEAD~1 -- a && git show --stat --format=%s",
    ),
    exactly("python -c", "python3 -c 'print(sum(range(10)))'", "45\n"),
    exactly(
        "a python environment",
        "python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
        "True\n",
    ),
    exactly(
        "python unittest",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): self.assertEqual(1, 1)\\n' > test_t.py && python3 -m unittest 2>&1 | tail -n 1",
        "OK\n",
    ),
    guarded("pip --version", "/usr/bin/pip --version"),
    exactly(
        "node",
        "node -e 'setTimeout(() => console.log([1, 2].map(x => x * 2)), 5)'",
        "[ 2, 4 ]\n",
    ),
    guarded("npm --version", "npm --version"),
    guarded(
        "npm pack",
        "echo '{\"name\": \"x\", \"version\": \"1.0.0\"}' > package.json && npm pack --silent && tar -tzf x-1.0.0.tgz",
    ),
    exactly(
        "cargo build, parallel and offline",
        "cd crates && cargo build --offline --quiet && ./target/debug/one",
        "one and two\n",
    ),
    exactly(
        "cargo test",
        "cd crates && cargo test --offline --quiet -p two 2>&1 | grep -c 'test result: ok. 1 passed'",
        "1\n",
    ),
    exactly(
        "rustc",
        "echo 'fn main() { println!(\"{}\", 6 * 7); }' > m.rs && rustc m.rs && ./m",
        "42\n",
    ),
    exactly(
        "gcc",
        "printf '#include <stdio.h>\\nint main(void) { return puts(\"built\") < 0; }' > m.c && gcc -O2 -o m m.c && ./m",
        "built\n",
    ),
    exactly(
        "make -j",
        "printf 'all: a b c d\\na b c d:\\n\\t@sleep 0.1; echo $@ > $@\\n' > Makefile && make -j4 && cat a b c d",
        "a\nb\nc\nd\n",
    ),
    exactly("pipes", "seq 100000 | grep 7 | sort -rn | head -n 2 | tr '\\n' ' '", "99997 99987 "),
    exactly("a here-document", "x=1; cat <<END\n$x and $((x + 1))\nEND", "1 and 2\n"),
    exactly("a here-string", "tr a-z A-Z <<< 'here'", "HERE\n"),
    exactly(
        "process substitution",
        "diff <(seq 3) <(seq 2; echo 3) && paste <(echo a) <(echo b)",
        "a\tb\n",
    ),
    exactly(
        "mktemp",
        "f=$(mktemp) && d=$(mktemp -d) && echo x > $f && cp $f $d/y && cat $d/y",
        "x\n",
    ),
    exactly(
        "python's temporary files",
        "python3 -c 'import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b\"x\"); f.flush(); print(open(f.name).read()); tempfile.TemporaryFile()'",
        "x\n",
    ),
    exactly(
        "names with spaces, Unicode and line ends",
        "mkdir 'a b' && echo 1 > 'a b/ü 漢字' && echo 2 > $'a b/line\\nend' && cat 'a b/ü 漢字' $'a b/line\\nend' && find 'a b' -type f -print0 | tr -cd '\\0' | wc -c",
        "1\n2\n2\n",
    ),
    exactly(
        "tar and gzip",
        "mkdir t && echo x > t/x && tar -czf t.tgz t && rm -r t && tar -xzf t.tgz && cat t/x && gzip -c t/x | gunzip",
        "x\nx\n",
    ),
    exactly("zip", "mkdir z && echo x > z/x && zip -qr z.zip z && unzip -p z.zip z/x", "x\n"),
    exactly(
        "SQLite",
        "python3 -c 'import sqlite3; db = sqlite3.connect(\"x.db\"); db.execute(\"pragma journal_mode = wal\"); db.execute(\"create table t (x)\"); db.execute(\"insert into t values (1)\"); db.commit(); print(db.execute(\"select * from t\").fetchall())'",
        "[(1,)]\n",
    ),
    exactly("a server of one's own", "python3 server.py", "200 served\n"),
    exactly(
        "a socket pair",
        "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); print(b.recv(1))'",
        "b'x'\n",
    ),
    exactly(
        "python's event loop",
        "python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, \"slept\")))'",
        "slept\n",
    ),
    exactly(
        "a background job that is waited for",
        "(sleep 0.1; echo late > f) & wait && cat f",
        "late\n",
    ),
    exactly("xargs -P", "seq 8 | xargs -P 4 -I{} sh -c 'echo {} > n{}' && cat n1 n8", "1\n8\n"),
    exactly(
        "find",
        "mkdir -p d/e && touch d/e/f.txt d/g.log && find d -name '*.txt' -exec basename {} \\;",
        "f.txt\n",
    ),
    exactly("sed -i", "echo abc > s && sed -i s/b/B/ s && cat s", "aBc\n"),
    exactly("awk", "seq 4 | awk '{ sum += $1 } END { print sum }'", "10\n"),
    exactly("sort of a big file", "seq 300000 -1 1 > big && sort -n -S 1M big | head -n 1", "1\n"),
    same("date", "TZ=Asia/Tokyo date -d @0 && date +%Y"),
    same("nproc", "nproc"),
    same("id", "id -u && id -un"),
    same("locale", "locale && LC_ALL=C.UTF-8 printf '%s\\n' ü"),
    exactly(
        "devices",
        "echo x > /dev/null && head -c 3 /dev/zero | od -An -tx1 && head -c 8 /dev/urandom | wc -c && head -c 8 /dev/random | wc -c && echo y > /dev/stdout",
        " 00 00 00\n8\n8\ny\n",
    ),
    exactly("python's processes and locks", "python3 pool.py", "[0, 1, 4, 9] 4\n"),
    exactly(
        "shared memory",
        "python3 -c 'from multiprocessing.shared_memory import SharedMemory as S; s = S(create=True, size=9); t = S(s.name); s.buf[0] = 7; print(t.buf[0]); t.close(); s.close(); s.unlink()'",
        "7\n",
    ),
    exactly(
        "ulimit",
        "ulimit -a > /dev/null && test $(ulimit -n) -ge 1024 && echo enough",
        "enough\n",
    ),
    exactly("ps", "sleep 5 & ps -e -o comm= | grep -c sleep; kill %1", "1\n"),
    exactly(
        "threads",
        "python3 -c 'import threading; t = [threading.Thread(target=print, args=(\"t\",)) for _ in range(20)]; [x.start() for x in t]; [x.join() for x in t]' | wc -l",
        "20\n",
    ),
    exactly(
        "mmap",
        "python3 -c 'import mmap; f = open(\"m\", \"w+b\"); f.truncate(4096); m = mmap.mmap(f.fileno(), 0); m[:2] = b\"ok\"; m.flush(); print(open(\"m\", \"rb\").read(2))'",
        "b'ok'\n",
    ),
    exactly("flock", "flock lock sh -c 'flock -n lock true || echo held'", "held\n"),
    exactly(
        "inotify",
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None); fd = c.inotify_init(); c.inotify_add_watch(fd, b\".\", 0x100); open(\"new\", \"w\"); print(len(os.read(fd, 99)) > 0)'",
        "True\n",
    ),
    exactly(
        "traps and signals",
        "trap 'echo caught' USR1; kill -USR1 $$; trap 'echo left' EXIT",
        "caught\nleft\n",
    ),
    exactly("a time limit inside", "timeout 0.1 sleep 5; echo $?", "124\n"),
    exactly(
        "states of jobs",
        "false; echo $?; (exit 3); echo $?; { sh -c 'kill -9 $$'; } 2> /dev/null; echo $?",
        "1\n3\n137\n",
    ),
    exactly(
        "umask and modes",
        "umask 077 && touch u && chmod 640 u && stat -c %a u && mkdir m && stat -c %a m",
        "640\n700\n",
    ),
    exactly(
        "links inside the root",
        "echo x > l && ln -s l s && ln l h && cat s h && readlink s && stat -c %h l && ln -s $PWD/l absolute && cat absolute",
        "x\nx\nl\n2\nx\n",
    ),
    exactly(
        "a script",
        "printf '#!/usr/bin/env python3\\nprint(\"run\")\\n' > r && chmod +x r && ./r",
        "run\n",
    ),
    exactly("the environment", "env | grep -cE '^(PATH|HOME)='", "2\n"),
    exactly("no terminal", "tty; test -t 0 || echo none", "not a tty\nnone\n"),
    exactly("standard input is empty", "cat | wc -c", "0\n"),
    exactly(
        "a directory that is replaced",
        "mkdir -p dist && echo 1 > dist/a && rm -rf dist && mkdir dist && echo 2 > dist/a && mv dist out && cat out/a",
        "2\n",
    ),
    exactly("sparse and large files", "truncate -s 1G g && stat -c %s g && rm g", "1073741824\n"),
    exactly(
        "names in the root that look protected",
        "mkdir hooks && echo x > hooks/pre-commit && echo y > config && echo z > .env && cat hooks/pre-commit config .env",
        "x\ny\nz\n",
    ),
    exactly(
        "a home directory of one's own",
        "echo x > ~/x && cat ~/x && mkdir -p ~/.cache/y && test -w ~ && echo writable",
        "x\nwritable\n",
    ),
    exactly("a program behind a link on PATH", "linked", "found\n"),
    exactly(
        "a file that a directory takes the place of",
        "rm server.py && mkdir server.py && echo y > server.py/e && cat server.py/e",
        "y\n",
    ),
];

#[test]
fn ordinary_work_goes_on() {
    let place = Place::new();
    let unguarded = place.path("unguarded.toml");
    fs::write(&unguarded, UNGUARDED).unwrap();
    let mut by_itself = place.serve(&[]);
    let mut unguarded = place.serve(&["--config", unguarded.to_str().unwrap()]);
    let mut problems = Vec::new();
    for (index, ordinary) in ORDINARY.iter().enumerate() {
        let inside = format!("in{index}");
        place.prepare(&inside);
        let input =
            json!({"cmd": ordinary.line, "opts": {"cwd": inside, "timeout_ms": TIMEOUT_MS}});
        let server = if ordinary.is_guarded { &mut unguarded } else { &mut by_itself };
        let answer = server.call("bash", input);
        let expected = match ordinary.said {
            Said::Exactly(said) => said.to_owned(),
            Said::Same => {
                let outside = format!("out{index}");
                place.prepare(&outside);
                place.bare(ordinary.line, &outside).replace(&outside, &inside)
            }
        };
        // An answer without text is said to be one.
        let expected =
            if expected.is_empty() { "(exit 0, no output)".to_owned() } else { expected };
        let found = &answer["result"]["content"][0]["text"];
        let is_same = found.as_str().is_some_and(|found| nameless(found) == nameless(&expected));
        if answer["result"]["isError"] != false || !is_same {
            problems.push(format!("{}: {found}, expected {expected:?}", ordinary.name));
        }
    }
    assert!(ORDINARY.len() >= 40, "{} are few", ORDINARY.len());
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        ORDINARY.len(),
        problems.join("\n")
    );
}

/// Takes the names of commits out, which are made of the second in which they were made.
fn nameless(said: &str) -> String {
    let is_name = |word: &str| {
        let word = word.trim_matches(|char: char| !char.is_ascii_alphanumeric());
        (7..=40).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let words = said.split_inclusive(char::is_whitespace);
    words.filter(|word| !is_name(word)).collect()
}

/// Local work with programs that mostly fetch things.
const UNGUARDED: &str = "root = \"root\"\nnetwork_guard = \"kernel\"\nreference_watchdog = false\n";

/// A root, and a home directory with what git needs to know.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["root", "home"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let settings = "[user]\n\tname = Ada\n\temail = ada@example.com\n";
        fs::write(directory.path().join("home/.gitconfig"), settings).unwrap();
        // As tools do that switch between versions.
        let tools = directory.path().join("home/tools");
        fs::create_dir_all(tools.join("v1/bin")).unwrap();
        fs::write(tools.join("v1/bin/linked"), "#!/bin/sh\necho found\n").unwrap();
        fs::set_permissions(tools.join("v1/bin/linked"), Permissions::from_mode(0o755)).unwrap();
        symlink("v1", tools.join("current")).unwrap();
        Self { directory }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(relative)
    }

    /// Makes a directory with what the lines work on.
    fn prepare(&self, directory: &str) {
        let place = self.path("root").join(directory);
        for (name, text) in FILES {
            let path = place.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(place.join("repo")).unwrap();
        let said = self.bare(REPOSITORY, &format!("{directory}/repo"));
        assert_eq!(said, "", "a repository");
    }

    fn command(&self, program: &str, directory: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("root").join(directory)).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path("home")).env("HAFT_STATE_DIR", self.path("state"));
        command.env("PATH", self.search_path()).env("LANG", "C.UTF-8").env("TZ", "UTC");
        command.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE);
        command
    }

    /// Returns where programs are: a toolchain, one behind a link, and the system's.
    fn search_path(&self) -> OsString {
        let places =
            [toolchain(), self.path("home/tools/current/bin"), "/usr/bin".into(), "/bin".into()];
        std::env::join_paths(places).unwrap()
    }

    fn serve(&self, args: &[&str]) -> Server {
        let mut command = self.command(haft(), "");
        command.arg("mcp").args(args).stderr(Stdio::null());
        Server::of_legacy(command)
    }

    fn bare(&self, line: &str, directory: &str) -> String {
        let output =
            self.command("bash", directory).args(["-c", &format!("exec 2>&1; {line}")]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }
}

/// Returns the toolchain that builds this very test.
fn toolchain() -> PathBuf {
    let cargo = PathBuf::from(std::env::var_os("CARGO").expect("cargo runs this test"));
    cargo.parent().unwrap().to_owned()
}

const FILES: &[(&str, &str)] = &[
    ("crates/Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"3\"\n"),
    (
        "crates/one/Cargo.toml",
        "[package]\nname = \"one\"\nedition = \"2024\"\n[dependencies]\ntwo = { path = \"../two\" }\n",
    ),
    ("crates/one/src/main.rs", "fn main() {\n    println!(\"one and {}\", two::two());\n}\n"),
    ("crates/two/Cargo.toml", "[package]\nname = \"two\"\nedition = \"2024\"\n"),
    (
        "crates/two/src/lib.rs",
        "pub fn two() -> &'static str {\n    \"two\"\n}\n#[test]\nfn is_two() {\n    assert_eq!(two(), \"two\");\n}\n",
    ),
    (
        "server.py",
        "import http.server, threading, urllib.request\n\
         class Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n        \
         self.end_headers()\n        self.wfile.write(b'served')\n    def log_message(self, *args):\n        pass\n\
         server = http.server.HTTPServer(('127.0.0.1', 0), Handler)\n\
         threading.Thread(target=server.serve_forever, daemon=True).start()\n\
         answer = urllib.request.urlopen(f'http://localhost:{server.server_port}/')\n\
         print(answer.status, answer.read().decode())\n",
    ),
    (
        "pool.py",
        "import multiprocessing\n\
         def square(x):\n    with lock:\n        count.value += 1\n    return x * x\n\
         def start(l, c):\n    global lock, count\n    lock, count = l, c\n\
         if __name__ == '__main__':\n    lock, count = multiprocessing.Lock(), multiprocessing.Value('i', 0)\n    \
         with multiprocessing.Pool(4, start, (lock, count)) as pool:\n        print(pool.map(square, range(4)), count.value)\n",
    ),
];
