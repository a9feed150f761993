//! No command line brings a commit to a remote, or reaches a server, under a rule that denies `git push`: the rule on words
//! stops what is literal, and the kernel stops the rest. The lines are in `push/ways.txt`. Each line also runs without
//! haft, which shows that it is a way.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft_app::{SettingOverrides, compose, host::AppHost, settings};
use haft_policy::RuleAction;
use serde_json::json;

use crate::mcp_wire::driver::{Server, haft};

const WAYS: &str = include_str!("push/ways.txt");
const LINE_END: char = '⏎';
/// The smallest number of lines that have to be ways on the machine of the test.
const WAYS_MIN: usize = 150;

const POLICY: &str = r#"
[[permissions]]
permission = "bash"
pattern = "git push"
action = "deny"
"#;

/// Files that lines run. Each of them pushes.
const FILES: &[(&str, &str)] = &[
    ("haft.toml", POLICY),
    ("notes.txt", "one\ntwo\n"),
    ("src/a.txt", "a\n"),
    ("push.sh", "#!/bin/sh\ngit push origin HEAD:refs/heads/by-file\n"),
    ("push.mk", "x:\n\t@git push origin HEAD:refs/heads/by-file\n"),
    ("Makefile", "push:\n\t@git push origin HEAD:refs/heads/by-file\n"),
    (
        "push.py",
        "import subprocess\nsubprocess.run(['git', 'push', 'origin', 'HEAD:refs/heads/by-file'])\n",
    ),
    (
        "push.js",
        "require('child_process').spawnSync('git', ['push', 'origin', 'HEAD:refs/heads/by-file'])\n",
    ),
    ("push.awk", "BEGIN { system(\"git push origin HEAD:refs/heads/by-file\") }\n"),
    ("push.gdb", "shell git push origin HEAD:refs/heads/by-file\n"),
    ("push.vim", "!git push origin HEAD:refs/heads/by-file\nq\n"),
    (
        "package.json",
        "{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {\"push\": \"git push origin HEAD:refs/heads/by-file\", \"test\": \"git push origin HEAD:refs/heads/by-file\"}}\n",
    ),
];

/// One side of the comparison: a repository, its remote outside of the root, and a home.
struct Side {
    base: PathBuf,
}

impl Side {
    fn new(base: PathBuf) -> Self {
        let side = Self { base };
        let work = side.work();
        fs::create_dir_all(side.base.join("home")).unwrap();
        for (name, text) in FILES {
            let path = work.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::set_permissions(work.join("push.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let remote = side.remote();
        let remote = remote.display();
        for line in [
            format!("git init -q --bare {remote}"),
            "git init -q -b main".to_owned(),
            "git config user.name you; git config user.email you@example.org".to_owned(),
            "git config alias.up push; git config alias.up2 '!git push origin HEAD:refs/heads/by-alias'".to_owned(),
            "git add .; git commit -q -m first; git commit -q --allow-empty -m second".to_owned(),
            format!("git remote add origin {remote}"),
            "printf '#!/bin/sh\\ngit push -q origin HEAD:refs/heads/by-hook\\n' > .git/hooks/post-commit".to_owned(),
            "chmod +x .git/hooks/post-commit".to_owned(),
        ] {
            assert!(side.bash(&line), "{line}");
        }
        fs::rename(side.remote(), side.template()).unwrap();
        side.reset_remote();
        side
    }

    fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    fn remote(&self) -> PathBuf {
        self.base.join("remote.git")
    }

    fn template(&self) -> PathBuf {
        self.base.join("template.git")
    }

    fn reset_remote(&self) {
        assert!(self.bash("rm -rf ../remote.git && cp -r ../template.git ../remote.git"));
    }

    fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", self.base.join("home").display().to_string()),
            ("HAFT_STATE_DIR", self.base.join("state").display().to_string()),
            ("LC_ALL", "C.UTF-8".to_owned()),
        ]
    }

    /// Runs a line without haft, and says whether it succeeded.
    fn bash(&self, line: &str) -> bool {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "20", "bash", "-c", line]).current_dir(self.work());
        command.env_clear().envs(self.variables());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap().success()
    }

    /// Returns the files of the remote with their contents.
    fn remote_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.remote()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let entry = entry.unwrap();
                let is_directory = entry.file_type().unwrap().is_dir();
                let contents = if is_directory { None } else { fs::read(entry.path()).ok() };
                files.insert(entry.path(), contents.unwrap_or_default());
                if is_directory {
                    open.push(entry.path());
                }
            }
        }
        files
    }

    /// Returns a line of the file as it is on this side.
    fn line(&self, way: &str, number: usize, canary: &Canary, git_port: u16) -> String {
        let name = self.base.file_name().unwrap().to_string_lossy();
        way.replace("PATH_", &self.remote().display().to_string())
            .replace("NET_", &format!("git://127.0.0.1:{git_port}/{name}/remote.git"))
            .replace("HOST_", "127.0.0.1")
            .replace("PORT_", &canary.port.to_string())
            .replace("REF_", &format!("way{number}"))
            .replace("push net", &format!("push git://127.0.0.1:{git_port}/{name}/remote.git"))
            .replace(LINE_END, "\n")
    }
}

