//! Logins to servers that run elsewhere, with a person who agrees and one who pastes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use expect_test::expect;
use serde_json::json;

use super::remote::{asked, with_remote};
use super::{call, said};
use crate::terminal::Terminal;
use crate::world::{World, names};

/// Opens an address, and returns where it leads and what it says.
fn open(url: &str) -> (Option<String>, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    (location.map(str::to_owned), answer)
}

/// Begins a login, and returns what waits for its end, and the address that a person is to open.
fn begin(world: &World) -> (Child, String) {
    let mut command = world.haft(&["mcp", "login", "far"]);
    let mut login = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(login.stderr.as_mut().unwrap()).lines();
    let address = lines.map(Result::unwrap).find(|line| line.starts_with("  http")).unwrap();
    (login, address.trim().to_owned())
}

/// Logs in as a person who agrees.
fn log_in(world: &World) {
    let (login, address) = begin(world);
    let (back, _) = open(&address);
    let (_, said) = open(&back.unwrap());
    assert!(said.ends_with("haft has the answer. You can close this page."), "{said}");
    assert!(login.wait_with_output().unwrap().status.success());
}

fn echo(world: &World) -> String {
    said(&call(world, "far_echo", &json!({"text": "hi"})))
}

#[test]
fn a_login_is_kept_and_sent_to_its_server_alone() {
    let (world, server) = with_remote("login", "");
    world.check(
        &["mcp", "test", "far"],
        &expect![[r#"
            --- stderr
            error: mcp server far is unavailable: it wants to know who asks, and there is no login

            hint: haft mcp login far
            --- status 1
        "#]],
    );
    let (login, address) = begin(&world);
    assert!(address.contains("&scope=work"), "{address}");
    let (back, _) = open(&address);
    let back = back.unwrap();
    // The answer to another login does not count.
    let (host, _) = back.split_once("/callback").unwrap();
    let (_, said) = open(&format!("{host}/callback?code=x&state=guess"));
    assert!(said.starts_with("HTTP/1.1 404"), "{said}");
    open(&back);
    let login = login.wait_with_output().unwrap();
    let expect =
        format!("logged in to far at {}\nsee whether it works: haft mcp test far\n", server.url);
    assert_eq!(String::from_utf8(login.stdout).unwrap(), expect);
    assert_eq!(echo(&world), r#""hi""#);

    let kept = names(&world.path("state/mcp-logins"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let token = "secret-token-1";
    assert!(world.read(&format!("state/mcp-logins/{}", kept[0])).contains(token));
    let requests = asked(&world, "login");
    let with_token = requests.lines().filter(|line| line.contains(token));
    assert!(
        with_token.clone().count() > 2 && with_token.clone().all(|line| line.contains(" /mcp ")),
        "{requests}"
    );
    let journal = std::fs::read(world.path("state/journal.sqlite")).unwrap();
    assert!(!journal.windows(token.len()).any(|bytes| bytes == token.as_bytes()));

    world.check(
        &["mcp", "logout", "far"],
        &expect![[r#"
            forgot the login to far
            --- status 0
        "#]],
    );
    assert!(names(&world.path("state/mcp-logins")).is_empty());
}

/// Begins a login at a terminal, and returns it with what waits for its end and the address that a person is to open.
fn begin_at_terminal(world: &World) -> (Terminal, Child, String) {
    let mut terminal = Terminal::new();
    let login = terminal.start(&mut world.haft(&["mcp", "login", "far"]));
    terminal.wait_for_any("paste that address here.\n");
    let address = terminal.shown().lines().find(|line| line.starts_with("  http"));
    let address = address.unwrap().trim().to_owned();
    (terminal, login, address)
}

#[test]
fn the_address_that_a_browser_elsewhere_ends_at_is_pasted() {
    let (world, server) = with_remote("login", "");
    let (mut terminal, login, address) = begin_at_terminal(&world);
    let back = open(&address).0.unwrap();
    // People often paste a blank line first.
    terminal.type_text(&format!("\n  {back} \n"));
    let (_, said, status) = terminal.finish(login);
    let expect =
        format!("logged in to far at {}\nsee whether it works: haft mcp test far\n", server.url);
    assert_eq!((said, status), (expect, Some(0)));
    assert_eq!(echo(&world), r#""hi""#);
}

#[test]
fn what_is_pasted_and_no_answer_to_this_login_ends_it() {
    for (pasted, expect) in [
        ("yes", "that is no address: expected the whole one that the browser was sent to"),
        ("http://127.0.0.1:1/callback?code=x", "the address has no state: expected the whole one"),
        (
            "http://127.0.0.1:1/callback?code=x&state=guess",
            "the address belongs to another login, or to none",
        ),
        ("\u{4}", "the login was not finished: the input has ended"),
    ] {
        let (world, _server) = with_remote("login", "");
        let (mut terminal, login, _) = begin_at_terminal(&world);
        terminal.type_text(&format!("{pasted}\n"));
        let (shown, said, status) = terminal.finish(login);
        assert!(shown.contains(expect), "{pasted}: {shown}");
        assert_eq!((said.as_str(), status), ("", Some(1)), "{pasted}");
        assert!(names(&world.path("state/mcp-logins")).is_empty(), "{pasted}");
    }
}

#[test]
fn a_token_that_is_not_taken_is_renewed_once() {
    let (world, _server) = with_remote("login-renewed", "");
    log_in(&world);
    assert_eq!(echo(&world), r#""hi""#);
    let requests = asked(&world, "login-renewed");
    assert_eq!(requests.matches("POST /token").count(), 2, "{requests}");
    assert_eq!(requests.matches(" tools/call ").count(), 2, "{requests}");
    assert_eq!(echo(&world), r#""hi""#, "the next process has the new token");
}

#[test]
fn a_login_that_is_over_says_what_to_do() {
    let (world, _server) = with_remote("login-ends", "");
    log_in(&world);
    let found = echo(&world);
    assert_eq!(
        found,
        "UNAVAILABLE: mcp server far is unavailable: the login to it does not hold any more, or allows too little"
    );
}

#[test]
fn a_login_that_cannot_be_trusted_is_none() {
    let check = |mode: &str, expect: &str| {
        let (world, _server) = with_remote(mode, "");
        let mut command = world.haft(&["mcp", "login", "far"]);
        let shown = world.shown(&command.output().unwrap());
        assert!(shown.contains(expect), "{mode}: {shown}");
        assert!(names(&world.path("state/mcp-logins")).is_empty(), "{mode}");
    };
    check("login-foreign", "its description is of \"http://127.0.0.1:1/mcp\"");
    check("login-plain", "does not protect codes by S256");
    for (mode, expect) in [
        ("login-iss", "the answer comes from \"https://somebody.example\", and "),
        ("login-refused", "did not agree: access_denied"),
    ] {
        let (world, _server) = with_remote(mode, "");
        let (login, address) = begin(&world);
        open(&open(&address).0.unwrap());
        let login = login.wait_with_output().unwrap();
        assert_eq!(login.status.code(), Some(1), "{mode}");
        let said = String::from_utf8(login.stderr).unwrap();
        assert!(said.contains(expect), "{mode}: {said}");
        assert!(names(&world.path("state/mcp-logins")).is_empty(), "{mode}");
    }
}
