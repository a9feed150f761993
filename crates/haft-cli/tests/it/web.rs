//! The tools of the web through the command: pages that a confined process reads, providers that a manifest names, and keys
//! that stay hidden. Tests of the tools cover what the network can do to a call.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use expect_test::expect;
use serde_json::json;

use crate::world::World;

const KEY: &str = "k-0123456789";

/// Serves contents by their path, and keeps what was asked, with its headers. A kind `to URL` is a redirect to there.
struct Site {
    address: SocketAddr,
    // Written by the server's thread, read by the test.
    asked: Arc<Mutex<String>>,
}

impl Site {
    fn open(contents: &[(&str, &str, &[u8])]) -> Self {
        Self::open_at("127.0.0.1", contents)
    }

    fn open_at(host: &str, contents: &[(&str, &str, &[u8])]) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<String>>::default();
        let seen = Arc::clone(&asked);
        let contents: HashMap<String, (String, Vec<u8>)> = contents
            .iter()
            .map(|(path, kind, body)| ((*path).to_owned(), ((*kind).to_owned(), body.to_vec())))
            .collect();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut head = String::new();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while !head.ends_with("\r\n\r\n") {
                    reader.read_line(&mut head).unwrap();
                }
                let length = head.lines().find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
                });
                reader.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
                seen.lock().unwrap().push_str(&head);
                let target = head.split(' ').nth(1).unwrap_or_default();
                let path = target.split('?').next().unwrap_or_default();
                let (kind, body) = contents.get(path).cloned().unwrap_or_default();
                let (status, field) = match kind.strip_prefix("to ") {
                    Some(url) => ("302 Found", format!("Location: {url}")),
                    None => ("200 OK", format!("Content-Type: {kind}")),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\n{field}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                // One that was too much for the client is not read to its end.
                let _ = stream.write_all(&body);
            }
        });
        Self { address, asked }
    }

    /// Fetches a path and returns what the command shows, without what differs from run to run.
    fn fetch(&self, world: &World, path: &str) -> String {
        let input = json!({ "url": format!("http://{}{path}", self.address) }).to_string();
        let mut command = world.haft(&["--allow-host", "127.0.0.1", "call", "web_fetch", &input]);
        self.plain(&world.shown(&command.output().unwrap()))
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.address.port().to_string(), "[port]")
    }
}

