//! A machine that reaches the internet through a proxy: `web_fetch` and commands get to granted hosts through it, and its
//! password stays hidden.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use expect_test::expect;

use crate::world::World;

const PASSWORD: &str = "p-0123456789";
/// The user and the password, as the field of a request holds them.
const CREDENTIALS: &str = "Basic eW91OnAtMDEyMzQ1Njc4OQ==";

/// A proxy that answers every request itself, and keeps what it was asked.
struct FakeProxy {
    address: SocketAddr,
    // Written by the server's thread, read by the test.
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeProxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let head = head(&stream);
                let is_tunnel = head.starts_with("CONNECT");
                seen.lock().unwrap().push(head);
                if is_tunnel {
                    let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
                    let inner = self::head(&stream);
                    seen.lock().unwrap().push(inner);
                }
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\
                              Connection: close\r\n\r\nhello\n";
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://you:{PASSWORD}@{}", self.address)
    }

    /// Returns the first lines of the requests, and whether each held the credentials.
    fn requests(&self) -> Vec<(String, bool)> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        let line = |head: &String| head.lines().next().unwrap_or_default().to_owned();
        asked.iter().map(|head| (line(head), head.contains(CREDENTIALS))).collect()
    }
}

/// Reads the head of a request.
fn head(stream: &TcpStream) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    head
}

fn expected(lines: &[(&str, bool)]) -> Vec<(String, bool)> {
    lines.iter().map(|(line, is_with)| ((*line).to_owned(), *is_with)).collect()
}

#[test]
fn granted_hosts_are_reached_through_the_proxy_of_the_machine() {
    let proxy = FakeProxy::start();
    let world = World::new();
    let haft = |args: &[&str]| {
        let mut command = world.haft(&["--allow-host", "pages.example"]);
        command.args(args).env("HTTPS_PROXY", proxy.url());
        command
    };
    let fetch =
        haft(&["call", "web_fetch", r#"{"url":"http://pages.example/a"}"#]).output().unwrap();
    expect![[r#"
        url: http://pages.example/a

        hello
        --- status 0
    "#]]
    .assert_eq(&world.shown(&fetch));
    assert_eq!(proxy.requests(), expected(&[("GET http://pages.example/a HTTP/1.1", true)]));
    let line = "curl -s http://pages.example/b; env | grep -c 0123456789 || true";
    let input = serde_json::json!({ "cmd": line }).to_string();
    let command = haft(&["call", "bash", &input]).output().unwrap();
    let shown = world.shown(&command);
    assert!(shown.starts_with("hello\n0\n"), "{shown}");
    let tunnel = ("CONNECT pages.example:80 HTTP/1.1", true);
    assert_eq!(proxy.requests(), expected(&[tunnel, ("GET /b HTTP/1.1", false)]));
    // The proxy is asked for granted hosts alone.
    let refused =
        haft(&["call", "bash", r#"{"cmd":"curl -sf http://other.example/"}"#]).output().unwrap();
    let shown = world.shown(&refused);
    assert!(shown.contains("host other.example is not granted to this call"), "{shown}");
    assert_eq!(proxy.requests(), []);
    // The journal and the settings of the runs hold no password.
    for args in [["runs", "list", "--json"], ["runs", "export", "--json"]] {
        let output = world.haft(&args[..2]).output().unwrap();
        assert!(!world.shown(&output).contains(PASSWORD), "{args:?}");
    }
}

#[test]
fn a_proxy_in_the_manifest_needs_trust_and_a_bad_one_is_an_error() {
    let proxy = FakeProxy::start();
    let world = World::new();
    world.write("work/haft.toml", &format!("[network]\nproxy = \"{}\"\n", proxy.url()));
    let fetch = r#"{"url":"http://pages.example/a"}"#;
    let args = ["--allow-host", "pages.example", "call", "web_fetch", fetch];
    world.haft(&args).output().unwrap();
    assert_eq!(proxy.requests(), [], "the manifest is not trusted");
    let trusted = world.shown(&world.haft(&["trust"]).output().unwrap());
    assert!(!trusted.contains(PASSWORD), "{trusted}");
    world.run(&args);
    assert_eq!(proxy.requests().len(), 1);
    for bad in ["socks5://you:PASS@proxy:1", "you:PASS@proxy:99999", "http://you:PASS x@proxy:y"] {
        let bad = bad.replace("PASS", PASSWORD);
        world.write("work/haft.toml", &format!("[network]\nproxy = \"{bad}\"\n"));
        for args in [args.as_slice(), &["trust"], &["doctor"]] {
            let shown = world.shown(&world.haft(args).output().unwrap());
            assert!(shown.contains("expected http://host:port"), "{shown}");
            assert!(!shown.contains(PASSWORD), "{shown}");
        }
    }
}
