//! Cloning repositories from a server of this machine, which was granted by name.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{World, names};

/// A server of files, as far as git asks for them.
struct Server {
    port: u16,
}

impl Server {
    /// Serves a directory until the test ends. Below `/private`, everything needs a password; below `/away`, everything is
    /// elsewhere.
    fn of(directory: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let directory = directory.clone();
                std::thread::spawn(move || answer(stream, &directory));
            }
        });
        Self { port }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

/// Answers the requests of one connection.
fn answer(stream: TcpStream, directory: &Path) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
        let mut line = String::new();
        while reader.read_line(&mut line).ok()? > 2 {
            line.clear();
        }
        let path = first.split(' ').nth(1)?.split('?').next()?.trim_start_matches('/').to_owned();
        let (status, body) = if path.starts_with("private") {
            ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"", Vec::new())
        } else if path.starts_with("away") {
            ("302 Found\r\nLocation: http://localhost:1/x.git/info/refs", Vec::new())
        } else {
            match std::fs::read(directory.join(&path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            }
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        writer.write_all(head.as_bytes()).ok()?;
        writer.write_all(&body).ok()?;
    }
}

fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    command.args(args).current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a repository that wants programs run when it is cloned, and serves it.
fn served(world: &World) -> Server {
    let source = world.path("home").join("source");
    std::fs::create_dir_all(&source).unwrap();
    git(&source, &["init", "--quiet"]);
    std::fs::write(source.join("file.txt"), "cloned\n").unwrap();
    std::fs::write(
        source.join(".gitmodules"),
        "[submodule \"s\"]\n\tpath = s\n\turl = ext::sh -c id\n",
    )
    .unwrap();
    git(&source, &["add", "."]);
    git(&source, &["commit", "--quiet", "-m", "first"]);
    let served = world.path("home").join("served");
    std::fs::create_dir_all(&served).unwrap();
    git(&served, &["clone", "--quiet", "--bare", "../source", "a.git"]);
    git(&served.join("a.git"), &["update-server-info"]);
    Server::of(served)
}

fn clone(world: &World, url: &str, path: &str, flags: &[&str]) -> (Option<i32>, Value) {
    let input = json!({ "url": url, "path": path }).to_string();
    let args = [&["call", "repo_clone", &input, "--json"], flags].concat();
    let output = world.haft(&args).output().unwrap();
    let envelope =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| world.shown(&output).into());
    (output.status.code(), envelope)
}

const GRANTED: [&str; 4] = ["--allow", "repo_clone", "--allow-host", "127.0.0.1"];

#[test]
fn a_repository_is_cloned_from_a_host_that_was_granted() {
    let world = World::new();
    let server = served(&world);
    let url = server.url("a.git");
    let (status, envelope) = clone(&world, &url, "vendor/a", &GRANTED);
    assert_eq!(status, Some(0), "{envelope:#}");
    assert_eq!(world.read("work/vendor/a/file.txt"), "cloned\n");
    assert_eq!(envelope["data"]["branch"], json!("main"));
    assert_eq!(envelope["data"]["commit"].as_str().unwrap().len(), 40);
    assert_eq!(envelope["data"]["path"], json!("vendor/a"));
    assert_eq!(envelope["metadata"]["connections"][0]["host"], json!("127.0.0.1"));
    assert_eq!(names(&world.path("work/vendor")), ["a"]);
    assert!(envelope["metadata"]["undone"].is_null(), "{envelope:#}");
    let hooks = names(&world.path("work/vendor/a/.git/hooks"));
    assert!(hooks.is_empty(), "{hooks:?}");
    assert_eq!(world.read("work/vendor/a/.git/config").matches("url = ").count(), 1);

    let (status, envelope) = clone(&world, &url, "vendor/a", &GRANTED);
    assert_eq!(status, Some(1));
    expect![[r#""vendor/a" exists already: name a new directory"#]]
        .assert_eq(envelope["error_text"].as_str().unwrap());
}

#[test]
fn a_failed_clone_leaves_nothing() {
    let world = World::new();
    let server = served(&world);
    for path in ["nothing.git", "private/a.git", "away/a.git"] {
        let (status, envelope) = clone(&world, &server.url(path), "there/new", &GRANTED);
        assert_eq!(status, Some(1), "{path}: {envelope:#}");
        assert_eq!(envelope["metadata"]["code"], json!("TOOL_COMMAND_FAILED"), "{envelope:#}");
        assert_eq!(names(&world.path("work/there")), Vec::<String>::new(), "{path}");
    }
    // A password is not asked for, and a redirect leads to no other host.
    let (_, envelope) = clone(&world, &server.url("private/a.git"), "new", &GRANTED);
    assert!(envelope.to_string().contains("terminal prompts disabled"), "{envelope:#}");
    let (_, envelope) = clone(&world, &server.url("away/a.git"), "new", &GRANTED);
    assert!(
        !envelope.to_string().contains("\"admitted\":true,\"host\":\"localhost\""),
        "{envelope:#}"
    );
}

#[test]
fn nothing_is_cloned_that_was_not_granted_or_is_no_plain_url() {
    let world = World::new();
    let server = served(&world);
    let url = server.url("a.git");
    let refused = |url: &str, path: &str, flags: &[&str]| {
        let (status, envelope) = clone(&world, url, path, flags);
        assert!(names(&world.path("work")).is_empty(), "{url}");
        (status, envelope["metadata"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(refused(&url, "a", &[]), (Some(3), "PERMISSION_DENIED".to_owned()));
    // An address of this machine is reached only when it was named.
    assert_eq!(
        refused(&url, "a", &["--allow", "repo_clone"]),
        (Some(1), "TOOL_COMMAND_FAILED".to_owned())
    );
    assert_eq!(refused(&url, "../a", &GRANTED), (Some(3), "TOOL_PATH_ESCAPE".to_owned()));
    for url in ["file:///etc", "ext::sh -c id", "ssh://a@127.0.0.1/x", "https://u:p@127.0.0.1/x"] {
        assert_eq!(refused(url, "a", &GRANTED).1, "INVALID_INPUT", "{url}");
    }
}