#[test]
fn pages_are_read_by_a_confined_process() {
    let deep = "<div>".repeat(1_000) + "deep down";
    let page = "<html><head><title>The page</title></head><body><nav><a href=/>Home</a></nav>\
                <article><h1>A heading</h1><p>Words with a <a href=\"other\">link</a>, and enough of them to be the main \
                content of the page, which is more than what stands around it.</p></article></body></html>";
    let site = Site::open(&[
        ("/page", "text/html", page.as_bytes()),
        ("/latin", "text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe"),
        ("/meta", "text/html", b"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2"),
        ("/japanese", "text/plain; charset=shift_jis", b"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd"),
        ("/marked", "text/plain", b"\xff\xfeh\0i\0"),
        ("/json", "application/json", b"{\"a\":1}"),
        (
            "/picture",
            "image/png",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0",
        ),
        ("/deep", "text/html", deep.as_bytes()),
    ]);
    let world = World::new();
    let mut all = String::new();
    for path in ["/page", "/latin", "/meta", "/japanese", "/marked", "/json", "/picture", "/deep"] {
        all.push_str(&site.fetch(&world, path));
    }
    expect![[r#"
        title: The page
        url: http://127.0.0.1:[port]/page

        ## A heading

        Words with a [link](http://127.0.0.1:[port]/other), and enough of them to be the main content of the page, which is more than what stands around it.
        --- status 0
        url: http://127.0.0.1:[port]/latin

        Grüße
        --- status 0
        url: http://127.0.0.1:[port]/meta

        Привет
        --- status 0
        url: http://127.0.0.1:[port]/japanese

        こんにちは
        --- status 0
        url: http://127.0.0.1:[port]/marked

        hi
        --- status 0
        url: http://127.0.0.1:[port]/json

        {"a":1}
        --- status 0
        url: http://127.0.0.1:[port]/picture

        [image/png, 29 bytes, PNG image, 2 x 3: not text, so it is not shown]
        --- status 0
        --- stderr
        error: http://127.0.0.1:[port]/deep: the page could not be read: it nests elements more than 512 deep. Fetch another page instead
        --- status 1
    "#]].assert_eq(&all);
}

#[test]
fn a_host_that_was_named_is_reached_whatever_else_allows_the_tool() {
    let site = Site::open(&[("/text", "text/plain", b"text")]);
    let world = World::new();
    let input = json!({ "url": format!("http://{}/text", site.address) }).to_string();
    for options in
        [&["--allow-host", "127.0.0.1"][..], &["--allow-host", "127.0.0.1", "--allow", "web_fetch"]]
    {
        let answer = world.json(&[options, &["--json", "call", "web_fetch", &input]].concat());
        assert_eq!(answer["data"]["text"], "text", "{options:?}");
    }
}

#[test]
fn what_is_over_the_output_limit_is_read_from_a_file() {
    let body = "a line of text\n".repeat(20_000);
    let site = Site::open(&[("/long", "text/plain", body.as_bytes())]);
    let world = World::new();
    let input = json!({ "url": format!("http://{}/long", site.address) }).to_string();
    let answer = world.json(&["--json", "--allow-host", "127.0.0.1", "call", "web_fetch", &input]);
    assert_eq!(answer["data"]["head"].as_str().unwrap().len(), 200_000);
    let kept = answer["metadata"]["output_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), body);
}

#[test]
fn nobody_is_asked_without_being_allowed_or_configured() {
    let world = World::new();
    world.check(&["call", "web_fetch", r#"{"url":"https://example.org/"}"#], &expect![[r#"
        --- stderr
        error: no person can be asked here, so the call is denied: web_fetch needs approval for net.fetch of "example.org": no rule matches, and then the answer is ask; the rule `allow web_fetch "example.org"` would allow it; to allow it, start haft with `--allow-host example.org`, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "web_fetch"
        pattern = "example.org"
        action = "allow"

        hint: haft call --allow-host example.org web_fetch '{"url":"https://example.org/"}'
        --- status 3
    "#]]);
    world.check(
        &["call", "--allow", "web_fetch", "web_fetch", r#"{"url":"http://127.0.0.1:9/"}"#],
        &expect![[r#"
            --- stderr
            error: http://127.0.0.1:9/: host 127.0.0.1 is one of this machine or its networks, which are reached only where they are granted by name; to allow it, start haft with `--allow-host 127.0.0.1`

            hint: haft call --allow-host 127.0.0.1 --allow web_fetch web_fetch '{"url":"http://127.0.0.1:9/"}'
            --- status 3
        "#]],
    );
    world.check(&["call", "web_search", r#"{"query":"q"}"#], &expect![[r#"
        --- stderr
        error: no provider of searches is configured: name one in haft.toml, such as [[web_search.providers]] with kind = "searxng" and url = "https://…", or kind = "brave" or "tavily" with its key in BRAVE_API_KEY or TAVILY_API_KEY, and trust it
        --- status 1
    "#]]);
}

#[test]
fn a_provider_is_asked_when_its_manifest_is_trusted_and_its_key_is_there() {
    let results = r#"{"type":"search","web":{"results":[{"title":"One","url":"https://one.example/","description":"First"}]}}"#;
    let site = Site::open(&[("/web/search", "application/json", results.as_bytes())]);
    let world = World::new();
    let url = format!("http://{}", site.address);
    world.write(
        "work/haft.toml",
        &format!("[[web_search.providers]]\nkind = \"brave\"\nurl = \"{url}\"\nkey_variable = \"MY_KEY\"\n"),
    );
    let search = ["--allow", "web_search", "call", "web_search", r#"{"query":"q"}"#];
    let run = |key: Option<&str>, args: &[&str]| {
        let mut command = world.haft(args);
        command.envs(key.map(|key| ("MY_KEY", key)));
        site.plain(&world.shown(&command.output().unwrap()))
    };
    let mut all = run(Some(KEY), &search);
    world.run(&["trust"]);
    all.push_str(&run(None, &search));
    all.push_str(&run(Some("not a key"), &search));
    all.push_str(&run(Some(KEY), &search));
    expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          web_search.providers = [{ kind = "brave", url = "http://127.0.0.1:[port]", key_variable = "MY_KEY" }]

        hint: haft trust /world/work/haft.toml

        error: no provider of searches is configured: name one in haft.toml, such as [[web_search.providers]] with kind = "searxng" and url = "https://…", or kind = "brave" or "tavily" with its key in BRAVE_API_KEY or TAVILY_API_KEY, and trust it
        --- status 1
        --- stderr
        error: the search provider brave (127.0.0.1) failed: its key is missing: put it into the environment variable MY_KEY
        --- status 1
        --- stderr
        error: the search provider brave (127.0.0.1) failed: MY_KEY cannot be used: the key is empty, or holds a character that no key has, such as a line feed or a space
        --- status 1
        {"results":[{"title":"One","url":"https://one.example/","snippet":"First"}]}
        --- status 0
    "#]].assert_eq(&all);
    let asked = site.asked.lock().unwrap().clone();
    assert!(asked.contains(&format!("x-subscription-token: {KEY}")), "{asked}");
    assert_eq!(asked.matches("GET ").count(), 1, "{asked}");
    for args in [&["doctor", "--json"][..], &["runs", "list", "--json"]] {
        assert!(!run(Some(KEY), args).contains(KEY), "{args:?}");
    }
    let mut state = std::process::Command::new("grep");
    let found = state.args(["-ra", KEY]).arg(world.path("state")).output().unwrap();
    assert!(found.stdout.is_empty(), "the key is in no file of haft's");
}

/// Writes each call to the file beside it, denies one place that is led to, asks about another, and allows the rest.
const GUARD: &str = r#"#!/bin/sh
call=$(cat)
echo "$call" >> "${0%/*}/told"
case $call in
  *'"led_to":"http://127.0.0.2:'*'/secret"'*) echo '{"decision":"deny","reason":"not from here"}' ;;
  *'"led_to":"http://127.0.0.2:'*'/asked"'*) echo '{"decision":"ask","reason":"who knows"}' ;;
  *) echo '{"decision":"allow"}' ;;
esac
"#;

#[test]
fn a_watchdog_sees_each_other_host_that_a_redirect_leads_to() {
    let other = Site::open_at(
        "127.0.0.2",
        &[("/text", "text/plain", b"text"), ("/secret", "text/plain", b"secret")],
    );
    let to = |path: &str| format!("to http://{}{path}", other.address);
    let site = Site::open(&[
        ("/text", &to("/text"), b""),
        ("/secret", &to("/secret"), b""),
        ("/asked", &to("/asked"), b""),
        ("/inside", "to http://169.254.169.254/latest/meta-data/", b""),
        ("/here", "to /there", b""),
        ("/there", "text/plain", b"there"),
    ]);
    let world = World::new();
    world.write("guards/guard", GUARD);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(world.path("guards/guard"), mode).unwrap();
    world.write("agent.toml", "root = \"work\"\nwatchdogs = [{ program = [\"guards/guard\"] }]\n");
    let mut all = String::new();
    for path in ["/text", "/secret", "/asked", "/inside", "/here"] {
        let input = json!({ "url": format!("http://{}{path}", site.address) }).to_string();
        let hosts = ["--allow-host", "127.0.0.1", "--allow-host", "127.0.0.2"];
        let mut command = world.haft(
            &[&["--config", "../agent.toml"], &hosts[..], &["call", "web_fetch", &input]].concat(),
        );
        all.push_str(&other.plain(&site.plain(&world.shown(&command.output().unwrap()))));
    }
    expect![[r#"
        url: http://127.0.0.2:[port]/text

        text
        --- status 0
        --- stderr
        error: http://127.0.0.1:[port]/secret redirects to http://127.0.0.2:[port]/secret, which could not be followed: not from here
        --- status 3
        --- stderr
        error: http://127.0.0.1:[port]/asked redirects to http://127.0.0.2:[port]/asked, which could not be followed: a watchdog wants a person to decide about 127.0.0.2, and haft asks no person while a call runs: call with http://127.0.0.2:[port]/asked (who knows)
        --- status 3
        --- stderr
        error: http://127.0.0.1:[port]/inside redirects to http://169.254.169.254/latest/meta-data/, which could not be followed: 169.254.169.254 is one of this machine or its networks, and no page may lead there
        --- status 3
        url: http://127.0.0.1:[port]/there

        there
        --- status 0
    "#]]
    .assert_eq(&all);
    let told: String = world
        .read("guards/told")
        .lines()
        .map(|line| {
            let call: serde_json::Value = serde_json::from_str(line).unwrap();
            format!("{} {} {}\n", call["input"]["url"], call["accesses"], call["led_to"])
        })
        .collect();
    expect![[r#"
        "http://127.0.0.1:[port]/text" [{"capability":"net.fetch","host":"127.0.0.1"}] null
        "http://127.0.0.1:[port]/text" [{"capability":"net.fetch","host":"127.0.0.2"}] "http://127.0.0.2:[port]/text"
        "http://127.0.0.1:[port]/secret" [{"capability":"net.fetch","host":"127.0.0.1"}] null
        "http://127.0.0.1:[port]/secret" [{"capability":"net.fetch","host":"127.0.0.2"}] "http://127.0.0.2:[port]/secret"
        "http://127.0.0.1:[port]/asked" [{"capability":"net.fetch","host":"127.0.0.1"}] null
        "http://127.0.0.1:[port]/asked" [{"capability":"net.fetch","host":"127.0.0.2"}] "http://127.0.0.2:[port]/asked"
        "http://127.0.0.1:[port]/inside" [{"capability":"net.fetch","host":"127.0.0.1"}] null
        "http://127.0.0.1:[port]/here" [{"capability":"net.fetch","host":"127.0.0.1"}] null
    "#]]
    .assert_eq(&other.plain(&site.plain(&told)));
    // Denied hosts get no request.
    assert_eq!(other.asked.lock().unwrap().matches("GET ").count(), 1);
}