/// A server that counts its connections, and closes them at once.
struct Canary {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, connections }
    }

    fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The server of the remotes, which ends with the test.
struct GitDaemon(Child);

impl GitDaemon {
    fn start(base: &Path, port: u16) -> Self {
        // `git daemon` would start it as another process, which stays when `git` is ended.
        let programs = Command::new("git").arg("--exec-path").output().unwrap().stdout;
        let programs = PathBuf::from(String::from_utf8(programs).unwrap().trim_end());
        let mut command = Command::new(programs.join("git-daemon"));
        command.args(["--export-all", "--enable=receive-pack", "--listen=127.0.0.1"]);
        command.arg(format!("--base-path={}", base.display())).arg(format!("--port={port}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self(command.spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "git daemon does not listen");
            std::thread::yield_now();
        }
        daemon
    }
}

impl Drop for GitDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the ways, and whether words stop each.
pub(crate) fn ways() -> Vec<(&'static str, bool)> {
    let mut by_words = false;
    let mut ways = Vec::new();
    for line in WAYS.lines() {
        match line.strip_prefix("# ") {
            Some(heading) => by_words = heading == "words",
            None if line.is_empty() => {}
            None => ways.push((line, by_words)),
        }
    }
    ways
}

#[test]
fn no_way_reaches_a_remote() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let base = directory.path().canonicalize().unwrap();
    let [plain, confined] = ["plain", "confined"].map(|name| Side::new(base.join(name)));
    let canary = Canary::start();
    let git_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _daemon = GitDaemon::start(&base, git_port);
    // The effect of the lines without haft.
    let untouched = plain.remote_files();
    let mut is_way = Vec::new();
    for (number, (way, _)) in ways().into_iter().enumerate() {
        let before = canary.count();
        plain.bash(&plain.line(way, number, &canary, git_port));
        let reached = canary.count() > before || plain.remote_files() != untouched;
        is_way.push(reached);
        if reached {
            plain.reset_remote();
        }
    }
    let count = is_way.iter().filter(|is_way| **is_way).count();
    let others = ways().into_iter().zip(&is_way).filter(|(_, is_way)| !**is_way);
    let others: Vec<_> = others.map(|((way, _), _)| way).collect();
    println!("{count} of {} lines are ways here; not: {others:#?}", is_way.len());
    assert!(count >= WAYS_MIN, "only {count} lines are ways here");
    // Their effect with haft.
    let untouched = confined.remote_files();
    let mut command = Command::new(haft());
    command.arg("mcp").current_dir(confined.work()).env_clear().envs(confined.variables());
    command.stderr(Stdio::null());
    let mut server = Server::of_legacy(command);
    let mut reached = Vec::new();
    for (number, (way, _)) in ways().into_iter().enumerate() {
        let line = confined.line(way, number, &canary, git_port);
        let before = canary.count();
        server.call("bash", json!({ "cmd": line, "opts": { "timeout_ms": 20_000 } }));
        if canary.count() > before {
            reached.push(format!("connected: {line}"));
        }
        if confined.remote_files() != untouched {
            reached.push(format!("changed the remote: {line}"));
            confined.reset_remote();
        }
    }
    server.end();
    assert!(reached.is_empty(), "{} got through:\n{}", reached.len(), reached.join("\n"));
}

#[test]
fn words_stop_what_is_literal() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join("haft.toml"), POLICY).unwrap();
    let host = AppHost::isolated(&root.join("state")).unwrap();
    let host = host.in_directory(root.clone()).using_program(haft().into());
    let settings = settings::resolve(&SettingOverrides::default(), &host).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let passed: Vec<&str> = runtime.block_on(async {
        let haft = compose::unrecorded_runtime(&settings, &host).await.unwrap();
        let connection = compose::open_connection(&haft, &settings, &host, "test").unwrap();
        let mut passed = Vec::new();
        for (way, _) in ways().into_iter().filter(|(_, by_words)| *by_words) {
            let line = way.replace(LINE_END, "\n");
            let explained = connection.explain("bash", json!({ "cmd": line })).await.unwrap();
            if explained.outcome == RuleAction::Allow {
                passed.push(way);
            }
        }
        passed
    });
    assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
}
